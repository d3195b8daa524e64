"""The second axis: what came back about one recipient of one email, and which of several things counts. Pure.

What comes back comes late, twice and in any order, so nothing may depend on the order. Each return has a strength that
is made of what it says alone, and the fate of a recipient is the strongest return so far; the maximum of several is the
same however they arrive. All of them stay in the email's history. From weak to strong:

    deferred         the other end goes on trying: anything that says how it ended is more
    delivered        it says that it is in the mailbox, …
    autoresponded    … and a program there has answered: more than a server's word, less than a person's
    bounced          it did not arrive. Above `delivered`, for a server may take an email, even report so, and send it
                     back afterwards; a second copy of a doubtful email may also go another way than the first. What
                     went wrong is worth knowing in both cases. Above `autoresponded`, for the programs of mailboxes
                     that are given up answer as well.
                     Among bounces: transient, undetermined, permanent. Who says that there is no such mailbox says
                     more than who says that it was full.
    replied          a person has read it, so it arrived, whatever a server on the way has said
    unsubscribed     the reader's own wish, and final: they are left alone, also if they have answered before
    complained       the same, said to their provider instead of us

Two returns of the same kind, such as bounces with different codes, are told apart by what else they say, so that among
them, too, the order does not matter. What follows from a return follows when it is recorded: a suppression stays, also
where a stronger return about something else is the fate.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from postroom.vocabulary import BounceClass, Return

_KINDS = (
    Return.DEFERRED,
    Return.DELIVERED,
    Return.AUTORESPONDED,
    Return.BOUNCED,
    Return.REPLIED,
    Return.UNSUBSCRIBED,
    Return.COMPLAINED,
)
_CLASSES = (None, BounceClass.TRANSIENT, BounceClass.UNDETERMINED, BounceClass.PERMANENT)

Strength = tuple[int, int, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What came back about one recipient."""

    what: Return
    bounce_class: BounceClass | None = None
    """Of a bounce or a deferral."""
    status: str = ""
    """The enhanced status code, such as `5.1.1`; empty where none was told."""
    code: int | None = None
    at: datetime
    """When it came."""
    return_id: str
    """The return that says so."""

    @property
    def strength(self) -> Strength:
        """Greater is stronger; made of nothing but what the return says."""
        return _KINDS.index(self.what), _CLASSES.index(self.bounce_class), self.status, self.code or 0


def stronger(known: Fate | None, heard: Fate) -> Fate:
    """Which of two counts; what is known stays where the other says no more."""
    return heard if known is None or heard.strength > known.strength else known
