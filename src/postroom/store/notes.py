"""What came back, as values: a note on its way into the database, and a return as it is kept there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime

from postroom.store.suppressions import normal_address
from postroom.vocabulary import BounceClass, EmailId, Return

KEPT = 256_000
"""Octets of a message that are kept, …"""
KEPT_UNCLEAR = 4 * KEPT
"""… and of one that a person has to look at: nobody could read it, or say which email it is about."""

UNREADABLE = "unreadable"
"""What a note says of a message that nobody could read."""

LONGEST = 500
"""Characters of any text of a return."""

SESSION = "session"
"""Where a note is from that no message has brought: a server said it while the email was being handed over."""

RETURNS = frozenset(each.value for each in Return)
"""The words of the second axis; a note may have others, for what is no return."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An email that a return may be about."""

    id: EmailId
    message_id: str = ""
    """As it was mentioned; needed where the mention is not signed."""
    signed: bool = False
    """It bears a signature of ours: nobody else can have made it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that came back, about one recipient at most; still to be noted."""

    source: str
    """Where it is from: `mail`, `unsubscribe`, `session`, …"""
    source_id: str
    """What it is known by there; whoever hears of it again comes to the same."""
    part: int = 0
    """Which of several recipients a message speaks of."""
    what: str
    """A `Return`; or a word for what is none, such as `unreadable`."""
    mentions: tuple[Mention, ...] = ()
    """Emails it may be about, the likeliest first."""
    address: str = ""
    aliases: tuple[str, ...] = ()
    """Other addresses of the same recipient."""
    bounce_class: BounceClass | None = None
    status: str = ""
    code: int | None = None
    text: str = ""
    message_id: str = ""
    reader: str = ""
    problem: str = ""
    until: date | None = None
    feedback: str = ""
    objected: bool = False
    """Of a complaint: it is the reader's own."""
    author: str = ""
    """Of what nobody could read: who seems to have written it. It is not kept."""

    def __post_init__(self) -> None:
        """What others wrote is cut, and rid of what a database or a terminal would stumble over."""
        for name in ("source_id", "what", "address", "status", "text", "message_id", "problem", "feedback"):
            object.__setattr__(self, name, _plain(getattr(self, name)))
        object.__setattr__(self, "address", normal_address(self.address))


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A message as it came, or its beginning."""

    content: bytes
    size: int
    """Octets of the whole."""

    def cut(self, octets: int) -> Raw:
        """No more than so much of it."""
        return replace(self, content=self.content[:octets])


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What became of a note."""

    id: str | None
    """None where it was known already."""
    note: Note
    """With the recipient's address and the problem, as they were written down."""
    email_id: EmailId | None
    duplicate: bool
    """It was known already; nothing was done."""
    suppressed: bool = False
    """Its recipient is mailed no more."""
    workspace: str | None = None
    """Of the email; None where that is not known, or not there any more."""
    certain: bool = False
    """It is from, or about, somebody whom the email was for. Anybody can write any address into a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReturn:
    """Something that came back, as it is kept."""

    id: str
    source: str
    source_id: str
    part: int
    received_at: datetime
    what: str
    bounce_class: BounceClass | None
    status: str
    code: int | None
    text: str
    address: str
    email_id: EmailId | None
    message_id: str
    reader: str
    problem: str
    until: date | None
    feedback: str
    unclear: bool
    """A person should look: nobody knows which email it is about, or what it says."""
    workspace: str | None
    """Of the email; None where nobody knew it when this came back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedEmail:
    """An email that something came back about, as far as a list shows it."""

    id: EmailId
    subject: str
    sensitive: bool


def _plain(text: str) -> str:
    """One line that every database takes: no control characters, no halves of characters, not too long."""
    kept = "".join(each if each.isprintable() else " " for each in text[: 4 * LONGEST])
    return " ".join(kept.split())[:LONGEST]
