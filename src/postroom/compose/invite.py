"""A calendar invite: asked, changed and taken back under one UID, so that calendars keep a single entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from zoneinfo import ZoneInfo

from postroom.compose.address import Address, AddressesLike, AddressLike, parse_address, parse_addresses
from postroom.compose.safety import check_body, check_is_text, check_value
from postroom.errors import InvalidEmail

if TYPE_CHECKING:
    from icalendar import Component, Event, vCalAddress

Method: TypeAlias = Literal["REQUEST", "CANCEL"]
_FIXED = frozenset(("uid", "sequence", "method"))


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Invite:
    """One appointment, checked when made.

    A later version of it is `invite.updated(start=…)`, its end `invite.cancelled()`: same UID, next SEQUENCE.
    """

    uid: str
    """Names the appointment for ever; derive it from the booking, not from the email."""
    start: datetime
    """Aware. In a `ZoneInfo` zone the invite carries that zone's rules; any other time is written in UTC."""
    end: datetime
    summary: str
    description: str
    location: str
    url: str
    organizer: Address | None
    """None for the email's sender."""
    attendees: tuple[Address, ...]
    """Empty for the email's `to`."""
    sequence: int
    method: Method

    def __init__(
        self,
        *,
        uid: str,
        start: datetime,
        end: datetime,
        summary: str,
        description: str = "",
        location: str = "",
        url: str = "",
        organizer: AddressLike | None = None,
        attendees: AddressesLike | None = None,
        sequence: int = 0,
        method: Method = "REQUEST",
    ) -> None:
        keep = object.__setattr__
        keep(self, "uid", _checked_line("uid", uid, required=True))
        keep(self, "start", _checked_time("start", start))
        keep(self, "end", _checked_time("end", end))
        keep(self, "summary", _checked_line("summary", summary, required=True))
        keep(self, "description", _checked_description(description))
        keep(self, "location", _checked_line("location", location))
        keep(self, "url", _checked_line("url", url))
        keep(self, "organizer", None if organizer is None else parse_address("invite.organizer", organizer))
        keep(self, "attendees", parse_addresses("invite.attendees", attendees))
        keep(self, "sequence", sequence)
        keep(self, "method", method)
        _check_whole(self)

    def updated(self, **changes: Any) -> Invite:
        """The next version of the same appointment."""
        if fixed := _FIXED & changes.keys():
            raise InvalidEmail(f"invite.{min(fixed)}", "stays as it is in an update", "make a new Invite for another")
        return replace(self, sequence=self.sequence + 1, **changes)

    def cancelled(self) -> Invite:
        """The same appointment, taken back."""
        return replace(self, sequence=self.sequence + 1, method="CANCEL")

    def addressed(self, *, organizer: Address, attendees: tuple[Address, ...]) -> Invite:
        """Filled in from the email it travels with, where it names nobody itself."""
        return replace(self, organizer=self.organizer or organizer, attendees=self.attendees or attendees)

    def ics(self, stamp: datetime) -> bytes:
        """The iCalendar object (RFC 5545, RFC 5546): the same octets for the same invite and stamp."""
        # Imported when first needed: most emails carry no invite, and icalendar is large.
        from icalendar import Calendar

        calendar = Calendar()
        calendar.add("prodid", "-//Postroom//Postroom//EN")
        calendar.add("version", "2.0")
        calendar.add("calscale", "GREGORIAN")
        calendar.add("method", self.method)
        for component in _timezones(self):
            calendar.add_component(component)
        calendar.add_component(_event(self, stamp))
        return bytes(calendar.to_ical())


def with_attendees(ics: str, *, old: tuple[Address, ...], new: tuple[Address, ...]) -> str:
    """A calendar object that invites `new` where it invited `old`; as it was when it names other people anyway."""
    from icalendar import Calendar

    calendar = Calendar.from_ical(ics)
    for event in calendar.walk("VEVENT"):
        named = event.get("attendee", [])
        named = named if isinstance(named, list) else [named]
        if {str(each) for each in named} == {f"mailto:{each.address}" for each in old}:
            event.pop("attendee", None)
            _add_attendees(event, new)
    return bytes(calendar.to_ical()).decode()


def _event(invite: Invite, stamp: datetime) -> Event:
    from icalendar import Event

    event = Event()
    event.add("uid", invite.uid)
    event.add("dtstamp", stamp.astimezone(UTC).replace(microsecond=0))
    event.add("sequence", invite.sequence)
    event.add("dtstart", _calendar_time(invite.start))
    event.add("dtend", _calendar_time(invite.end))
    for name in ("summary", "description", "location", "url"):
        if value := getattr(invite, name):
            event.add(name, value)
    event.add("status", "CANCELLED" if invite.method == "CANCEL" else "CONFIRMED")
    event.add("transp", "OPAQUE")
    if invite.organizer:
        event.add("organizer", _person(invite.organizer))
    _add_attendees(event, invite.attendees)
    return event


def _add_attendees(event: Component, attendees: tuple[Address, ...]) -> None:
    for attendee in attendees:
        event.add("attendee", _person(attendee, role="REQ-PARTICIPANT", partstat="NEEDS-ACTION", rsvp="TRUE"))


def _person(address: Address, **parameters: str) -> vCalAddress:
    from icalendar import vCalAddress

    person = vCalAddress(f"mailto:{address.address}")
    person.params["CN"] = address.name or address.address
    for name, value in parameters.items():
        person.params[name.upper()] = value
    return person


def _timezones(invite: Invite) -> Iterator[Any]:
    from postroom.compose.timezone import timezone_component

    moments = (_calendar_time(invite.start), _calendar_time(invite.end))
    keys = dict.fromkeys(moment.tzinfo.key for moment in moments if isinstance(moment.tzinfo, ZoneInfo))
    for key in keys:
        yield timezone_component(key, invite.start.year - 1, invite.end.year + 1)


def _calendar_time(moment: datetime) -> datetime:
    """In its own zone if that has a name a calendar can know, else in UTC. Calendars count whole seconds."""
    moment = moment.replace(microsecond=0)
    zone = moment.tzinfo
    if isinstance(zone, ZoneInfo) and zone.key and zone.key not in ("UTC", "Etc/UTC"):
        return moment
    return moment.astimezone(UTC)


def _check_whole(invite: Invite) -> None:
    if invite.end <= invite.start:
        raise InvalidEmail("invite.end", "is not after the start", "give the time at which the appointment is over")
    if invite.method not in ("REQUEST", "CANCEL"):
        raise InvalidEmail("invite.method", f"{invite.method!r} is unknown", "use REQUEST or CANCEL")
    if invite.sequence < 0:
        raise InvalidEmail("invite.sequence", f"{invite.sequence!r} is no sequence number", "count from 0")


def _checked_time(name: str, moment: object) -> datetime:
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise InvalidEmail(
            f"invite.{name}", "is not an aware datetime", "give it a tzinfo, such as ZoneInfo('Europe/Berlin')"
        )
    return moment


def _checked_line(name: str, value: str, *, required: bool = False) -> str:
    field = f"invite.{name}"
    check_is_text(field, value)
    if required and not value.strip():
        raise InvalidEmail(field, "is empty", "give it a line of text")
    check_value(field, value)
    return value


def _checked_description(description: str) -> str:
    check_body("invite.description", description)
    lines = description.replace("\r\n", "\n").replace("\r", "\n")
    for line in lines.split("\n"):
        # Tabs are as harmless as spaces here; other control characters have no place in a calendar.
        check_value("invite.description", line.replace("\t", " "))
    return lines
