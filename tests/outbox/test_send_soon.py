"""Fire and forget: returns as soon as the email is stored, and loses nothing (A1)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from postroom import Email, Outbox, Status
from postroom.outbox import inline
from postroom.testing import ScriptedSmtp
from tests.outbox.shells import Shell

LETTER = Email(to="ada@example.org", subject="Booked", text="See you on Friday.")


def test_it_returns_before_the_email_is_sent_and_the_email_follows(outbox: Shell, server: ScriptedSmtp) -> None:
    server.script(at="dot", delay=0.3)

    sending = outbox.send_soon(LETTER)

    assert sending.queued
    assert outbox.get(sending.id).status is Status.SENDING
    server.wait_for(1)
    _wait_until(lambda: outbox.get(sending.id).status is Status.SENT)


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
    _run(store_url, server, "for _ in range(30): outbox.send_soon(letter)")

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
    process = _start(store_url, server, "outbox.send(letter)")
    wanted = "DATA" if moment == "data" else None
    server.wait_until(
        lambda: any(wanted in line for line in server.commands) if wanted else bool(server.messages or server.refused)
    )
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.clear_script()
    server.forget()

    _run_worker(store_url, server)

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


def _program(store_url: str, server: ScriptedSmtp, body: str) -> list[str]:
    code = (
        "from postroom import Email, Outbox\n"
        f"outbox = Outbox({store_url!r}, smtp={server.url!r})\n"
        "letter = Email(to='ada@example.org', subject='Booked', text='See you.')\n" + body
    )
    return [sys.executable, "-c", code]


def _run(store_url: str, server: ScriptedSmtp, body: str) -> None:
    subprocess.run(_program(store_url, server, body), check=True, timeout=60)


def _start(store_url: str, server: ScriptedSmtp, body: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(_program(store_url, server, body))


def _run_worker(store_url: str, server: ScriptedSmtp) -> None:
    """A worker until nothing is due; it finds the dead process's journal."""
    environment = os.environ | {"POSTROOM_DATABASE": store_url, "POSTROOM_SMTP": server.url}
    worker = [sys.executable, "-m", "postroom.cli", "worker", "--until-idle"]
    with Outbox(store_url) as outbox:
        deadline = time.monotonic() + 30
        while outbox.counts()["sending"] or outbox.counts()["pending"]:
            assert time.monotonic() < deadline
            subprocess.run(worker, check=True, timeout=60, env=environment)


def _wait_until(condition: object, seconds: float = 20) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
