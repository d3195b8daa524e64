"""Book, move, cancel: the row and the email about it, together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from sqlite3 import Connection

from examples.booking import bookings, letters
from examples.booking.bookings import Booking
from postroom import Email, Outbox


class Desk:
    """Where tables are booked. `now`: try the mail server at once, while the guest is here."""

    def __init__(self, outbox: Outbox, *, now: bool = False) -> None:
        self._outbox = outbox
        self._now = now

    def open(self) -> None:
        """Have the tables, Postroom's and our own."""
        self._outbox.migrate()
        with self._outbox.transaction() as connection:
            connection.execute(bookings.TABLE)

    def book(self, *, guest: str, email: str, start: datetime) -> str:
        """Take a booking; what became of its email."""
        return self._do(
            lambda connection: bookings.add(connection, guest=guest, email=email, start=start), letters.confirmation
        )

    def move(self, number: int, *, start: datetime) -> str:
        """Move a booking to another time."""
        return self._do(
            lambda connection: bookings.change(connection, bookings.find(connection, number), start=start),
            letters.change_of_time,
        )

    def cancel(self, number: int) -> str:
        """Give the table free."""
        return self._do(
            lambda connection: bookings.change(connection, bookings.find(connection, number), cancelled=True),
            letters.cancellation,
        )

    def _do(self, change: Callable[[Connection], Booking], letter: Callable[[Booking], Email]) -> str:
        """Change the table of bookings and tell the guest."""
        with self._outbox.transaction() as connection:
            booking = change(connection)
            if not self._now:
                self._outbox.enqueue(letter(booking), key=letters.key(booking), kind="booking", connection=connection)
        return f"booking {booking.number}: {self._tell(booking, letter)}"

    def _tell(self, booking: Booking, letter: Callable[[Booking], Email]) -> str:
        if not self._now:
            return "committed with its email, which a worker will send"
        # After the commit, never inside it: an email that was sent cannot be rolled back.
        outcome = self._outbox.send(letter(booking), key=letters.key(booking), kind="booking")
        if outcome.sent:
            return "sent"
        return "a worker will send the email" if outcome.queued else f"the email was refused: {outcome.error}"
