"""A line of an email's story in plain words: what the bare name of the event leaves open. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from postroom.operate.returned import return_in_words
from postroom.operate.wording import clock_time
from postroom.store.contract import HistoryEntry


def in_words(entry: HistoryEntry, now: datetime) -> str:
    """What is to be said behind the name of an event; empty where the name says it all."""
    if "return" in entry.detail:
        return return_in_words(entry.what, entry.detail)
    match entry.what:
        case "rerouted" | "moved":
            return _with_reason(f"from {entry.detail.get('from', '?')} to {entry.detail.get('to', '?')}", entry.detail)
        case "deferred":
            return _with_reason(f"until {_moment(entry.detail.get('until'), now)}", entry.detail)
        case "replayed":
            return f"{', '.join(corrected)} corrected" if (corrected := entry.detail.get("corrected")) else ""
        case "cancelled" if adopted := entry.detail.get("adopted"):
            return f"this copy of {adopted.get('from') or 'an outbox'} was adopted as {adopted.get('by', '?')}"
        case _ if entry.detail.get("settled_from") == "journal":
            return "the database had forgotten it, the journal knew"
        case _:
            return ""


def listed(detail: Mapping[str, Any]) -> str:
    """What was noted with an event, as people write it: names before values, and no brackets of any language."""
    noted = (f"{name.replace('_', ' ')} {_plainly(value)}" for name, value in detail.items() if value not in _NOTHING)
    return ", ".join(noted)


_NOTHING: tuple[Any, ...] = (None, [], {}, "")


def _plainly(value: object) -> str:
    match value:
        case Mapping():
            return "; ".join(f"{name} {_plainly(each)}" for name, each in value.items() if each not in _NOTHING)
        case list() | tuple():
            return ", ".join(_plainly(each) for each in value)
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


def _with_reason(said: str, detail: Mapping[str, Any]) -> str:
    reason = detail.get("reason")
    return f"{said}: {reason}" if reason else said


def _moment(text: object, now: datetime) -> str:
    """An instant as it was written down; what cannot be read is shown as it is."""
    try:
        return clock_time(datetime.fromisoformat(str(text)).astimezone(UTC), now)
    except ValueError:
        return str(text)
