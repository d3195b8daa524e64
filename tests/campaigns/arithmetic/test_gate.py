"""Whether a mail may leave now, and why not."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.campaigns import Permit, RampUp, SendingSettings, Wait, allowance, gate, window_day_at
from postroom.errors import InvalidCampaign
from tests.campaigns.arithmetic.cases import Case, cases

MONDAY = datetime(2026, 6, 1, 12, tzinfo=UTC)
TUESDAY_OPENING = datetime(2026, 6, 2, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def asked(settings: SendingSettings | None = None, **more: Any) -> Permit | Wait:
    return gate(settings or SendingSettings(), **{"now": MONDAY, "used": 0, "sent_days": 0} | more)


def told(answer: Permit | Wait) -> tuple[str, datetime | None]:
    assert isinstance(answer, Wait)
    return str(answer), answer.until


def test_a_mail_may_leave_in_an_open_window_with_quota_left() -> None:
    settings = SendingSettings(ramp_up=RampUp(schedule=(1, 5)))

    assert asked(settings, used=3, sent_days=1) == Permit(day=date(2026, 6, 1), ramp_day=2, left=2)


def test_after_midnight_it_counts_for_the_day_on_which_the_window_opened() -> None:
    night = SendingSettings(start_hour=22, end_hour=6)

    assert asked(night, now=datetime(2026, 6, 2, 3, tzinfo=UTC)) == Permit(day=date(2026, 6, 1), ramp_day=1, left=50)


def test_outside_of_windows_it_waits_for_the_next() -> None:
    assert told(asked(now=datetime(2026, 6, 1, 17, tzinfo=UTC))) == ("window_closed", TUESDAY_OPENING)


def test_on_a_holiday_it_says_so() -> None:
    assert told(asked(SendingSettings(holidays=(date(2026, 6, 1),)))) == ("holiday", TUESDAY_OPENING)


def test_p4_a_quota_that_is_used_is_told_with_its_numbers() -> None:
    assert told(asked(used=50)) == ("quota_used (50/50)", TUESDAY_OPENING)
    assert told(asked(used=51)) == ("quota_used (51/50)", TUESDAY_OPENING)


def test_p4_a_quota_of_0_sends_nothing_with_that_reason_and_without_an_end() -> None:
    assert told(asked(SendingSettings(daily_quota=0))) == ("quota_used (0/0)", None)
    assert told(asked(SendingSettings(daily_quota=0), used=2)) == ("quota_used (2/0)", None)


def test_p5_where_the_ramp_up_is_what_holds_it_says_which_day_of_it() -> None:
    settings = SendingSettings(ramp_up=RampUp(schedule=(20, 30, 50, 0)))

    assert told(asked(settings, used=20)) == ("ramp_day (1)", TUESDAY_OPENING)
    assert told(asked(settings, used=30, sent_days=1)) == ("ramp_day (2)", TUESDAY_OPENING)
    assert told(asked(settings, used=50, sent_days=2)) == ("quota_used (50/50)", TUESDAY_OPENING)
    assert told(asked(settings, sent_days=3)) == ("ramp_day (4)", None)


def test_p6_the_gap_since_the_last_mail_is_waited_for() -> None:
    assert told(asked(used=1, last=MONDAY, gap=MINUTE)) == ("gap", MONDAY + MINUTE)
    assert isinstance(asked(used=1, last=MONDAY - MINUTE, gap=MINUTE), Permit)


def test_p6_a_gap_beyond_closing_ends_in_the_next_window() -> None:
    last = datetime(2026, 6, 1, 16, 59, 30, tzinfo=UTC)

    assert told(asked(used=1, now=last + timedelta(seconds=1), last=last, gap=MINUTE)) == ("gap", TUESDAY_OPENING)


def test_p6_the_first_mail_of_a_window_waits_for_the_least_gap_where_the_drawn_one_would_leave_none() -> None:
    settings = SendingSettings(start_hour=12, end_hour=13, gap_seconds=(60, 7200))
    last = MONDAY - timedelta(seconds=30)

    assert told(asked(settings, last=last, gap=timedelta(hours=2))) == ("gap", MONDAY + timedelta(seconds=30))
    assert isinstance(asked(settings, now=MONDAY + MINUTE, last=last, gap=timedelta(hours=2)), Permit)


@pytest.mark.parametrize("given", [{"used": -1}, {"sent_days": True}, {"now": datetime(2026, 6, 1)}])  # noqa: DTZ001
def test_what_cannot_be_asked_is_refused_by_its_field(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidCampaign, match=f"^{next(iter(given))}: "):
        asked(**given)


@given(cases())
def test_a_planned_slot_is_never_refused_when_it_comes(case: Case) -> None:
    """A clock goes from slot to slot and asks each time, with what has left until then."""
    taken = Counter({case.present: case.used_today})
    last = case.last
    for slot in case.slots():
        day = window_day_at(case.settings, slot.at)
        assert day is not None
        earlier = sum(count > 0 for other, count in taken.items() if case.present <= other < day)
        gap = timedelta(seconds=case.settings.gap_seconds[0])
        answer = gate(
            case.settings, now=slot.at, used=taken[day], sent_days=case.sent_days + earlier, last=last, gap=gap
        )

        assert isinstance(answer, Permit), answer
        assert (answer.day, answer.left > 0) == (day, True)
        taken[day] += 1
        last = slot.at


@given(cases(), st.data())
def test_who_waits_as_told_gets_through_and_never_against_a_rule(case: Case, data: st.DataObject) -> None:
    """A clock that only ever asks the gate: each answer leads on, and a mail leaves after few of them."""
    taken: Counter[date] = Counter()
    now, last, gap = case.now, None, timedelta(0)
    for _ in range(10):
        for _ in range(8):
            day = window_day_at(case.settings, now)
            used = taken[day] if day else 0
            earlier = sum(other < day for other in taken) if day else 0
            answer = gate(case.settings, now=now, used=used, sent_days=earlier, last=last, gap=gap)
            if isinstance(answer, Permit):
                break
            assert answer.until is not None
            assert answer.until > now
            now = answer.until
        assert isinstance(answer, Permit)
        taken[answer.day] += 1
        last, gap = now, timedelta(seconds=data.draw(st.integers(*case.settings.gap_seconds)))

    for number, day in enumerate(sorted(taken), start=1):
        assert taken[day] <= allowance(case.settings, number)
