"""The plan: quota (P4), ramp-up (P5), gap (P6), delays (P7), order (P8), and how it ends (P10, E10)."""

from __future__ import annotations

import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count, islice, pairwise
from random import Random
from typing import Any

import pytest

from postroom.campaigns import Planned, RampUp, SendingSettings, Slot, UnderWay, plan, window, window_day_at
from postroom.campaigns.arithmetic.turns import COUNTED
from postroom.errors import CannotFinish, InvalidCampaign

MONDAY = datetime(2026, 6, 1, 6, tzinfo=UTC)
"""Before the window opens."""
WEEK = tuple(date(2026, 6, day) for day in range(1, 8))
SETTINGS = SendingSettings(daily_quota=3)


def campaign(prospects: int, *delays: int, id: str = "c", **more: Any) -> Planned:
    names = tuple(f"{id}{number}" for number in range(1, prospects + 1))
    return Planned(id=id, prospects=names, delay_days=delays or (0,), **more)


def planned(settings: SendingSettings, *campaigns: Planned, now: datetime = MONDAY, **more: Any) -> list[Slot]:
    return [*plan(settings, campaigns, now=now, random=Random(7), **more)]


def by_day(settings: SendingSettings, slots: list[Slot]) -> dict[int, list[str]]:
    """Who gets which step, by the day of the month."""
    found: dict[int, list[str]] = {}
    for slot in slots:
        day = window_day_at(settings, slot.at)
        assert day is not None
        found.setdefault(day.day, []).append(f"{slot.prospect}/{slot.step}")
    return found


def counts(settings: SendingSettings, slots: list[Slot]) -> dict[int, int]:
    return {day: len(mails) for day, mails in by_day(settings, slots).items()}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_p10_the_example_of_the_documentation() -> None:
    settings = SendingSettings(
        sending_days=("mon", "tue"),
        start_hour=9,
        end_hour=17,
        timezone="America/New_York",
        daily_quota=50,
        ramp_up=RampUp(schedule=(20, 30, 40)),
        holidays=(date(2026, 12, 25),),
        gap_seconds=(30, 90),
    )
    slots = plan(
        settings,
        [Planned(id="c1", prospects=("p1", "p2"), delay_days=(0, 3, 4))],
        now=at("2026-03-09T14:00"),
        used={date(2026, 3, 9): 12},
        sent_days=2,
        random=Random(7),
    )

    assert [(slot.campaign, slot.prospect, slot.step, slot.at.day) for slot in slots] == [
        ("c1", "p1", 1, 9),
        ("c1", "p2", 1, 9),
        ("c1", "p1", 2, 16),
        ("c1", "p2", 2, 16),
        ("c1", "p1", 3, 23),
        ("c1", "p2", 3, 23),
    ]


def test_p4_a_day_takes_its_quota_and_the_rest_goes_to_the_next_edge_case_4() -> None:
    """«Quota exceeded: move to next available day slot.» The weekend has none."""
    assert counts(SETTINGS, planned(SETTINGS, campaign(17))) == {1: 3, 2: 3, 3: 3, 4: 3, 5: 3, 8: 2}


def test_p4_all_campaigns_share_one_quota_with_what_was_sent_already() -> None:
    slots = planned(SETTINGS, campaign(2, id="a"), campaign(4, id="b"), used={WEEK[0]: 2, WEEK[1]: 3})

    assert by_day(SETTINGS, slots) == {1: ["a1/1"], 3: ["a2/1", "b1/1", "b2/1"], 4: ["b3/1", "b4/1"]}


def test_p4_more_than_the_quota_may_have_been_sent_already() -> None:
    """It was lowered since."""
    assert counts(SETTINGS, planned(SETTINGS, campaign(2), used={WEEK[0]: 40})) == {2: 2}


def test_p3_weekends_and_holidays_are_left_out_edge_case_5() -> None:
    settings = SendingSettings(daily_quota=1, holidays=(WEEK[3],))

    assert counts(settings, planned(settings, campaign(5))) == {1: 1, 2: 1, 3: 1, 5: 1, 8: 1}


