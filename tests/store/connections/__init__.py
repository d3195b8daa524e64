"""Applications of every kind, each with a connection of its own."""
