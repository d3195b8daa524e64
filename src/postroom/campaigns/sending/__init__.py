"""From the launch on: whose turn it is, and what follows from what became of each mail."""
