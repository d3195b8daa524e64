"""How messages that come back are taken in: from standard input, from a Maildir, by LMTP or SMTP."""

from __future__ import annotations

from postroom.returns.intake.taking import Taken, Taker

__all__ = ["Taken", "Taker"]
