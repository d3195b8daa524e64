"""What an attempt meant: pure functions from what was said to what happens next."""
