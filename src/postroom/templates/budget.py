"""How much one rendering may take. A template that loops without end is one email's problem, and soon over."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SECONDS = 2.0
CHARACTERS = 2_000_000
"""Of all that is put out on the way, also of what is put together to be put out later."""
TURNS = 100_000
"""Of all loops together."""


class Exceeded(Exception):
    """A rendering took more than it may; the message says of what."""


class OutOfTime(Exceeded):
    """It took longer than it may: on a busy machine no fault of the template's."""


@dataclass(slots=True)
class Budget:
    """What is left of the time, the size and the loops of one rendering."""

    ends: float = field(default_factory=lambda: time.monotonic() + SECONDS)
    characters: int = CHARACTERS
    turns: int = TURNS
    values: list[str] | None = None
    """What was put out, where places are left for it: see `skeleton.py`."""

    def put_out(self, characters: int) -> None:
        self.characters -= characters
        if self.characters < 0:
            raise Exceeded(f"it has more than {CHARACTERS:,} characters")
        if time.monotonic() > self.ends:
            raise OutOfTime(f"it takes longer than {SECONDS:.0f} seconds")

    def turn(self, times: int) -> None:
        self.turns -= times
        if self.turns < 0:
            raise Exceeded(f"its loops have more than {TURNS:,} turns")
        self.put_out(0)


class _Current(threading.local):
    budget: Budget | None = None


_current = _Current()
"""Whose rendering goes on in this thread: macros are called without anything that could carry it."""


@contextmanager
def within(budget: Budget) -> Iterator[None]:
    """Render within a budget."""
    former, _current.budget = _current.budget, budget
    try:
        yield
    finally:
        _current.budget = former


def current() -> Budget:
    """The budget of the rendering that goes on."""
    budget = _current.budget
    assert budget is not None, "nothing is rendered here"
    return budget
