"""A page of the documentation as its reader meets it: blocks in order, links, anchors.

Comments, which no reader sees, tell how a block is played:

    <!-- not run: reason -->      the next block is shown only
    <!-- file: name -->           the next block is put into this file instead of being run
    <!-- with: id = command -->   from here on, this id stands for that of the first email the command lists
    <!-- setup … -->              Python to be run here; what it leaves in `ids` stands for other ids, ports or hosts
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_PIECE = re.compile(
    r"<!--\s*(?P<comment>.*?)\s*-->|^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_NOT_A_LETTER = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block, or the Python of a set-up."""

    language: str
    text: str
    line: int
    """Of its first line on the page."""
    not_run: str | None = None
    """Why it is shown only."""
    file: str | None = None
    """Where it is put instead of being run."""
    stands_for: tuple[str, str] | None = None
    """An id, and the command that finds the one it stands for."""

    @property
    def is_played(self) -> bool:
        """Something of it is run."""
        return self.not_run is None and (self.language == "python" or any(True for _ in self.commands()))

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Each command of a console block, and the lines that are shown beneath it.

        `make` is left out: its targets are the repository's own, and one of them runs this.
        """
        if self.language != "console":
            return
        for part in _PROMPT.split(self.text)[1:]:
            command, *shown = part.splitlines()
            if not command.startswith("make "):
                yield command, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One Markdown file."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> Page:
        return cls(path=path, text=path.read_text("utf-8"))

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def blocks(self) -> Iterator[Block]:
        """The blocks in order, each with what the comments before it say."""
        told: dict[str, str] = {}
        for piece in _PIECE.finditer(self.text):
            line = self.text.count("\n", 0, piece.start()) + 2
            if piece["comment"] is None:
                yield _block(piece["language"], piece["text"], line, told)
                told = {}
            elif piece["comment"].startswith("setup\n"):
                yield Block(language="python", text=piece["comment"].removeprefix("setup\n"), line=line)
            else:
                name, _, value = piece["comment"].partition(":")
                told[name] = value.strip()

    def links(self) -> list[str]:
        """Where it links to, outside of blocks."""
        return [link["target"] for link in _LINK.finditer(_PIECE.sub("", self.text))]

    def anchors(self) -> set[str]:
        """What may stand behind a `#`."""
        headings = _HEADING.findall(_PIECE.sub("", self.text))
        return {_NOT_A_LETTER.sub("", heading.lower()).replace(" ", "-") for heading in headings}


def _block(language: str, text: str, line: int, told: dict[str, str]) -> Block:
    placeholder, _, command = told.get("with", "").partition(" = ")
    return Block(
        language=language,
        text=text,
        line=line,
        not_run=told.get("not run"),
        file=told.get("file"),
        stands_for=(placeholder, command) if command else None,
    )


def pages() -> list[Page]:
    """Every page there is."""
    patterns = ("*.md", "docs/**/*.md", "examples/**/*.md")
    return [Page.read(path) for pattern in patterns for path in sorted(ROOT.glob(pattern))]
