"""The appointment in a calendar invite, as a card shows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

_LARGEST = 1_000_000
"""Octets of a calendar object that is looked into; invites are small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """The first event of a calendar object."""

    method: str
    """`REQUEST`, `CANCEL`, `REPLY`, …"""
    summary: str
    start: str
    end: str
    location: str
    description: str
    organizer: str
    attendees: tuple[str, ...]
    uid: str
    sequence: str


def read_invitation(ics: bytes) -> Invitation | None:
    """The appointment, or None where there is none that can be understood."""
    from icalendar import Calendar  # large, and most mail carries no invite

    try:
        calendar: Any = Calendar.from_ical(ics[:_LARGEST])
        event = next(iter(calendar.walk("VEVENT")), None)
        return None if event is None else _read(str(calendar.get("method", "")), event)
    except Exception:  # noqa: BLE001 -- a calendar object from anywhere; icalendar raises all kinds of things
        return None


def _read(method: str, event: Any) -> Invitation:
    attendees = event.get("attendee", [])
    return Invitation(
        method=method.upper(),
        summary=str(event.get("summary", "")),
        start=_moment(event.get("dtstart")),
        end=_moment(event.get("dtend")),
        location=str(event.get("location", "")),
        description=str(event.get("description", "")),
        organizer=_person(event["organizer"]) if "organizer" in event else "",
        attendees=tuple(_person(each) for each in (attendees if isinstance(attendees, list) else [attendees])),
        uid=str(event.get("uid", "")),
        sequence=str(event.get("sequence", "0")),
    )


def _moment(value: Any) -> str:
    """With its zone, as the calendar says it; a date alone for whole days."""
    moment = getattr(value, "dt", None)
    if isinstance(moment, datetime):
        zone = getattr(moment.tzinfo, "key", None) or moment.tzname() or "local time"
        return f"{moment:%A, %d %B %Y, %H:%M} ({zone})"
    return f"{moment:%A, %d %B %Y}" if isinstance(moment, date) else ""


def _person(value: Any) -> str:
    address = str(value).removeprefix("mailto:").removeprefix("MAILTO:")
    name = str(value.params.get("CN", ""))
    return f"{name} <{address}>" if name and name != address else address
