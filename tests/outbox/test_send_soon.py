"""Fire and forget: returns as soon as the email is stored, and loses nothing (A1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom import Email, Outbox, Status
from postroom.outbox import inline
from postroom.testing import ScriptedSmtp
from tests.outbox.application import kill, run_application, run_worker, start_application, wait_until
from tests.outbox.shells import Shell

LETTER = Email(to="ada@example.org", subject="Booked", text="See you on Friday.")


def test_it_returns_before_the_email_is_sent_and_the_email_follows(outbox: Shell, server: ScriptedSmtp) -> None:
    server.script(at="dot", delay=0.3)

    sending = outbox.send_soon(LETTER)

    assert sending.queued
    assert outbox.get(sending.id).status is Status.SENDING
    server.wait_for(1)
    wait_until(lambda: outbox.get(sending.id).status is Status.SENT)


def test_when_the_background_is_full_the_outbox_takes_it(
    outbox: Shell, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inline, "MOST_SOON", 1)
    server.script(at="mail", delay=0.5, times=1)

    sendings = [outbox.send_soon(LETTER) for _ in range(6)]

    waiting = [outbox.get(sending.id).status for sending in sendings]
    assert Status.PENDING in waiting
    assert outbox.conservation().holds


def test_closing_gives_back_what_has_not_begun(outbox: Shell, store_url: str, server: ScriptedSmtp) -> None:
    server.script(at="dot", delay=0.3)
    ids = [outbox.send_soon(LETTER).id for _ in range(20)]

    outbox.close()

    with Outbox(store_url) as again:
        statuses = {again.get(id).status for id in ids}
        assert statuses <= {Status.SENT, Status.PENDING}
        assert again.counts()["sent"] == len(server.messages)


def test_a_process_that_ends_at_once_loses_nothing(store_url: str, server: ScriptedSmtp, journals: Path) -> None:
    run_application(store_url, server, "for _ in range(30): outbox.send_soon(letter)")

    with Outbox(store_url) as outbox:
        counts = outbox.counts()
        assert counts["sending"] == 0
        assert counts["sent"] + counts["pending"] == 30
        assert counts["sent"] == len(server.messages)


@pytest.mark.parametrize("moment", ["data", "dot"])
def test_a_process_killed_while_it_sends_loses_nothing(
    store_url: str, server: ScriptedSmtp, journals: Path, moment: str
) -> None:
    """Killed before the dot: exactly one copy. Killed with the dot out: in doubt, and recorded so."""
    server.script(at=moment, delay=30, times=1)  # type: ignore[arg-type]
    process = start_application(store_url, server, "outbox.send(letter)")
    wanted = "DATA" if moment == "data" else None
    server.wait_until(
        lambda: any(wanted in line for line in server.commands) if wanted else bool(server.messages or server.refused)
    )
    kill(process)
    server.clear_script()
    server.forget()

    run_worker(store_url, server)

    with Outbox(store_url) as outbox:
        [email] = outbox.list().emails
        stored = outbox.get(email.id)
        assert outbox.conservation().holds
        if moment == "data":
            assert stored.status is Status.SENT
            assert server.copies(stored.message_id) == 1
        else:
            assert stored.doubts == 1
            assert "taken_over" in [entry.what for entry in stored.history]
