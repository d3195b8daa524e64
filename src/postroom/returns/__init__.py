"""What comes back: bounces, complaints, replies; who is not to be mailed any more, and how they say so."""
