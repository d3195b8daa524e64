"""A small hotel writes to its guests, and its mail server goes away for a while.

Each scene does something to an outbox and says in a line or two what came of it. The story ends well when every email
has arrived exactly once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from postroom.compose import Email, Invite
from postroom.outbox import Outbox
from postroom.settle.policy import RetryPolicy
from postroom.store.contract import StoredEmail

SENDER = "Hill House <desk@hillhouse.example>"

IMPATIENT = RetryPolicy(name="impatient", steps=["1s", "1s", "2s", "3s", "5s"], max_attempts=20)
"""Retries that somebody can watch."""

PATIENCE = 60.0
"""Seconds that a mailing may take after the server is back, on the slowest machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """What came of the story."""

    enqueued: int
    arrived: int
    missing: int
    twice: int

    @property
    def well(self) -> bool:
        """Every email arrived, and none of them twice."""
        return not self.missing and not self.twice and self.arrived == self.enqueued


class MailServer(Protocol):
    """The guests' mail server: it can go away, come back, and say what it was given."""

    def stop(self) -> object: ...
    def start(self) -> object: ...
    def copies_of_all(self) -> Counter[str]: ...


class Story:
    """The scenes, in order. A worker is expected to be at work."""

    def __init__(self, outbox: Outbox, server: MailServer) -> None:
        self.outbox = outbox
        self.server = server
        self._started = datetime.now(UTC)
        self._sent_before = outbox.counts()["sent"]

    def fair_weather(self) -> Iterator[str]:
        """The server is well."""
        yield self.book("Ada")
        yield self.change_of_mind()
        yield from self.memo()
        sending = self.outbox.send(_welcome("katherine@example.org"))
        yield f"a welcome was sent inline, while the guest waited: {_fate(sending.sent)}"

    def outage(self) -> Iterator[str]:
        """The server goes away, and business goes on."""
        self.server.stop()
        yield "the mail server stops"
        sendings = [self.outbox.send(_welcome(f"guest{n}@example.org"), policy="impatient") for n in range(1, 6)]
        kept = sum(sending.queued for sending in sendings)
        yield f"5 more welcomes: {kept} could not be sent inline and fell back to the outbox; nobody saw an error"
        yield self.book("Grace")
        yield self.newsletter()
        yield self.reminder()
        self._wait(lambda: bool(self.trouble()), seconds=10)
        if found := self.trouble():
            yield found

    def recovery(self, progress: Callable[[int, int], None]) -> Iterator[str]:
        """The server returns, and everything arrives."""
        self.server.start()
        yield "the mail server is back"
        expected = len(list(self._emails()))
        self._wait(lambda: self._all_sent(progress, expected), seconds=PATIENCE)

    def arrivals(self) -> Arrivals:
        """Counted at the receiving end, by Message-ID."""
        copies = self.server.copies_of_all()
        emails = list(self._emails())
        return Arrivals(
            enqueued=len(emails),
            arrived=sum(copies[email.message_id] > 0 for email in emails),
            missing=sum(copies[email.message_id] == 0 for email in emails),
            twice=sum(copies[email.message_id] > 1 for email in emails),
        )

    def book(self, guest: str) -> str:
        """A booking and its email, with an invite, in one transaction."""
        start = (self._started + timedelta(days=7)).replace(hour=18, minute=0, second=0, microsecond=0)
        table = Invite(
            uid=f"booking-{guest.lower()}-{self._started:%Y%m%d%H%M%S}@hillhouse.example",
            start=start,
            end=start + timedelta(hours=2),
            summary="Dinner at Hill House",
            location="Hill House, by the window",
        )
        with self.outbox.transaction() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS bookings (guest text)")
            connection.execute("INSERT INTO bookings (guest) VALUES (?)", (guest,))
            self.outbox.enqueue(
                Email(
                    to=f"{guest} <{guest.lower()}@example.org>",
                    subject="Your table is booked",
                    text=f"Dear {guest},\n\nsee you next week, by the window.\n",
                    html=f"<p>Dear {guest},</p><p>see you next week, <b>by the window</b>.</p>",
                    invite=table,
                    tags="booking",
                ),
                kind="booking",
                policy="impatient",
                connection=connection,
            )
        return f"a booking for {guest} and its confirmation, with a calendar invite, were committed together"

    def welcome(self, guest: str) -> str:
        """An email sent while somebody waits, or kept if it cannot be."""
        sending = self.outbox.send(_welcome(f"{guest.lower()}@example.org"), kind="welcome", policy="impatient")
        return f"a welcome to {guest}: {_fate(sending.sent)}"

    def change_of_mind(self) -> str:
        """A booking that is rolled back takes its email along."""
        try:
            with self.outbox.transaction() as connection:
                connection.execute("INSERT INTO bookings (guest) VALUES ('Charles')")
                self.outbox.enqueue(_welcome("charles@example.org"), connection=connection)
                raise _CardDeclinedError
        except _CardDeclinedError:
            return "a booking whose card was declined was rolled back, and its confirmation with it"

    def memo(self) -> Iterator[str]:
        """Under a key, the same memo is in the outbox once, however often the application says it."""
        to = ["grace@example.org", "ada@example.org"]
        email = Email(to=to, subject="Kitchen closes at ten", text="As of Monday.")
        key = f"memo-7:{self._started:%Y%m%d%H%M%S}"
        self.outbox.enqueue(email, key=key, kind="memo", priority="urgent", policy="impatient")
        yield f"a memo went in under the key {key}"
        second = self.outbox.enqueue(email, key=key, kind="memo", priority="urgent")
        yield f"the same memo again was {'recognised as a duplicate' if second.duplicate else 'added'}"

    def newsletter(self) -> str:
        """Many emails at once, in the lane that lets everything else pass."""
        guests = [f"{name}@example.org" for name in ("ada", "grace", "katherine", "hedy", "mary", "dorothy")]
        count = self.outbox.enqueue_many(
            (
                Email(
                    to=guest,
                    subject="🌷 Spring at Hill House",
                    html="<h1>Spring is here</h1><p>Three nights for the price of two.</p>",
                    headers={"List-Unsubscribe": "<mailto:leave@hillhouse.example>"},
                    tags=("newsletter", "spring"),
                )
                for guest in guests
            ),
            kind="newsletter",
            priority="bulk",
            policy="impatient",
        )
        return f"a newsletter to {count} guests waits in the bulk lane, each with a text derived from the HTML"

    def reminder(self) -> str:
        """An email for later."""
        self.outbox.enqueue(
            Email(to="ada@example.org", subject="Dinner at Hill House", text="We look forward to seeing you."),
            kind="reminder",
            policy="impatient",
            not_before=datetime.now(UTC) + timedelta(seconds=2),
            expires_at=datetime.now(UTC) + timedelta(days=7),
        )
        return "a reminder is scheduled for two seconds from now"

    def trouble(self) -> str | None:
        """Why emails wait, in the words of one of them."""
        for email in self._emails():
            if email.attempts and email.last_error:
                waiting = sum(each.sent_at is None for each in self._emails())
                return f"{waiting} emails wait; one of them says: {email.last_error}"
        return None

    def _all_sent(self, progress: Callable[[int, int], None], expected: int) -> bool:
        sent = self.outbox.counts()["sent"] - self._sent_before
        progress(sent, expected)
        return sent >= expected

    def _emails(self) -> Iterator[StoredEmail]:
        """Those of this story, should the outbox have seen others."""
        before: str | None = None
        while True:
            page = self.outbox.list(limit=500, before=before, since=self._started)
            yield from page.emails
            if page.next is None:
                return
            before = page.next

    @staticmethod
    def _wait(condition: Callable[[], bool], *, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.1)


def _welcome(guest: str) -> Email:
    return Email(to=guest, subject="Welcome to Hill House", text="Breakfast is from seven to ten.")


def _fate(sent: bool) -> str:
    return "it has arrived" if sent else "it waits in the outbox"


class _CardDeclinedError(Exception):
    """The application's own reason to roll back."""
