"""How large an email may be. All of them are settings of an outbox.

An `Email` by itself is bound by none of them, for it does not know which outbox it will be given to: one that was
configured for 2,000 recipients takes 1,500, and one that was configured for ten refuses eleven. Whoever is given one
(library, command line, HTTP, a correction before a replay) has it checked in the same place, `Letter.freeze_within`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from postroom.compose.address import Address
from postroom.compose.key import LONGEST_KEY
from postroom.compose.size import Measurable
from postroom.errors import InvalidEmail


class Limited(Measurable, Protocol):
    """What an `Email` and a `Letter` have in common here."""

    @property
    def bcc(self) -> tuple[Address, ...]: ...
    @property
    def reply_to(self) -> tuple[Address, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds an outbox holds emails to."""

    recipients: int = 1_000
    bytes: int = 25_000_000
    """Of the whole message as it travels, attachments in base64."""
    key: int = LONGEST_KEY
    """Characters of an idempotency key."""
    headers: int = 100
    """Headers of the caller's own."""
    dotless_domains: bool = False
    """Whether addresses such as `root@localhost` are taken: the mail server gives them to a machine near it, and no
    server of the world knows them. A sender may always have one, for nothing is delivered to it."""

    def check(self, email: Limited, *, size: int) -> None:
        """Refuse an email over any of the limits; `size` is what it has on the wire."""
        recipients = len(email.to) + len(email.cc) + len(email.bcc)
        if recipients > self.recipients:
            raise InvalidEmail(
                "to", f"has {recipients:,} recipients", f"send several emails to at most {self.recipients:,} each"
            )
        if not self.dotless_domains:
            for _name, address in (*email.to, *email.cc, *email.bcc, *email.reply_to):
                if _is_dotless(address):
                    _refuse_dotless(email)
        if len(email.headers) > self.headers:
            raise InvalidEmail("headers", f"has {len(email.headers)} entries", f"give at most {self.headers}")
        if size > self.bytes:
            raise InvalidEmail(
                "attachments" if email.attachments else "html" if email.html else "text",
                f"the email has about {size:,} bytes",
                f"bring it under {self.bytes:,}, for instance with a link in place of a file",
            )


def limit_setting(limit: str) -> str:
    """What a limit is called among the settings."""
    return limit if limit == "dotless_domains" else f"max_{limit}"


def _refuse_dotless(email: Limited) -> None:
    for field in ("to", "cc", "bcc", "reply_to"):
        for _name, address in getattr(email, field):
            if _is_dotless(address):
                raise InvalidEmail(
                    field,
                    f"{address!r} is an address of a machine nearby, not of the world",
                    "write the whole domain, or allow such addresses with POSTROOM_DOTLESS_DOMAINS=yes",
                )


def _is_dotless(address: str) -> bool:
    return address.rfind(".") < address.find("@")


DEFAULT_LIMITS = Limits()
