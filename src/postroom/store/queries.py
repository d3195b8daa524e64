"""Reads a store's queries and spells their parameters the way a driver wants them.

Each store has a folder of them, a file for each noun: plain SQL under `-- name: …` headings. A heading may hold several
statements; they run in order with the same parameters and the last one's rows count. `-- fragment: …` headings name
text that queries include as `{…}`; those of `shared.sql` are known everywhere, others in their own file. Further
fragments may be handed in, such as the lists of columns that `fields.py` makes. Parameters are written `:name` in both
dialects, so that comparing two files shows only how the databases differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from typing import Any

_HEADING = re.compile(r"^-- (name|fragment): (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_END = re.compile(r";\s*(?:\n|$)")

SHARED = "shared.sql"
"""The file of what the others have in common."""


class ParameterStyle(StrEnum):
    """How a driver wants parameters written."""

    NAMED = "named"
    """`:name`, a mapping: sqlite3, aiosqlite."""
    PYFORMAT = "pyformat"
    """`%(name)s`, a mapping: psycopg, Django."""
    DOLLAR = "dollar"
    """`$1`, a sequence: asyncpg."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """One statement as a driver wants it."""

    sql: str
    order: tuple[str, ...] | None
    """For positional styles, the names in the order of their numbers."""

    def bind(self, parameters: Mapping[str, Any]) -> Any:
        if self.order is None:
            return parameters
        return tuple(parameters[name] for name in self.order)


class Queries:
    """The named queries of one store, with its tables where the user wants them."""

    def __init__(self, package: str, tables: str, fragments: Mapping[str, str] | None = None) -> None:
        self._texts = _load(package, tuple((fragments or {}).items()))
        self._tables = tables
        self._spelled: dict[tuple[str, ParameterStyle], tuple[Spelled, ...]] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(self._texts)

    def spell(self, name: str, style: ParameterStyle) -> tuple[Spelled, ...]:
        """The statements of a named query, in this style. Worked out once."""
        try:
            return self._spelled[name, style]
        except KeyError:
            text = place_tables(self._texts[name], self._tables)
            spelled = tuple(spell(statement, style) for statement in statements(text))
            self._spelled[name, style] = spelled
            return spelled


def place_tables(sql: str, tables: str) -> str:
    """Put the tables where the user wants them: `postroom.` is a schema, `postroom_` a prefix."""
    if tables.endswith("."):
        schema = tables.removesuffix(".")
        return sql.replace("postroom.", tables).replace(
            "SCHEMA IF NOT EXISTS postroom", f"SCHEMA IF NOT EXISTS {schema}"
        )
    return sql.replace("postroom_", tables)


def statements(text: str) -> list[str]:
    """Split a script at the semicolons that end its lines."""
    return [part.strip() for part in _END.split(_COMMENT.sub("", text)) if part.strip()]


def spell(sql: str, style: ParameterStyle) -> Spelled:
    """One statement, with its parameters written as the driver wants them."""
    match style:
        case ParameterStyle.NAMED:
            return Spelled(sql, None)
        case ParameterStyle.PYFORMAT:
            return Spelled(_PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%")), None)
        case ParameterStyle.DOLLAR:
            order = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
            return Spelled(_PARAMETER.sub(lambda found: f"${order.index(found[1]) + 1}", sql), order)


@lru_cache
def _load(package: str, given: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    folder = resources.files(package).joinpath("queries")
    files = {each.name: each.read_text("utf-8") for each in folder.iterdir() if each.name.endswith(".sql")}
    shared, queries = _read(files.pop(SHARED, ""), dict(given))
    for name, source in sorted(files.items()):
        _, found = _read(source, shared)
        if twice := queries.keys() & found.keys():
            raise ValueError(f"{name} names {', '.join(sorted(twice))} again")
        queries |= found
    return queries


def _read(source: str, known: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The fragments and the queries of one file; a fragment may be used from where it stands on."""
    pieces = _HEADING.split(source)[1:]
    fragments, queries = dict(known), dict[str, str]()
    for kind, name, text in zip(pieces[0::3], pieces[1::3], pieces[2::3], strict=True):
        body = _COMMENT.sub("", text).strip()
        for fragment, replacement in fragments.items():
            body = body.replace("{" + fragment + "}", replacement)
        (fragments if kind == "fragment" else queries)[name] = body
    return fragments, queries
