"""What is read out of a message that came back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from postroom.vocabulary import BounceClass, Return


class Unclear(StrEnum):
    """What a message may be beside a return."""

    OWN = "own"
    """A copy of an email of ours: a bcc, a mailing list, a loop. Nothing follows from it."""
    UNREADABLE = "unreadable"
    """Nobody can say what it is. It is kept and shown."""
    IRRELEVANT = "irrelevant"
    """It is understood, and nothing follows from it: a read receipt, a report that an email was no spam."""


OBJECTIONS = frozenset({"abuse", "fraud", "miscategorized", "opt-out", "opt-out-list", "other", "virus"})
"""Types of feedback by which the reader says that they did not want the email."""

PRAISE = "not-spam"
"""A type of feedback that is no complaint: a reader has taken the email out of the spam."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """One recipient that a message speaks of."""

    address: str
    """Lower case, without angle brackets; empty where the message names nobody."""
    aliases: tuple[str, ...] = ()
    """Other addresses that the report has for the same recipient: what it was sent to, where it went on to."""
    kind: Return | None = None
    """What became of this one, where that is not what the message is called after."""
    bounce_class: BounceClass | None = None
    """Of a bounce or a deferral."""
    status: str = ""
    """The enhanced status code, `5.1.1`; empty where none is told."""
    code: int | None = None
    """The reply code, 550."""
    text: str = ""
    """What the other end said, on one line, bounded; it may quote addresses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a message says. The same octets always give the same reading."""

    kind: Return | Unclear
    """Of a report, what became of those who fared worst."""
    recipients: tuple[Returned, ...] = ()
    """Of bounces, deferrals, deliveries and complaints, who fared worst first; of replies, who has answered."""
    message_id: str = ""
    """Of the message itself, with its angle brackets."""
    about: tuple[str, ...] = ()
    """Message-IDs of what it speaks of, the likeliest first: the returned original's, In-Reply-To, References."""
    envelope_to: tuple[str, ...] = ()
    """Addresses it was delivered to as its headers tell (Delivered-To, X-Original-To, To): one may bear a token."""
    feedback: str = ""
    """Of a complaint: `abuse`, `auth-failure`, …"""
    until: date | None = None
    """Of an answer by a program: the day from which its owner is back, where it says so."""
    author: str = ""
    """Of what is unreadable: the address of the person who seems to have written it. Where that is somebody to whom we
    write, it is an answer; the octets alone do not tell."""
    reader: str = ""
    """Which reader recognised it: `dsn`, `arf`, `flufl`, `words`, `thread`, …"""
    problem: str = ""
    """Why it is unreadable, in words for people."""

    def kind_of(self, recipient: Returned) -> Return | Unclear:
        """What became of one of its recipients."""
        return recipient.kind or self.kind

    @property
    def objected(self) -> bool:
        """Whether a reader has said that they did not want it.

        A receiver's report of a failed signature is a complaint too, yet the recipient knows nothing of it.
        """
        return self.kind is Return.COMPLAINED and self.feedback in OBJECTIONS
