"""How one of the two databases wants its statements: spelling, values, clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from postroom.errors import ConfigurationError
from postroom.store.contract import microseconds
from postroom.store.fields import fragments
from postroom.store.plan import Documents, Statement
from postroom.store.queries import ParameterStyle, Queries, Spelled, spell

PLAIN = frozenset({str, int, bool, float, bytes, type(None)})
"""Types that every driver takes as they are."""

Clock = Callable[[], datetime | None]
"""The time that statements go by; None leaves it to the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One database's way of speaking. Shared by our own connections and by the callers'."""

    name: str
    """`sqlite` or `postgres`."""
    tables: str
    """The schema (`postroom.`) or the prefix (`postroom_`) of every table."""
    queries: Queries
    instant: Callable[[datetime], str | int]
    """How an instant is written."""
    clock: Clock

    def speak(self, statement: Statement, style: ParameterStyle) -> Iterator[tuple[str, Any]]:
        """The statement's SQL, and the values that go with it, ready for a driver of this style."""
        values = {
            name: value if type(value) in PLAIN else self.encode(value) for name, value in statement.parameters.items()
        }
        if "now" not in values:
            now = self.clock()
            values["now"] = None if now is None else self.instant(now)
        for spelled in self._spelled(statement, style):
            yield spelled.sql, spelled.bind(values)

    def _spelled(self, statement: Statement, style: ParameterStyle) -> Iterable[Spelled]:
        if statement.sql is None:
            return self.queries.spell(statement.name, style)
        return [spell(statement.sql, style)]

    def encode(self, value: Any) -> Any:
        """A value as every driver of this database takes it: enums by value, instants and lists as text or numbers."""
        match value:
            case Enum():
                return value.value
            case datetime():
                return self.instant(value)
            case list() | dict():
                return self._as_json(value)
            case Documents():
                written = [one if type(one) is str else self._as_json(one) for one in value.each]
                return f"[{','.join(written)}]"
            case _:
                return value

    def _as_json(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=self.encode)


def check_tables(name: str) -> str:
    """A schema or prefix that can stand in SQL as it is."""
    if not name.isidentifier() or not name.isascii() or name != name.lower():
        raise ConfigurationError(
            f"tables cannot live under {name!r}: use lower-case letters, digits and underscores, such as 'postroom'"
        )
    return name


def sqlite_dialect(*, prefix: str, clock: Clock) -> Dialect:
    check_tables(prefix.removesuffix("_"))
    return Dialect(
        name="sqlite",
        tables=prefix,
        queries=Queries("postroom.store.sqlite", prefix, fragments("sqlite")),
        instant=microseconds,
        clock=clock,
    )


def postgres_dialect(*, schema: str, clock: Clock = lambda: None) -> Dialect:
    tables = f"{check_tables(schema)}."
    return Dialect(
        name="postgres",
        tables=tables,
        queries=Queries("postroom.store.postgres", tables, fragments("postgres")),
        instant=_iso,
        clock=clock,
    )


def _iso(instant: datetime) -> str:
    microseconds(instant)  # refuses a naive one
    return instant.isoformat()
