"""Inline first, with a durable fallback: send now if it can be done now, and let the outbox keep what cannot.

The durable form stores the email already leased to this process, so that a crash anywhere loses nothing. The pure form
writes a row only when the send has failed. Either way the attempt made here is not counted: the worker's first one
follows after the delay that the policy has before attempt 1.

From its row on, an inline email is one like any other: the engine attempts it (see `work/engine.py`), under a lease
that counts from when it was stored, and brings what has begun to its recorded end. What differs is who feeds the
engine, and that somebody waits. Whoever stops waiting changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from postroom.claim.clock import DatabaseClock
from postroom.claim.route import Route
from postroom.compose import DEFAULT_LIMITS, Limits
from postroom.compose.late import is_late
from postroom.errors import ConfigurationError, SchemaError, StoreUnavailable, WrongDeployment
from postroom.events import Listener
from postroom.logs import logger
from postroom.outbox.admission import Admission, admit
from postroom.outbox.outcome import (
    CLOSING,
    MUCH_TO_DO,
    NOT_NOW,
    InHand,
    SendOutcome,
    as_claimed,
    kept,
    refused,
    take_in_if_absent,
    words_of,
)
from postroom.sealing import NO_KEYS, Keyring
from postroom.store.claims import release
from postroom.store.contract import Claim, Claimed, Settlement
from postroom.store.dialect import Clock
from postroom.store.open import open_async_database
from postroom.store.order import Lease, Order
from postroom.store.suppressions import AS_SHIPPED, SuppressionRules
from postroom.vocabulary import OnDoubt
from postroom.work.engine import Engine, EngineSettings
from postroom.work.journal import JournalFailed
from postroom.work.rendering import renderer

MOST_SOON = 100
"""Emails taken on and not yet sent, beyond which `send_soon` leaves them to the outbox."""
TRY_AGAIN = 5.0
"""Seconds before an engine that could not be made, for want of a journal, is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineSettings:
    """What an application needs to send by itself."""

    database: str = field(repr=False)
    tables: str
    routes: Callable[[], Iterable[Route]]
    """Makes the ways out, in the event loop that will use them."""
    journals: Path
    lease: timedelta
    limit: timedelta
    """How long an inline send may take until its dot, and how long once more its caller waits for the reply."""
    keep_sent: bool
    keyring: Keyring = NO_KEYS
    """What the contents of sensitive emails are opened with."""
    portals: tuple[str, ...] = ()
    """Whose templates can be rendered here …"""
    limits: Limits = DEFAULT_LIMITS
    """… and how large emails may be then."""
    suppressions: SuppressionRules = AS_SHIPPED
    """Which emails an entry about an address stops."""
    deployment: str = ""
    """The one whose database this has to be for anything to be sent."""
    delivers: bool = True
    """What is sent leaves for its recipients. Else every email has a row: nothing else tells what became of it."""
    obstacle: str | None = None
    """Why nothing is sent here at all, whatever is asked; it is kept instead."""
    clock: Clock | None = None
    listeners: tuple[Listener, ...] = ()


