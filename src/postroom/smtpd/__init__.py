"""The server side of SMTP and LMTP: takes messages, and says that it has them when somebody has them."""

from __future__ import annotations

from postroom.smtpd.conversation import Protocol, Received, Reception
from postroom.smtpd.server import MailServer

__all__ = ["MailServer", "Protocol", "Received", "Reception"]
