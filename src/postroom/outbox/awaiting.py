"""The outbox for event loops: the same shell, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager
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
from postroom.store.open import open_async_database, open_database
from postroom.store.plan import Course, Plan, adrive
from postroom.store.schema import Migration
from postroom.store.sensitive import refusals_noted
from postroom.store.suppressions import Suppression, SuppressionPage
from postroom.vocabulary import EmailId, Status

if TYPE_CHECKING:
    from postroom.config import Settings

T = TypeVar("T")


def _migrate_apart(settings: Settings) -> list[Migration]:
    """Migrate through connections of its own: it happens once, and an event loop must not wait for it."""
    database = open_database(settings.database.get_secret_value(), tables=settings.tables)
    try:
        return migrate(database, deployment=settings.deployment)
    finally:
        database.close()


class AsyncOutbox(OutboxBase):
    """An outbox for event loops: the verbs of `Outbox`, awaited.

    async with AsyncOutbox("postgresql://…") as outbox:
        await outbox.enqueue(Email(to="ada@example.org", subject="Hi", text="…"))
    """

    def _open(self, settings: Settings, clock: Clock | None) -> None:
        super()._open(settings, clock)
        self.database = open_async_database(
            self.database_url, tables=self.settings.tables, clock=clock, listeners=self.listeners
        )
        self._inline = self._inline_thread()

    async def __aenter__(self) -> AsyncOutbox:
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Bring what has begun to its recorded end, leave the rest to workers, and give the connections back."""
        if self._inline is not None:
            await asyncio.to_thread(self._inline.close)
        await self.database.close()

    async def migrate(self) -> list[Migration]:
        """Create or upgrade the tables; what was applied."""
        return await asyncio.to_thread(_migrate_apart, self.settings)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """A transaction of the outbox's own database: the connection to work with and to pass as `connection=`."""
        async with self.database.transaction() as connection:
            yield connection

    async def enqueue(
        self, email: Sendable, *, key: str | None = None, connection: Any = None, **wishes: Unpack[Wishes]
    ) -> Receipt:
        """Put an email into the outbox; with `connection`, as part of its transaction."""
        return await self.submit(Submission(email, key, wishes), connection=connection)

    async def submit(self, submission: Submission, *, connection: Any = None) -> Receipt:
        """The same for an email that arrives with its key and its wishes as one value, from whichever door."""
        order = self.rules.order(submission, now=self._now())
        return (await self._carry(enqueue([order], rules=self.rules.suppressions), connection))[0]

    async def enqueue_many(
        self,
        emails: Iterable[Sendable | tuple[Sendable, str | None]],
        *,
        connection: Any = None,
        **wishes: Unpack[Wishes],
    ) -> int:
        """Put many emails in, in one transaction and with constant memory; how many were new.

        Whose recipients are not to be mailed is not told here: such emails are taken in, and end as `suppressed`.
        """
        submissions = (Submission(email, key, wishes) for email, key in map(keyed, emails))
        orders = (self.rules.order(each, now=self._now()) for each in submissions)
        copies = self.database.copies if connection is None else recognise(connection).copies
        return await self._carry(enqueue_each(orders, copies=copies), connection)

    async def send(
        self, email: Sendable, *, key: str | None = None, durable: bool = True, **wishes: Unpack[Wishes]
    ) -> SendOutcome:
        """Send now if it can be done now; what cannot is kept in the outbox for a worker. Never raises over email."""
        order = self._inline_order(email, key, wishes)
        if self._inline is None:
            return kept(await self._do(take_in(order, rules=self.rules.suppressions)), order, NO_WAY_OUT)
        return await _outlasting(self._inline.send(order, durable=durable))

    async def send_soon(self, email: Sendable, *, key: str | None = None, **wishes: Unpack[Wishes]) -> SendOutcome:
        """Store an email and send it in the background: returns as soon as it is stored."""
        order = self._inline_order(email, key, wishes)
        if self._inline is None:
            return kept(await self._do(take_in(order, rules=self.rules.suppressions)), order, NO_WAY_OUT)
        return await _outlasting(self._inline.send_soon(order))

    async def get(self, id: str, *, connection: Any = None) -> StoredEmail:
        """One email with its history; `EmailNotFound` when there is none.

        With `connection`, as that connection's transaction sees it: also what it has enqueued and not yet committed.
        """
        return await self._ask(questions.get(EmailId(id)), connection)

    async def letter(self, id: str, *, version: int | None = None) -> Letter:
        """What an email says, as it is sent; an earlier version of it if one is named. Of a sensitive one, nothing."""
        return await self._ask(read_letter(EmailId(id), version or (await self.get(id)).version))

    async def counts(self, *, connection: Any = None) -> dict[str, int]:
        """How many emails there are in each status, and how many were dismissed or pruned.

        With `connection`, as that connection's transaction sees it.
        """
        return await self._ask(questions.counts(), connection)

    async def conservation(self) -> Conservation:
        """Whether everything that was ever enqueued is accounted for, counted row by row."""
        return await self._ask(questions.conservation())

    async def oldest_due(self) -> datetime | None:
        """Since when the oldest due email waits; None when nothing is due."""
        return await self._ask(questions.oldest_due())

    async def retry(self, id: str, *, by: str | None = None) -> None:
        """Start a dead email over: attempts 0, the whole budget, due now; history kept."""
        await self._follow(refusals_noted(acts.retry([EmailId(id)], actor=by), actor=by))

    async def dismiss(self, id: str, *, by: str | None = None) -> None:
        """Delete a dead email. For a while, `reinstate` undoes it."""
        await self._do(acts.dismiss([EmailId(id)], actor=by))

    async def reinstate(self, id: str, *, by: str | None = None) -> None:
        """Put a dismissed email back as it was; `EmailNotFound` once the time for that (setting `undo`) is over.

        One that was in doubt comes back held for a person.
        """
        await self._do(reinstate([EmailId(id)], undo=self.settings.undo, actor=by))

    async def cancel(self, id: str, *, by: str | None = None) -> None:
        """Never send an email that has not left yet."""
        await self._do(acts.cancel([EmailId(id)], actor=by))

    async def replay(
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
        await self._follow(refusals_noted(replayed, actor=by))

    async def suppress(
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
        return await self._do(
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

    async def unsuppress(self, id: str, *, by: str | None = None) -> bool:
        """Take an entry away, whether or not it is the only one about its address; False where there was none.

        What it has stopped stays `dead`, until it is retried.
        """
        return await self._do(suppressing.unsuppress(id, by=by))

    async def suppressions(
        self, part: str | None = None, *, reason: str | None = None, limit: int = 50, before: str | None = None
    ) -> SuppressionPage:
        """A page of entries, the latest first: all, or of addresses with `part` in them, or for one `reason`."""
        return await self._ask(suppressing.page(part, reason=reason, limit=limit, before=before))

    async def act(self, act: str, wanted: Filter, *, by: str | None = None, limit: int | None = None) -> int:
        """`retry`, `dismiss` or `cancel` every email that matches and that the act applies to; how many there were.

        Goes through them in batches, newest first, each batch in a transaction of its own.
        """
        return await self._follow(acts.act_on_all(act, wanted, actor=by, limit=limit))

    async def count(self, wanted: Filter, *, at_most: int = 10_000) -> int:
        """How many emails match, counted up to `at_most`."""
        return await self._ask(questions.count(wanted, at_most=at_most))

    async def prune(
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
            return await self._follow(
                self._prune(older_than, statuses=statuses, archive=lines, batch=batch, progress=progress)
            )

    async def list(
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
        return await self._ask(page, connection)

    async def _follow(self, course: Course[T]) -> T:
        return await adrive(course, self.database.run)

    async def _do(self, plan: Plan[T]) -> T:
        return await self.database.run(plan)

    async def _ask(self, plan: Plan[T], connection: Any = None) -> T:
        return await self._carry(plan, connection, writes=False)

    async def _carry(self, plan: Plan[T], connection: Any, *, writes: bool = True) -> T:
        if connection is None:
            return await self.database.run(plan, writes=writes)
        caller = recognise(connection)
        if not caller.is_async:
            raise ConfigurationError(f"{type(connection).__name__} is not an async connection; use Outbox with it")
        return await caller.run(self.database.schema.first(plan), self.database.dialect, writes=writes)


async def _outlasting(future: Future[T]) -> T:
    """Wait for something that goes on when the waiting is cancelled."""
    return await asyncio.shield(asyncio.wrap_future(future))