class InlineSender:
    """Feeds an engine with what callers want sent at once. Lives in one event loop."""

    def __init__(self, settings: InlineSettings) -> None:
        self._settings = settings
        self._limit = settings.limit.total_seconds()
        self._clock = DatabaseClock(settings.clock)
        self._database = open_async_database(
            settings.database, tables=settings.tables, clock=settings.clock, listeners=settings.listeners
        )
        self._routes = {} if settings.obstacle else {route.name: route for route in settings.routes()}
        self._engine: Engine | None = None
        self._beside: set[asyncio.Task[None]] = set()
        """What goes on beside the callers: engines that come to their end, emails that are taken in after all."""
        self._fault = ""
        self._tried = -TRY_AGAIN
        self._in_hand: dict[Claim, InHand] = {}
        self._closing = False
        self._callers = 0
        self._alone = asyncio.Event()
        """Nobody is here whom we owe an answer."""
        self._alone.set()

    # ---------------------------------------------------------------- what callers ask

    async def send(self, order: Order, *, durable: bool) -> SendOutcome:
        """Send now, or keep it. Email trouble, and even a database that is away, never raises."""
        with self._calling():
            taken = await self._take_on(order, durable=durable)
            return taken if isinstance(taken, SendOutcome) else await taken.outcome(2 * self._limit)

    async def send_soon(self, order: Order) -> SendOutcome:
        """Store an email and send it while nobody waits."""
        with self._calling():
            if len(self._in_hand) >= MOST_SOON:
                return await self._keep(order, MUCH_TO_DO)
            taken = await self._take_on(order, durable=True)
            if isinstance(taken, SendOutcome):
                return taken
            if taken.email.order is not None or taken.goes_nowhere:
                # Not stored after all, so that only its end can say that it is safe; or its end is known already.
                return await taken.outcome(2 * self._limit)
            return SendOutcome(id=order.id, queued=True, suppressed=taken.suppressed)

    async def close(self) -> None:
        """Bring what has begun to its end, give back what has not, and let every caller go."""
        self._closing = True
        if self._engine is not None:
            self._retire(self._engine)
        while self._beside:
            await asyncio.gather(*self._beside)
        for each in list(self._in_hand):
            self._gone(each)
        await self._alone.wait()
        await asyncio.gather(*self._beside)
        await self._database.close()

    @contextmanager
    def _calling(self) -> Iterator[None]:
        self._callers += 1
        self._alone.clear()
        try:
            yield
        finally:
            self._callers -= 1
            if not self._callers:
                self._alone.set()

    # ---------------------------------------------------------------- taking on

    async def _take_on(self, order: Order, *, durable: bool) -> InHand | SendOutcome:
        """Put an email into the engine's hands; or say what became of it instead."""
        if self._settings.obstacle:
            return await self._keep(order, self._settings.obstacle)
        engine = self._ready()
        if order.route not in self._routes:
            return await self._keep(order, f"this process knows no way out for the route {order.route}")
        if engine is None:
            return await self._keep(order, self._fault)
        asked = time.monotonic()
        leased = replace(order, lease=Lease(worker=engine.name, seconds=self._settings.lease.total_seconds()))
        needs_row = (
            order.key is not None
            or order.on_doubt is OnDoubt.HOLD
            or is_late(order.letter.envelope)  # its words are stored before they leave
            or not self._settings.delivers
        )
        try:
            admission = await self._admission(engine, leased, store=durable or needs_row)
        except WrongDeployment as foreign:
            return await self._keep(order, str(foreign))
        except (SchemaError, ConfigurationError):
            raise  # nothing about email: the outbox was never set up
        except Exception as error:  # noqa: BLE001  a database that is away, or refuses us, must not cost the email
            if needs_row or self._engine is not engine or not engine.routes[order.route].minder.may_send():
                return refused(order, error)
            logger.error("sending inline without a row", error=words_of(error))
            email = as_claimed(leased, now=self._clock.now(), row=False, perhaps=True)
            # Nobody can be asked about it; only what can be unsubscribed from has to be.
            return self._begin(engine, InHand(email), asked, cleared=not email.unsubscribable)
        return await self._admitted(engine, admission, asked)

    async def _admission(self, engine: Engine, order: Order, *, store: bool) -> Admission:
        """The question whose database it is goes along where it is open. One that is away cannot be asked, and need
        not be: what the application has made just now is its own, and is in nobody's copy."""
        plan = engine.ownership.behind_a_look(
            admit(order, routes=self._routes, store=store, rules=self._settings.suppressions)
        )
        admission = await self._database.run(plan)
        self._clock.anchor(admission.standing.now)
        return admission

    async def _admitted(self, engine: Engine, admission: Admission, asked: float) -> InHand | SendOutcome:
        route = admission.order.route
        engine.routes[route].minder.heed(admission.standing.breakers[route])
        receipt = admission.receipt
        if receipt is not None and receipt.duplicate:
            return kept(receipt, admission.order, None)
        if receipt is not None and admission.obstacle is not None:
            # Nobody else may be there to find out that the route is well again.
            engine.crew.run_errand(engine.routes[route].minder.glance())
            return kept(receipt, admission.order, admission.obstacle)
        email = as_claimed(admission.order, now=admission.standing.now, row=receipt is not None)
        if self._engine is not engine:  # it was stopped meanwhile
            return await self._left_to_a_worker(email)
        if receipt is None:
            return self._begin(engine, InHand(email), asked)
        taken = InHand(email, suppressed=receipt.suppressed)
        return self._begin(engine, taken, asked, cleared=not receipt.suppressed)

    def _begin(self, engine: Engine, taken: InHand, asked: float, *, cleared: bool = False) -> InHand:
        """`cleared`: it was stored just now, and nobody was found to be stopped."""
        claim = taken.email.claim
        self._in_hand[claim] = taken
        engine.take([taken.email], asked=asked, cleared=cleared)
        asyncio.get_running_loop().call_later(self._limit, self._overdue, claim)
        return taken

    def _overdue(self, claim: Claim) -> None:
        """What has not even begun by now is better off with a worker."""
        if claim in self._in_hand and self._engine is not None:
            self._engine.crew.run_errand(self._engine.give_back([claim]))

    async def _left_to_a_worker(self, email: Claimed) -> SendOutcome:
        if email.order is not None:
            return await self._keep(replace(email.order, lease=None), CLOSING)
        with suppress(StoreUnavailable):  # then its lease runs out
            await self._database.run(release([email.claim]))
        return SendOutcome(id=email.id, queued=True, error=CLOSING)

    async def _keep(self, order: Order, why: str) -> SendOutcome:
        """Store an email for a worker: it cannot be sent here just now."""
        try:
            plan = take_in_if_absent(order, rules=self._settings.suppressions)
            return kept(await self._database.run(plan), order, why)
        except (SchemaError, ConfigurationError):
            raise
        except Exception as error:  # noqa: BLE001  the caller hears of it, and is not stopped by it
            return refused(order, error)

    # ---------------------------------------------------------------- the engine

    def _ready(self) -> Engine | None:
        """The engine, made when first needed; None, with the reason in `_fault`, where there can be none."""
        if self._closing:
            self._fault = CLOSING
            return None
        if self._engine is None and time.monotonic() - self._tried >= TRY_AGAIN:
            self._tried = time.monotonic()
            self._start()
        if self._engine is not None and self._engine.records.journal_failed:
            self._fault = f"the journal in {self._settings.journals} cannot be written; a worker will send it"
            return None
        return self._engine

    def _start(self) -> None:
        settings = self._settings
        try:
            engine = Engine(
                self._database,
                self._routes.values(),
                EngineSettings(
                    lease=settings.lease,
                    grace=2 * settings.limit,
                    keep_sent=settings.keep_sent,
                    keyring=settings.keyring,
                    render=renderer(settings.portals),
                    limits=settings.limits,
                    suppressions=settings.suppressions,
                    deployment=settings.deployment,
                    journals=settings.journals,
                    inline_limit=settings.limit,
                ),
                failed=self._failed,
                clock=self._clock,
            )
        except (JournalFailed, OSError) as error:
            self._fault = f"no journal can be kept, and without one nothing is sent here: {error}"
            logger.error("inline emails go to the outbox: no journal can be kept", error=str(error))
            return
        engine.held.gone = self._gone
        engine.records.concluded = self._concluded
        engine.start()
        self._engine = engine

    def _failed(self) -> None:
        """A task of the engine ended by a bug of ours: what it holds comes to its end, the next email has another."""
        self._tried = -TRY_AGAIN
        if self._engine is not None:
            self._retire(self._engine)

    def _retire(self, engine: Engine) -> None:
        self._engine = None
        self._run_beside(_ended(engine))

    def _run_beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    def _concluded(self, settled: Settlement) -> None:
        if (taken := self._in_hand.get(settled.claim)) is not None:
            taken.known = settled
            taken.concluded.set()

    def _gone(self, claim: Claim) -> None:
        taken = self._in_hand.pop(claim, None)
        if taken is None:
            return
        if taken.known is None and taken.email.order is not None:  # given back, and there is no row that says so
            self._run_beside(self._rescue(taken, taken.email.order))
            return
        taken.gone.set()
        taken.concluded.set()

    async def _rescue(self, taken: InHand, order: Order) -> None:
        """Take an email in that was to be sent without a row, and cannot be sent here."""
        taken.kept = await self._keep(replace(order, lease=None), NOT_NOW)
        taken.gone.set()
        taken.concluded.set()


async def _ended(engine: Engine) -> None:
    await engine.finish()
    await engine.close()
