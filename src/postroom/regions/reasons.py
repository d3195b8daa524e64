"""Why an email stays where it is, in a word for programs and in a sentence for people."""

from __future__ import annotations

from enum import StrEnum


class Stays(StrEnum):
    """Why an email does not move."""

    SENT = "sent"
    CANCELLED = "cancelled"
    DISMISSED = "dismissed"
    SENDING = "sending"
    """Somebody has it in hand."""
    CAMPAIGN = "campaign"
    """It is of a campaign, which would not know of it in the other region."""
    OTHERS = "others"
    """It is for other people as well."""
    ROUTE = "route"
    """The other region does not know the route that it is to leave by."""
    SEALED = "sealed"
    """The other region could not open what it says."""
    KEY = "key"
    """Another email has its key there."""
    THERE = "there"
    """An email of this id is there already."""
    UNFIT = "unfit"
    """The other database cannot hold what it says."""


OVER = frozenset({Stays.SENT, Stays.CANCELLED, Stays.DISMISSED})
"""Nobody has to do anything about these."""

_SENTENCES = {
    Stays.SENT: ("was sent before and stays", "were sent before and stay"),
    Stays.CANCELLED: ("was cancelled before and stays", "were cancelled before and stay"),
    Stays.DISMISSED: (
        "was dismissed and stays, until it can no longer be reinstated",
        "were dismissed and stay, until they can no longer be reinstated",
    ),
    Stays.SENDING: (
        "is being sent now and stays; run this again to move it if it is not sent then",
        "are being sent now and stay; run this again to move those that are not sent then",
    ),
    Stays.CAMPAIGN: (
        "is of a campaign and stays with it; stop the person there, and send what is still to be said from {to}",
        "are of campaigns and stay with them; stop the person there, and send what is still to be said from {to}",
    ),
    Stays.OTHERS: (
        "is for other people, too, and stays; --with-others moves it",
        "are for other people, too, and stay; --with-others moves them",
    ),
    Stays.ROUTE: (
        "stays, because {to} has no such route as it is to leave by; add it to the settings of {to}, or see "
        "`postroom route move`",
        "stay, because {to} has no such routes as they are to leave by; add them to the settings of {to}, or see "
        "`postroom route move`",
    ),
    Stays.SEALED: (
        "stays, because it is sealed with a secret that {to} does not have; name it in previous_secrets there",
        "stay, because they are sealed with a secret that {to} does not have; name it in previous_secrets there",
    ),
    Stays.KEY: (
        "stays, because another email has its key in {to}; cancel or dismiss the one that is not to be sent",
        "stay, because other emails have their keys in {to}; cancel or dismiss those that are not to be sent",
    ),
    Stays.THERE: (
        "stays, because {to} has an email of the same id; is one database a copy of the other?",
        "stay, because {to} has emails of the same ids; is one database a copy of the other?",
    ),
    Stays.UNFIT: (
        "stays, because the database of {to} could not take it in; the log says why",
        "stay, because the database of {to} could not take them in; the log says why",
    ),
}


def in_words(why: Stays, count: int, *, to: str) -> str:
    """How many emails stay, why, and what can be done about it."""
    one, many = _SENTENCES[why]
    return f"{count:,} {f'email {one}' if count == 1 else f'emails {many}'}".format(to=to)
