"""A broker that does not take messages: it is asked less and less often, and every email stays due."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise

import pytest

from postroom import Status
from postroom.broker.meter import Fate
from postroom.broker.refusals import FIRST_PAUSE, FORGOTTEN, LAST_PAUSE, Refusals
from postroom.broker.topology import Broker
from postroom.operate.dashboard import dashboard
from postroom.vocabulary import Priority
from tests.broker.bureau import Bureau, Counting
from tests.broker.scripted_broker import ScriptedBroker
from tests.broker.test_outage import fail_at_first
from tests.work.office import until

NORMAL, URGENT = Priority.NORMAL, Priority.URGENT
TAKEN = [("q", Fate.CONFIRMED), ("q", Fate.CONFIRMED)]
SOME = [("q", Fate.CONFIRMED), ("q", Fate.REFUSED)]
NONE = [("q", Fate.REFUSED), ("q", Fate.RETURNED)]


# ---------------------------------------------------------------- the decision


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def refusals(hands: Hands) -> Refusals:
    return Refusals(hands)


def pauses(refusals: Refusals, hands: Hands, *batches: Sequence[tuple[str, Fate]]) -> list[float]:
    """How long the lane was left alone after each of these batches."""
    found = []
    for batch in batches:
        refusals.note(NORMAL, batch)
        found.append(round(refusals.seconds_left(), 9))
        hands.time += refusals.seconds_left()
    return found


def test_each_refusal_in_a_row_doubles_the_pause_up_to_the_last(refusals: Refusals, hands: Hands) -> None:
    assert pauses(refusals, hands, *[NONE] * 8) == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


def test_a_batch_that_is_taken_whole_resets_the_pause(refusals: Refusals, hands: Hands) -> None:
    assert pauses(refusals, hands, NONE, NONE, TAKEN, NONE) == [FIRST_PAUSE, 2 * FIRST_PAUSE, 0.0, FIRST_PAUSE]


def test_a_batch_of_which_something_is_taken_shortens_the_pause(refusals: Refusals, hands: Hands) -> None:
    """A full queue that is being emptied must not be served once in two seconds."""
    assert pauses(refusals, hands, NONE, NONE, NONE, SOME, SOME, SOME) == [0.05, 0.1, 0.2, 0.1, 0.05, 0.05]


def test_batches_that_were_on_their_way_lengthen_and_end_nothing(refusals: Refusals) -> None:
    assert refusals.note(NORMAL, NONE)
    assert not refusals.note(NORMAL, NONE)
    refusals.note(NORMAL, TAKEN)

    assert refusals.left_alone(NORMAL)
    assert refusals.seconds_left() == pytest.approx(FIRST_PAUSE)


def test_only_the_lane_that_is_refused_is_left_alone(refusals: Refusals) -> None:
    refusals.note(NORMAL, NONE)
    refusals.note(URGENT, TAKEN)

    assert refusals.left_alone(NORMAL)
    assert not refusals.left_alone(URGENT)


def test_what_is_not_tried_again_is_forgotten(refusals: Refusals, hands: Hands) -> None:
    """The emails went another way, or were cancelled: nobody is held up any more."""
    refusals.note(NORMAL, NONE)
    assert refusals.why == "q (refused), q (returned)"
    hands.time += LAST_PAUSE + FORGOTTEN

    assert refusals.why == ""


# ---------------------------------------------------------------- a scheduler and such a broker


class Timing(Counting):
    """Remembers when each batch came back."""

    __slots__ = ("times",)

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def published(self, fates: Sequence[Fate]) -> None:
        super().published(fates)
        self.times.append(time.monotonic())


def told(caplog: pytest.LogCaptureFixture, message: str) -> int:
    return sum(getattr(record, "event", "") == message for record in caplog.records)


async def test_a_broker_that_refuses_is_asked_less_and_less_often_and_the_log_says_so_once(
    any_bureau: Bureau, caplog: pytest.LogCaptureFixture
) -> None:
    """(D4) Nothing is lost, nothing goes round as fast as it can."""
    bureau = any_bureau
    bureau.meter = meter = Timing()
    caplog.set_level(logging.INFO, logger="postroom")
    async with ScriptedBroker() as stubborn:
        stubborn.refused = {bureau.queue}
        ids = bureau.enqueue(3)
        async with bureau.scheduling(broker=replace(bureau.broker, url=stubborn.url)):
            await until(lambda: len(meter.times) >= 6)
            assert told(caplog, "the broker does not take messages") == 1
            assert told(caplog, "email not published") == 3
            stubborn.confirming, stubborn.refused = True, set()
            await until(lambda: all(bureau.get(id).last_queued_at for id in ids))

    gaps = [later - earlier for earlier, later in pairwise(meter.times)]
    assert all(gap >= FIRST_PAUSE * 2**n for n, gap in enumerate(gaps[:5])), gaps
    assert meter.counts["confirmed"] == 3
    assert told(caplog, "the broker does not take messages") == 1
    assert told(caplog, "the broker takes messages again") == 1


async def test_a_lane_that_is_refused_waits_and_the_others_go_on(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the scheduler is woken meanwhile."""
    monkeypatch.setattr("postroom.broker.refusals.FIRST_PAUSE", 3_600.0)
    async with ScriptedBroker() as stubborn:
        stubborn.refused = {bureau.queue}
        refused = bureau.enqueue(2)
        async with bureau.scheduling(broker=replace(bureau.broker, url=stubborn.url)):
            await until(lambda: bureau.meter.counts["refused"] >= 2)
            for count in (1, 2, 3):
                refused += bureau.enqueue()
                bureau.enqueue(priority="urgent")
                await until(lambda count=count: bureau.meter.counts["confirmed"] == count)  # type: ignore[misc]

    assert bureau.meter.counts == {"refused": 2, "confirmed": 3}
    assert bureau.statuses(refused) == {Status.PENDING}
    assert all(bureau.get(id).next_attempt_at for id in refused)


