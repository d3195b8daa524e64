"""Two regions, and somebody who moves from one to the other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from postroom import Outbox
from postroom.regions.moving import At, Crossing, Moved, Place, move, resume, run, survey
from postroom.regions.parcel import Mover
from postroom.sealing.keyring import NO_KEYS, Keyring
from postroom.store.plan import Plan, ask_sql
from tests.store.journey import Clock

PAIRS = ("sqlite-sqlite", "sqlite-postgres", "postgres-sqlite", "postgres-postgres")
"""The kinds of databases that somebody may move between."""

ADA = "ada@example.org"
MOVER = Mover(name="me", record=lambda **told: _nothing())


def _nothing() -> Plan[None]:
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """`here` is left, `there` is moved to."""

    here: Outbox
    there: Outbox
    clock: Clock

    @property
    def source(self) -> Place:
        return place("deu1", self.here)

    @property
    def target(self) -> Place:
        return place("usa1", self.there)

    def moving(self, person: str = ADA, *, target: Place | None = None, **options: Any) -> Crossing[Moved]:
        return move(person, source=self.source, target=target or self.target, by=MOVER, **options)

    def move(self, person: str = ADA, **options: Any) -> Moved:
        return run(self.moving(person, **options))

    def back(self, person: str = ADA) -> Moved:
        return run(move(person, source=self.target, target=self.source, by=MOVER))

    def resuming(self) -> Crossing[Moved]:
        return resume(source=self.source, target=self.target, by=MOVER)

    def resume(self) -> Moved:
        return run(self.resuming())

    def survey(self, person: str = ADA, **options: Any) -> Moved:
        return run(survey(person, source=self.source, target=self.target, **options))

    @property
    def adds_up(self) -> bool:
        """Both regions can account for everything that was ever enqueued there."""
        return self.here.conservation().holds and self.there.conservation().holds


def place(name: str, outbox: Outbox, *, keyring: Keyring = NO_KEYS, routes: Iterable[str] = ("default",)) -> Place:
    return Place(name=name, database=outbox.database, keyring=keyring, routes=frozenset(routes))


def cut_short(crossing: Crossing[Moved], *, after: int) -> bool:
    """Carry out so many transactions and then none any more, as a process that is killed; False if that was all."""
    asked: At | None
    try:
        asked = next(crossing)
        for _ in range(after):
            asked = crossing.send(asked.place.database.run(asked.plan, writes=asked.writes))
    except StopIteration:
        return False
    finally:
        crossing.close()
    asked.plan.close()
    return True


def everything(outbox: Outbox) -> str:
    """All that stands in the tables of an outbox, as one text."""
    return "\n".join(
        repr(row) for table in _tables(outbox) for row in outbox.database.run(_rows(f"SELECT * FROM {table}"))
    )


def knows(outbox: Outbox, name: str) -> bool:
    """Whether that name stands anywhere in an outbox, as a word or in an address: chance writes «ada» into ids."""
    return re.search(rf"\b{name}\b|{name}@", everything(outbox), re.IGNORECASE) is not None


def _tables(outbox: Outbox) -> list[str]:
    dialect = outbox.database.dialect
    if dialect.name == "sqlite":
        named = f"SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '{dialect.tables}%'"
    else:
        named = f"SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname || '.' = '{dialect.tables}'"
    return [name for (name,) in outbox.database.run(_rows(named))]


def _rows(sql: str) -> Plan[Any]:
    return (yield ask_sql(sql))
