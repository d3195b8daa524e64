"""Where a launched campaign stands, and why its mail waits."""
