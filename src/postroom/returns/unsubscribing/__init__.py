"""Unsubscribing by one click (RFC 8058): what is recorded, and what the person reads who pressed the link.

The link itself is made when an email is enqueued (`outbox/unsubscribing.py`), and what is in it is sealed
(`sealing/ticket.py`). Who listens for it over HTTP is in `admin/unsubscribing.py`.
"""

from postroom.returns.unsubscribing.asking import Wish, wish_in
from postroom.returns.unsubscribing.page import Answer, shown
from postroom.returns.unsubscribing.recording import resubscribed, unsubscribed

__all__ = ["Answer", "Wish", "resubscribed", "shown", "unsubscribed", "wish_in"]
