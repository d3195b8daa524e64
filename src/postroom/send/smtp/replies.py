"""Reading what the server says, without trusting it: lines and replies are capped, text is made printable.

While a session is opened, one reply is owed at a time, and all of it is kept: EHLO's says what the server can do. From
then on a thousand may be owed at once, and of each only what is shown to people is kept, about a kilobyte.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache

from postroom.send.contract import Phase, Reply

LONGEST_LINE = 2048
"""RFC 5321 allows 512; some servers say more."""
MOST_LINES = 128
"""No EHLO reply seen in the wild has half as many."""
LONGEST_TEXT = 500
MOST_KEPT = 1024
"""About how many bytes of memory a reply may take that is not kept whole."""
_LINE_COST = 50
"""What a line takes beside its letters."""
_WORTH_REMEMBERING = 120

Lines = tuple[bytes, ...]
"""One complete reply as it came, without line ends; every line begins with the same valid code."""

_WHOLE = re.compile(rb"[2-5][0-9][0-9](?: |$)")
_LINE = re.compile(rb"[2-5][0-9][0-9](?:[ -]|$)")
_ENHANCED = re.compile(r"([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)", re.ASCII)


class ReplyReader:
    """Turns bytes into replies, however they were cut into pieces.

    Never raises: what is not SMTP, or too much of it, sets `problem`, and from then on nothing more is taken in. What
    is kept is bounded by `LONGEST_LINE` × `MOST_LINES` per reply, or by `MOST_KEPT` when it is `brief`.
    """

    __slots__ = ("_begun", "_kept", "_lines", "_rest", "brief", "problem", "ready")

    def __init__(self) -> None:
        self.ready: deque[Lines] = deque()
        """Complete replies that nobody has taken yet."""
        self.problem: str | None = None
        self.brief = False
        """The end of a long reply is left out."""
        self._rest = b""
        self._begun: list[bytes] = []
        self._lines = 0
        """How many lines the reply has so far, …"""
        self._kept = 0
        """… and what those take that were kept."""

    @property
    def empty(self) -> bool:
        """Nothing is waiting, not even a part of a reply."""
        return not (self.ready or self._rest or self._begun)

    def feed(self, data: bytes) -> None:
        """Take in what came from the network."""
        if self.problem is not None:
            return
        lines = (self._rest + data if self._rest else data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            # Only short lines are looked up: a long one would be remembered too.
            if not self._begun and len(line) <= _WORTH_REMEMBERING and (reply := _by_itself(line)) is not None:
                self.ready.append(reply)
                continue
            self._take(line.removesuffix(b"\r"))
            if self.problem is not None:
                return
        if len(self._rest) > LONGEST_LINE:
            self._refuse(f"a reply line longer than {LONGEST_LINE} bytes")

    def _take(self, line: bytes) -> None:
        """A line that is not a whole reply by itself."""
        if len(line) > LONGEST_LINE:
            self._refuse(f"a reply line longer than {LONGEST_LINE} bytes")
        elif not _LINE.match(line):
            self._refuse(f"not an SMTP reply: {printable(line[:60])!r}")
        elif self._begun and self._begun[0][:3] != line[:3]:
            self._refuse("a reply whose lines have different codes")
        elif line[3:4] == b"-":
            self._keep(line)
            if self._lines >= MOST_LINES:
                self._refuse(f"a reply of more than {MOST_LINES} lines")
        else:
            self._keep(line)
            self.ready.append(tuple(self._begun))
            self._begin_anew()

    def _keep(self, line: bytes) -> None:
        """The line, or as much of it as there is room for; of the first one at least the code."""
        self._lines += 1
        room = MOST_KEPT - self._kept - _LINE_COST
        if self.brief and len(line) > room:
            line = _clipped(line, max(room, 0 if self._begun else 4))
        if line:
            self._begun.append(line)
            self._kept += len(line) + _LINE_COST

    def _begin_anew(self) -> None:
        self._begun.clear()
        self._lines = self._kept = 0

    def _refuse(self, problem: str) -> None:
        self.problem = problem
        self._rest = b""
        self._begin_anew()


def _clipped(line: bytes, room: int) -> bytes:
    """The beginning of a line, cut between two letters; nothing where not even its code has room."""
    return line[:room].decode("utf-8", "ignore").encode() if room >= 4 else b""


@lru_cache(maxsize=256)  # a server says the same few things over and over
def _by_itself(line: bytes) -> Lines | None:
    """The reply that a line is without any other, if it is one."""
    line = line.removesuffix(b"\r")
    return (line,) if _WHOLE.match(line) and len(line) <= LONGEST_LINE else None


def code_of(lines: Lines) -> int:
    """The reply code; cheaper than making a whole `Reply`."""
    return int(lines[0][:3])


def make_reply(phase: Phase, lines: Lines) -> Reply:
    """The reply as a value. Short ones are remembered, as above."""
    if len(lines) == 1 and len(lines[0]) <= _WORTH_REMEMBERING:
        return _remembered(phase, lines)
    return _parse(phase, lines)


def _parse(phase: Phase, lines: Lines) -> Reply:
    code = code_of(lines)
    texts = [printable(line[4:]) for line in lines]
    enhanced = _ENHANCED.match(texts[0])
    if enhanced is None or enhanced[1][0] != str(code)[0]:
        return Reply(phase=phase, code=code, text=" ".join(texts)[:LONGEST_TEXT].strip())
    texts = [text.removeprefix(enhanced[1]).strip() for text in texts]
    return Reply(phase=phase, code=code, enhanced=enhanced[1], text=" ".join(texts)[:LONGEST_TEXT].strip())


_remembered = lru_cache(maxsize=256)(_parse)


def printable(text: bytes) -> str:
    """Safe to show and to store: no control characters, no invalid or invisible ones."""
    decoded = text.decode("utf-8", "replace")
    if decoded.isprintable():
        return decoded
    return "".join(character if character.isprintable() else " " for character in decoded)
