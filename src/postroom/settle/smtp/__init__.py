"""What a conversation over SMTP meant: what replies mean by where they were said, and by who is known to say them."""