def test_e3_edge_case_6_slots_are_in_utc_and_right_across_daylight_saving() -> None:
    """Berlin changes its clocks on Sunday, 29 March 2026."""
    settings = SendingSettings(timezone="Europe/Berlin", daily_quota=1, gap_seconds=(0, 0))
    slots = planned(settings, campaign(2), now=at("2026-03-27T00:00"))

    assert [slot.at for slot in slots] == [at("2026-03-27T08:00"), at("2026-03-30T07:00")]
    assert all(slot.at.tzinfo is UTC for slot in slots)


def test_p5_days_without_mail_do_not_advance_the_ramp_up() -> None:
    settings = SendingSettings(daily_quota=9, ramp_up=RampUp(schedule=(1, 2, 3, 4)), holidays=(WEEK[1],))

    assert counts(settings, planned(settings, campaign(12), now=at("2026-06-01T06:00"))) == {
        1: 1,
        3: 2,
        4: 3,
        5: 4,
        8: 2,
    }


def test_p5_a_ramp_up_goes_on_where_it_stands() -> None:
    settings = SendingSettings(daily_quota=9, ramp_up=RampUp(schedule=(1, 2, 3)))

    assert counts(settings, planned(settings, campaign(20), sent_days=1)) == {1: 2, 2: 3, 3: 9, 4: 6}
    assert counts(settings, planned(settings, campaign(20), sent_days=1, used={WEEK[0]: 1})) == {1: 1, 2: 3, 3: 9, 4: 7}


@pytest.mark.parametrize("now", ["2026-06-01T12:00", "2026-06-01T20:00"], ids=["open", "closed"])
def test_p5_mail_of_the_present_day_counts_for_the_next_and_that_of_earlier_days_was_counted(now: str) -> None:
    settings = SendingSettings(daily_quota=9, ramp_up=RampUp(schedule=(1, 2, 3, 4)))
    used = {WEEK[0]: 2, date(2026, 5, 29): 1}
    slots = planned(settings, campaign(3), now=at(now), sent_days=1, used=used)

    assert counts(settings, slots) == {2: 3}


def test_p5_a_wait_for_the_next_step_does_not_advance_the_ramp_up() -> None:
    settings = SendingSettings(daily_quota=9, ramp_up=RampUp(schedule=(2, 1)))

    assert by_day(settings, planned(settings, campaign(2, 0, 3))) == {1: ["c1/1", "c2/1"], 4: ["c1/2"], 5: ["c2/2"]}


def test_p6_mails_keep_a_gap_within_its_bounds() -> None:
    settings = SendingSettings(daily_quota=500, gap_seconds=(30, 90))
    gaps = [later.at - slot.at for slot, later in pairwise(planned(settings, campaign(300)))]

    assert min(gaps) >= timedelta(seconds=30)
    assert max(gaps) <= timedelta(seconds=90)
    assert len({*gaps}) > 200


def test_p6_the_first_mail_of_a_window_leaves_within_the_longest_gap() -> None:
    settings = SendingSettings(daily_quota=1, gap_seconds=(30, 90))
    slots = planned(settings, campaign(50))
    delays = [slot.at - slot.at.replace(hour=9, minute=0, second=0, microsecond=0) for slot in slots]

    assert all(timedelta(0) <= delay <= timedelta(seconds=90) for delay in delays)
    assert len({*delays}) > 40


def test_p6_a_slot_at_or_after_closing_moves_to_the_next_window() -> None:
    """In an hour there is room for two mails that are forty minutes apart."""
    settings = SendingSettings(start_hour=9, end_hour=10, gap_seconds=(2400, 2400))
    slots = planned(settings, campaign(6))

    assert all(window_day_at(settings, slot.at) for slot in slots)
    assert max(counts(settings, slots).values()) <= 2
    assert min(later.at - slot.at for slot, later in pairwise(slots)) >= timedelta(minutes=40)


def test_p6_the_gap_holds_across_campaigns_and_windows_that_touch() -> None:
    days = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    settings = SendingSettings(sending_days=days, start_hour=0, end_hour=24, gap_seconds=(3600, 7200))
    slots = planned(settings, campaign(40, id="a"), campaign(40, id="b"))

    assert min(later.at - slot.at for slot, later in pairwise(slots)) >= timedelta(hours=1)
    assert max(later.at - slot.at for slot, later in pairwise(slots)) <= timedelta(hours=2)


