"""What is written down of each mail of a launched campaign, and what counts against quotas."""
