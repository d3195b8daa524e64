"""One service: a verb is the same for threads and event loops, and everybody tells the same of the house."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from postroom import AsyncOutbox, Outbox, Status
from postroom.admin.shapes import DashboardShape
from postroom.cli.app import app
from postroom.errors import EmailNotFound
from postroom.metrics.families import text_of
from postroom.operate import AsyncOperations, Operations, Search
from postroom.operate.service import Verbs
from postroom.operate.verb import Awaiting, Shell, Verb, asks_in_steps
from postroom.store import heartbeats
from postroom.store.plan import Course, Plan, Rows, ask_sql
from postroom.work import breakers
from tests.metrics.scrape import Scrape
from tests.store.journey import bring_to, enqueue

ABSENT = "01890000-0000-7000-8000-000000000000"


async def test_threads_and_event_loops_are_told_the_same(outbox: Outbox, operations: AsyncOperations) -> None:
    id = bring_to(outbox, Status.DEAD)
    enqueue(outbox, 3)
    blocking = Operations(outbox)

    assert blocking.dashboard() == await operations.dashboard()
    assert blocking.standing() == await operations.standing()
    assert blocking.find(Search(status=Status.DEAD)) == await operations.find(Search(status=Status.DEAD))
    assert blocking.email(id) == await operations.email(id)


async def test_threads_and_event_loops_do_the_same(outbox: Outbox, operations: AsyncOperations) -> None:
    first, second = bring_to(outbox, Status.DEAD), bring_to(outbox, Status.DEAD)

    blocked = Operations(outbox).act("retry", [first, ABSENT], by="ada")
    awaited = await operations.act("retry", [second, ABSENT], by="ada")

    assert (blocked.done, [*blocked.refused]) == (awaited.done, [*awaited.refused]) == (1, [ABSENT])
    assert outbox.get(first).history[-1].actor == outbox.get(second).history[-1].actor == "ada"


async def test_an_error_is_raised_where_the_verb_was_asked(outbox: Outbox, operations: AsyncOperations) -> None:
    asked = operations.email(ABSENT)
    with pytest.raises(EmailNotFound):
        await asked
    with pytest.raises(EmailNotFound):
        Operations(outbox).email(ABSENT)


class Thinking(Shell):
    """Verbs that have to think between two transactions."""

    thinks_in: list[int]

    @asks_in_steps
    def think(self, until: Callable[[], object]) -> Course[int]:
        """Ask, think, ask again."""
        [[one]] = yield _one()
        until()
        self.thinks_in.append(threading.get_ident())
        [[two]] = yield _one()
        return int(one + two)

    @asks_in_steps
    def leave_behind(self, ends: Callable[[], object]) -> Course[None]:
        """Tidy up, however it ends."""
        try:
            yield _one()
            self.thinks_in.append(threading.get_ident())
            yield _broken()
        finally:
            ends()
            self.thinks_in.append(threading.get_ident())

    @asks_in_steps
    def stumble(self) -> Course[str]:
        """Live with what goes wrong."""
        try:
            yield _broken()
        except LookupError as error:
            return str(error)
        return ""


class AsyncThinking(Awaiting, Thinking):
    """For event loops."""


def _one() -> Plan[Rows]:
    return (yield ask_sql("SELECT 1"))


def _broken() -> Plan[None]:
    yield from ()
    raise LookupError("nothing there")


def thinking(outbox: AsyncOutbox) -> AsyncThinking:
    shell = AsyncThinking(outbox)
    shell.thinks_in = []
    return shell


async def test_an_event_loop_goes_on_while_a_verb_thinks(operations: AsyncOperations) -> None:
    shell, may_go_on = thinking(operations.outbox), threading.Event()
    asked = asyncio.create_task(shell.think(lambda: may_go_on.wait(10)))
    await asyncio.sleep(0.05)
    may_go_on.set()  # nobody would come here if the loop thought

    assert await asked == 2
    assert shell.thinks_in != [threading.get_ident()]
    assert await shell.stumble() == "nothing there"


async def test_what_a_verb_has_begun_in_a_thread_ends_there(operations: AsyncOperations) -> None:
    """Files and connections may belong to the thread that opened them."""
    shell = thinking(operations.outbox)
    with pytest.raises(LookupError):
        await shell.leave_behind(lambda: None)
    with pytest.raises(ZeroDivisionError):
        await shell.leave_behind(lambda: 1 / 0)

    one, ended, another = shell.thinks_in
    assert one == ended != threading.get_ident()
    assert another != threading.get_ident()


async def test_who_is_cancelled_while_a_verb_thinks_leaves_nothing_at_work(operations: AsyncOperations) -> None:
    shell, thinks, may_go_on = thinking(operations.outbox), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def until() -> None:
        loop.call_soon_threadsafe(thinks.set)
        may_go_on.wait(10)

    asked = asyncio.create_task(shell.think(until))
    await thinks.wait()
    asked.cancel()
    await asyncio.sleep(0)
    assert not asked.done(), "what is at work is waited for"
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await asked

    assert len(shell.thinks_in) == 1


def test_every_verb_says_what_it_does() -> None:
    verbs = {name: verb for name, verb in vars(Verbs).items() if isinstance(verb, Verb)}

    assert len(verbs) > 10
    assert all(verb.__doc__ and verb.__doc__ != Verb.__doc__ for verb in verbs.values()), verbs


def printed(url: str, *command: str) -> Any:
    """What a command prints for programs."""
    return json.loads(CliRunner().invoke(app, [*command, "--json"], env={"POSTROOM_DATABASE": url}).stdout)


async def test_the_house_is_told_by_the_same_words_and_numbers_everywhere(migrated_sqlite_url: str) -> None:
    """Overview, `stats`, `doctor` and `/metrics`: whoever looks, wherever they look."""
    with Outbox(migrated_sqlite_url) as outbox:
        bring_to(outbox, Status.DEAD)
        enqueue(outbox, 2)
        outbox.database.run(breakers.pause("default", "new password (ada)"))
        outbox.database.run(heartbeats.beat("one", host="cellar", version="1", in_flight=0, rate=0.0))
    async with AsyncOutbox(migrated_sqlite_url) as awaiting:
        operations = AsyncOperations(awaiting)
        page = DashboardShape.of(await operations.dashboard())
        scrape = Scrape(text_of(await operations.standing()).decode())
    # In a thread, for a command has the event loop to itself.
    stats = await asyncio.to_thread(printed, migrated_sqlite_url, "stats")
    checks = (await asyncio.to_thread(printed, migrated_sqlite_url, "doctor"))["checks"]

    assert stats["sentence"] == page.sentence
    assert (stats["tone"], page.tone) == ("trouble", "trouble")
    assert stats["counts"] == page.counts
    assert {status: scrape("postroom_emails", status=status) for status in Status} == {
        status: page.counts[status] for status in Status
    }
    assert stats["workers"]["alive"] == scrape("postroom_workers", role="worker", state="alive") == 1
    [route] = stats["transports"]
    assert (route["name"], route["state"], route["reason"]) == ("default", "paused", page.transports[0].reason)
    [found] = [check["detail"] for check in checks if check["name"] == "route"]
    assert page.sentence.partition(" — ")[0] in found
