"""The operator's desk beside millions of emails: how long its pages and lists take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx

from bench.busy_year import fill_postgres, fill_sqlite
from bench.postroom_queue import on_postgres, on_sqlite
from bench.readings import Contestant, Reading
from bench.world import World
from postroom import AsyncOutbox
from postroom.admin.app import build
from postroom.operate import AsyncOperations, Search
from postroom.vocabulary import Status

POSTGRES = "desk, PostgreSQL"
SQLITE = "desk, SQLite"
_OURS = frozenset({"workspace-1", ""})

_TIMES = 40
"""Each call, at most: enough for a 95th percentile."""

Home = Callable[[World], AbstractContextManager[str]]


def worst(name: str) -> str:
    return f"{name}, slowest call"


def contestants(world: World) -> list[Contestant]:
    return [
        Contestant(name=POSTGRES, measure=lambda: _measure(world, POSTGRES, on_postgres), once=True),
        Contestant(name=SQLITE, measure=lambda: _measure(world, SQLITE, on_sqlite), once=True),
    ]


def _measure(world: World, name: str, home: Home) -> list[Reading]:
    with home(world) as url:
        if url.startswith("sqlite"):
            fill_sqlite(Path(url.removeprefix("sqlite:///")), world.scale.history)
        else:
            fill_postgres(url, world.scale.history)
        slow = asyncio.run(_slowest(url, min(world.scale.latencies, _TIMES)))
    readings = [Reading(what=f"{name}, {call}, p95", value=value, unit="ms") for call, value in slow.items()]
    return [*readings, Reading(what=worst(name), value=max(slow.values()), unit="ms")]


async def _slowest(url: str, times: int) -> dict[str, float]:
    """The 95th percentile of every call, in milliseconds. They are taken in turns, so none has a cache to itself."""
    async with AsyncOutbox(url) as outbox:
        transport = httpx.ASGITransport(app=build(outbox, dev=True), client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            paths = await _paths(AsyncOperations(outbox))
            taken: dict[str, list[float]] = {call: [] for call in [*paths, *_SEARCHES]}
            for path in paths.values():
                await client.get(path)  # the first call of a process compiles templates and prepares statements
            for _ in range(times):
                for call, path in paths.items():
                    taken[call].append(await _timed_get(client, path))
                for call, search in _SEARCHES.items():
                    taken[call].append(await _timed_find(AsyncOperations(outbox), search))
    return {call: _percentile(values) for call, values in taken.items()}


async def _paths(operations: AsyncOperations) -> dict[str, str]:
    """What a person clicks on, and what a program asks for."""
    middle = (await operations.find(Search(q="kind:kind-1"), limit=1)).emails[0].id
    dead = (await operations.find(Search(status=Status.DEAD), limit=1)).emails[0].id
    cause = (await operations.dashboard()).failures[0].cause
    lists = {
        "all": "",
        "dead": "?status=dead",
        "sent": "?status=sent",
        "pending": "?status=pending",
        "cancelled": "?status=cancelled",
        "kind": "?kind=kind-2",
        "dead of a kind": "?status=dead&kind=kind-0",
        "sent of a workspace": "?status=sent&workspace=workspace-1",
        "older page": f"?before={middle}",
        "by recipient": "?q=customer77@example.net",
        "by key": "?q=order-1234",
        "by Message-ID": f"?q={dead.replace('-', '')}@example.com",
        "by reply code": "?q=550",
        "by a rare word": "?q=was+rare",
        "by a word that is nowhere": "?q=nowhere",
        "by cause": f"?status=dead&cause={cause}",
    }
    found = {f"list {name}": f"/api/admin/outbox{query}" for name, query in lists.items()}
    found |= {f"page {name}": f"/admin/email-queue{query}" for name, query in lists.items()}
    found |= {"dashboard": "/api/admin/dashboard", "page dashboard": "/admin"}
    found |= {
        "audit": "/api/admin/audit",
        "page audit": "/admin/audit",
        "page audit, nobody": "/admin/audit?who=nobody",
    }
    return found | {"one email": f"/api/admin/outbox/{dead}", "page one email": f"/admin/email-queue/{dead}"}


_SEARCHES = {
    "somebody of two workspaces, all": Search(workspaces=_OURS),
    "somebody of two workspaces, dead": Search(workspaces=_OURS, status=Status.DEAD),
    "somebody of two workspaces, a rare word": Search(workspaces=_OURS, q="was rare"),
}


async def _timed_get(client: httpx.AsyncClient, path: str) -> float:
    begun = time.perf_counter()
    response = await client.get(path)
    taken = 1000 * (time.perf_counter() - begun)
    if response.status_code != 200:
        raise RuntimeError(f"{path} answered {response.status_code}: {response.text[:500]}")
    return taken


async def _timed_find(operations: AsyncOperations, search: Search) -> float:
    begun = time.perf_counter()
    await operations.find(search)
    await operations.dashboard(workspaces=search.workspaces)
    return 1000 * (time.perf_counter() - begun)


def _percentile(values: list[float], share: float = 0.95) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
