"""The outbox for threads: a thin shell over decisions and plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from postroom.compose import Letter
from postroom.compose.address import AddressesLike
from postroom.duration import Duration
from postroom.errors import ConfigurationError
from postroom.outbox import suppressing
from postroom.outbox.base import (
    NO_WAY_OUT,
    PRUNED,
    OutboxBase,
    corrections_of,
    cursor,
    keyed,
    make_filter,
)
from postroom.outbox.outcome import SendOutcome, kept, take_in
from postroom.outbox.submission import Sendable, Submission, Wishes
from postroom.store import acts, questions
from postroom.store.connections import recognise
from postroom.store.contents import read_letter
from postroom.store.contract import Conservation, Filter, Page, Receipt, StoredEmail
from postroom.store.dialect import Clock
from postroom.store.dismissals import reinstate
from postroom.store.enqueue import enqueue, enqueue_each
from postroom.store.housekeeping import Pruned
from postroom.store.migrate import migrate
from postroom.store.open import open_database
from postroom.store.plan import Course, Plan, drive
from postroom.store.schema import Migration
from postroom.store.sensitive import refusals_noted
from postroom.store.suppressions import Suppression, SuppressionPage
from postroom.vocabulary import EmailId, Status

if TYPE_CHECKING:
    from postroom.config import Settings

T = TypeVar("T")


class Outbox(OutboxBase):
    """An outbox for threads.

        outbox = Outbox("sqlite:///app.db", smtp="smtp://localhost:1025")
        outbox.migrate()
        receipt = outbox.enqueue(Email(to="ada@example.org", subject="Hi", text="…"))

    May be shared by any number of threads. Close it at the end, or use it as a context manager.
    """

    def _open(self, settings: Settings, clock: Clock | None) -> None:
        super()._open(settings, clock)
        self.database = open_database(
            self.database_url, tables=self.settings.tables, clock=clock, listeners=self.listeners
        )
        self._inline = self._inline_thread()

    def __enter__(self) -> Outbox:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def close(self) -> None:
        """Bring what has begun to its recorded end, leave the rest to workers, and give the connections back."""
        if self._inline is not None:
            self._inline.close()
        self.database.close()

    def migrate(self) -> list[Migration]:
        """Create or upgrade the tables; what was applied. Safe to call at every start, from every process."""
        return migrate(self.database, deployment=self.settings.deployment)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A transaction of the outbox's own database: the connection to work with and to pass as `connection=`."""
        with self.database.transaction() as connection:
            yield connection

    def enqueue(
        self, email: Sendable, *, key: str | None = None, connection: Any = None, **wishes: Unpack[Wishes]
    ) -> Receipt:
        """Put an email into the outbox.

        With `connection` it becomes part of that connection's transaction: it is there when the caller commits, and
        never was when the caller rolls back. Without, it is committed before this returns.
        """
        return self.submit(Submission(email, key, wishes), connection=connection)

    def submit(self, submission: Submission, *, connection: Any = None) -> Receipt:
        """The same for an email that arrives with its key and its wishes as one value, from whichever door."""
        order = self.rules.order(submission, now=self._now())
        return self._carry(enqueue([order], rules=self.rules.suppressions), connection)[0]

    def enqueue_many(
        self,
        emails: Iterable[Sendable | tuple[Sendable, str | None]],
        *,
        connection: Any = None,
        **wishes: Unpack[Wishes],
    ) -> int:
        """Put many emails in, in one transaction and with constant memory; how many were new.

        An item is an `Email`, or a pair of an `Email` and its key.
        """
        submissions = (Submission(email, key, wishes) for email, key in map(keyed, emails))
        orders = (self.rules.order(each, now=self._now()) for each in submissions)
        copies = self.database.copies if connection is None else recognise(connection).copies
        return self._carry(enqueue_each(orders, copies=copies), connection)

    def send(
        self, email: Sendable, *, key: str | None = None, durable: bool = True, **wishes: Unpack[Wishes]
    ) -> SendOutcome:
        """Send now if it can be done now; what cannot is kept in the outbox for a worker. Never raises over email.

        `durable` stores the email before it is sent, so that a crash loses nothing; without it, a row is written only
        when the send has failed. The attempt made here is not counted.
        """
        order = self._inline_order(email, key, wishes)
        if self._inline is None:
            return kept(self._do(take_in(order, rules=self.rules.suppressions)), order, NO_WAY_OUT)
        self.database.check_free()
        return self._inline.send(order, durable=durable).result()

    def send_soon(self, email: Sendable, *, key: str | None = None, **wishes: Unpack[Wishes]) -> SendOutcome:
        """Store an email and send it in the background: returns as soon as it is stored.

        When there is much to do in the background already, a worker will send it. Nothing is lost when the process
        ends: what has not begun is given back, and a killed process's emails are taken over.
        """
        order = self._inline_order(email, key, wishes)
        if self._inline is None:
            return kept(self._do(take_in(order, rules=self.rules.suppressions)), order, NO_WAY_OUT)
        self.database.check_free()
        return self._inline.send_soon(order).result()

    def get(self, id: str, *, connection: Any = None) -> StoredEmail:
        """One email with its history; `EmailNotFound` when there is none.

        With `connection`, as that connection's transaction sees it: also what it has enqueued and not yet committed.
        """
        return self._ask(questions.get(EmailId(id)), connection)

    def letter(self, id: str, *, version: int | None = None) -> Letter:
        """What an email says, as it is sent; an earlier version of it if one is named. Of a sensitive one, nothing."""
        return self._ask(read_letter(EmailId(id), version or self.get(id).version))

    def counts(self, *, connection: Any = None) -> dict[str, int]:
        """How many emails there are in each status, and how many were dismissed or pruned.

        With `connection`, as that connection's transaction sees it.
        """
        return self._ask(questions.counts(), connection)

    def conservation(self) -> Conservation:
        """Whether everything that was ever enqueued is accounted for, counted row by row."""
        return self._ask(questions.conservation())

    def oldest_due(self) -> datetime | None:
        """Since when the oldest due email waits; None when nothing is due."""
        return self._ask(questions.oldest_due())

    def retry(self, id: str, *, by: str | None = None) -> None:
        """Start a dead email over: attempts 0, the whole budget, due now; history kept."""
        self._follow(refusals_noted(acts.retry([EmailId(id)], actor=by), actor=by))

    def dismiss(self, id: str, *, by: str | None = None) -> None:
        """Delete a dead email. For a while, `reinstate` undoes it."""
        self._do(acts.dismiss([EmailId(id)], actor=by))

    def reinstate(self, id: str, *, by: str | None = None) -> None:
        """Put a dismissed email back as it was; `EmailNotFound` once the time for that (setting `undo`) is over.

        One that was in doubt comes back held for a person.
        """
        self._do(reinstate([EmailId(id)], undo=self.settings.undo, actor=by))

    def cancel(self, id: str, *, by: str | None = None) -> None:
        """Never send an email that has not left yet."""
        self._do(acts.cancel([EmailId(id)], actor=by))

    def replay(
        self,
        id: str,
        *,
        to: AddressesLike | None = None,
        cc: AddressesLike | None = None,
        bcc: AddressesLike | None = None,
        subject: str | None = None,
        text: str | None = None,
        html: str | None = None,
        by: str | None = None,
    ) -> None:
        """Send a dead or cancelled email again, corrected; key, Message-ID and history stay.

        Of a sensitive email nothing can be corrected; see `SensitiveEmail`.
        """
        corrections = corrections_of(to=to, cc=cc, bcc=bcc, subject=subject, text=text, html=html)
        replayed = acts.replay(EmailId(id), corrections, actor=by, limits=self.rules.limits)
        self._follow(refusals_noted(replayed, actor=by))

    def suppress(
        self,
        address: str,
        *,
        reason: str = "manual",
        scope: str = "all",
        workspace: str = "",
        kind: str = "",
        evidence: str = "",
        expires_at: datetime | None = None,
        by: str | None = None,
    ) -> Suppression:
        """Send an address nothing more: `all` mail, or of a `workspace` or a `kind` what can be unsubscribed from.

        From the moment it returns, no email that can be unsubscribed from goes past it, and from a second later on no
        other. Said again, the entry is the same, and never ends sooner than it would have.
        """
        return self._do(
            suppressing.suppress(
                address,
                reason=reason,
                scope=scope,
                workspace=workspace,
                kind=kind,
                evidence=evidence,
                expires_at=expires_at,
                by=by,
            )
        )

    def unsuppress(self, id: str, *, by: str | None = None) -> bool:
        """Take an entry away, whether or not it is the only one about its address; False where there was none.

        What it has stopped stays `dead`, until it is retried.
        """
        return self._do(suppressing.unsuppress(id, by=by))

    def suppressions(
        self, part: str | None = None, *, reason: str | None = None, limit: int = 50, before: str | None = None
    ) -> SuppressionPage:
        """A page of entries, the latest first: all, or of addresses with `part` in them, or for one `reason`."""
        return self._ask(suppressing.page(part, reason=reason, limit=limit, before=before))

    def act(self, act: str, wanted: Filter, *, by: str | None = None, limit: int | None = None) -> int:
        """`retry`, `dismiss` or `cancel` every email that matches and that the act applies to; how many there were.

        Goes through them in batches, newest first, each batch in a transaction of its own.
        """
        return self._follow(acts.act_on_all(act, wanted, actor=by, limit=limit))

    def count(self, wanted: Filter, *, at_most: int = 10_000) -> int:
        """How many emails match, counted up to `at_most`."""
        return self._ask(questions.count(wanted, at_most=at_most))

    def prune(
        self,
        *,
        older_than: Duration | None = None,
        statuses: Iterable[Status] = PRUNED,
        archive: str | Path | None = None,
        batch: int = 1_000,
        progress: Callable[[int], None] = lambda removed: None,
    ) -> Pruned:
        """Remove finished emails past retention, in batches; archived to a JSON Lines file first if one is named."""
        from postroom.store.archive import JsonLines

        with JsonLines.opened(archive) as lines:
            return self._follow(
                self._prune(older_than, statuses=statuses, archive=lines, batch=batch, progress=progress)
            )

    def list(
        self,
        wanted: Filter | None = None,
        *,
        limit: int = 50,
        before: str | None = None,
        connection: Any = None,
        **filters: Any,
    ) -> Page:
        """A page of emails, newest first; filters by name (`status="dead"`), or as a `Filter`.

        With `connection`, as that connection's transaction sees them.
        """
        page = questions.list_emails(wanted or make_filter(**filters), limit=limit, before=cursor(before))
        return self._ask(page, connection)

    def _follow(self, course: Course[T]) -> T:
        return drive(course, self.database.run)

    def _do(self, plan: Plan[T]) -> T:
        return self.database.run(plan)

    def _ask(self, plan: Plan[T], connection: Any = None) -> T:
        return self._carry(plan, connection, writes=False)

    def _carry(self, plan: Plan[T], connection: Any, *, writes: bool = True) -> T:
        if connection is None:
            return self.database.run(plan, writes=writes)
        caller = recognise(connection)
        if caller.is_async:
            raise ConfigurationError(f"{type(connection).__name__} is an async connection; use AsyncOutbox with it")
        return caller.run(self.database.schema.first(plan), self.database.dialect, writes=writes)
