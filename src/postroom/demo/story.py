"""A small hotel writes to its guests, and its mail server goes away for a while: once it is waited for, once covered.

Each scene does something to an outbox and says in a line or two what came of it. The story ends well when every email
has arrived exactly once, over all mail servers together.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from postroom.compose import Email, Invite
from postroom.operate.service import Operations
from postroom.operate.story import in_words
from postroom.outbox import Outbox
from postroom.settle.policy import RetryPolicy
from postroom.store.contract import StoredEmail
from postroom.vocabulary import DEFAULT_ROUTE
from postroom.work.breaker import BreakerState

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
    by_backup: int
    """How many of them left by the backup."""

    @property
    def well(self) -> bool:
        """Every email arrived, and none of them twice."""
        return not self.missing and not self.twice and self.arrived == self.enqueued


class MailServer(Protocol):
    """A mail server of the house: it can go away, come back, and say what it was given."""

    def stop(self) -> object: ...
    def start(self) -> object: ...
    def copies_of_all(self) -> Counter[str]: ...


class Story:
    """The scenes, in order. A worker is expected to be at work."""

    def __init__(self, outbox: Outbox, server: MailServer, backup: MailServer) -> None:
        """The outbox knows only of the server; one that knows the backup too comes with `rent_backup`."""
        self.outbox = outbox
        self.server = server
        self.backup = backup
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
        self._wait_for_all(progress)

    def rent_backup(self, outbox: Outbox) -> Iterator[str]:
        """From here on the house writes through an outbox that knows both servers."""
        self.outbox = outbox
        yield "the hotel rents a second mail server: the route backup, named as the fallback of the route default"

    def covered_outage(self, progress: Callable[[int, int], None]) -> Iterator[str]:
        """The server goes away again, and nobody has to wait."""
        self.server.stop()
        yield "the mail server stops again"
        began = time.monotonic()
        for guest in ("Hedy", "Mary", "Dorothy"):
            self.welcome(guest)
        self.book("Radia")
        self._wait_for_all(progress)
        covered = self._rerouted()
        yield f"{len(covered)} emails left by the backup within {math.ceil(time.monotonic() - began)} seconds"
        if covered:
            yield f"the history of one of them says: {covered[0]}"
        yield f"the desk says: {Operations(self.outbox).house().sentence}"

    def return_home(self, progress: Callable[[int, int], None]) -> Iterator[str]:
        """The server is back, and takes its emails itself."""
        self.server.start()
        yield "the mail server is back"
        self._wait(self._is_well, seconds=PATIENCE)
        before = self.server.copies_of_all().total()
        self.welcome("Barbara")
        self._wait_for_all(progress)
        took = self.server.copies_of_all().total() > before
        yield f"the next welcome left by {'it, as if nothing had happened' if took else 'the backup all the same'}"

    def arrivals(self) -> Arrivals:
        """Counted at the receiving ends, by Message-ID."""
        by_backup = self.backup.copies_of_all()
        copies = self.server.copies_of_all() + by_backup
        emails = list(self._emails())
        return Arrivals(
            enqueued=len(emails),
            arrived=sum(copies[email.message_id] > 0 for email in emails),
            missing=sum(copies[email.message_id] == 0 for email in emails),
            twice=sum(copies[email.message_id] > 1 for email in emails),
            by_backup=sum(by_backup[email.message_id] > 0 for email in emails),
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

    def _rerouted(self) -> list[str]:
        """What the history of every email that left by another route says of that."""
        now = datetime.now(UTC)
        histories = (self.outbox.get(email.id).history for email in self._emails())
        return [in_words(event, now) for history in histories for event in history if event.what == "rerouted"]

    def _is_well(self) -> bool:
        """Workers take the server for well again."""
        states = {route.name: route.state for route in Operations(self.outbox).routes()}
        return states[DEFAULT_ROUTE] is BreakerState.OK

    def _wait_for_all(self, progress: Callable[[int, int], None]) -> None:
        expected = len(list(self._emails()))
        self._wait(lambda: self._all_sent(progress, expected), seconds=PATIENCE)

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