def test_p6_the_gap_since_the_last_mail_that_really_left_is_kept() -> None:
    now = at("2026-06-01T12:00")
    settings = SendingSettings(gap_seconds=(600, 600))

    [slot] = planned(settings, campaign(1), now=now, last=at("2026-06-01T11:55"), used={WEEK[0]: 1})
    assert slot.at == at("2026-06-01T12:05")
    [slot] = planned(settings, campaign(1), now=now, last=at("2026-06-01T11:00"), used={WEEK[0]: 1})
    assert slot.at == now
    [slot] = planned(settings, campaign(1), now=now, used={WEEK[0]: 1})
    assert slot.at == at("2026-06-01T12:10")  # nobody knows when; so it may have been just now


def test_p6_an_open_window_takes_a_mail_however_long_the_gap() -> None:
    """Even one of a minute: in St. John's, midnight to one o'clock on 13 March 2011."""
    days = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    settings = SendingSettings(
        sending_days=days, start_hour=0, end_hour=1, timezone="America/St_Johns", gap_seconds=(3600, 36_000)
    )
    slots = planned(settings, campaign(4), now=at("2011-03-12T00:00"))

    assert counts(settings, slots) == {12: 1, 13: 1, 14: 1, 15: 1}


def test_p6_a_gap_that_covers_a_window_is_kept_and_the_window_is_left_out() -> None:
    """A day and an hour after the last mail of 10:00 … is after the window of the next day."""
    settings = SendingSettings(start_hour=9, end_hour=10, gap_seconds=(86_400, 86_400))
    slots = planned(settings, campaign(1), now=at("2026-06-02T06:00"), last=at("2026-06-01T18:00"))

    assert [slot.at.day for slot in slots] == [3]


def test_p6_a_drawn_gap_is_shortened_where_a_window_would_take_none_but_never_below_the_least() -> None:
    settings = SendingSettings(start_hour=9, end_hour=10, gap_seconds=(57_600, 86_400))
    for seed in range(50):
        [slot] = plan(
            settings, [campaign(1)], now=at("2026-06-02T06:00"), last=at("2026-06-01T17:00"), random=Random(seed)
        )

        assert at("2026-06-02T09:00") <= slot.at < at("2026-06-02T10:00")


def test_a_plan_that_begins_within_a_window_begins_now() -> None:
    now = at("2026-06-01T12:34:56")

    assert planned(SETTINGS, campaign(1), now=now)[0].at == now
    assert planned(SETTINGS, campaign(1), now=at("2026-06-01T17:00"))[0].at.day == 2


def test_p7_e4_delays_count_in_days_from_the_window_day_of_the_step_before_edge_case_7() -> None:
    """«Correctly calculate delays for steps 2 and 3»: from the day the step before has its slot, not from launch."""
    settings = SendingSettings(daily_quota=1)

    assert by_day(settings, planned(settings, campaign(1, 0, 3, 4))) == {1: ["c1/1"], 4: ["c1/2"], 8: ["c1/3"]}


def test_p7_a_step_that_is_due_on_a_closed_day_goes_in_the_next_window() -> None:
    settings = SendingSettings(daily_quota=9, holidays=(WEEK[3],))

    assert by_day(settings, planned(settings, campaign(1, 0, 3, 1))) == {1: ["c1/1"], 5: ["c1/2"], 8: ["c1/3"]}


def test_p7_a_night_counts_as_the_day_on_which_it_began() -> None:
    settings = SendingSettings(start_hour=22, end_hour=6)
    slots = planned(settings, campaign(1, 0, 1), now=at("2026-06-02T03:00"))

    assert slots[0].at == at("2026-06-02T03:00")
    assert by_day(settings, slots) == {1: ["c1/1"], 2: ["c1/2"]}


def test_p7_a_delay_of_0_is_the_same_day_after_it_and_else_the_next_window() -> None:
    assert by_day(SETTINGS, planned(SETTINGS, campaign(2, 0, 0))) == {1: ["c1/1", "c1/2", "c2/1"], 2: ["c2/2"]}


def test_p7_steps_are_apart_even_without_a_gap() -> None:
    settings = SendingSettings(gap_seconds=(0, 0))
    one, two, three = planned(settings, campaign(1, 0, 0, 0))

    assert one.at < two.at < three.at


