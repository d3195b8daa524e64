"""Never twice, except where nobody can know: for inline sends as for workers. Copies are counted at a mail server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from postroom import AsyncOutbox, Email, Outbox, Status
from postroom.testing import ScriptedSmtp
from postroom.work.thread import WorkerThread
from tests.outbox.application import kill, run_worker, start_application, wait_until

LETTER = Email(to="ada@example.org", subject="Booked", text="See you on Friday.")


@pytest.mark.parametrize("on_doubt", ["hold", "resend"])
def test_an_application_killed_after_the_dot_leaves_a_doubt_also_for_those_without_its_journal(
    store_url: str,
    server: ScriptedSmtp,
    journals: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    on_doubt: str,
) -> None:
    """A worker of another host or user sees the row alone, which must say that a dot may have left."""
    monkeypatch.setenv("POSTROOM_LEASE", "1s")
    server.script(at="dot", delay=60, times=1)
    application = start_application(store_url, server, f"outbox.send(letter, on_doubt={on_doubt!r}, policy='patient')")
    server.wait_for(1)
    kill(application)

    run_worker(store_url, server, POSTROOM_JOURNAL=str(tmp_path / "elsewhere"))

    with Outbox(store_url) as outbox:
        [email] = outbox.list().emails
        stored = outbox.get(email.id)
    assert stored.doubts == 1
    assert stored.history[0].what == "taken_over"
    if on_doubt == "hold":
        assert (stored.status, stored.next_attempt_at) == (Status.IN_DOUBT, None)
        assert server.copies(stored.message_id) == 1


def test_an_application_killed_before_the_dot_leaves_no_doubt_about_an_email_to_hold(
    store_url: str, server: ScriptedSmtp, journals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_LEASE", "1s")
    server.script(at="data", delay=60, times=1)
    application = start_application(store_url, server, "outbox.send(letter, on_doubt='hold')")
    server.wait_until(lambda: any("DATA" in line for line in server.commands))
    kill(application)

    run_worker(store_url, server)

    with Outbox(store_url) as outbox:
        [email] = outbox.list().emails
    assert (email.status, email.doubts) == (Status.SENT, 0)
    assert server.copies(email.message_id) == 1


def test_what_waits_in_the_background_for_longer_than_a_lease_is_sent_once(
    make_outbox: Callable[..., Any], server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease counts from the moment the row was stored, and is renewed until the email's turn comes."""
    monkeypatch.setenv("POSTROOM_LEASE", "1s")
    server.script(at="dot", delay=0.5)
    outbox = make_outbox(smtp=f"{server.url}?connections=4")
    with WorkerThread(outbox.settings if isinstance(outbox, Outbox) else outbox.outbox.settings):
        ids = [outbox.send_soon(LETTER).id for _ in range(30)]

        wait_until(lambda: outbox.counts()["sent"] == 30)

    stored = [outbox.get(id) for id in ids]
    assert [email.doubts for email in stored] == [0] * 30
    assert [server.copies(email.message_id) for email in stored] == [1] * 30


@pytest.mark.parametrize("moment", ["greeting", "mail", "data", "dot"])
async def test_a_cancelled_send_is_brought_to_its_recorded_end(
    store_url: str, server: ScriptedSmtp, journals: Path, moment: str
) -> None:
    server.script(at=moment, delay=0.5, times=1)  # type: ignore[arg-type]
    async with AsyncOutbox(store_url, smtp=server.url) as outbox:
        task = asyncio.create_task(outbox.send(LETTER))
        await asyncio.to_thread(server.wait_until, lambda: _has_come_to(server, moment))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Outbox(store_url) as again:
        [email] = again.list().emails
    assert (email.status, email.doubts) == (Status.SENT, 0)
    assert server.copies(email.message_id) == 1


def _has_come_to(server: ScriptedSmtp, moment: str) -> bool:
    said = " ".join(server.commands)
    return {
        "greeting": server.connections > 0,
        "mail": "MAIL" in said,
        "data": "DATA" in said,
        "dot": bool(server.messages),
    }[moment]


def test_an_event_loop_that_ends_in_the_middle_of_a_send_changes_nothing(
    store_url: str, server: ScriptedSmtp, journals: Path
) -> None:
    server.script(at="dot", delay=0.5, times=1)

    async def leave_early() -> AsyncOutbox:
        outbox = AsyncOutbox(store_url, smtp=server.url)
        sending = asyncio.ensure_future(outbox.send(LETTER))
        await asyncio.to_thread(server.wait_for, 1)
        sending.cancel()
        return outbox

    outbox = asyncio.run(leave_early())
    asyncio.run(outbox.close())

    with Outbox(store_url) as again:
        [email] = again.list().emails
    assert email.status is Status.SENT
    assert server.copies(email.message_id) == 1


def test_closing_waits_for_what_has_begun_and_lets_every_caller_go(
    outbox: Any, store_url: str, server: ScriptedSmtp, tmp_path: Path
) -> None:
    """Nothing is written after the close: not into a file of the application's that has got a free descriptor."""
    server.script(at="dot", delay=0.5, times=1)
    outcomes: list[Any] = []
    caller = threading.Thread(target=lambda: outcomes.append(outbox.send(LETTER)), daemon=True)
    caller.start()
    server.wait_for(1)

    outbox.close()
    files = [(tmp_path / f"application-{number}.txt").open("wb+") for number in range(30)]
    caller.join(30)

    assert not caller.is_alive()
    assert [outcome.sent for outcome in outcomes] == [True]
    assert [file.read() for file in files] == [b""] * 30
    for file in files:
        file.close()
    with Outbox(store_url) as again:
        assert again.get(outcomes[0].id).status is Status.SENT


def test_a_key_is_never_sent_without_its_row(migrated_postgres_url: str, server: ScriptedSmtp, journals: Path) -> None:
    """Connections that have died while they were idle cost no second copy."""
    with Outbox(migrated_postgres_url, smtp=server.url) as outbox:
        outbox.send(LETTER)
        server.forget()
        _end_all_connections(migrated_postgres_url)

        outcomes = [outbox.send(LETTER, key="invoice-7") for _ in range(3)]

        assert [outcome.sent for outcome in outcomes].count(True) == 1
        assert outcomes[-1].duplicate
        assert len(server.messages) == 1
        assert len(outbox.list(key="invoice-7").emails) == 1


@pytest.mark.parametrize("wishes", [{"key": "invoice-7"}, {"on_doubt": "hold"}])
def test_with_the_database_away_what_needs_its_row_is_not_sent_and_the_caller_is_told(
    server: ScriptedSmtp, journals: Path, monkeypatch: pytest.MonkeyPatch, wishes: dict[str, str]
) -> None:
    monkeypatch.setattr("postroom.store.postgres.session.PATIENCE", 1)
    with Outbox("postgresql://nobody@127.0.0.1:9/none?connect_timeout=1", smtp=server.url) as outbox:
        outcome = outbox.send(LETTER, **wishes)

    assert (outcome.sent, outcome.queued) == (False, False)
    assert "nothing was sent" in (outcome.error or "")
    assert server.messages == []


def _end_all_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
