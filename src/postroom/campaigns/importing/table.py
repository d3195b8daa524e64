"""A CSV file, row by row, with constant memory: each row, or what is wrong with it.

A row that cannot be read costs itself and no other. Where a quote is opened and not closed, the lines that it would
swallow are read again as rows of their own. What is wrong with the whole file, its encoding or its headings, is found
before the first row is given.
"""

from __future__ import annotations

import codecs
import csv
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from postroom.errors import InvalidCampaign

LONGEST_ROW = 100_000
"""Characters. Longer ones are refused unread."""
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_UNKNOWN = ("|", ":")
"""What some programs put between cells, and is not read here."""
_DIVIDE_ANEW = "save the file with commas, semicolons or tabs between its cells"
_CHUNK = 1 << 16
_TO_UTF8_FROM = "save it as «CSV UTF-8», or convert it: iconv -f {} -t UTF-8 old.csv > new.csv"
_OUT_OF_SPREADSHEET = "open it, and save its sheet as «CSV UTF-8»"
_FOREIGN = {
    codecs.BOM_UTF32_LE: ("UTF-32", _TO_UTF8_FROM.format("UTF-32")),
    codecs.BOM_UTF32_BE: ("UTF-32", _TO_UTF8_FROM.format("UTF-32")),
    codecs.BOM_UTF16_LE: ("UTF-16", _TO_UTF8_FROM.format("UTF-16")),
    codecs.BOM_UTF16_BE: ("UTF-16", _TO_UTF8_FROM.format("UTF-16")),
    b"PK\x03\x04": ("a spreadsheet", _OUT_OF_SPREADSHEET),
    b"\xd0\xcf\x11\xe0": ("a spreadsheet", _OUT_OF_SPREADSHEET),
}
"""What files begin with that are something else: what they are, and how they become what is read here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the file."""

    line: int
    """On which it begins, from 1."""
    cells: tuple[str, ...] = ()
    problem: str = ""
    """Why it cannot be read; empty where it can."""


class Table:
    """A file of rows, opened; to be read once, from its headings on."""

    def __init__(self, file: TextIO, *, delimiter: str, size: int) -> None:
        self._file = file
        self._lines = _Lines(file)
        self._reader = csv.reader(self._lines, delimiter=delimiter, strict=True)
        self.delimiter = delimiter
        self.size = size
        """Octets."""

    @property
    def position(self) -> int:
        """About how many octets have been read."""
        return self._file.buffer.tell()

    def rows(self) -> Iterator[Row]:
        """All rows that are left; blank ones are passed over."""
        while True:
            self._lines.begin()
            line = self._lines.number + 1
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except (csv.Error, _TooLong) as error:
                self._lines.put_back_all_but_the_first()
                yield Row(line=line, problem=_in_words(error))
            else:
                if any(map(str.strip, cells)):
                    yield Row(line=line, cells=tuple(cells))

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_table(path: Path, *, delimiter: str | None = None) -> Table:
    """The table of a file, which is known to be UTF-8; the delimiter is found in its first line unless it is given."""
    if delimiter is not None and delimiter not in DELIMITERS:
        known = ", ".join(DELIMITERS.values())
        raise InvalidCampaign("delimiter", f"{delimiter[:10]!r} is none", f"the known ones are {known}")
    if path.exists() and not path.is_file():
        raise InvalidCampaign("file", f"{path} is no file", "save the rows to a file: it is read twice")
    _check_encoding(path)
    if delimiter is None:
        with _opened(path) as file:
            delimiter = _delimiter_in(file.readline(LONGEST_ROW))
    return Table(_opened(path), delimiter=delimiter, size=path.stat().st_size)


def _opened(path: Path) -> TextIO:
    """What somebody writes into it after it was checked, and is not UTF-8, is shown as such, and stops nobody."""
    return path.open(encoding="utf-8-sig", errors="replace", newline="")


class _TooLong(Exception):
    """A row has more characters than are read."""


class _Lines:
    """The lines of a file, some of which can be put back."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._back: deque[str] = deque()
        self._taken: list[str] = []
        self._size = 0
        self.number = 0
        """Of the last line that was given."""

    def begin(self) -> None:
        """A row begins."""
        self._taken.clear()
        self._size = 0

    def put_back_all_but_the_first(self) -> None:
        self.number -= len(self._taken) - 1
        self._back.extendleft(reversed(self._taken[1:]))

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._back.popleft() if self._back else self._read()
        if not line:
            raise StopIteration
        self.number += 1
        self._taken.append(line)
        self._size += len(line)
        if self._size > LONGEST_ROW:
            raise _TooLong
        return line

    def _read(self) -> str:
        """A line; of one that is too long only its beginning, which still is too long."""
        line = self._file.readline(LONGEST_ROW + 1)
        rest = line
        while len(rest) > LONGEST_ROW and not rest.endswith(("\n", "\r")):
            rest = self._file.readline(LONGEST_ROW + 1)
        return line


def _check_encoding(path: Path) -> None:
    """Read the file once from end to end: nothing is written before it is known to be readable."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with path.open("rb") as file:
        chunk = file.read(_CHUNK)
        _check_beginning(chunk)
        while chunk:
            begun = len(decoder.getstate()[0])  # octets of a character that the last piece has cut in two
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                line += chunk[: max(0, error.start - begun)].count(b"\n")
                raise InvalidCampaign(
                    "file", f"line {line} is not UTF-8", _TO_UTF8_FROM.format("WINDOWS-1252")
                ) from error
            line += chunk.count(b"\n")
            chunk = file.read(_CHUNK)
    if decoder.getstate()[0]:
        raise InvalidCampaign("file", "its last character is cut off", "export it again")


def _check_beginning(chunk: bytes) -> None:
    if not chunk.strip(codecs.BOM_UTF8 + b" \r\n\t"):
        raise InvalidCampaign("file", "has no first line", "write a line of headings, and a row for each prospect")
    for beginning, (what, remedy) in _FOREIGN.items():
        if chunk.startswith(beginning):
            raise InvalidCampaign("file", f"is {what}, and not UTF-8", remedy)


def _delimiter_in(line: str) -> str:
    """What divides the headings. Where two of them might, nobody guesses."""
    outside = "".join(line.split('"')[::2])
    found = [each for each in DELIMITERS if each in outside]
    if len(found) > 1:
        names = " and ".join(DELIMITERS[each] for each in found)
        raise InvalidCampaign("delimiter", f"the first line has {names}", "say which with --delimiter")
    return found[0] if found else ","


def check_divided(headings: Sequence[str], delimiter: str) -> None:
    """Refuse headings that are one only because something else divides them."""
    if len(headings) != 1:
        return
    meant = next((each for each in (*DELIMITERS, *_UNKNOWN) if each in headings[0]), None)
    if meant is None:
        return
    problem = f"with a {DELIMITERS[delimiter]} the first line is one heading: {headings[0].strip()[:60]!r}"
    known = f"say --delimiter {DELIMITERS[meant]}, or leave it out" if meant in DELIMITERS else _DIVIDE_ANEW
    raise InvalidCampaign("delimiter", problem, known)


def _in_words(error: Exception) -> str:
    if isinstance(error, _TooLong):
        return f"row: has more than {LONGEST_ROW:,} characters, or a quote that is not closed; mend or shorten it"
    if "expected after" in str(error):
        return "row: has a quote in the middle of a field; put the field in quotes, and write each quote in it twice"
    return "row: a quote is opened and not closed; close it, or write it twice"
