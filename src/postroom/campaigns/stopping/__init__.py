"""What holds mail back: people who act, and what comes back."""
