"""How much one rendering may take. A template that loops without end is one email's problem, and soon over."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SECONDS = 2.0
"""Of the processor, which the rendering itself had: a machine that is busy with other things makes no template slow."""
PATIENCE = 60.0
"""Seconds on the clock, however few of them the rendering had: somebody waits for it, perhaps within a transaction."""
CHARACTERS = 2_000_000
"""Of all that is put out on the way, also of what is put together to be put out later."""
TURNS = 100_000
"""Of all loops together."""


class Exceeded(Exception):
    """A rendering took more than it may; the message says of what."""


class OutOfTime(Exceeded):
    """It worked for longer than it may."""


class Stalled(OutOfTime):
    """It was hardly given a processor: no fault of the template's."""


@dataclass(slots=True)
class Budget:
    """What is left of the time, the size and the loops of one rendering."""

    began: float = field(default_factory=time.monotonic)
    worked: float = field(default_factory=time.thread_time)
    """What this thread had of the processor before."""
    look_at: float = field(init=False)
    """When it may be over, on the clock: no sooner can the processor have given it all that it may have. So the clock
    alone is read at every step, which costs a tenth of the other question."""
    characters: int = CHARACTERS
    turns: int = TURNS
    values: list[str] | None = None
    """What was put out, where places are left for it: see `skeleton.py`."""

    def __post_init__(self) -> None:
        self.look_at = self.began + SECONDS

    def put_out(self, characters: int) -> None:
        self.characters -= characters
        if self.characters < 0:
            raise Exceeded(f"it has more than {CHARACTERS:,} characters")
        if (now := time.monotonic()) > self.look_at:
            self._look(now)

    def turn(self, times: int) -> None:
        self.turns -= times
        if self.turns < 0:
            raise Exceeded(f"its loops have more than {TURNS:,} turns")
        self.put_out(0)

    def _look(self, now: float) -> None:
        left = SECONDS - (time.thread_time() - self.worked)
        if left < 0:
            raise OutOfTime(f"it takes the processor longer than {SECONDS:.0f} seconds")
        if now - self.began > PATIENCE:
            raise Stalled(f"the machine did not come to it for {PATIENCE:.0f} seconds")
        self.look_at = now + left


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
