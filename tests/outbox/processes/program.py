"""A real program in processes of its own, on the files that the how-to shows; and what must be true after it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from postroom import Outbox, Status
from postroom.store.contract import StoredEmail
from postroom.testing import ScriptedSmtp
from tests.documentation.page import ROOT, Page
from tests.outbox.application import PATIENCE, wait_until

HOW_TO = ROOT / "docs" / "how-to" / "processes.md"
BEFORE_THE_FORK = """
from postroom import Email
letter = Email(to="eve@example.org", subject="Before the fork", text="Good evening.")
assert outbox.enqueue(letter).id and outbox.send(letter).sent and outbox.send_soon(letter).queued
"""
"""Python that leaves an outbox with connections, a sending thread and a journal; it makes three emails."""

_COMPLAINT = re.compile(
    r"^.*(?:Traceback|\berror\b|\bcritical\b|exception|never awaited).*$", re.IGNORECASE | re.MULTILINE
)


def put_files(folder: Path, *, store_url: str, server: ScriptedSmtp, broker_url: str = "") -> None:
    """The files of the how-to, with our servers in place of those it names."""
    for block in Page.read(HOW_TO).blocks():
        if block.file is not None:
            text = re.sub(r'postgresql://[^"]+', lambda _: store_url, block.text)
            text = re.sub(r'amqp://[^"]+', lambda _: broker_url, text)
            (folder / block.file).write_text(text.replace("localhost:1025", f"127.0.0.1:{server.port}"), "utf-8")


class Program:
    """Started as `python -m`, in a process group of its own; ended with all that belongs to it, whatever happens."""

    def __init__(self, *command: str, folder: Path, environment: Mapping[str, str] = {}) -> None:
        self._command = [sys.executable, "-m", *command]
        self._folder = folder
        self._log = folder / "program.log"
        path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **environment}

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._environment,
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        return self

    def __exit__(self, *details: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def said(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def says(self, pattern: str) -> re.Match[str]:
        """Wait until it has said something like this."""
        wait_until(lambda: re.search(pattern, self.said) is not None or self.process.poll() is not None)
        found = re.search(pattern, self.said)
        assert found is not None, f"it never said {pattern}, but:\n{self.said}"
        return found

    def stop(self, *, expected: str = "(?!)") -> None:
        """Ask it to stop, as an init system would; it does so in order, and complained of nothing but the expected."""
        self.process.send_signal(signal.SIGTERM)
        self.finish(expected=expected)

    def finish(self, *, expected: str = "(?!)") -> str:
        """Wait for its end, in order as well; what it said."""
        code = self.process.wait(PATIENCE)
        assert code == 0, f"it ended with {code}:\n{self.said}"
        complaints = [line for line in _COMPLAINT.findall(self.said) if not re.search(expected, line)]
        assert complaints == [], self.said
        return self.said


def emails_of(store_url: str) -> list[StoredEmail]:
    with Outbox(store_url) as outbox:
        assert outbox.conservation().holds
        return list(outbox.list(limit=10_000).emails)


def process_of(email: StoredEmail) -> int:
    """Who has it in hand."""
    assert email.worker is not None
    return int(email.worker.split("-")[-2])


def assert_all_sent_once(
    store_url: str, server: ScriptedSmtp, acknowledged: Iterable[str] = (), *, others: int = 0
) -> None:
    """Each acknowledged email is a row, there are so many besides, and each row is one copy at the mail server."""
    emails, known = emails_of(store_url), list(acknowledged)
    assert len(set(known)) == len(known)
    assert {email.id for email in emails} >= set(known)
    assert len(emails) == len(known) + others
    assert {email.status for email in emails} == {Status.SENT}
    assert server.copies_of_all() == {email.message_id: 1 for email in emails}
    assert server.violations == []


def assert_nothing_lost_and_no_copy_without_record(
    store_url: str, server: ScriptedSmtp, acknowledged: Iterable[str] = ()
) -> list[StoredEmail]:
    """Every row was sent, or tells of a doubt; each arrived once, or once more for every doubt that it tells of."""
    emails, copies = emails_of(store_url), server.copies_of_all()
    assert {email.id for email in emails} >= set(acknowledged)
    assert {email.message_id for email in emails} >= set(copies)
    assert [email for email in emails if email.status is not Status.SENT and not email.doubts] == []
    assert [email for email in emails if email.status is Status.SENT and not copies[email.message_id]] == []
    assert [email for email in emails if copies[email.message_id] > 1 + email.doubts] == []
    return emails
