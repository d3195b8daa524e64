"""When a failed email is tried again, and how often.

| preset | delays before attempt 1, 2, 3 … | attempts |
|---|---|---|
| `quick` | 30 s, 60 s, 120 s, 240 s, 480 s | 5 |
| `standard` | 0, 1 m, 5 m, 30 m, 2 h, each up to a tenth longer by chance | 5 |
| `patient` (the default) | 0, 1 m, 5 m, 15 m, 1 h, 3 h, 6 h, 12 h, (24 h, 24 h …) | 8 |
| `outreach` | 0, 1 m, 5 m, 15 m | 4 |

The delay before attempt 1 counts from a failed inline send; an email that was simply enqueued is due at once.
Jitter only ever adds: a delay is never shorter than the table says, and a draw of 0 gives the table itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Self

from postroom.duration import Duration, format_duration, parse_duration
from postroom.errors import ConfigurationError

LONGEST_DELAY = timedelta(days=365)
"""No delay is longer, whatever a growing policy without a cap arrives at."""


@dataclass(frozen=True, slots=True, init=False)
class RetryPolicy:
    """A schedule of attempts.

    Guarantees: a delay is never negative and never above `cap` (before jitter); past the last step each delay is the
    one before times `factor`, so that with the default of 1 the last step repeats.
    """

    name: str
    """As shown to people; the presets are found by it."""
    steps: tuple[timedelta, ...]
    """The delays before attempt 1, 2, 3 …"""
    factor: float
    """How delays grow past the last step; 1 repeats it."""
    cap: timedelta | None
    """The longest delay, before jitter."""
    jitter: float
    """The largest share of a delay that chance may add to it, 0 to 1."""
    max_attempts: int
    """Attempts by the worker after which the email is given up."""

    def __init__(
        self,
        *,
        steps: Iterable[Duration],
        max_attempts: int | None = None,
        jitter: float = 0.0,
        factor: float = 1.0,
        cap: Duration | None = None,
        name: str = "custom",
    ) -> None:
        """`steps` reads `["0s", "1m", "5m"]`; without `max_attempts` there is one attempt for each step."""
        delays = tuple(parse_duration(step) for step in _listed(steps))
        values = {
            "name": name,
            "steps": delays,
            "factor": float(factor),
            "cap": None if cap is None else parse_duration(cap),
            "jitter": float(jitter),
            "max_attempts": len(delays) if max_attempts is None else max_attempts,
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)
        self._check()

    @classmethod
    def exponential(
        cls,
        base: Duration,
        *,
        factor: float = 2.0,
        max_attempts: int = 5,
        cap: Duration | None = None,
        jitter: float = 0.0,
        name: str = "custom",
    ) -> Self:
        """`base` before attempt 1, then `factor` times the delay before."""
        return cls(steps=[base], factor=factor, max_attempts=max_attempts, cap=cap, jitter=jitter, name=name)

    def delay_before(self, attempt: int, jitter: float = 0.0) -> timedelta:
        """How long to wait before this attempt, counted from 1. `jitter` is a draw from 0 to 1."""
        return self._planned(attempt) * (1 + self.jitter * jitter)

    def due_after(self, attempts_made: int, now: datetime, jitter: float = 0.0) -> datetime:
        """When the next attempt is due after one that has failed just now."""
        return now + self.delay_before(attempts_made + 1, jitter)

    def first_delay(self, *, after_inline_failure: bool, jitter: float = 0.0) -> timedelta:
        """How long a new email waits: not at all, unless an inline send has just failed."""
        return self.delay_before(1, jitter) if after_inline_failure else timedelta(0)

    def exhausted(self, attempts_made: int) -> bool:
        """No further attempt may be asked for."""
        return attempts_made >= self.max_attempts

    def with_max_attempts(self, max_attempts: int) -> Self:
        """The same schedule with another budget."""
        return replace(self, max_attempts=max_attempts)

    def to_text(self) -> str:
        """The form that is stored: a preset by its name, any other policy as compact JSON."""
        if PRESETS.get(self.name) == self:
            return self.name
        return json.dumps(self._as_json(), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str, known: Mapping[str, RetryPolicy] | None = None) -> RetryPolicy:
        """Read what `to_text` wrote, or the name of a preset or of one of `known`, which come first."""
        named = (known or {}).get(text) or PRESETS.get(text)
        if named is not None:
            return named
        if not text.startswith("{"):
            names = ", ".join([*PRESETS, *(known or {})])
            raise ConfigurationError(f"no retry policy is named {text[:60]!r}; the known ones are {names}")
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"the retry policy {text[:200]!r} cannot be read: {error}") from error

    def _planned(self, attempt: int) -> timedelta:
        """The delay before jitter."""
        if attempt < 1:
            raise ValueError(f"attempts count from 1, got {attempt}")
        beyond = attempt - len(self.steps)
        delay = self.steps[attempt - 1] if beyond <= 0 else self._grown(beyond)
        return min(delay, LONGEST_DELAY if self.cap is None else self.cap)

    def _grown(self, times: int) -> timedelta:
        last = self.steps[-1]
        if not last or self.factor == 1:
            return last
        try:
            return last * self.factor**times
        except OverflowError:
            return LONGEST_DELAY

    def _as_json(self) -> dict[str, Any]:
        written: dict[str, Any] = {
            "name": self.name,
            "steps": [format_duration(step) for step in self.steps],
            "max_attempts": self.max_attempts,
        }
        if self.factor != 1:
            written["factor"] = self.factor
        if self.cap is not None:
            written["cap"] = format_duration(self.cap)
        if self.jitter:
            written["jitter"] = self.jitter
        return written

    def _check(self) -> None:
        delays = self.steps if self.cap is None else (*self.steps, self.cap)
        problems = {
            "steps needs at least one delay": not self.steps,
            "no delay may be longer than 365d": any(delay > LONGEST_DELAY for delay in delays),
            "max_attempts must be a whole number from 1": type(self.max_attempts) is not int or self.max_attempts < 1,
            "jitter must lie between 0 and 1": not 0 <= self.jitter <= 1,
            "factor must be a number from 1": not (math.isfinite(self.factor) and self.factor >= 1),
        }
        for problem, present in problems.items():
            if present:
                raise ConfigurationError(f"retry policy {self.name!r}: {problem}")


def _listed(steps: Iterable[Duration]) -> tuple[Duration, ...]:
    if isinstance(steps, str):
        raise ConfigurationError(f'steps is a list of delays such as ["0s", "1m", "5m"], got the text {steps[:60]!r}')
    return tuple(steps)


PRESETS: Mapping[str, RetryPolicy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            RetryPolicy.exponential("30s", factor=2, max_attempts=5, name="quick"),
            RetryPolicy(steps=["0s", "1m", "5m", "30m", "2h"], jitter=0.1, name="standard"),
            RetryPolicy(steps=["0s", "1m", "5m", "15m", "1h", "3h", "6h", "12h", "1d"], max_attempts=8, name="patient"),
            RetryPolicy(steps=["0s", "1m", "5m", "15m"], name="outreach"),
        )
    }
)
"""The policies that are there without being configured."""

DEFAULT_POLICY = PRESETS["patient"]
