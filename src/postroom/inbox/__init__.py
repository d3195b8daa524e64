"""The dev inbox: a mail server that keeps what it is sent, and a page to read it.

`DevInbox` runs both in a thread of the present process; `postroom inbox` runs one until stopped. It delivers nothing to
anybody, and its chaos switches make it as unreliable as mail servers are, so that a developer sees the outbox cope.
"""

from __future__ import annotations

from postroom.inbox.chaos import Trouble
from postroom.inbox.server import DevInbox
from postroom.inbox.shelf import KeptMessage

__all__ = ["DevInbox", "KeptMessage", "Trouble"]
