"""What doctor and stats say about a broker and about those who should be talking to it."""

from __future__ import annotations

import asyncio
import sys
from typing import Any
from urllib.parse import urlsplit

import aiormq
import pytest

from postroom import Outbox
from postroom.broker.link import open_session
from postroom.broker.topology import Broker, lane_queues
from tests.cli.conftest import CommandLine, enqueue
from tests.cli.test_dispatching import declare_otherwise
from tests.operate.services import beat, told


def checks(postroom: CommandLine) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in postroom("doctor", "--json").json["checks"]}


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch, broker_url: str, dispatcher: str) -> Broker:
    """A broker that the settings name, with queues of the test's own that nobody has declared yet."""
    broker = Broker(url=broker_url, send=f"{dispatcher}.send", dead=f"{dispatcher}.dead")
    monkeypatch.setenv("POSTROOM_BROKER", broker.url)
    monkeypatch.setenv("POSTROOM_SEND_QUEUE", broker.send)
    monkeypatch.setenv("POSTROOM_DEAD_QUEUE", broker.dead)
    return broker


async def declared(broker: Broker) -> None:
    """As a scheduler does when it starts."""
    session = await open_session(broker)
    await session.close()


async def exists(broker: Broker, queue: str) -> bool:
    connection = await aiormq.connect(broker.url)
    try:
        channel = await connection.channel()
        await channel.queue_declare(queue, passive=True)
    except aiormq.exceptions.ChannelNotFoundEntity:
        return False
    finally:
        await connection.close()
    return True


def test_without_a_broker_nothing_is_said_of_one(postroom: CommandLine, outbox: Outbox) -> None:
    assert {"broker", "queues", "dispatch"} & set(checks(postroom)) == set()
    assert postroom("stats", "--json").json["broker"] is None
    assert "RabbitMQ" not in postroom("stats").out


def test_a_broker_that_lets_us_in_with_its_queues_as_they_should_be_is_well(
    postroom: CommandLine, outbox: Outbox, broker: Broker
) -> None:
    asyncio.run(declared(broker))
    beat(outbox, "one", role="scheduler")
    beat(outbox, "two", role="sender")

    found = checks(postroom)

    assert {name: found[name]["level"] for name in ("broker", "queues", "dispatch")} == {
        "broker": "ok", "queues": "ok", "dispatch": "ok",
    }  # fmt: skip
    parts = urlsplit(broker.url)
    assert found["broker"]["detail"] == f"127.0.0.1:{parts.port} answers and lets us in"
    assert found["dispatch"]["detail"] == "1 scheduler and 1 sender are at work"


def test_queues_that_are_not_declared_yet_are_not_declared_by_a_look(
    postroom: CommandLine, outbox: Outbox, broker: Broker
) -> None:
    found = checks(postroom)["queues"]

    assert found["level"] == "warn"
    assert all(queue in found["detail"] for queue in (*lane_queues(broker), broker.dead))
    assert not asyncio.run(exists(broker, broker.send))


def test_a_queue_of_other_arguments_is_a_failure_and_stays_as_it_is(
    postroom: CommandLine, outbox: Outbox, broker: Broker
) -> None:
    asyncio.run(declare_otherwise(broker.url, broker.send))

    found = checks(postroom)["queues"]

    assert found["level"] == "fail"
    assert found["detail"].endswith(f": {broker.send}")
    assert "delete them" in found["remedy"]
    asyncio.run(declare_otherwise(broker.url, broker.send))  # would be refused, had it been changed


def test_a_refused_password_and_an_absent_broker_are_failures_with_a_remedy(
    postroom: CommandLine, outbox: Outbox, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = urlsplit(broker.url)
    monkeypatch.setenv("POSTROOM_BROKER", f"amqp://{parts.username}:hunter22@127.0.0.1:{parts.port}/")
    refused = postroom("doctor", "--json")
    monkeypatch.setenv("POSTROOM_BROKER", "amqp://me:hunter22@127.0.0.1:1/")
    absent = postroom("doctor", "--json")

    for answer, reason in ((refused, "the broker refuses our user or password"), (absent, "connection refused")):
        [found] = [check for check in answer.json["checks"] if check["name"] == "broker"]
        assert found["level"] == "fail"
        assert reason in found["detail"]
        assert "POSTROOM_BROKER" in found["remedy"]
        assert answer.code == 1
        assert "hunter22" not in answer.out


def test_a_url_of_another_kind_and_an_absent_library_are_failures(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_BROKER", "http://rabbit:15672/")
    of_another_kind = checks(postroom)["broker"]
    monkeypatch.setitem(sys.modules, "postroom.broker.services", None)
    monkeypatch.setitem(sys.modules, "pamqp", None)
    absent = checks(postroom)["broker"]

    assert (of_another_kind["level"], absent["level"]) == ("fail", "fail")
    assert "begins with http://" in of_another_kind["detail"]
    assert absent["remedy"] == "pip install 'postroom[rabbitmq]'"


def test_somebody_missing_is_a_failure_only_while_emails_wait_for_them(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_BROKER", "amqp://127.0.0.1:1/")

    idle = checks(postroom)["dispatch"]
    enqueue(outbox)
    stuck = checks(postroom)["dispatch"]
    beat(outbox, "one", role="scheduler")
    without_sender = checks(postroom)["dispatch"]
    beat(outbox, "plain", role="worker", broker="")
    helped = checks(postroom)["dispatch"]

    assert [each["level"] for each in (idle, stuck, without_sender, helped)] == ["warn", "fail", "fail", "warn"]
    assert stuck["remedy"] == "start `postroom scheduler` and `postroom sender`"
    assert without_sender["detail"] == "1 scheduler and no sender is at work, and emails wait for them"
    assert without_sender["remedy"] == "start `postroom sender`"
    assert "plain workers do their work" in helped["detail"]


def test_stats_tell_of_the_broker_in_words_and_in_json(postroom: CommandLine, outbox: Outbox) -> None:
    depths = {"email.dispatcher.send": 10, "email.dispatcher.send.urgent": 2}
    beat(outbox, "one", role="scheduler", broker=told(depths=depths, dead={"email.dispatcher.dead": 3}))
    beat(outbox, "two", role="sender")

    shown, record = postroom("stats").out, postroom("stats", "--json").json["broker"]

    assert "RabbitMQ rabbit:5672 is connected · 12 messages wait" in shown
    assert "1 scheduler and 1 sender are at work." in shown
    assert "email.dispatcher.dead" in shown
    assert record == {
        "name": "rabbit:5672", "state": "connected", "connected": True, "since": "2026-05-17T02:14:00Z",
        "reason": "", "blocked": "", "refused": "", "waiting": 12, "depths": depths,
        "dead_letters": {"email.dispatcher.dead": 3}, "schedulers": 1, "senders": 1, "away": 0,
    }  # fmt: skip


def test_stats_tell_of_a_broker_that_is_away(postroom: CommandLine, outbox: Outbox) -> None:
    enqueue(outbox)
    for name, role in (("one", "scheduler"), ("two", "sender")):
        beat(outbox, name, role=role, broker=told(connected=False, reason="connection refused"))

    shown = postroom("stats").out

    assert "RabbitMQ rabbit:5672 is away since" in shown
    assert "connection refused — 1 email waits in the database" in shown
