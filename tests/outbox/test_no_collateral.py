"""A transport that is stopped stops inline sends too, at once; and inline sends tell everybody what they find."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postroom import Email, Outbox, RouteSettings, Status
from postroom.testing import FaultProxy, ScriptedSmtp
from postroom.work import breakers
from tests.outbox.application import descriptors, wait_until
from tests.store.stream import told

MakeOutbox = Callable[..., Any]
LETTER = Email(to="ada@example.org", subject="Booked", text="See you on Friday.")


def standing(store_url: str) -> str:
    with Outbox(store_url) as outbox:
        [known] = outbox.database.run(breakers.known_routes(), writes=False)
    return known.breaker.state.value


def test_while_an_operator_has_paused_the_transport_nothing_leaves(
    outbox: Any, store_url: str, server: ScriptedSmtp
) -> None:
    assert outbox.send(LETTER).sent
    with Outbox(store_url) as operator:
        operator.database.run(breakers.pause("default", "moving house"))

    sent, soon, pure = outbox.send(LETTER), outbox.send_soon(LETTER), outbox.send(LETTER, durable=False)

    assert [each.queued for each in (sent, soon, pure)] == [True] * 3
    assert "moving house" in (sent.error or "")
    assert [outbox.get(each.id).status for each in (sent, soon, pure)] == [Status.PENDING] * 3
    assert len(server.messages) == 1


def test_a_rate_holds_for_inline_sends_too(make_outbox: MakeOutbox, server: ScriptedSmtp) -> None:
    outbox = make_outbox(smtp=f"{server.url}?rate=1/h")

    outcomes = [outbox.send(LETTER) for _ in range(3)]

    assert [outcome.sent for outcome in outcomes] == [True, False, False]
    assert "1/h" in (outcomes[1].error or "")
    assert len(server.messages) == 1
    assert outbox.counts()["pending"] == 2


def test_a_duplicate_uses_up_nothing_of_the_rate(make_outbox: MakeOutbox, server: ScriptedSmtp) -> None:
    outbox = make_outbox(smtp=f"{server.url}?rate=1/h")
    first = outbox.enqueue(LETTER, key="booking-7")

    assert outbox.send(LETTER, key="booking-7").id == first.id
    assert outbox.send(LETTER).sent


def test_failing_inline_sends_open_the_breaker_and_the_next_ones_wait_for_no_time_out(
    make_outbox: MakeOutbox, store_url: str, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one process finds out, all know; and when the server is back, inline sends find that out too."""
    with FaultProxy(target_port=server.port) as network:
        outbox = make_outbox(smtp=f"smtp://127.0.0.1:{network.port}")
        network.refuse()
        for _ in range(3):
            assert outbox.send(LETTER).queued
        wait_until(lambda: standing(store_url) == "open")
        network.stall()
        network.accept()

        at_once = make_outbox(smtp=f"smtp://127.0.0.1:{network.port}").send(LETTER)

        assert at_once.queued
        assert "open" in (at_once.error or "")
        network.resume()
        wait_until(lambda: bool(outbox.send(LETTER).sent))
        assert standing(store_url) == "ok"


def test_without_a_journal_emails_go_to_the_outbox_and_nothing_leaks(
    make_outbox: MakeOutbox, server: ScriptedSmtp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Email trouble never raises to the caller. The folder is named, for whoever has to mend it."""
    (tmp_path / "a-file").write_text("")
    monkeypatch.setenv("POSTROOM_JOURNAL", str(tmp_path / "a-file" / "journals"))
    outbox = make_outbox(smtp=server.url)
    outbox.send(LETTER)
    before = descriptors()

    outcomes = [outbox.send(LETTER) for _ in range(10)] + [outbox.send_soon(LETTER)]

    assert all(outcome.queued for outcome in outcomes)
    assert str(tmp_path / "a-file") in (outcomes[0].error or "")
    assert descriptors() <= before
    assert outbox.counts()["pending"] == 12
    assert server.messages == []


def test_a_clock_of_the_outbox_holds_for_inline_sends(make_outbox: MakeOutbox, server: ScriptedSmtp) -> None:
    """Date, expiry and the next attempt go by it, and not by the machine's."""
    then = datetime(2020, 2, 29, 12, 0, tzinfo=UTC)
    outbox = make_outbox(smtp=server.url, clock=lambda: then)
    server.script(at="dot", reply="451 4.3.0 later", times=1)

    failed = outbox.send(LETTER, expires_at=then + timedelta(hours=1))
    sent = outbox.send(LETTER, expires_at=then + timedelta(hours=1))

    assert outbox.get(failed.id).next_attempt_at == then + timedelta(seconds=30)
    assert sent.sent
    assert b"Date: Sat, 29 Feb 2020 12:00:00 +0000" in server.messages[0].data


def test_background_sends_outlast_a_database_that_was_away(
    migrated_postgres_url: str, server: ScriptedSmtp, journals: Path
) -> None:
    port = int(migrated_postgres_url.rpartition(":")[2].partition("/")[0])
    with FaultProxy(target_port=port) as network:
        url = migrated_postgres_url.replace(f":{port}/", f":{network.port}/")
        with Outbox(url, smtp=server.url) as outbox:
            assert outbox.send_soon(LETTER).queued
            server.wait_for(1)
            server.script(at="dot", delay=0.5, times=1)
            under_way = outbox.send_soon(LETTER)
            server.wait_for(2)
            network.refuse()
            without_a_row = outbox.send_soon(LETTER)  # by the time that is known, the reply has come
            network.accept()

            wait_until(lambda: outbox.get(under_way.id).status is Status.SENT)
            wait_until(lambda: bool(outbox.send(LETTER).sent))

            assert without_a_row.sent
            assert outbox.get(under_way.id).doubts == 0


# ---------------------------------------------------------------- a fallback


def test_while_a_route_is_in_trouble_an_inline_send_leaves_by_its_fallback(
    store_url: str, server: ScriptedSmtp
) -> None:
    with ScriptedSmtp() as down:
        down.script(at="greeting", reply="554 5.7.1 not you")
        routes = {"backup": server.url, "default": RouteSettings(transport=down.url, fallback="backup")}
        with Outbox(store_url, routes=routes) as outbox:
            first = outbox.send(LETTER)
            wait_until(lambda: not outbox.send(LETTER).queued)
            covered = outbox.send(LETTER)

            assert (first.queued, covered.sent) == (True, True)
            stored = outbox.get(covered.id)
            assert stored.route == "backup"
            [moved] = [event for event in stored.history if event.what == "rerouted"]
            assert (moved.detail["from"], moved.detail["to"]) == ("default", "backup")
            assert "554" in moved.detail["reason"]
            wait_until(lambda: (covered.id, "rerouted", 0) in told(outbox, 0))


def test_while_a_person_has_paused_a_route_nothing_leaves_by_its_fallback(store_url: str, server: ScriptedSmtp) -> None:
    routes = {"backup": server.url, "default": RouteSettings(transport="smtp://127.0.0.1:1", fallback="backup")}
    with Outbox(store_url, routes=routes) as outbox:
        outbox.database.run(breakers.pause("default", "moving house"))
        outcome = outbox.send(LETTER)

        assert (outcome.queued, outbox.get(outcome.id).route) == (True, "default")
    assert server.messages == []
