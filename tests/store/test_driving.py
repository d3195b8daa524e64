"""One pair of drivers carries plans and courses: what becomes of a step's error, and of the generator."""

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import pytest

from postroom import Outbox
from postroom.store.plan import Plan, adrive, ask, drive

Step = Callable[[Any], Any]
Driver = Callable[[Generator[Any, Any, Any], Step], Any]


def awaiting(generator: Generator[Any, Any, Any], step: Step) -> Any:
    """As `drive`, by way of an event loop."""

    async def carry_out(asked: Any) -> Any:
        return step(asked)

    return asyncio.run(adrive(generator, carry_out))


BOTH = pytest.mark.parametrize("driver", [drive, awaiting])


def doubled(asked: int) -> int:
    return 2 * asked


def refuse(asked: object) -> object:
    raise LookupError(f"no {asked}")


@BOTH
def test_a_generator_is_sent_each_answer_and_its_result_comes_out(driver: Driver) -> None:
    def adding() -> Generator[int, int, int]:
        first = yield 1
        second = yield 2
        return first + second

    assert driver(adding(), doubled) == 6


@BOTH
def test_a_generator_that_asks_for_nothing_returns_its_result(driver: Driver) -> None:
    def silent() -> Generator[int, int, str]:
        return "nothing asked"
        yield 1

    assert driver(silent(), refuse) == "nothing asked"


@BOTH
def test_a_generator_handles_the_error_of_a_step_and_goes_on(driver: Driver) -> None:
    def forgiving() -> Generator[str, object, list[object]]:
        found: list[object] = []
        for wanted in ("a", "b"):
            try:
                found.append((yield wanted))
            except LookupError as error:
                found.append(str(error))
        return found

    assert driver(forgiving(), refuse) == ["no a", "no b"]


@BOTH
def test_what_a_generator_does_not_handle_comes_out_as_it_is_after_its_cleaning_up(driver: Driver) -> None:
    cleaned: list[str] = []

    def tidy() -> Generator[str, object, None]:
        try:
            yield "a"
        finally:
            cleaned.append("up")

    with pytest.raises(LookupError, match="no a"):
        driver(tidy(), refuse)
    assert cleaned == ["up"]


@BOTH
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, asyncio.CancelledError])
def test_an_interrupt_is_not_the_generators_to_handle_and_closes_it(
    driver: Driver, interrupt: type[BaseException]
) -> None:
    ended: list[str] = []

    def stubborn() -> Generator[str, object, str]:
        try:
            yield "a"
        except interrupt:
            return "went on"
        finally:
            ended.append("closed")
        raise AssertionError("it was neither interrupted nor closed")

    def stop(asked: str) -> object:
        raise interrupt

    kept = stubborn()  # held here, so that only the driver can have closed it
    with pytest.raises(interrupt):
        driver(kept, stop)
    assert ended == ["closed"]


@BOTH
def test_a_step_that_stops_an_iteration_does_not_pass_for_the_end_of_the_plan(driver: Driver) -> None:
    def exhausted(asked: str) -> object:
        return next(iter(()))

    def asking() -> Generator[str, object, str]:
        yield "a"
        return "finished"

    with pytest.raises(RuntimeError, match="StopIteration"):
        driver(asking(), exhausted)


def test_a_plan_may_live_without_a_statement_that_failed(migrated_sqlite_url: str) -> None:
    """What it did before and after is committed."""

    def counting() -> Plan[str]:
        yield ask("tally", changes=[{"name": "cancelled", "change": 2}])
        try:
            yield ask("tally", changes=[{"name": None, "change": 1}])
        except Exception as error:  # noqa: BLE001  a driver's, of whichever kind
            said = type(error).__name__
        yield ask("tally", changes=[{"name": "cancelled", "change": 1}])
        return said

    with Outbox(migrated_sqlite_url) as outbox:
        assert outbox.database.run(counting()) == "IntegrityError"
        assert outbox.counts()["cancelled"] == 3


def test_a_course_may_live_without_a_plan_that_failed(outbox: Outbox) -> None:
    """On either database: each plan has a transaction of its own, and only the failed one is undone."""

    def counting(name: str | None) -> Plan[None]:
        yield ask("tally", changes=[{"name": "cancelled", "change": 1}])
        yield ask("tally", changes=[{"name": name, "change": 1}])

    def course() -> Generator[Plan[None], None, list[str]]:
        failed = []
        for name in ("cancelled", None, "cancelled"):
            try:
                yield counting(name)
            except Exception as error:  # noqa: BLE001
                failed.append(type(error).__name__)
        return failed

    assert len(drive(course(), outbox.database.run)) == 1
    assert outbox.counts()["cancelled"] == 4
