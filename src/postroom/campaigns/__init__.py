"""Sequences of emails to many people: when each may leave, and what stops them."""