def test_p8_due_follow_ups_go_before_new_prospects_oldest_due_day_first_then_by_enrolment() -> None:
    settings = SendingSettings(daily_quota=2)
    slots = planned(settings, campaign(2, 0, 2, id="a"), campaign(4, 0, 1, id="b"))

    assert by_day(settings, slots) == {
        1: ["a1/1", "a2/1"],
        2: ["b1/1", "b2/1"],
        3: ["a1/2", "a2/2"],  # due on the 3rd like those of b, and enrolled before them
        4: ["b1/2", "b2/2"],
        5: ["b3/1", "b4/1"],
        8: ["b3/2", "b4/2"],
    }


def test_p8_the_oldest_due_day_goes_before_an_earlier_enrolment() -> None:
    settings = SendingSettings(daily_quota=1)
    slow = Planned(
        id="slow",
        prospects=(),
        delay_days=(0, 4),
        under_way=[UnderWay(prospect="s", step=2, sent_on=date(2026, 5, 28))],
    )
    quick = Planned(
        id="quick",
        prospects=(),
        delay_days=(0, 1),
        under_way=[UnderWay(prospect="q", step=2, sent_on=date(2026, 5, 29))],
    )

    assert by_day(settings, planned(settings, slow, quick)) == {1: ["q/2"], 2: ["s/2"]}


def test_p8_who_has_to_wait_keeps_nobody_waiting() -> None:
    """Follow-ups are due on Thursday; until then new prospects take what is left of each day."""
    slots = planned(SETTINGS, campaign(10, 0, 3))

    assert by_day(SETTINGS, slots) == {
        1: ["c1/1", "c2/1", "c3/1"],
        2: ["c4/1", "c5/1", "c6/1"],
        3: ["c7/1", "c8/1", "c9/1"],
        4: ["c1/2", "c2/2", "c3/2"],
        5: ["c4/2", "c5/2", "c6/2"],
        8: ["c7/2", "c8/2", "c9/2"],
        9: ["c10/1"],
        12: ["c10/2"],
    }


def test_p10_a_campaign_under_way_is_planned_from_what_was_really_sent() -> None:
    under_way = [
        UnderWay(prospect="late", step=3, sent_on=date(2026, 5, 1)),
        UnderWay(prospect="soon", step=2, sent_on=date(2026, 5, 31)),
    ]

    assert by_day(SETTINGS, planned(SETTINGS, campaign(1, 0, 3, 4, under_way=under_way))) == {
        1: ["late/3", "c1/1"],
        3: ["soon/2"],
        4: ["c1/2"],
        8: ["soon/3", "c1/3"],
    }


def test_p10_the_same_chance_gives_the_same_plan() -> None:
    assert planned(SETTINGS, campaign(9, 0, 1)) == planned(SETTINGS, campaign(9, 0, 1))


def test_p10_prospects_are_read_when_their_turn_comes() -> None:
    read: list[int] = []

    def prospects() -> Iterator[str]:
        for number in count():
            read.append(number)
            yield f"p{number}"

    slots = plan(SETTINGS, [Planned(id="c", prospects=prospects(), delay_days=(0, 3))], now=MONDAY, random=Random(7))
    taken = [*islice(slots, 1000)]

    assert len(read) <= sum(slot.step == 1 for slot in taken) + 1


def test_p10_no_campaign_and_no_prospect_is_an_empty_plan() -> None:
    assert planned(SendingSettings(daily_quota=0)) == []
    assert planned(SendingSettings(daily_quota=0), campaign(0, 0, 3)) == []


def test_e10_p4_with_a_quota_of_0_the_plan_ends_with_that_reason() -> None:
    with pytest.raises(CannotFinish) as ended:
        planned(SendingSettings(daily_quota=0), campaign(2, 0, 3, 4), campaign(1))

    assert str(ended.value) == "7 mails would never leave: the daily quota is 0; raise it"
    assert ended.value.left == 7


