"""A restaurant's table book, with emails that calendars understand."""
