"""What a guest is told: from a booking to an email, without a database or a mail server in sight.

There is one letter for each event, whether it is sent at once or committed for a worker, so the two cannot differ.
"""

from __future__ import annotations

from datetime import timedelta
from html import escape

from examples.booking.bookings import Booking
from postroom import Email, Invite

STAY = timedelta(hours=2)


def confirmation(booking: Booking) -> Email:
    """The table is booked: calendars are asked to note it."""
    return _letter(booking, "Your table is booked", "your table is booked for {when}.", invite(booking))


def change_of_time(booking: Booking) -> Email:
    """The table is booked for another time: calendars move what they have."""
    return _letter(booking, "Your table was moved", "your table is now booked for {when}.", invite(booking))


def cancellation(booking: Booking) -> Email:
    """The table is free again: calendars strike out what they have."""
    words = "your booking for {when} is cancelled. We hope to see you another time."
    return _letter(booking, "Your booking is cancelled", words, invite(booking))


def invite(booking: Booking) -> Invite:
    """The appointment. Its UID is the booking's for ever; the sequence tells calendars which version is the newest."""
    return Invite(
        uid=f"booking-{booking.number}@hillhouse.example",
        start=booking.start,
        end=booking.start + STAY,
        summary="Dinner at Hill House",
        location="Hill House, by the window",
        sequence=booking.sequence,
        method="CANCEL" if booking.cancelled else "REQUEST",
    )


def key(booking: Booking) -> str:
    """Names the event, so that telling it twice sends it once."""
    return f"booking-{booking.number}:{booking.sequence}"


def _letter(booking: Booking, subject: str, words: str, appointment: Invite) -> Email:
    said = words.format(when=f"{booking.start:%A, %d %B %Y at %H:%M}")
    return Email(
        sender="Hill House <desk@hillhouse.example>",
        to=(booking.guest, booking.email),
        subject=subject,
        text=f"Dear {booking.guest},\n\n{said}\n\nHill House\n",
        html=f"<p>Dear {escape(booking.guest)},</p><p>{escape(said)}</p><p>Hill House</p>",
        invite=appointment,
        tags=["booking", f"booking-{booking.number}"],
    )