def test_e10_p5_a_ramp_up_that_stands_still_ends_the_plan_and_the_slots_before_it_hold() -> None:
    settings = SendingSettings(ramp_up=RampUp(schedule=(2, 0, 5)))
    slots = plan(settings, [campaign(3, 0, 1)], now=MONDAY, random=Random(7))

    assert [slot.prospect for slot in islice(slots, 2)] == ["c1", "c2"]
    with pytest.raises(
        CannotFinish, match="4 mails would never leave: the ramp-up allows 0 mails on its day 2"
    ) as ended:
        next(slots)
    assert ended.value.left == 4


def test_a_ramp_up_that_stands_still_is_helped_by_mail_that_was_sent() -> None:
    settings = SendingSettings(ramp_up=RampUp(schedule=(0, 5)))

    assert counts(settings, planned(settings, campaign(2), used={WEEK[0]: 1})) == {2: 2}


@pytest.mark.parametrize("delay", [4_000_000, 10**12])
def test_e10_a_plan_ends_with_the_calendar(delay: int) -> None:
    slots = plan(SETTINGS, [campaign(2, 0, delay, 1)], now=MONDAY, random=Random(7))

    assert [slot.step for slot in islice(slots, 2)] == [1, 1]
    with pytest.raises(CannotFinish, match="4 mails would never leave: no window opens before the calendar ends"):
        next(slots)


def test_e10_a_plan_whose_every_day_is_a_holiday_ends_with_what_to_do_about_it() -> None:
    """No delay is at fault, and none is blamed."""
    mondays = tuple(date(9999, 12, day) for day in (6, 13, 20, 27))
    settings = SendingSettings(sending_days=("mon",), holidays=mondays)

    with pytest.raises(CannotFinish, match=r"1 mail would never leave: no window opens .*; name other days, hours or"):
        list(plan(settings, [campaign(1)], now=at("9999-12-01T09:00"), random=Random(7)))


def test_e10_the_last_days_of_the_calendar_are_planned_to_the_end() -> None:
    settings = SendingSettings(daily_quota=1, gap_seconds=(86_400, 86_400))
    slots = plan(settings, [campaign(3)], now=at("9999-12-30T20:00"), random=Random(7))

    assert next(slots).at.day == 31
    with pytest.raises(CannotFinish, match="2 mails"):
        next(slots)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"delay_days": ()}, "delay_days"),
        ({"delay_days": (0, -1)}, "delay_days"),
        ({"delay_days": (0, 1.5)}, "delay_days"),
        ({"delay_days": 3}, "delay_days"),
        ({"prospects": "p1"}, "prospects"),
        ({"prospects": None}, "prospects"),
        ({"prospects": 5}, "prospects"),
        ({"id": 7}, "id"),
        ({"id": ""}, "id"),
        ({"id": "a:b"}, "id"),
    ],
)
def test_a_campaign_that_cannot_be_meant_is_refused_by_its_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidCampaign) as refused:
        Planned(**{"id": "c", "prospects": (), "delay_days": (0,)} | given)

    assert refused.value.field == field


def test_who_is_under_way_has_had_a_step_and_has_another_to_come() -> None:
    with pytest.raises(InvalidCampaign, match=r"^under_way\.step: expected a whole number from 2, got 1"):
        UnderWay(prospect="p", step=1, sent_on=WEEK[0])

    under_way = [UnderWay(prospect="p", step=3, sent_on=WEEK[0])]
    with pytest.raises(InvalidCampaign, match=r"^under_way\.step: expected a whole number from 2 to 2"):
        plan(SETTINGS, [campaign(1, 0, 3, under_way=under_way)], now=MONDAY, random=Random(7))


@pytest.mark.parametrize("given", [{"now": datetime(2026, 6, 1)}, {"last": datetime(2026, 6, 1)}, {"sent_days": -1}])  # noqa: DTZ001
def test_what_a_plan_cannot_begin_with_is_refused_before_it_begins(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidCampaign, match=f"^{next(iter(given))}: "):
        plan(SETTINGS, [], **{"now": MONDAY, "random": Random(7)} | given)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"settings": None}, "settings"),
        ({"campaigns": campaign(1)}, "campaigns"),
        ({"campaigns": ["c1"]}, "campaigns"),
        ({"now": "2026-06-01"}, "now"),
        ({"now": WEEK[0]}, "now"),
        ({"random": None}, "random"),
        ({"used": [1]}, "used"),
        ({"used": {MONDAY: 1}}, "used"),
        ({"used": {WEEK[0]: "3"}}, f"used[{WEEK[0]}]"),
        ({"used": {WEEK[0]: -1}}, f"used[{WEEK[0]}]"),
    ],
)
def test_what_is_of_another_kind_is_refused_by_its_field(given: dict[str, Any], field: str) -> None:
    asked: dict[str, Any] = {"settings": SETTINGS, "campaigns": [], "now": MONDAY, "random": Random(7)} | given
    settings, campaigns = asked.pop("settings"), asked.pop("campaigns")

    with pytest.raises(InvalidCampaign) as refused:
        plan(settings, campaigns, **asked)

    assert refused.value.field == field


