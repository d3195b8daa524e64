"""Regions of a test's own: deu1 and usa1 on SQLite; and sgp1, whose PostgreSQL takes connections and never answers."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from postroom import AsyncRegions, Email, Outbox, Regions, Settings
from postroom.accounts.accounts import add_person
from postroom.accounts.chance import new_token
from postroom.accounts.sessions import begin_session
from postroom.accounts.values import Role, Stage
from postroom.config import load_shared
from postroom.operate import Operations
from postroom.web import desk

WRITTEN_TO = {"deu1": "ada@deu1.example", "usa1": "bob@usa1.example"}
"""Whom each region writes to."""
PLAIN, SECURE = "http://desk.example", "https://desk.example"


@contextmanager
def silent_server() -> Iterator[str]:
    """A PostgreSQL that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"postgresql://postroom@127.0.0.1:{server.getsockname()[1]}/sgp1"


def two_regions(folder: Path, **shared: Any) -> Settings:
    """deu1 and usa1, in files of this folder."""
    regions = {name: {"database": f"sqlite:///{folder / name}.db"} for name in WRITTEN_TO}
    return load_shared(
        regions=regions, sender="desk@example.org", smtp="smtp://127.0.0.1:1", journal=folder / "journals", **shared
    )


def with_one_away(settings: Settings, url: str) -> Settings:
    """The same, and sgp1 at this URL."""
    regions = {name: {"database": table.database} for name, table in settings.regions.items()}
    return load_shared(regions=regions | {"sgp1": {"database": url}}, sender=settings.sender, smtp=settings.smtp)


@contextmanager
def furnished(settings: Settings) -> Iterator[Regions]:
    """Tables in every region, an email that waits, and a way out that a person has paused for a reason of theirs."""
    with Regions.from_settings(settings) as regions:
        for name, address in WRITTEN_TO.items():
            outbox = regions[name]
            outbox.migrate()
            outbox.enqueue(Email(to=address, subject=f"A secret of {name}", text="Hello"), kind="welcome")
            Operations(outbox).pause_route("default", f"{address} complains", by="grace@house.example")
        yield regions


def session_in(outbox: Outbox, name: str, **wishes: Any) -> str:
    """Somebody new with an account there, signed in: the token of the session."""
    person = outbox.database.run(add_person(name, password="none", **({"role": Role.ADMIN} | wishes)))
    token = new_token()
    outbox.database.run(begin_session(person, token, stage=Stage.FULL, life=timedelta(hours=1)))
    return token


@asynccontextmanager
async def visited(settings: Settings, *, base: str = PLAIN, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A browser at the desk over these regions."""
    async with AsyncRegions.from_settings(settings) as regions:
        transport = httpx.ASGITransport(desk(regions, **options), client=("192.0.2.7", 40_000))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url=base) as browser:
            yield browser
