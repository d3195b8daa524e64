"""Outboxes of several regions, each with a database of its own."""
