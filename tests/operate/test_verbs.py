"""One service: a verb is the same for threads and event loops, and everybody tells the same of the house."""

from __future__ import annotations

import asyncio
import json
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
from postroom.operate.verb import Verb
from postroom.store import heartbeats
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
