"""What is measured: contestants run in turns, and their readings gathered into series, one value a round."""

from __future__ import annotations

import statistics
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


class Absent(Exception):
    """Something a contestant needs is not on this machine; the message says what, and how to get it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One figure of one round."""

    what: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A run that can be repeated."""

    name: str
    measure: Callable[[], Iterable[Reading]]
    once: bool = False
    """Too long to be repeated, and steady enough not to need it."""


@dataclass(slots=True, kw_only=True)
class Series:
    """The values of one reading, by round."""

    unit: str
    values: dict[int, float] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.values.values())


@dataclass(slots=True)
class Results:
    """Everything that was read, and everything that could not be."""

    series: dict[str, Series] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def add(self, reading: Reading, round_number: int) -> None:
        series = self.series.setdefault(reading.what, Series(unit=reading.unit))
        series.values[round_number] = reading.value

    def ratios(self, numerator: str, denominator: str) -> list[float]:
        """By round, where both were read, lowest first: within a round the machine is the same for both."""
        upper, lower = self.series[numerator].values, self.series[denominator].values
        return sorted(upper[number] / lower[number] for number in upper.keys() & lower.keys())


def take_in_turns(contestants: list[Contestant], *, rounds: int, begin: Callable[[int, str], None]) -> Results:
    """Run every contestant once a round. One that is absent or fails is noted and left out from then on."""
    results = Results()
    for number in range(rounds):
        for contestant in contestants:
            if contestant.name in results.absent or contestant.name in results.failed:
                continue
            if contestant.once and number:
                continue
            begin(number, contestant.name)
            _measure(contestant, number, results)
    return results


def _measure(contestant: Contestant, number: int, results: Results) -> None:
    try:
        for reading in contestant.measure():
            results.add(reading, number)
    except Absent as reason:
        results.absent[contestant.name] = str(reason)
    except Exception as error:  # noqa: BLE001  one contestant's trouble is told, and does not end the run
        traceback.print_exc()
        results.failed[contestant.name] = f"{type(error).__name__}: {error}"