NO_IDS: Any = pytest.mark.parametrize("whom", ["", "a:b", None, 7, "two\nlines"])


@NO_IDS
def test_p13_a_prospect_who_can_have_no_key_is_refused_before_anything_is_planned(whom: Any) -> None:
    with pytest.raises(InvalidCampaign, match=r"^prospects: "):
        Planned(id="c", prospects=("p", whom), delay_days=(0,))
    with pytest.raises(InvalidCampaign, match=r"^under_way\.prospect: "):
        UnderWay(prospect=whom, step=2, sent_on=WEEK[0])


@NO_IDS
def test_p13_one_whom_a_generator_brings_is_refused_in_place_of_a_slot(whom: Any) -> None:
    slots = plan(
        SETTINGS, [Planned(id="c", prospects=iter(["p", whom]), delay_days=(0,))], now=MONDAY, random=Random(7)
    )

    with pytest.raises(InvalidCampaign, match=r"^prospects: "):
        list(slots)


@pytest.mark.parametrize("sent_on", [MONDAY, "2026-06-01", None])
def test_who_is_under_way_was_sent_something_on_a_window_day(sent_on: Any) -> None:
    with pytest.raises(InvalidCampaign, match=r"^under_way\.sent_on: expected a date"):
        UnderWay(prospect="p", step=2, sent_on=sent_on)


def test_p13_whoever_stands_twice_in_a_collection_is_planned_once() -> None:
    twice = Planned(id="c", prospects=["p", "q", "p"], delay_days=(0, 1))
    slots = planned(SETTINGS, twice)

    assert [(slot.prospect, slot.step) for slot in slots] == [("p", 1), ("q", 1), ("p", 2), ("q", 2)]


def test_a_slot_can_be_taken_apart_in_the_order_of_its_fields() -> None:
    [(campaign_id, prospect, step, instant)] = planned(SETTINGS, campaign(1))

    assert Slot(campaign_id, prospect, step, instant) == Slot(campaign="c", prospect="c1", step=1, at=instant)


def test_an_endless_row_of_prospects_of_whom_none_can_be_mailed_comes_to_an_end() -> None:
    endless = Planned(id="c", prospects=map(str, count()), delay_days=(0,))
    with pytest.raises(CannotFinish, match="the daily quota is 0") as ended:
        next(plan(SendingSettings(daily_quota=0), [endless], now=MONDAY, random=Random(7)))

    assert ended.value.left == COUNTED


def test_ten_thousand_prospects_with_three_steps_are_planned_in_a_moment() -> None:
    """A twentieth of a second; the bar is two. Processor time, for the machine may be busy."""
    settings = SendingSettings(timezone="America/New_York", daily_quota=500)
    begun = time.process_time()
    slots = planned(settings, campaign(10_000, 0, 3, 4))

    assert time.process_time() - begun < 2
    assert len(slots) == 30_000
    assert {*Counter((slot.prospect, slot.step) for slot in slots).values()} == {1}
    assert all(before.at < after.at for before, after in pairwise(slots))


@pytest.mark.parametrize("given", [iter, tuple])
def test_e9_memory_follows_the_quota_and_not_the_number_of_prospects(given: Any) -> None:
    def highest(prospects: int) -> int:
        campaigns = [Planned(id="c", prospects=given(list(map(str, range(prospects)))), delay_days=(0, 3, 4))]
        tracemalloc.start()
        for _ in plan(SendingSettings(daily_quota=100), campaigns, now=MONDAY, random=Random(7)):
            pass
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    window(SendingSettings(), WEEK[0])  # what is loaded once
    assert highest(10_000) < 1.5 * highest(1_000)
