"""Lists of who is not to be mailed, as files: read line by line and written page by page, however long they are.

A list is CSV in UTF-8 with the columns `address` (or `email`) and, if they are there, `reason`, `scope`, `workspace`,
`kind`, `evidence` and `expires_at`; or it is a bare list of addresses, one a line. What we write, we read back the
same.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and runs it. Addresses and evidence are
words of strangers. So such a value is written with an apostrophe before it, which spreadsheets take for «this is text»
and which is taken off again when a list is read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import BinaryIO

from postroom.errors import InvalidEmail
from postroom.operate.stops import FIELDS
from postroom.store.suppressions import Suppression

COLUMNS = (*FIELDS, "created_at")
"""Of a list that we write. When an entry was made is told, and not read: an entry begins when it is added."""

LONGEST_LINE = 64 * 1024
"""Characters; what is longer is no list."""

SHOWN = 100
"""Refused lines that a report names; the others are counted."""

_ADDRESS = ("email", "address")
"""The column that holds addresses; where there are both, the other may well be a street."""
_DELIMITERS = (",", ";", "\t")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a list: what it says by column."""

    number: int
    values: Mapping[str, str]
    refusal: InvalidEmail | None = None
    """Why it cannot be read, if it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A line that was left out, and why."""

    line: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of a list, so far or in the end."""

    lines: int = 0
    """Lines that say something."""
    added: int = 0
    """Entries that are new."""
    known: int = 0
    """Lines that tell what was known already, or was told twice."""
    refused: int = 0
    problems: tuple[Refused, ...] = field(default=())
    """Of the first lines that were refused."""

    def and_more(self, *, lines: int, taken: int, added: int, refused: Sequence[Refused]) -> ImportReport:
        room = SHOWN - len(self.problems)
        return replace(
            self,
            lines=self.lines + lines,
            added=self.added + added,
            known=self.known + taken - added,
            refused=self.refused + len(refused),
            problems=(*self.problems, *refused[:room]),
        )


def read_list(file: BinaryIO) -> Generator[Line]:
    """The lines of a list, one after the other; `InvalidEmail` about `file` where it can be read no further.

    The file stays open; close what this returns before it is.
    """
    with closing(_decoded(file)) as lines:
        first = next((line for line in lines if line.strip()), "")
        reader = csv.reader(chain([first], lines), delimiter=_delimiter(first))
        try:
            yield from _by_column(reader)
        except csv.Error:
            raise _unreadable(f"line {reader.line_num}: a quoted text does not end", "close its quotes") from None


def written(entries: Iterable[Suppression], *, heading: bool = False) -> str:
    """Entries as lines of a list; with the line that names the columns, if asked."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    if heading:
        writer.writerow(COLUMNS)
    for entry in entries:
        writer.writerow([as_text(each) for each in _cells(entry)])
    return text.getvalue()


def as_text(value: str) -> str:
    """A value that no spreadsheet takes for a formula."""
    return f"'{value}" if _FORMULA.match(value) else value


def as_meant(value: str) -> str:
    """The value that `as_text` was given."""
    return value[1:] if value.startswith("'") and _FORMULA.match(value) else value


def _cells(entry: Suppression) -> Iterator[str]:
    yield from (entry.address, entry.reason.value, entry.scope.value, entry.workspace, entry.kind, entry.evidence)
    yield entry.expires_at.isoformat() if entry.expires_at else ""
    yield entry.created_at.isoformat()


def _decoded(file: BinaryIO) -> Generator[str]:
    text, number = io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), 0
    try:
        while line := text.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE and line[-1] not in "\r\n":
                raise _unreadable(f"line {number} has more than {LONGEST_LINE:,} characters", "put one address a line")
            if "\0" in line:
                raise _not_text(number)
            yield line
    except UnicodeDecodeError:
        raise _not_text(number + 1) from None
    finally:
        text.detach()


def _by_column(reader: Iterator[list[str]]) -> Iterator[Line]:
    columns: Sequence[str] | None = None
    for row in reader:
        number: int = reader.line_num  # type: ignore[attr-defined]
        if not any(cell.strip() for cell in row):
            continue
        if columns is None:
            columns, is_heading = _columns(row)
            if is_heading:
                continue
        if any(cell.strip() for cell in row[len(columns) :]):
            remedy = "put text with commas into quotes" if len(columns) > 1 else "name the columns in the first line"
            refusal = InvalidEmail("line", "has more cells than there are columns", remedy)
            yield Line(number=number, values={}, refusal=refusal)
            continue
        named = zip(columns, row, strict=False)
        yield Line(number=number, values={name: as_meant(cell) for name, cell in named if name in FIELDS and cell})


def _columns(first: Sequence[str]) -> tuple[list[str], bool]:
    """What the columns are called, and whether the first line said so."""
    names = [cell.strip().lower() for cell in first]
    for name in _ADDRESS:
        if name in names:
            others = ["" if each == "address" else each for each in names]
            others[names.index(name)] = "address"
            return others, True
    if len(names) > 1:
        raise _unreadable(
            "the first line names no column `address` or `email`", "name the columns there, or give addresses alone"
        )
    return ["address"], False


def _delimiter(first: str) -> str:
    """Spreadsheets write the one of their country; a bare list has none."""
    return max(_DELIMITERS, key=first.count)


def _not_text(number: int) -> InvalidEmail:
    return _unreadable(f"is not UTF-8 at line {number} or shortly after", "save it as CSV in UTF-8 and try again")


def _unreadable(problem: str, remedy: str) -> InvalidEmail:
    return InvalidEmail("file", problem, remedy)
