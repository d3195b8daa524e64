"""What the schema is made of, and whether this code can work with the one that a database has.

Migrations only ever add, so three rules are enough for code and schema of different versions to meet:

- **Older schema.** Code needs every migration that it ships. Where one is missing it says so at the first use, before
  anything is claimed or written: `postroom migrate`.
- **Newer schema.** Code works beneath migrations that it does not know: that is what makes an upgrade roll. Only a
  migration after which former code would do harm says so, with a line `-- needs: N`: from then on, code that does not
  ship migration N is told to be upgraded.
- **No order.** A migration is known by its number, and neither gaps nor the order in which they were applied matter.

The ledger remembers `needs` beside each migration, for code that does not have the file. It is read once for each
process and database, before the first plan, on the connection that carries it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from typing import TypeVar

from postroom.errors import SchemaError
from postroom.store.plan import Plan, Row, ask_sql

T = TypeVar("T")

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")
_NEEDS = re.compile(r"^-- needs: (\d+)$", re.MULTILINE)

REMEDY = "run `postroom migrate` or call outbox.migrate() once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema."""

    version: int
    name: str
    sql: str = field(repr=False)

    @property
    def checksum(self) -> str:
        """Of the text, to notice a file that was changed after it had been applied."""
        return sha256(self.sql.encode()).hexdigest()

    @property
    def needs(self) -> int | None:
        """The migration that code must ship in order to work beneath this one; None where any code does."""
        found = _NEEDS.search(self.sql)
        return int(found[1]) if found else None

    def __str__(self) -> str:
        return f"{self.version:04d} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A migration as the ledger of a database has it."""

    version: int
    checksum: str
    needs: int | None = None

    @classmethod
    def read(cls, row: Row) -> Applied:
        """A whole row of the ledger, which has no column `needs` before migration 10."""
        version, _name, checksum, _applied_at, *needs = row
        return cls(version=version, checksum=checksum, needs=needs[0] if needs else None)


@lru_cache
def migrations(dialect_name: str) -> tuple[Migration, ...]:
    """The migrations of one database, in their order."""
    folder = resources.files(f"postroom.store.{dialect_name}").joinpath("migrations")
    found = [
        Migration(version=int(match[1]), name=match[2], sql=file.read_text("utf-8"))
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    return tuple(sorted(found, key=lambda migration: migration.version))


def ledger_rows_sql(tables: str) -> str:
    """All that the ledger knows. Every column, because which there are depends on the version."""
    return f"SELECT * FROM {tables}migrations ORDER BY version"  # noqa: S608  (`tables` was checked)


def missing(dialect_name: str, applied: Iterable[Applied]) -> list[Migration]:
    """What is still to be applied. Refuses a database beneath which this code would do harm."""
    known = migrations(dialect_name)
    there, ours = {each.version: each for each in applied}, {migration.version for migration in known}
    for each in there.values():
        if each.needs is not None and each.needs not in ours:
            raise SchemaError(
                f"the database's tables are at version {max(there)}, and need a Postroom that knows version "
                f"{each.needs}; this one knows up to {max(ours)}; upgrade Postroom"
            )
    return [migration for migration in known if migration.version not in there]


def check_texts(dialect_name: str, applied: Iterable[Applied]) -> None:
    """Refuse a database whose migrations are others than those of the same number here."""
    known = {migration.version: migration.checksum for migration in migrations(dialect_name)}
    for each in applied:
        if known.get(each.version, each.checksum) != each.checksum:
            raise SchemaError(
                f"schema version {each.version} in the database is not the one this Postroom ships; "
                "was it created by an unreleased version?"
            )


def ledger(tables: str) -> Plan[list[Applied]]:
    """What was applied so far."""
    rows = yield ask_sql(ledger_rows_sql(tables))
    return [Applied.read(row) for row in rows]


class SchemaCheck:
    """Sees once that the tables of a database are ones that this code can work with; until then, before every plan."""

    def __init__(self, dialect_name: str, tables: str) -> None:
        self._dialect_name = dialect_name
        self._tables = tables
        self._passed = False

    def first(self, plan: Plan[T]) -> Plan[T]:
        """The plan, behind the check if that has not been passed yet."""
        return plan if self._passed else self._checked(plan)

    def _checked(self, plan: Plan[T]) -> Plan[T]:
        try:
            yield from self._check()
        except BaseException:
            plan.close()
            raise
        self._passed = True
        return (yield from plan)

    def _check(self) -> Plan[None]:
        if self._dialect_name == "postgres" and not (yield from self._may_look()):
            return
        applied = yield from ledger(self._tables)
        if todo := missing(self._dialect_name, applied):
            raise SchemaError(
                f"the database's tables are of an earlier version: {', '.join(map(str, todo))} not applied; {REMEDY}"
            )

    def _may_look(self) -> Plan[bool]:
        """Whether there is a ledger that we may read. Asked so that a caller's transaction survives the answer no: a
        statement that fails would end it."""
        ledger = f"to_regclass('{self._tables}migrations')"
        [[found, allowed]] = yield ask_sql(f"SELECT {ledger} IS NOT NULL, has_table_privilege({ledger}, 'SELECT')")
        if not found:
            raise SchemaError(
                f"the database has no Postroom tables under {self._tables.removesuffix('.')!r}; {REMEDY}, "
                "and check that the connection is to the outbox's own database"
            )
        return bool(allowed)
