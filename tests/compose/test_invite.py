"""Invites that calendars accept, change and take back (A9), read by icalendar and, for the clock, by zoneinfo."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.compose import Address, Email, Invite
from postroom.errors import InvalidEmail
from tests.compose.strategies import DATE, SENDER, composed

BERLIN = ZoneInfo("Europe/Berlin")
ADA = Address("Ada Lovelace", "ada@example.org")
STAMP = datetime(2026, 5, 1, 12, 30, 15, 999, tzinfo=timezone(timedelta(hours=2)))


def invite(**changes: Any) -> Invite:
    fields: dict[str, Any] = {
        "uid": "booking-7@example.org",
        "start": datetime(2026, 7, 1, 9, tzinfo=BERLIN),
        "end": datetime(2026, 7, 1, 10, tzinfo=BERLIN),
        "summary": "Booking",
        "organizer": SENDER,
        "attendees": [ADA],
    }
    return Invite(**(fields | changes))


def calendar_of(ics: bytes | str) -> icalendar.Calendar:
    return icalendar.Calendar.from_ical(ics)


def event_of(ics: bytes | str) -> Any:
    (event,) = calendar_of(ics).walk("VEVENT")
    return event


def test_a_request_says_everything_a_calendar_needs() -> None:
    ics = invite(description="Bring\nshoes", location="Room 7", url="https://example.org/7").ics(STAMP)
    calendar, event = calendar_of(ics), event_of(ics)

    assert (calendar["METHOD"], calendar["VERSION"], calendar["CALSCALE"]) == ("REQUEST", "2.0", "GREGORIAN")
    assert (event["UID"], event["SEQUENCE"], event["STATUS"]) == ("booking-7@example.org", 0, "CONFIRMED")
    assert event["DTSTAMP"].dt == datetime(2026, 5, 1, 10, 30, 15, tzinfo=UTC)
    assert event["DTSTART"].dt == datetime(2026, 7, 1, 9, tzinfo=BERLIN)
    assert event["DTEND"].dt == datetime(2026, 7, 1, 10, tzinfo=BERLIN)
    assert (event["SUMMARY"], event["DESCRIPTION"], event["LOCATION"]) == ("Booking", "Bring\nshoes", "Room 7")
    assert event["URL"] == "https://example.org/7"
    assert event["ORGANIZER"] == "mailto:postroom@example.org"
    assert event["ATTENDEE"] == "mailto:ada@example.org"
    assert dict(event["ATTENDEE"].params) == {
        "CN": "Ada Lovelace",
        "PARTSTAT": "NEEDS-ACTION",
        "ROLE": "REQ-PARTICIPANT",
        "RSVP": "TRUE",
    }


def test_an_update_keeps_the_uid_and_raises_the_sequence() -> None:
    later = invite().updated(start=datetime(2026, 7, 1, 9, 30, tzinfo=BERLIN)).updated(location="Room 8")
    event = event_of(later.ics(STAMP))

    assert (event["UID"], event["SEQUENCE"]) == ("booking-7@example.org", 2)
    assert event["DTSTART"].dt == datetime(2026, 7, 1, 9, 30, tzinfo=BERLIN)
    assert event["LOCATION"] == "Room 8"
    assert calendar_of(later.ics(STAMP))["METHOD"] == "REQUEST"


def test_a_cancellation_takes_the_same_appointment_back() -> None:
    cancelled = invite().updated(location="Room 8").cancelled().ics(STAMP)
    event = event_of(cancelled)

    assert calendar_of(cancelled)["METHOD"] == "CANCEL"
    assert (event["UID"], event["SEQUENCE"], event["STATUS"]) == ("booking-7@example.org", 2, "CANCELLED")


@pytest.mark.parametrize("field", ["uid", "sequence", "method"])
def test_an_update_cannot_become_another_appointment(field: str) -> None:
    with pytest.raises(InvalidEmail) as refusal:
        invite().updated(**{field: "x"})

    assert refusal.value.field == f"invite.{field}"


HOSTILE = "a;b,c\\d\\n \"q\" 'x' BEGIN:VEVENT"


def test_text_is_escaped_and_comes_back_whole() -> None:
    ics = invite(summary=HOSTILE, location=HOSTILE, description=HOSTILE + "\r\nEND:VCALENDAR\rX: y\n").ics(STAMP)
    event = event_of(ics)

    assert (event["SUMMARY"], event["LOCATION"]) == (HOSTILE, HOSTILE)
    assert event["DESCRIPTION"] == HOSTILE + "\nEND:VCALENDAR\nX: y\n"
    assert b"SUMMARY:a\\;b\\,c\\\\d\\\\n" in ics
    assert ics.count(b"\r\nBEGIN:VEVENT") == 1


def test_a_hostile_name_stays_inside_its_parameter() -> None:
    name = 'Ada";ROLE=CHAIR:mailto:evil@example.org,^n'
    event = event_of(invite(attendees=[Address(name, "ada@example.org")]).ics(STAMP))

    assert event["ATTENDEE"] == "mailto:ada@example.org"
    assert event["ATTENDEE"].params["CN"] == name
    assert event["ATTENDEE"].params["ROLE"] == "REQ-PARTICIPANT"


@given(summary=st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="?"), min_size=1, max_size=200))
def test_lines_are_folded_within_75_octets(summary: str) -> None:
    ics = invite(summary=summary).ics(STAMP)

    assert max(map(len, ics.split(b"\r\n"))) <= 75
    assert ics.endswith(b"END:VCALENDAR\r\n")
    assert event_of(ics)["SUMMARY"] == summary


def test_the_same_invite_is_the_same_octets_each_time() -> None:
    assert invite().ics(STAMP) == invite().ics(STAMP)


@pytest.mark.parametrize(
    "zone",
    ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca", "Europe/Dublin"],
)
@given(moment=st.datetimes(datetime(2025, 1, 2), datetime(2026, 12, 30)))  # noqa: DTZ001
def test_the_vtimezone_tells_the_clock_as_it_runs(zone: str, moment: datetime) -> None:
    """Read by the rules of RFC 5545: of all onsets before a moment, the latest decides the offset."""
    key = ZoneInfo(zone)
    start = datetime(2025, 6, 1, tzinfo=key)
    ics = invite(start=start, end=datetime(2026, 6, 1, tzinfo=key)).ics(STAMP)
    (component,) = calendar_of(ics).walk("VTIMEZONE")
    moment_utc = moment.replace(tzinfo=UTC, microsecond=0)

    assert component["TZID"] == zone
    assert _offset_told(component, moment_utc) == moment_utc.astimezone(key).utcoffset()


def _offset_told(component: Any, moment: datetime) -> timedelta:
    onsets: list[tuple[datetime, timedelta]] = []
    for observance in component.subcomponents:
        before = observance["TZOFFSETFROM"].td
        dates = observance.get("RDATE", [])
        dates = dates if isinstance(dates, list) else [dates]
        local = [observance["DTSTART"].dt, *(each.dt for group in dates for each in group.dts)]
        onsets += [((each.replace(tzinfo=UTC) - before), observance["TZOFFSETTO"].td) for each in local]
    return max(onset for onset in onsets if onset[0] <= moment)[1]


def test_daylight_saving_begins_by_the_clock_that_was_still_running() -> None:
    ics = invite().ics(STAMP).decode()

    assert "BEGIN:DAYLIGHT\r\nDTSTART:20250330T020000\r\n" in ics
    assert "BEGIN:STANDARD\r\nDTSTART:20251026T030000\r\n" in ics


@pytest.mark.parametrize("zone", [UTC, ZoneInfo("UTC"), timezone(timedelta(hours=2))])
def test_a_time_without_a_named_zone_is_written_in_utc(zone: Any) -> None:
    ics = invite(start=datetime(2026, 7, 1, 9, tzinfo=zone), end=datetime(2026, 7, 1, 10, tzinfo=zone)).ics(STAMP)

    assert calendar_of(ics).walk("VTIMEZONE") == []
    assert event_of(ics)["DTSTART"].dt == datetime(2026, 7, 1, 9, tzinfo=zone)
    assert b"Z\r\n" in ics.split(b"DTSTART:")[1][:20]


def test_start_and_end_may_be_in_different_zones() -> None:
    ics = invite(end=datetime(2026, 7, 1, 18, tzinfo=ZoneInfo("Asia/Tokyo"))).ics(STAMP)

    assert [str(zone["TZID"]) for zone in calendar_of(ics).walk("VTIMEZONE")] == ["Europe/Berlin", "Asia/Tokyo"]


def test_an_invite_that_names_nobody_is_from_the_sender_to_the_recipients() -> None:
    letter = composed(Email(to=[ADA, "bob@example.org"], invite=invite(organizer=None, attendees=None)))
    assert letter.calendar is not None
    event = event_of(letter.calendar.ics)

    assert event["ORGANIZER"] == "mailto:postroom@example.org"
    assert event["ATTENDEE"] == ["mailto:ada@example.org", "mailto:bob@example.org"]
    assert event["DTSTAMP"].dt == DATE.replace(microsecond=0)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"uid": ""}, "uid"),
        ({"uid": "a\r\nb"}, "uid"),
        ({"summary": " "}, "summary"),
        ({"summary": "a\nb"}, "summary"),
        ({"summary": 7}, "summary"),
        ({"location": "a\0b"}, "location"),
        ({"url": "a\nb"}, "url"),
        ({"description": "a\0b"}, "description"),
        ({"description": "a\x1bb"}, "description"),
        ({"description": "a\ud800b"}, "description"),
        ({"start": datetime(2026, 7, 1, 9)}, "start"),  # noqa: DTZ001
        ({"end": "2026-07-01"}, "end"),
        ({"end": datetime(2026, 7, 1, 9, tzinfo=BERLIN)}, "end"),
        ({"organizer": "nobody"}, "organizer"),
        ({"attendees": ["nobody"]}, "attendees"),
        ({"sequence": -1}, "sequence"),
        ({"method": "PUBLISH"}, "method"),
    ],
)
def test_a_mistake_in_an_invite_is_refused_under_its_name(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidEmail) as refusal:
        invite(**changes)

    assert refusal.value.field == f"invite.{field}"
    assert refusal.value.remedy
