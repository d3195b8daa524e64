"""What the history keeps of an attempt: everything that was said, ready for JSON, and no address."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from postroom.send.contract import Phase, Reply, Report
from postroom.settle.attempt import Attempted, Outcome, RecipientStatus
from postroom.settle.classification import Classification, Heard
from postroom.settle.verdict import Fate
from postroom.settle.wording import without_addresses
from postroom.vocabulary import Status

MANY = 50
"""Recipients of an email up to which the history keeps what each of them was told."""

KEPT = 200
"""Of more than that, how many of those who were not accepted …"""

LONGEST = 200
"""… and letters of what was said to one of them."""


def event(email: Attempted, report: Report, meaning: Classification, outcome: Outcome) -> dict[str, Any]:
    """The attempt as one entry of the email's history. Empty fields are left out."""
    entry: dict[str, Any] = {"outcome": outcome.status.value, "attempt": outcome.attempts}
    if email.inline:
        entry["inline"] = True
    if outcome.attempts == email.attempts and not email.inline:
        entry["counted"] = False
    if second_copy_possible(email, report):
        entry["possible_second_copy"] = True
    if outcome.dead_reason is not None:
        entry["dead_reason"] = outcome.dead_reason.value
    if len(meaning.recipients) > 1 or meaning.about is not None:
        entry["recipients"] = tally(meaning)
    if not _said_to_all(email, meaning):
        entry["results"] = results(email, meaning)
    _add_milliseconds(entry, report)
    return entry | _said(meaning)


def event_of_acceptance(email: Attempted, report: Report, reply: Reply) -> dict[str, Any]:
    """The same entry, written directly, when the server took the email for all."""
    entry: dict[str, Any] = {"outcome": Status.SENT.value, "attempt": email.attempts + (not email.inline)}
    if email.inline:
        entry["inline"] = True
    if second_copy_possible(email, report):
        entry["possible_second_copy"] = True
    if len(report.recipients) > 1:
        entry["recipients"] = {Fate.ACCEPTED.value: len(report.recipients)}
    _add_milliseconds(entry, report)
    _add_reply(entry, reply)
    return entry


def reply_in(entry: Mapping[str, Any]) -> Reply | None:
    """The reply that an entry tells of, without the addresses it may have named; None where no reply ended it."""
    phase, code = entry.get("phase"), entry.get("code")
    if phase is None or code is None:
        return None
    return Reply(phase=Phase(phase), code=code, text=entry.get("text", ""), enhanced=entry.get("enhanced"))


def second_copy_possible(email: Attempted, report: Report) -> bool:
    """An earlier dot may have delivered it, and another has left now."""
    return email.status is Status.IN_DOUBT and report.dot_left


def tally(meaning: Classification) -> dict[str, int]:
    """How many recipients met which fate."""
    counts = {fate.value: sum(heard.fate is fate for heard in meaning.recipients) for fate in Fate}
    return {fate: count for fate, count in counts.items() if count}


def results(email: Attempted, meaning: Classification) -> list[list[Any] | None] | dict[str, list[Any]]:
    """What each recipient was told: fate and, where something was said, code, enhanced code and text.

    In the order of the email's recipients, with None for those who were not in the envelope. Of an email to many, only
    those who were not accepted, by their place.
    """
    news = iter(meaning.recipients)
    heard = [next(news) if state.status is RecipientStatus.OPEN else None for state in email.recipients]
    if len(heard) <= MANY:
        return [None if one is None else _result(one) for one in heard]
    told = ((place, one) for place, one in enumerate(heard) if one is not None and one.fate is not Fate.ACCEPTED)
    return {str(place): _result(one) for place, one in islice(told, KEPT)}


def _said_to_all(email: Attempted, meaning: Classification) -> bool:
    """Everybody was in the envelope and met the same fate by the same words: the entry itself tells it."""
    heard = set(meaning.recipients)
    everybody = len(meaning.recipients) == len(email.recipients)
    return everybody and len(heard) == 1 and heard.pop().reply in (None, meaning.cause)


def _result(heard: Heard) -> list[Any]:
    reply = heard.reply
    if reply is None:
        return [heard.fate.value]
    return [heard.fate.value, reply.code, reply.enhanced, without_addresses(reply.text)[:LONGEST]]


def _said(meaning: Classification) -> dict[str, Any]:
    cause = meaning.cause
    said: dict[str, Any] = {}
    if meaning.about is not None:
        said["about"] = meaning.about.value
    if cause is None:
        return said
    if isinstance(cause, Reply):
        _add_reply(said, cause)
        return said
    said |= {"phase": cause.phase.value, "fault": cause.kind.value, "text": without_addresses(cause.text)}
    return said | ({"enhanced": cause.enhanced} if cause.enhanced else {})


def _add_reply(entry: dict[str, Any], reply: Reply) -> None:
    entry["phase"] = reply.phase.value
    entry["code"] = reply.code
    if reply.enhanced:
        entry["enhanced"] = reply.enhanced
    entry["text"] = without_addresses(reply.text)


def _add_milliseconds(entry: dict[str, Any], report: Report) -> None:
    if report.milliseconds:
        entry["milliseconds"] = {phase: round(spent, 1) for phase, spent in report.milliseconds.items()}
