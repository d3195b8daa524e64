"""How large an email may be. All of them are settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from postroom.compose.key import LONGEST_KEY
from postroom.errors import InvalidEmail

if TYPE_CHECKING:
    from postroom.compose.email import Email


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds an email is held to when it is made, and again by an outbox that sets its own."""

    recipients: int = 1_000
    bytes: int = 25_000_000
    """Of the whole message as it travels, attachments in base64."""
    key: int = LONGEST_KEY
    """Characters of an idempotency key."""
    headers: int = 100
    """Headers of the caller's own."""

    def check(self, email: Email) -> None:
        """Refuse an email over any of the limits."""
        recipients = len(email.to) + len(email.cc) + len(email.bcc)
        if recipients > self.recipients:
            raise InvalidEmail(
                "to", f"has {recipients:,} recipients", f"send several emails to at most {self.recipients:,} each"
            )
        if len(email.headers) > self.headers:
            raise InvalidEmail("headers", f"has {len(email.headers)} entries", f"give at most {self.headers}")
        if (size := email.size) > self.bytes:
            raise InvalidEmail(
                "attachments" if email.attachments else "html" if email.html else "text",
                f"the email has about {size:,} bytes",
                f"bring it under {self.bytes:,}, for instance with a link in place of a file",
            )


DEFAULT_LIMITS = Limits()
