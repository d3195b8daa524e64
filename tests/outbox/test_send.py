"""Inline first, durable fallback (A1–A3, A5)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postroom import Email, Outbox, Status
from postroom.channels.email import EMAIL
from postroom.outbox.base import NO_WAY_OUT
from postroom.send.contract import Phase, Reply, Report
from postroom.settle.outcome import settle
from postroom.settle.smtp.classify import classify
from postroom.store import claims
from postroom.testing import ScriptedSmtp
from postroom.work.parcel import left_in_doubt, pack, settlement
from tests.outbox.application import wait_until
from tests.outbox.shells import Shell

MakeOutbox = Callable[..., Any]
LETTER = Email(to="ada@example.org", subject="Booked", text="See you on Friday.")


def test_with_a_healthy_server_the_email_is_sent_at_once_and_nothing_waits(outbox: Shell, server: ScriptedSmtp) -> None:
    """(A1)"""
    sending = outbox.send(LETTER)

    assert sending.sent
    assert not sending.queued
    stored = outbox.get(sending.id)
    assert stored.status is Status.SENT
    assert server.copies(stored.message_id) == 1
    assert outbox.counts() | {"sent": 1} == outbox.counts()
    assert outbox.conservation().holds


def test_with_retention_zero_nothing_remains_after_success(make_outbox: MakeOutbox, server: ScriptedSmtp) -> None:
    """(A5)"""
    outbox = make_outbox(smtp=server.url, retention="0s")

    sending = outbox.send(LETTER)

    assert sending.sent
    assert outbox.list().emails == ()
    assert outbox.counts()["pruned"] == 1
    assert outbox.conservation().holds


def test_a_failed_inline_send_is_kept_uncounted_and_due_in_thirty_seconds(outbox: Shell, server: ScriptedSmtp) -> None:
    """(A1, A3)"""
    server.script(at="dot", reply="451 4.3.0 try later")
    before = datetime.now(UTC)

    sending = outbox.send(LETTER)

    assert sending.queued
    assert not sending.sent
    stored = outbox.get(sending.id)
    assert (stored.status, stored.attempts, stored.max_attempts) == (Status.PENDING, 0, 5)
    assert stored.next_attempt_at is not None
    assert timedelta(seconds=30) <= stored.next_attempt_at - before <= timedelta(seconds=40)
    assert "451" in (stored.last_error or "")
    assert [entry.detail["inline"] for entry in stored.history] == [True]


def test_after_a_failed_inline_send_five_worker_failures_follow_the_table_and_end_dead(
    store_url: str, server: ScriptedSmtp, journals: Path
) -> None:
    """(A3) 30, 60, 120, 240, 480 s; after the fifth worker failure the row is dead with attempts=5."""
    server.script(at="dot", reply="451 4.3.0 try later")
    with Outbox(store_url, smtp=server.url) as outbox:
        _follow_to_the_end(outbox, outbox.send(LETTER).id)


def _follow_to_the_end(outbox: Outbox, id: str) -> None:
    waits = []
    now = datetime.now(UTC)
    while (stored := outbox.get(id)).status is not Status.DEAD:
        assert stored.next_attempt_at is not None
        waits.append(round((stored.next_attempt_at - now).total_seconds()))
        now = stored.next_attempt_at
        _fail_once(outbox, now)

    assert waits == [30, 60, 120, 240, 480]
    assert (stored.attempts, stored.dead_reason) == (5, "max_attempts")


def _fail_once(outbox: Outbox, now: datetime) -> None:
    """A worker's attempt at a given time that the server defers."""
    dialect = outbox.database.dialect
    object.__setattr__(dialect, "clock", lambda: now)
    [email] = outbox.database.run(claims.claim(worker="w", lease=timedelta(seconds=30), urgent=1, normal=1, bulk=1))
    parcel = pack(email, EMAIL)
    report = Report(
        recipients=(Reply(phase=Phase.RCPT, code=250, text="ok"),),
        reply=Reply(phase=Phase.DOT, code=451, enhanced="4.3.0", text="try later"),
        dot_left=True,
    )
    outcome = settle(parcel.attempted, report, classify=classify, now=now, jitter=0.0)
    concluded = settlement(email, outcome, doubt=left_in_doubt(report))
    assert outbox.database.run(claims.settle([concluded])) == {email.id}


def test_a_permanent_refusal_inline_is_dead_at_once(outbox: Shell, server: ScriptedSmtp) -> None:
    """(D6)"""
    server.script(at="rcpt", reply="550 5.1.1 no such user")

    sending = outbox.send(LETTER)

    assert not sending.sent
    assert not sending.queued
    assert outbox.get(sending.id).dead_reason == "permanent"


