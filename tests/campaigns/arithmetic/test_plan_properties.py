"""Whatever the settings, the clock and the campaigns: what every plan keeps."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from itertools import pairwise

from hypothesis import given

from postroom.campaigns import Slot, allowance, window, window_day_at
from postroom.campaigns.arithmetic.window import openings_after
from tests.campaigns.arithmetic.cases import Case, cases

TICK = timedelta(microseconds=1)


def day_of(case: Case, slot: Slot) -> date:
    day = window_day_at(case.settings, slot.at)
    assert day is not None, f"{slot} lies outside every window"
    return day


@given(cases())
def test_p1_p2_p3_every_slot_lies_inside_a_window_and_not_before_now(case: Case) -> None:
    for slot in case.slots():
        found = window(case.settings, day_of(case, slot))
        local = slot.at.astimezone(case.settings.zone).date()

        assert found
        assert max(found[0], case.now) <= slot.at < found[1]
        assert local not in case.settings.holidays


@given(cases())
def test_p4_p5_no_window_day_takes_more_than_its_allowance(case: Case) -> None:
    taken = Counter(day_of(case, slot) for slot in case.slots())
    taken[case.present] += case.used_today
    ramp_day = 1 + case.sent_days
    for day in sorted(taken):
        fresh = taken[day] - (case.used_today if day == case.present else 0)

        assert not fresh or taken[day] <= allowance(case.settings, ramp_day)
        ramp_day += taken[day] > 0


@given(cases())
def test_p6_mails_keep_the_least_gap_and_within_a_window_the_longest(case: Case) -> None:
    slots = case.slots()
    least, most = (timedelta(seconds=each) for each in case.settings.gap_seconds)
    for before, after in pairwise(slots):
        assert after.at - before.at >= max(least, TICK)
        if day_of(case, before) == day_of(case, after):
            assert after.at - before.at <= max(most, TICK)
    if slots and case.last:
        assert slots[0].at - case.last >= least


@given(cases())
def test_p6_the_first_mail_of_a_window_leaves_within_the_longest_gap(case: Case) -> None:
    most = timedelta(seconds=case.settings.gap_seconds[1])
    first: dict[date, datetime] = {}
    for slot in case.slots():
        first.setdefault(day_of(case, slot), slot.at)
    for day, at in first.items():
        found = window(case.settings, day)
        assert found
        if found[0] >= case.now:
            assert found[0] <= at <= found[0] + most


@given(cases())
def test_p7_p10_every_step_is_there_once_in_order_and_so_many_days_after_the_one_before(case: Case) -> None:
    slots = case.slots()
    days = {(slot.campaign, slot.prospect, slot.step): day_of(case, slot) for slot in slots}
    order = {(slot.campaign, slot.prospect, slot.step): number for number, slot in enumerate(slots)}

    assert len(slots) == len(days) == sum(len(d) * n for d, n in zip(case.delays, case.prospects, strict=True))
    for campaign, (delays, prospects) in enumerate(zip(case.delays, case.prospects, strict=True)):
        for prospect in range(prospects):
            steps = [(f"c{campaign}", f"p{prospect}", step) for step in range(1, len(delays) + 1)]
            for (before, after), delay in zip(pairwise(steps), delays[1:], strict=True):
                assert order[before] < order[after]
                assert days[after] >= days[before] + timedelta(days=delay)


@given(cases())
def test_p8_whose_turn_it_is_goes_and_nobody_waits_without_need(case: Case) -> None:
    """Played again, slot by slot, with a simple list in which everybody stands with the day of their turn."""
    waiting = [
        (date.min, False, campaign, prospect, 1)
        for campaign, prospects in enumerate(case.prospects)
        for prospect in range(prospects)
    ]
    first = next(openings_after(case.settings, case.now))
    sent_before = case.used_today > 0 and first.day > case.present  # today, and no window of today is to come
    slots, ramp_day, last = case.slots(), 1 + case.sent_days + sent_before, case.last
    for opening in openings_after(case.settings, case.now):
        if not waiting:
            break
        used = case.used_today if opening.day == case.present else 0
        taken, room = used, allowance(case.settings, ramp_day)
        while ready := sorted(each for each in waiting if each[0] <= opening.day):
            if not (slots and slots[0].at < opening.close):
                assert taken >= room or no_room(case, opening.close, last, first=not taken)
                break
            slot = slots.pop(0)
            follow_ups = [each for each in ready if each[1]]
            turn = min(follow_ups or ready)

            assert (slot.campaign, slot.prospect, slot.step) == (f"c{turn[2]}", f"p{turn[3]}", turn[4])
            waiting.remove(turn)
            _, _, campaign, prospect, step = turn
            if step < len(case.delays[campaign]):
                due = opening.day + timedelta(days=case.delays[campaign][step])
                waiting.append((due, True, campaign, prospect, step + 1))
            taken, last = taken + 1, slot.at
        ramp_day += taken > 0

    assert not waiting
    assert not slots


def no_room(case: Case, close: datetime, last: datetime | None, *, first: bool) -> bool:
    """The window may close before a mail's turn: after the least gap if it is to take its first, else the longest."""
    least, most = (timedelta(seconds=each) for each in case.settings.gap_seconds)
    return last is not None and last + (least if first else most) >= close
