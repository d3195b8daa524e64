"""Dispatch over a broker: a scheduler names due emails in messages, senders claim what messages name.

The database stays the truth. A message is a hint that may be lost, doubled, late or out of order; nothing depends on it
but how soon an email is sent.
"""
