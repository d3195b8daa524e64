"""What one attempt meant for each recipient, for the email and for the way out, in words that every channel shares.

Each kind of conversation has a classifier of its own, which makes a `Classification` of a report: `settle/smtp` for
mail servers. What follows from it for the email is decided in `outcome.py`, for all of them alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from postroom.send.contract import Fault, Phase, Reply, Report
from postroom.settle.verdict import About, Fate, TransportVerdict

_DOT, _ANSWER = Phase.DOT, Phase.ANSWER  # on Python 3.11 a member of an enum costs a call each time


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What became of one recipient, and the reply that said so."""

    fate: Fate
    reply: Reply | None
    """None where nothing was said about this recipient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """The meaning of a report."""

    recipients: tuple[Heard, ...]
    """In the payload's order."""
    about: About | None
    """Whom the cause concerns; None when all went well."""
    cause: Reply | Fault | None
    """What decided: the reply to the dot when it was accepted, the first thing that went wrong otherwise."""
    transport: TransportVerdict | None
    """None when nothing was learnt about the transport."""
    wait: timedelta | None = None
    """The least time until another attempt."""
    blameless: bool = False
    """No email can have caused it: it never costs the last attempt."""
    counts: bool = True
    """False where it was no attempt: the claim was given back, or the envelope held only a part of the recipients."""

    @property
    def unknown(self) -> bool:
        return any(heard.fate is Fate.UNKNOWN for heard in self.recipients)


Classify = Callable[[Report], Classification]
"""Says what a report means that has an entry for each recipient."""


def accepted(reply: Reply | None) -> bool:
    """A yes."""
    return reply is not None and 200 <= reply.code < 300


def accepted_by_all(report: Report) -> bool:
    """The other end took it for every recipient of the payload."""
    reply = report.reply
    if reply is None or (reply.phase is not _DOT and reply.phase is not _ANSWER):
        return False
    if not 200 <= reply.code < 300:
        return False
    for each in report.recipients:  # noqa: SIM110  several times quicker than a generator
        if each is None or not 200 <= each.code < 300:
            return False
    return True
