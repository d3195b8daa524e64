"""The dashboard and the page of one email, asked of a real store."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from postroom import Outbox, Status
from postroom.errors import EmailNotFound
from postroom.operate import AsyncOperations, dashboard, house
from postroom.store import heartbeats
from tests.store.journey import Clock, bring_to, claim, dead, email, enqueue, retrying, sent, settle


async def test_the_dashboard_counts_what_waits_and_what_failed(outbox: Outbox, operations: AsyncOperations) -> None:
    """(A7) `pendingEmailCount` and `failedEmailCount`."""
    for status in (Status.SENT, Status.DEAD, Status.CANCELLED, Status.RETRYING, Status.IN_DOUBT, Status.PENDING):
        bring_to(outbox, status)

    house = await operations.dashboard()

    assert (house.pending_email_count, house.failed_email_count, house.in_doubt) == (3, 1, 1)
    assert house.counts["sent"] == 1


async def test_charts_tell_what_happened_when(outbox: Outbox, operations: AsyncOperations, clock: Clock) -> None:
    enqueue(outbox, 3)
    clock.advance(minutes=10)
    first, second, third = claim(outbox)
    settle(outbox, [sent(first), dead(second), retrying(third, clock.now + timedelta(minutes=1))])
    clock.advance(minutes=1)

    house = await operations.dashboard()

    assert house.last_hour is not None
    assert house.last_day is not None
    minutes = house.last_hour.points
    assert (minutes[-12].enqueued, minutes[-2].sent, minutes[-2].died, minutes[-2].retried) == (3, 1, 1, 1)
    assert (len(minutes), len(house.last_day.points)) == (60, 24)
    assert sum(hour.enqueued for hour in house.last_day.points) == 3


async def test_the_age_of_the_oldest_due_email_is_told(
    outbox: Outbox, operations: AsyncOperations, clock: Clock
) -> None:
    assert (await operations.dashboard()).oldest_due_age is None

    enqueue(outbox)
    clock.advance(minutes=3)
    house = await operations.dashboard()

    assert house.oldest_due_age == timedelta(minutes=3)
    assert house.tone == "trouble"


async def test_a_worker_that_was_not_heard_of_lately_is_not_alive(
    outbox: Outbox, operations: AsyncOperations, clock: Clock
) -> None:
    outbox.database.run(heartbeats.beat("quiet", host="h", version="1", in_flight=0, rate=0))
    clock.advance(minutes=5)
    outbox.database.run(heartbeats.beat("busy", host="h", version="1", in_flight=2, rate=9.5))

    workers = {worker.seen.name: worker.alive for worker in (await operations.dashboard()).workers}

    assert workers == {"quiet": False, "busy": True}


async def test_somebody_of_one_workspace_sees_the_numbers_of_that_one(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    """(E8) Charts cannot be told apart by workspace, so they are left out rather than shown."""
    for workspace in ("ours", "theirs", "theirs"):
        bring_to(outbox, Status.SENT, workspace=workspace)
        bring_to(outbox, Status.DEAD, workspace=workspace)
    bring_to(outbox, Status.SENT)
    bring_to(outbox, Status.CANCELLED, workspace="ours")
    enqueue(outbox, workspace="theirs")

    house = await operations.dashboard(workspaces=frozenset({"ours"}))
    both = await operations.dashboard(workspaces=frozenset({"ours", ""}))

    assert {name: count for name, count in house.counts.items() if count} == {"sent": 1, "dead": 1, "cancelled": 1}
    assert both.counts["sent"] == 2
    assert (house.last_hour, house.last_day, house.oldest_due) == (None, None, None)
    assert [group.count for group in house.failures] == [1]


async def test_causes_are_told_from_the_newest_dead_and_it_is_said_when_there_are_more(
    outbox: Outbox, operations: AsyncOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        bring_to(outbox, Status.DEAD)
    whole = await operations.dashboard()
    monkeypatch.setattr(dashboard, "FAILURES", 2)

    house = await operations.dashboard()

    assert (whole.failures[0].count, whole.failures_capped) == (3, False)
    assert (house.failures[0].count, house.failures_capped) == (2, True)


async def test_one_email_shows_its_attempts_with_what_was_said_and_how_long_it_took(
    outbox: Outbox, operations: AsyncOperations, clock: Clock
) -> None:
    """(B4)"""
    detail = {"outcome": "retrying", "phase": "rcpt", "code": 451, "text": "later", "milliseconds": {"connect": 1.5}}
    id = outbox.enqueue(email()).id
    [claimed] = claim(outbox)
    settle(outbox, [retrying(claimed, clock.now + timedelta(minutes=1), detail=json.dumps(detail))])
    outbox.cancel(id, by="grace")

    view = await operations.email(id)

    [attempt] = view.attempts
    assert (attempt.number, attempt.phase, attempt.code, attempt.text) == (1, "rcpt", 451, "later")
    assert attempt.milliseconds == {"connect": 1.5}
    assert [(entry.what, entry.actor) for entry in view.email.history] == [("failed", None), ("cancelled", "grace")]
    assert view.acts == ("replay",)


async def test_what_is_no_id_belongs_to_no_email(operations: AsyncOperations) -> None:
    for id in ("nonsense", "", "01890000-0000-7000-8000-000000000000"):
        with pytest.raises(EmailNotFound):
            await operations.email(id)


async def test_numbers_of_a_workspace_that_were_not_counted_to_the_end_say_so(
    outbox: Outbox, operations: AsyncOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the newest emails of a status are looked at; «2» with more to come is «2+», not «2»."""
    enqueue(outbox, 3, workspace="ours")
    monkeypatch.setattr(house, "WITHIN", 2)

    counts, more = await operations.counts(workspaces=frozenset({"ours"}))
    everything, exact = await operations.counts()

    assert (counts["pending"], more["pending"], more["dead"]) == (2, True, False)
    assert (everything["pending"], exact["pending"]) == (3, False)
