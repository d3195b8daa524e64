"""What came back about a recipient, in a few words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from postroom.returns.reading import Unclear
from postroom.settle.fate import Fate
from postroom.store.notes import StoredReturn
from postroom.vocabulary import BounceClass, Return

_CLASSES: Mapping[str, str] = {
    BounceClass.PERMANENT: "there is no such mailbox",
    BounceClass.TRANSIENT: "not for good",
    BounceClass.UNDETERMINED: "nobody said why",
}
_MEANINGS: Mapping[str, str] = {
    Return.BOUNCED: "it did not arrive",
    Return.DELIVERED: "it is in the mailbox",
    Return.DEFERRED: "the other end goes on trying",
    Return.COMPLAINED: "the reader has called it spam",
    Return.REPLIED: "somebody has answered",
    Return.AUTORESPONDED: "a program has answered",
    Return.UNSUBSCRIBED: "the reader wants no more of these",
    Unclear.OWN: "a copy of an email of ours",
    Unclear.IRRELEVANT: "understood, and nothing follows from it",
    Unclear.UNREADABLE: "nobody can say what it is",
}


def fate_in_words(fate: Fate) -> str:
    """`bounced: there is no such mailbox (550 5.1.1)`."""
    return f"{fate.what.value}: {_told(fate.what, fate.bounce_class, fate.code, fate.status)}"


def kept_in_words(kept: StoredReturn) -> str:
    """What it means, behind its name: `there is no such mailbox (550 5.1.1)`, `a program has answered, back on …`."""
    said = _told(kept.what, kept.bounce_class, kept.code, kept.status)
    return f"{said}, back on {day_in_words(kept.until)}" if kept.until else said


def day_in_words(day: date) -> str:
    """`7 Dec 2026`."""
    return f"{day.day} {day:%b %Y}"


def return_in_words(what: str, detail: Mapping[str, Any]) -> str:
    """What a line of the history says behind its name."""
    until, recipient = detail.get("until"), detail.get("recipient")
    said = _told(what, detail.get("class"), detail.get("code"), detail.get("status"))
    away = f", away until {until}" if until else ""
    return f"{said}{away}{f' – recipient {recipient}' if recipient else ''}"


def _told(what: str, bounce_class: str | None, code: object, status: object) -> str:
    """What it means, and in brackets what the other end said."""
    meaning = _CLASSES.get(bounce_class or "") if what == Return.BOUNCED else None
    said = " ".join(str(part) for part in (code, status) if part)
    words = meaning or _MEANINGS.get(what, "")
    return f"{words} ({said})".strip() if said else words
