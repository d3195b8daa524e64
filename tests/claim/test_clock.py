"""The database's time between two looks at it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from postroom.claim.clock import DatabaseClock

THEN = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


class Machine:
    """Two clocks: one that only goes forward, and one that people set."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.set_by = timedelta(0)

    def monotonic(self) -> float:
        return self.passed

    def wall(self) -> datetime:
        return THEN + timedelta(seconds=self.passed) + self.set_by


def clock_of(machine: Machine) -> DatabaseClock:
    return DatabaseClock(monotonic=machine.monotonic, wall=machine.wall)


def test_before_the_database_has_told_its_time_the_machine_is_believed() -> None:
    assert clock_of(Machine()).now() == THEN


@given(
    told=st.timedeltas(timedelta(days=-9000), timedelta(days=9000)).map(lambda apart: THEN + apart),
    passed=st.integers(0, 10_000),
    set_by=st.timedeltas(timedelta(days=-400), timedelta(days=400)),
)
def test_setting_the_machines_clock_changes_nothing(told: datetime, passed: int, set_by: timedelta) -> None:
    machine = Machine()
    clock = clock_of(machine)
    clock.anchor(told)
    machine.passed, machine.set_by = float(passed), set_by

    assert clock.now() == told + timedelta(seconds=passed)


def test_a_time_that_a_test_gives_goes_before_everything() -> None:
    clock = DatabaseClock(lambda: THEN)
    clock.anchor(THEN + timedelta(days=1))

    assert clock.now() == THEN
