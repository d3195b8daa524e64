"""The table of bookings: an ordinary table of the application, in the database where emails wait too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Vienna")
"""Where the restaurant is: times are kept and shown by its clock."""

TABLE = """
CREATE TABLE IF NOT EXISTS bookings (
    number    INTEGER PRIMARY KEY,
    guest     TEXT NOT NULL,
    email     TEXT NOT NULL,
    start     TEXT NOT NULL,
    sequence  INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """One table for one evening."""

    number: int
    guest: str
    email: str
    start: datetime
    sequence: int = 0
    """How often the guest was told of a change; calendars go by it."""
    cancelled: bool = False


class NoSuchBookingError(Exception):
    """There is no booking of this number, or it was cancelled."""


def add(connection: Connection, *, guest: str, email: str, start: datetime) -> Booking:
    cursor = connection.execute(
        "INSERT INTO bookings (guest, email, start) VALUES (?, ?, ?)", (guest, email, _written(start))
    )
    assert cursor.lastrowid is not None
    return find(connection, cursor.lastrowid)


def change(
    connection: Connection, booking: Booking, *, start: datetime | None = None, cancelled: bool = False
) -> Booking:
    """Move or cancel a booking; each change is the next in its sequence."""
    connection.execute(
        "UPDATE bookings SET start = ?, cancelled = ?, sequence = sequence + 1 WHERE number = ?",
        (_written(start or booking.start), cancelled, booking.number),
    )
    return _read(connection, booking.number)


def find(connection: Connection, number: int) -> Booking:
    """The booking, provided that it stands."""
    booking = _read(connection, number)
    if booking.cancelled:
        raise NoSuchBookingError(f"booking {number} was cancelled")
    return booking


def _read(connection: Connection, number: int) -> Booking:
    query = "SELECT number, guest, email, start, sequence, cancelled FROM bookings WHERE number = ?"
    row = connection.execute(query, (number,)).fetchone()
    if row is None:
        raise NoSuchBookingError(f"there is no booking {number}")
    number, guest, email, start, sequence, cancelled = row
    return Booking(
        number=number,
        guest=guest,
        email=email,
        start=datetime.fromisoformat(start).replace(tzinfo=ZONE),
        sequence=sequence,
        cancelled=bool(cancelled),
    )


def _written(start: datetime) -> str:
    return start.astimezone(ZONE).replace(tzinfo=None).isoformat()
