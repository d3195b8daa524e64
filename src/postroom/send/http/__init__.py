"""Requests over HTTP: one at a time on a line, each on a connection of its own, every wait with an end.

A connection is never used for a second request. The other end may close an idle one at any moment, and a request that
crosses with that is one of which nobody knows whether it arrived; that doubt costs more than a handshake.
"""
