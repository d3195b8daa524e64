"""An outbox in the children of multiprocessing: every way to start them, pools, and an end without exit handlers."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import indent

import pytest

from postroom import Status
from postroom.testing import ScriptedSmtp
from tests.outbox.application import run_worker
from tests.outbox.processes.program import (
    BEFORE_THE_FORK,
    Program,
    assert_all_sent_once,
    assert_nothing_lost_and_no_copy_without_record,
    emails_of,
    put_files,
)

BEFORE = 3
PROGRAM = """
import gc
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from postroom import Email
from reminders import outbox, remind, welcome

guests = [f"guest-{number}@example.org" for number in range(30)]


def store(guest):
    email = Email(to=guest, subject="Booked", text="See you on Friday.")
    with outbox.transaction() as connection:
        return outbox.enqueue(email, connection=connection).id


def leave(guest):
    return outbox.send_soon(Email(to=guest, subject="Welcome", text="Good to see you.")).id


def in_pool(context, work):
    with context.Pool(3) as pool:
        return pool.map(work, guests, chunksize=1)


def in_executor(context, work):
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        return list(pool.map(work, guests))


def in_process(context, work):
    process = context.Process(target=work, args=(guests[:5],))
    process.start()
    process.join()
    assert process.exitcode == 0


def leave_all(guests):
    for guest in guests:
        leave(guest)


def tidy(guests):
    gc.collect()
"""


class Script:
    """A program that imports the page's module and uses its outbox before it makes children."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, method: str, work: str) -> list[str]:
        """What it made of this work; it complains of nothing."""
        main = f"{BEFORE_THE_FORK}\ncontext = multiprocessing.get_context({method!r})\nprint(json.dumps({work}))\n"
        text = f"{PROGRAM}\n\nif __name__ == '__main__':\n{indent(main, '    ')}"
        (self._folder / "script.py").write_text(text, "utf-8")
        with Program("script", folder=self._folder) as program:
            return list(json.loads(program.finish()) or [])


@pytest.fixture
def script(tmp_path: Path, store_url: str, server: ScriptedSmtp, journals: Path) -> Script:
    put_files(tmp_path, store_url=store_url, server=server)
    return Script(tmp_path)


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_whatever_a_child_was_told_is_stored_or_sent_is_a_row_and_one_copy(
    script: Script, store_url: str, server: ScriptedSmtp, method: str
) -> None:
    acknowledged = script.run(method, "in_pool(context, remind) + in_executor(context, store)")

    assert len(acknowledged) == 60
    run_worker(store_url, server)
    assert_all_sent_once(store_url, server, acknowledged, others=BEFORE)


def test_nothing_of_the_parents_is_collected_in_a_child(script: Script) -> None:
    """asyncio complains of a task that is collected before its end, and the parent's go on."""
    assert script.run("fork", "in_process(context, tidy)") == []


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_that_closes_its_outbox_leaves_nothing_under_way(
    script: Script, store_url: str, server: ScriptedSmtp, method: str
) -> None:
    server.script(at="dot", delay=0.2)
    script.run(method, "in_process(context, welcome)")

    emails = emails_of(store_url)
    assert len(emails) == BEFORE + 5
    assert {email.status for email in emails} <= {Status.SENT, Status.PENDING}
    assert {email.message_id for email in emails if email.status is Status.SENT} == set(server.copies_of_all())


def test_a_child_that_ends_without_closing_loses_nothing_and_makes_no_copy_without_record(
    script: Script, store_url: str, server: ScriptedSmtp
) -> None:
    """It ends by `os._exit`, in the middle of what it has begun; a worker finds its journal."""
    server.script(at="dot", delay=0.2, times=10)
    script.run("fork", "in_process(context, leave_all)")
    run_worker(store_url, server)

    emails = assert_nothing_lost_and_no_copy_without_record(store_url, server)
    assert len(emails) == BEFORE + 5


def test_children_of_a_pool_that_is_terminated_lose_nothing(
    script: Script, store_url: str, server: ScriptedSmtp
) -> None:
    acknowledged = script.run("fork", "in_pool(context, leave)")
    run_worker(store_url, server)

    emails = assert_nothing_lost_and_no_copy_without_record(store_url, server, acknowledged)
    assert len(emails) == BEFORE + len(acknowledged) == BEFORE + 30