def test_a_reply_that_never_comes_leaves_the_email_in_doubt(outbox: Shell, server: ScriptedSmtp) -> None:
    server.script(at="dot", cut=True)

    sending = outbox.send(LETTER)

    stored = outbox.get(sending.id)
    assert stored.status is Status.IN_DOUBT
    assert sending.queued
    assert [entry.what for entry in stored.history] == ["in_doubt"]


def test_a_held_email_in_doubt_waits_for_a_person(outbox: Shell, server: ScriptedSmtp) -> None:
    server.script(at="dot", cut=True)

    sending = outbox.send(LETTER, on_doubt="hold")

    stored = outbox.get(sending.id)
    assert (stored.status, stored.next_attempt_at) == (Status.IN_DOUBT, None)


def test_the_pure_form_writes_a_row_only_on_failure(outbox: Shell, server: ScriptedSmtp) -> None:
    assert outbox.send(LETTER, durable=False).sent
    assert outbox.list().emails == ()
    server.script(at="mail", reply="451 4.3.0 busy")

    sending = outbox.send(LETTER, durable=False)

    stored = outbox.get(sending.id)
    assert sending.queued
    assert (stored.status, stored.attempts) == (Status.PENDING, 0)
    assert outbox.conservation().holds


def test_the_inline_copy_and_the_queued_copy_are_the_same_octets(outbox: Shell, server: ScriptedSmtp) -> None:
    """(A2) One builder serves both, so they cannot drift."""
    server.script(at="dot", reply="451 4.3.0 later", times=1)
    id = outbox.send(LETTER).id

    assert server.refused[0].data == outbox.letter(id).as_bytes()


def test_a_second_send_under_the_same_key_sends_nothing(outbox: Shell, server: ScriptedSmtp) -> None:
    """(B2)"""
    first = outbox.send(LETTER, key="booking-7")
    second = outbox.send(LETTER, key="booking-7", durable=False)

    assert second.duplicate
    assert second.id == first.id
    assert len(server.messages) == 1


def test_a_server_that_is_away_raises_nothing(make_outbox: MakeOutbox) -> None:
    """(A1)"""
    sending = make_outbox(smtp="smtp://127.0.0.1:9").send(LETTER)

    assert sending.queued
    assert sending.error is not None
    assert "ada@example.org" not in sending.error


def test_a_server_that_says_nothing_is_given_up_within_the_limit(
    make_outbox: MakeOutbox, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing had left: the email waits as after any failed inline send, and the silence is held against the server."""
    monkeypatch.setenv("POSTROOM_INLINE_LIMIT", "300ms")
    server.script(at="greeting", delay=60)
    outbox = make_outbox(smtp=server.url)

    sending = outbox.send(LETTER)

    stored = outbox.get(sending.id)
    assert sending.queued
    assert (stored.status, stored.attempts) == (Status.PENDING, 0)
    assert "no answer in time" in (stored.last_error or "")


def test_without_a_way_out_the_email_waits_for_a_worker(make_outbox: MakeOutbox) -> None:
    outbox = make_outbox()

    sent, soon = outbox.send(LETTER), outbox.send_soon(LETTER)

    assert (sent.queued, sent.error) == (soon.queued, soon.error) == (True, NO_WAY_OUT)
    assert outbox.get(sent.id).status is Status.PENDING


def test_with_the_database_away_a_healthy_server_still_gets_the_email(
    server: ScriptedSmtp, journals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.store.postgres.session.PATIENCE", 1)
    monkeypatch.setenv("POSTROOM_INLINE_LIMIT", "2s")
    with Outbox("postgresql://nobody@127.0.0.1:9/none?connect_timeout=1", smtp=server.url) as outbox:
        sending = outbox.send(LETTER)

    assert sending.sent
    assert len(server.messages) == 1


@pytest.mark.parametrize("closing", [False, True])
def test_an_email_without_a_row_whose_turn_does_not_come_is_taken_in(
    make_outbox: MakeOutbox, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch, closing: bool
) -> None:
    """Behind a server that hangs it does not even begin; whoever gives it back must not forget it."""
    monkeypatch.setenv("POSTROOM_INLINE_LIMIT", "3s" if closing else "1s")
    server.script(at="mail", stall=True)
    outbox = make_outbox(smtp=f"{server.url}?connections=1")
    outcomes: list[Any] = []
    callers = [
        threading.Thread(target=lambda: outcomes.append(outbox.send(LETTER, durable=False)), daemon=True)
        for _ in range(3)
    ]
    for caller in callers:
        caller.start()
    server.wait_until(lambda: any(line.startswith("MAIL") for line in server.commands))
    if closing:
        outbox.close()
    for caller in callers:
        caller.join(60)

    again = make_outbox()
    assert [outcome.sent for outcome in outcomes] == [False] * 3
    wait_until(lambda: again.counts()["pending"] == 3)
    assert again.conservation().holds
