"""The engine: whoever attempts an email, wherever it came from, does it here."""
