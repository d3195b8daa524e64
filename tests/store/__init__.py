"""The store: one contract, two databases."""
