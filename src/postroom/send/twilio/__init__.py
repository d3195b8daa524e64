"""Text messages through Twilio's HTTP interface, or one that is shaped like it."""
