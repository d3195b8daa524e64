"""The broker as schedulers and senders tell of it, and the sentence that is made of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import Outbox, Status
from postroom.operate import AsyncOperations
from postroom.operate.broker import BrokerView, at_work, broker_view, state_of
from postroom.operate.outlook import outlook
from postroom.operate.sentences import house_in_words
from postroom.operate.values import WorkerView
from postroom.store.heartbeats import WorkerSeen
from tests.operate.services import SINCE, beat, told
from tests.operate.test_sentences import EMAIL
from tests.store.journey import Clock, enqueue

NOW = datetime(2026, 5, 17, 3, 0, tzinfo=UTC)
DEPTHS = {"email.dispatcher.send": 10, "email.dispatcher.send.urgent": 0, "email.dispatcher.send.bulk": 2}
REFUSED = told(connected=False, reason="connection refused")


def seen(role: str, broker: str | None = None, *, name: str = "", ago: int = 0) -> WorkerSeen:
    return WorkerSeen(
        name=name or role, role=role, host="h", version="1", started_at=NOW, seen_at=NOW - timedelta(seconds=ago),
        in_flight=0, rate=0, broker=told() if broker is None and role != "worker" else broker,
    )  # fmt: skip


def view(*services: WorkerSeen) -> BrokerView:
    found = broker_view([(each, NOW - each.seen_at < timedelta(seconds=30)) for each in services])
    assert found is not None
    return found


def sentence(*services: WorkerSeen, waiting: int = 0) -> str:
    return state_of(view(*services), waiting=waiting, now=NOW)


def house_of(*services: WorkerSeen, due_for: timedelta | None = None, **counts: int) -> tuple[str, str]:
    workers = [WorkerView(seen=each, silence=NOW - each.seen_at) for each in services]
    broker = broker_view([(worker.seen, worker.alive) for worker in workers])
    oldest = None if due_for is None else NOW - due_for
    return house_in_words(counts, routes=(), workers=workers, broker=broker, oldest_due=oldest, now=NOW)


def test_without_schedulers_and_senders_there_is_no_broker() -> None:
    assert broker_view([]) is None
    assert broker_view([(seen("worker"), True)]) is None


def test_a_broker_that_is_there_is_told_with_what_waits() -> None:
    scheduler = seen("scheduler", told(depths=DEPTHS, dead={"email.dispatcher.dead": 3}))

    assert sentence(scheduler, seen("sender")) == "RabbitMQ rabbit:5672 is connected · 12 messages wait"
    assert sentence(seen("scheduler", told(depths={"q": 1}))) == "RabbitMQ rabbit:5672 is connected · 1 message waits"
    assert sentence(seen("scheduler", told(depths={"q": 0}))) == "RabbitMQ rabbit:5672 is connected · no message waits"
    found = view(scheduler, seen("sender"))
    assert (found.connected, found.waiting, found.depths) == (True, 12, DEPTHS)
    assert found.dead_letters == {"email.dispatcher.dead": 3}
    assert at_work(found) == "1 scheduler and 1 sender are at work"


def test_a_broker_that_is_away_is_told_with_its_time_its_reason_and_what_waits() -> None:
    services = seen("scheduler", REFUSED), seen("sender", REFUSED)

    assert sentence(*services, waiting=1204) == (
        "RabbitMQ rabbit:5672 is away since 02:14 UTC: connection refused — 1,204 emails wait in the database"
    )
    assert view(*services).state == "away"
    assert view(*services).depths == {}


def test_a_broker_that_takes_no_messages_is_trouble_while_emails_wait() -> None:
    services = seen("scheduler", told(depths={"q": 0}, blocked="low on disk")), seen("sender")
    said = "RabbitMQ rabbit:5672 takes no messages: low on disk — 3 emails wait in the database"

    assert sentence(*services, waiting=3) == said
    assert view(*services).state == "blocked"
    assert house_of(*services, pending=3) == (said, "trouble")
    assert house_of(*services)[1] == "attention"
    assert house_of(*services, seen("worker", name="direct"), pending=3)[1] == "attention"


def test_a_broker_that_refuses_messages_is_trouble_while_emails_wait() -> None:
    services = seen("scheduler", told(depths={"q": 0}, refused="email.dispatcher.send (refused)")), seen("sender")
    said = (
        "RabbitMQ rabbit:5672 does not take messages for email.dispatcher.send (refused) — "
        "3 emails wait in the database"
    )

    assert sentence(*services, waiting=3) == said
    assert view(*services).state == "refusing"
    assert house_of(*services, pending=3) == (said, "trouble")
    assert house_of(*services)[1] == "attention"


def test_a_broker_that_some_cannot_reach_is_not_connected_and_not_away() -> None:
    services = seen("scheduler"), seen("sender", name="one"), seen("sender", REFUSED, name="two")

    assert sentence(*services) == (
        "RabbitMQ rabbit:5672 is out of reach for 1 of 3 services since 02:14 UTC: connection refused"
    )
    assert (view(*services).connected, view(*services).lost, view(*services).away) == (False, False, 1)


def test_whoever_has_just_started_is_no_reason_to_say_that_the_broker_is_away() -> None:
    starting = told(connected=False, reason="")

    assert sentence(seen("scheduler", starting)) == "RabbitMQ rabbit:5672 is being connected to"
    assert house_of(seen("scheduler", starting), seen("sender", starting), pending=2) == ("All mail is moving", "well")


def test_what_the_silent_said_no_longer_counts() -> None:
    silent = seen("scheduler", told(depths=DEPTHS), ago=300)
    found = view(silent, seen("sender", REFUSED))

    assert (found.lost, found.schedulers, found.depths) == (True, 0, {})
    assert [each.state for each in found.services] == ["silent", "broker away"]
    assert sentence(silent) == "RabbitMQ rabbit:5672: no scheduler and no sender has been heard of lately"


def test_the_depths_are_those_of_the_scheduler_that_was_heard_of_last() -> None:
    older = seen("scheduler", told(depths={"q": 7}), name="a", ago=4)
    newer = seen("scheduler", told(depths={"q": 5}), name="b", ago=1)

    assert view(older, newer).waiting == view(newer, older).waiting == 5


def test_it_is_away_since_the_first_lost_it_and_there_since_the_last_reached_it() -> None:
    later = (SINCE + timedelta(minutes=5)).isoformat()

    assert (
        view(seen("scheduler", REFUSED), seen("sender", told(connected=False, reason="x", since=later))).since == SINCE
    )
    assert view(seen("scheduler"), seen("sender", told(since=later))).since == SINCE + timedelta(minutes=5)


def test_the_house_tells_of_a_broker_that_is_away_and_whether_mail_waits_for_it() -> None:
    away = seen("scheduler", REFUSED), seen("sender", REFUSED)

    said, tone = house_of(*away, pending=2, retrying=1)
    assert (said, tone) == (
        "RabbitMQ rabbit:5672 is away since 02:14 UTC: connection refused — 3 emails wait in the database",
        "trouble",
    )
    assert house_of(*away)[1] == "attention"
    assert house_of(*away, seen("worker"), pending=2)[1] == "attention"


def test_the_house_tells_who_is_missing() -> None:
    late = timedelta(minutes=3)

    assert house_of(seen("scheduler"), queued=5) == ("No sender is running — 5 emails wait", "trouble")
    assert house_of(seen("sender"), pending=5, due_for=late) == (
        "No scheduler is running, and mail has been due for 3 minutes — 5 emails wait",
        "trouble",
    )
    assert house_of(seen("scheduler"), pending=5, due_for=late)[0].startswith("No sender is running")
    assert house_of(seen("scheduler"), seen("sender"), pending=5, due_for=late)[0].startswith("Mail is late")
    assert house_of(pending=5, due_for=late)[0].startswith("No worker is running")


@pytest.mark.parametrize(
    ("schedulers", "senders", "said"),
    [
        (0, 1, "no scheduler and 1 sender is at work"),
        (1, 1, "1 scheduler and 1 sender are at work"),
        (10, 0, "10 schedulers and no sender are at work"),
        (2, 3, "2 schedulers and 3 senders are at work"),
    ],
)
def test_those_at_work_are_counted_in_words(schedulers: int, senders: int, said: str) -> None:
    services = [seen("scheduler", name=f"s{n}") for n in range(schedulers)]
    services += [seen("sender", name=f"t{n}") for n in range(senders)]

    assert at_work(view(*services)) == said


@given(st.text() | st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(str))
def test_words_that_make_no_sense_are_as_good_as_unsaid(words: str) -> None:
    found = view(seen("sender", words))

    assert (found.name, found.connected, found.away, found.depths) == ("", False, 0, {})


@pytest.mark.parametrize("words", ["[]", "7", '{"since": "yesterday"}', '{"depths": [1]}', '{"depths": {"q": "x"}}'])
def test_json_of_another_shape_is_as_good_as_unsaid(words: str) -> None:
    assert view(seen("sender", words)).depths == {}


async def test_the_dashboard_has_the_broker_and_keeps_workers_apart(
    outbox: Outbox, operations: AsyncOperations, clock: Clock
) -> None:
    beat(outbox, "plain", role="worker", broker="")
    assert (await operations.dashboard()).broker is None

    beat(outbox, "one", role="scheduler", broker=told(depths=DEPTHS))
    beat(outbox, "two", role="sender", in_flight=4)
    enqueue(outbox)
    there = await operations.dashboard()

    assert there.broker is not None
    assert (there.broker.name, there.broker.connected, there.broker.waiting) == ("rabbit:5672", True, 12)
    assert [each.seen.name for each in there.broker.services] == ["one", "two"]
    assert [worker.seen.name for worker in there.own_workers] == ["plain"]
    assert there.broker_sentence == "RabbitMQ rabbit:5672 is connected · 12 messages wait"

    clock.advance(minutes=5)
    gone = await operations.dashboard()

    assert gone.broker is not None
    assert (gone.broker.connected, gone.broker.schedulers, gone.broker.state) == (False, 0, "nobody at work")


def test_an_email_in_the_broker_tells_since_when_and_until_when_it_is_waited_for() -> None:
    queued = replace(EMAIL, status=Status.QUEUED, leased_until=NOW + timedelta(minutes=2))
    handed = replace(queued, last_queued_at=NOW - timedelta(seconds=5))

    assert outlook(queued, obstacle=None, now=NOW) == (
        "On its way to the broker. If nobody has heard of it by 03:02 UTC, it is due again."
    )
    assert outlook(handed, obstacle=None, now=NOW) == (
        "Handed to the broker 5 seconds ago (02:59 UTC); a sender takes it. If none does by 03:02 UTC, it is due again."
    )