async def test_refused_emails_that_cannot_be_given_back_are_due_again_when_their_lease_ends(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker refuses, and then the database is away: nothing is lost, and the scheduler goes on."""
    fail_at_first(monkeypatch, "claims.release")
    async with ScriptedBroker() as stubborn:
        stubborn.refused = {bureau.queue}
        ids = bureau.enqueue(3)
        async with bureau.scheduling(broker=replace(bureau.broker, url=stubborn.url), lease=timedelta(seconds=1)):
            await until(lambda: bureau.meter.counts["refused"] >= 12)
            stubborn.confirming, stubborn.refused = True, set()
            await until(lambda: all(bureau.get(id).last_queued_at for id in ids))

    assert bureau.meter.counts["requeued"] >= 9


async def test_the_desk_tells_of_a_broker_that_refuses(bureau: Bureau, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.broker.scheduler.BEAT", 0.1)
    bureau.enqueue(3)

    def sentence() -> str:
        return bureau.outbox.database.run(dashboard({}), writes=False).broker_sentence

    async with ScriptedBroker() as stubborn:
        stubborn.refused = {bureau.queue}
        async with bureau.scheduling(broker=replace(bureau.broker, url=stubborn.url)):
            said = f"does not take messages for {bureau.queue} (refused) — 3 emails wait in the database"
            await until(lambda: said in sentence())
            stubborn.confirming, stubborn.refused = True, set()
            await until(lambda: "is connected" in sentence())

    assert bureau.meter.counts["confirmed"] == 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrow(Broker):
    """Sends messages into a queue with room for one."""

    def queue(self, lane: Priority, attempt: int) -> str:
        return f"{self.send}.narrow"


async def test_a_full_queue_takes_what_it_has_room_for_and_the_rest_stays_due(
    bureau: Bureau, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """(D4) A real RabbitMQ that rejects what is over the queue's length."""
    narrow = Narrow(url=broker.url, send=broker.send, dead=broker.dead)
    queue = narrow.queue(NORMAL, 1)
    await bureau.hatch.declare(queue, {"x-max-length": 1, "x-overflow": "reject-publish"})
    ids = bureau.enqueue(4)
    taken = []
    async with bureau.scheduling(broker=narrow):
        for count in (1, 2, 3, 4):
            await until(lambda count=count: bureau.meter.counts["confirmed"] == count)  # type: ignore[misc]
            await until(lambda: bureau.outbox.counts()["queued"] + bureau.outbox.counts()["pending"] == 4)
            taken += await bureau.hatch.take(queue)
    await bureau.hatch.delete(queue)

    assert sorted(message.header.properties.message_id or "" for message in taken) == sorted(f"{id}:1" for id in ids)
    assert bureau.meter.counts["refused"] >= 3
    assert all(bureau.get(id).last_queued_at for id in ids)
    assert told(caplog, "the broker does not take messages") == 1
