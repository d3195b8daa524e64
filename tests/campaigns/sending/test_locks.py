"""Who waits for whom where several do something to the campaigns of a workspace at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from postroom.campaigns import RampUp
from postroom.campaigns.books.mails import ring, store_clock
from postroom.campaigns.drafts.workspace import put_sender, put_workspace_settings, workspace_settings
from postroom.campaigns.sending.acting import cancel_campaign, pause_campaign, pause_prospect
from postroom.campaigns.sending.feed import CampaignFeed
from postroom.campaigns.sending.senders import pause_sender
from postroom.campaigns.stopping.stops import stop_prospect
from postroom.campaigns.values import Sender
from postroom.claim.route import Route
from postroom.send.memory import MemoryTransport
from postroom.store.open import open_async_database
from postroom.store.plan import Plan
from postroom.store.sqlite import database as sqlite
from postroom.store.suppressions import Stop, suppress
from postroom.vocabulary import EnrolmentStatus, SuppressionReason, SuppressionScope
from postroom.work import clearance
from postroom.work.objections import Never
from postroom.work.parcel import pack
from postroom.work.worker import Worker, WorkerSettings
from tests.campaigns.sending.stage import MONDAY, OPEN_ALWAYS, SHOP, Stage
from tests.store.test_concurrency import wait_until_somebody_waits
from tests.work.office import PATIENCE


@pytest.fixture
def somebody_waits(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Waits until a transaction waits for another one."""
    if stage.outbox.database.dialect.name == "postgres":
        return partial(wait_until_somebody_waits, stage.outbox)
    waits, next_look = Event(), sqlite.next_look

    def noticed(waited: float) -> float:
        waits.set()
        return next_look(waited)

    monkeypatch.setattr(sqlite, "next_look", noticed)
    return lambda: _came(waits)


def _came(event: Event) -> None:
    assert event.wait(PATIENCE)


@asynccontextmanager
async def worker_of(stage: Stage, journals: Path) -> AsyncIterator[Worker]:
    """A worker that has a connection to its database, and does nothing by itself."""
    database = open_async_database(stage.outbox.database_url, clock=stage.clock)
    worker = Worker(
        database,
        [Route.over(MemoryTransport())],
        WorkerSettings(journals=journals),
        beside=partial(CampaignFeed, rules=stage.outbox.rules),
    )
    try:
        await database.run(store_clock())
        yield worker
    finally:
        await worker.engine.close()
        await database.close()


def becomes(**changes: Any) -> Plan[None]:
    """The sending settings, with these changes."""
    before = yield from workspace_settings(SHOP)
    yield from put_workspace_settings(SHOP, replace(before, sending=replace(OPEN_ALWAYS, **changes)))


def grace(**fields: Any) -> Plan[None]:
    return put_sender(SHOP, Sender(id="grace", address="grace@shop.example", **fields))


def unsubscribe() -> Plan[Any]:
    reason, scope = SuppressionReason.UNSUBSCRIBE, SuppressionScope.WORKSPACE
    return suppress([Stop(address="p1@example.org", reason=reason, scope=scope, workspace=SHOP)])


CHANGES: dict[str, tuple[Callable[[], Plan[Any]], str]] = {
    "suppression": (unsubscribe, "unsubscribe of 2026-03-09"),
    "stop": (
        lambda: stop_prospect(SHOP, "p1@example.org", "unsubscribed", ends=EnrolmentStatus.UNSUBSCRIBED),
        "its prospect is unsubscribed",
    ),
    "pause": (lambda: pause_campaign(SHOP, "spring"), "its campaign is paused"),
    "pause of a prospect": (lambda: pause_prospect(SHOP, "spring", "p1"), "its prospect is paused"),
    "pause of a sender": (lambda: pause_sender(SHOP, "grace"), "its sender is paused"),
    "cancellation": (lambda: cancel_campaign(SHOP, "spring"), "its campaign is cancelled"),
    "window": (lambda: becomes(start_hour=20, end_hour=22), "window_closed"),
    "holiday": (lambda: becomes(holidays=(MONDAY.date(),)), "holiday"),
    "quota": (lambda: becomes(daily_quota=1), "quota_used (1/1)"),
    "ramp": (lambda: becomes(ramp_up=RampUp(schedule=(1,))), "ramp_day (1)"),
    "quota of a sender": (lambda: grace(daily_quota=1), "its sender may send 1 on this day"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_p9_what_is_committed_while_a_mail_waits_for_its_place_holds_it_back(
    stage: Stage,
    tmp_path: Path,
    somebody_waits: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    """The last question waits for whoever has the workspace, such as a launch: it is asked when that is over."""
    monkeypatch.setattr(clearance, "PATIENCE", PATIENCE)
    do, words = CHANGES[change]
    stage.settings()
    stage.launched("spring", 3)
    email, _ = stage.claim(), stage.claim()
    async with worker_of(stage, tmp_path) as worker:
        with stage.outbox.transaction() as connection:
            stage.outbox.database.run_on(connection, ring(SHOP))
            parcel = pack(email, worker.engine.routes["default"].route.channel)
            looking = asyncio.create_task(worker.engine.clearance.look(parcel))
            await asyncio.to_thread(somebody_waits)
            stage.outbox.database.run_on(connection, do())
        objection = await looking

    assert objection is not None
    assert words in (str(objection.settlement.last_error) if isinstance(objection, Never) else objection.reason)
