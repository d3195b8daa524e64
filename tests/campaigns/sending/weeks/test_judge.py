"""The judge of the weeks finds what breaks a rule, and lets pass what does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from postroom.campaigns import RampUp, SendingSettings, window_day_at
from tests.campaigns.sending.weeks.judge import Seen, violations, window_day
from tests.campaigns.sending.weeks.log import Arrival, Present, Turn

MONDAY = datetime(2026, 3, 9, 9, tzinfo=UTC)
SETTINGS = SendingSettings(daily_quota=3, gap_seconds=(60, 60))
PRESENT = Present(settings=SETTINGS, quotas={"grace@shop.example": None})
ENROLLED = {"spring": ("ada", "ben", "cleo")}
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


class Log:
    """A log that a test writes."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.turns: list[Turn] = []

    def take(
        self, to: str, at: datetime, step: int = 1, *, present: Present = PRESENT, turn_at: datetime | None = None
    ) -> None:
        """A mail that a server took at once; or so long after its turn."""
        turn = Turn(place=2 * len(self.turns), at=turn_at or at, present=present, to=to)
        before = [each for each in self.arrivals if each.to == to]
        self.turns.append(turn)
        self.arrivals.append(
            Arrival(
                place=turn.place + 1, at=at, turn=turn, campaign="spring", step=step, to=to,
                sender="grace@shop.example", message_id=f"<{len(self.arrivals)}>",
                answers=before[-1].message_id if before else "", unsubscribe=True, present=present,
            )
        )  # fmt: skip

    def broken(self, *, calm_from: datetime = MONDAY + 365 * DAY, enrolled: Sequence[str] = ("ada", "ben")) -> set[str]:
        """The rules that it breaks."""
        seen = Seen(
            arrivals=sorted(self.arrivals, key=lambda each: each.place),
            turns=self.turns,
            enrolled={"spring": enrolled},
            delays=(0, 2),
            calm=SETTINGS,
            calm_from=calm_from,
        )
        return {each.partition(":")[0] for each in violations(seen)}


@pytest.fixture
def log() -> Log:
    """Two people, two steps each, as it should be."""
    log = Log()
    log.take("ada", MONDAY)
    log.take("ben", MONDAY + MINUTE)
    log.take("ada", MONDAY + 2 * DAY, 2)
    log.take("ben", MONDAY + 2 * DAY + MINUTE, 2)
    return log


def test_what_obeys_every_rule_is_let_pass(log: Log) -> None:
    assert log.broken(calm_from=MONDAY - DAY) == set()


@pytest.mark.parametrize("at", [MONDAY - MINUTE, MONDAY + timedelta(hours=8), MONDAY - DAY])
def test_a_mail_outside_its_window_is_found(at: datetime) -> None:
    log = Log()
    log.take("ada", at)

    assert log.broken() == {"P1, P2, P3, P9"}


def test_a_mail_on_what_has_become_a_holiday_is_found() -> None:
    log = Log()
    log.take("ada", MONDAY)
    log.take("ben", MONDAY + MINUTE, present=replace(PRESENT, settings=replace(SETTINGS, holidays=(MONDAY.date(),))))

    assert log.broken() == {"P1, P2, P3, P9"}


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        (replace(PRESENT, settings=replace(SETTINGS, daily_quota=2)), "P4"),
        (replace(PRESENT, quotas={"grace@shop.example": 2}), "P4"),
        (replace(PRESENT, settings=replace(SETTINGS, ramp_up=RampUp(schedule=(9, 2)))), "P5"),
        (replace(PRESENT, paused=frozenset({"spring"})), "P11"),
        (replace(PRESENT, stopped=frozenset({"cleo"})), "P12"),
    ],
)
def test_what_people_have_said_meanwhile_is_held_against_the_next_mail(log: Log, changed: Present, rule: str) -> None:
    log.take("cleo", MONDAY + 2 * DAY + 2 * MINUTE, present=changed)

    assert log.broken() == {rule}


def test_turns_that_come_too_close_are_found(log: Log) -> None:
    log.take("cleo", MONDAY + 2 * DAY + MINUTE + timedelta(seconds=59))

    assert log.broken() == {"P6"}


def test_a_mail_that_was_kept_waiting_may_not_follow_too_close_on_the_turn_of_a_later_one() -> None:
    kept, close = Log(), MONDAY + MINUTE + timedelta(seconds=59)
    kept.turns.append(turn := Turn(place=0, at=MONDAY, present=PRESENT, to="ada"))
    kept.take("ben", MONDAY + MINUTE)
    late = replace(kept.arrivals[0], place=9, turn=turn, to="ada", message_id="<late>")
    kept.arrivals.append(replace(late, at=close))
    assert kept.broken() == {"P6"}
    kept.arrivals[-1] = replace(late, at=close + timedelta(seconds=1))

    assert kept.broken() == set()


def test_a_step_that_comes_too_soon_or_before_the_one_it_follows_is_found() -> None:
    soon, alone = Log(), Log()
    soon.take("ada", MONDAY)
    soon.take("ada", MONDAY + DAY, 2)
    alone.take("ada", MONDAY, 2)

    assert soon.broken() == alone.broken() == {"P7"}


def test_somebody_new_who_goes_before_a_follow_up_that_is_due_is_found() -> None:
    log = Log()
    log.take("ada", MONDAY)
    log.take("ben", MONDAY + 2 * DAY)
    log.take("ada", MONDAY + 2 * DAY + MINUTE, 2)

    assert log.broken() == {"P8"}


def test_an_allowance_that_is_left_unused_although_somebody_waits_is_found() -> None:
    log = Log()
    log.take("ada", MONDAY)
    log.take("ben", MONDAY + DAY)

    assert log.broken(calm_from=MONDAY - DAY) == {"P8"}
    assert log.broken(calm_from=MONDAY + MINUTE) == set(), "something disturbed that day"


def test_a_step_that_arrives_twice_is_found() -> None:
    log = Log()
    log.take("ada", MONDAY)
    log.take("ada", MONDAY + MINUTE)

    assert {"P13"} < log.broken()


def test_a_follow_up_that_has_lost_its_thread_is_found(log: Log) -> None:
    log.arrivals[2] = replace(log.arrivals[2], answers="<another>")

    assert log.broken() == {"P14"}


HOURLY = [datetime(2026, month, 1, tzinfo=UTC) + timedelta(hours=hour) for month in (3, 10) for hour in range(850)]


@pytest.mark.parametrize("hours", [(9, 17), (22, 4), (1, 3), (23, 2), (2, 24)])
@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Pacific/Auckland"])
def test_the_clock_on_the_wall_shows_the_windows_that_the_arithmetic_finds(zone: str, hours: tuple[int, int]) -> None:
    """Two ways to the same days, over the changes of a year."""
    settings = SendingSettings(
        timezone=zone, start_hour=hours[0], end_hour=hours[1], sending_days=("sat", "sun", "mon"),
        holidays=(date(2026, 3, 22), date(2026, 11, 2)),
    )  # fmt: skip

    assert [window_day(settings, at) for at in HOURLY] == [window_day_at(settings, at) for at in HOURLY]
