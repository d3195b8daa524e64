"""What applications were promised, written down by themselves, so that it is known after they were killed.

Each process has a diary of its own, a file to which it only appends: `about` before it hands an email over, then what
it was told. A line that was handed to the kernel survives `kill -9`. An errand is known by its tag, which is also the
subject of its email; one with a key may be run again by a later process, and must not become a second email by that.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from postroom import Email


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """An email that an application wants sent."""

    tag: str
    keyed: bool
    on_doubt: str

    @property
    def key(self) -> str | None:
        return self.tag if self.keyed else None

    def email(self) -> Email:
        return Email(to=f"{self.tag}@example.org", subject=self.tag, text="Good morning, from within.")


@dataclass(slots=True, kw_only=True)
class Promise:
    """What became of an errand, as far as the application was told; by all processes that ran it."""

    errand: Errand
    ids: set[str] = field(default_factory=set)
    """Under which it was told that the email was sent, is kept, or was there before."""
    raised: set[str] = field(default_factory=set)
    """Errors it was told instead."""


class Diary:
    """The diary of one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.diary"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o600)

    def about(self, errand: Errand) -> None:
        """It is about to be handed over."""
        self._write(errand, "about", keyed=errand.keyed, on_doubt=errand.on_doubt)

    def returned(self, errand: Errand, id: str) -> None:
        self._write(errand, "returned", id=id)

    def raised(self, errand: Errand, error: BaseException) -> None:
        self._write(errand, "raised", error=f"{type(error).__name__}: {error}"[:300])

    def _write(self, errand: Errand, what: str, **details: Any) -> None:
        # One call of the kernel's for one line: threads do not mix theirs, and none is torn by a kill.
        os.write(self._file, json.dumps({"tag": errand.tag, "what": what, **details}).encode() + b"\n")


def read_diaries(folder: Path) -> list[Promise]:
    """Everything that is written in a folder's diaries."""
    promises: dict[str, Promise] = {}
    # What is told of an errand may stand in another diary than where it was first about to be handed over.
    for entry in sorted(_entries(folder), key=lambda entry: entry["what"] != "about"):
        tag = entry["tag"]
        match entry["what"]:
            case "about":
                errand = Errand(tag=tag, keyed=entry["keyed"], on_doubt=entry["on_doubt"])
                promises.setdefault(tag, Promise(errand=errand))
            case "returned":
                promises[tag].ids.add(entry["id"])
            case "raised":
                promises[tag].raised.add(entry["error"])
    return list(promises.values())


def _entries(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.diary")):
        for line in path.read_text().splitlines():
            yield json.loads(line)
