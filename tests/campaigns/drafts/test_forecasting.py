"""The forecast is the plan, counted by day (P10): what it foresees is what the plan has slots for."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from random import Random
from typing import Any

import pytest

from postroom.campaigns import Planned, RampUp, SendingSettings, UnderWay, plan, window_day_at
from postroom.campaigns.drafts.agenda import Agenda, beneath_senders
from postroom.campaigns.drafts.forecasting import Forecast, Outset, forecast
from postroom.campaigns.drafts.whole import Draft
from postroom.campaigns.values import Campaign, Sender, Sequence, Step, WorkspaceSettings

MONDAY = datetime(2026, 5, 4, 6, tzinfo=UTC)
BERLIN = SendingSettings(timezone="Europe/Berlin", daily_quota=20, ramp_up=RampUp(schedule=(5, 10)))


def a_draft(
    settings: SendingSettings = BERLIN,
    *,
    prospects: int = 30,
    delays: tuple[int, ...] = (0, 3),
    senders: tuple[Sender, ...] = (),
) -> Draft:
    steps = tuple(Step(number=n, delay_days=delay, subject="S", text="T") for n, delay in enumerate(delays, 1))
    return Draft(
        campaign=Campaign(id="spring", name="Spring", sequence_id="intro"),
        sequence=Sequence(id="intro", name="Intro", steps=steps),
        settings=WorkspaceSettings(sending=settings),
        senders=senders,
        prospects=prospects,
    )


def of(draft: Draft, *running: Planned, **standing: Any) -> Forecast:
    agenda = Agenda(settings=draft.settings.sending, campaigns=running, **standing)
    return forecast(Outset(draft=draft, agenda=agenda), now=MONDAY, random=Random(7))


def test_days_are_those_of_the_plan_with_the_allowance_of_the_ramp_up() -> None:
    found = of(a_draft())
    planned = Planned(id="spring", prospects=map(str, range(30)), delay_days=(0, 3))
    slots = list(plan(BERLIN, [planned], now=MONDAY, random=Random(7)))

    assert {day.day: day.planned for day in found.days} == Counter(window_day_at(BERLIN, slot.at) for slot in slots)
    assert [day.allowance for day in found.days[:4]] == [5, 10, 20, 20]
    assert (found.mails, found.first, found.last) == (60, slots[0].at, slots[-1].at)
    assert found.ends_on == window_day_at(BERLIN, slots[-1].at)
    assert found.busiest == max(day.planned for day in found.days) == 15
    assert all(day.planned <= day.allowance for day in found.days)


def test_campaigns_that_run_come_first_and_are_told_apart() -> None:
    settings = SendingSettings(daily_quota=10)
    others = Planned(
        id="before",
        prospects=map(str, range(4)),
        delay_days=(0, 1),
        under_way=[UnderWay(prospect=str(n), step=2, sent_on=date(2026, 5, 1)) for n in range(3)],
    )
    found = of(a_draft(settings, prospects=5, delays=(0,)), others)

    assert [(day.planned, day.others, day.allowance) for day in found.days] == [(3, 7, 10), (2, 4, 10)]


def test_a_workspace_that_has_sent_before_goes_on_with_its_ramp_up() -> None:
    """P5: a new campaign does not begin it anew. Friday was its second day."""
    friday = date(2026, 5, 1)
    found = of(a_draft(delays=(0,)), accepted=(date(2026, 4, 30), friday), used={friday: 10})

    assert [(day.planned, day.allowance) for day in found.days] == [(20, 20), (10, 20)]


def test_what_counts_on_the_present_day_leaves_less_room_on_it() -> None:
    today = MONDAY.date()
    found = of(a_draft(delays=(0,)), accepted=(today,), used={today: 4}, last=MONDAY)

    assert [(day.day, day.planned, day.used, day.allowance) for day in found.days] == [
        (today, 1, 4, 5),
        (date(2026, 5, 5), 10, 0, 10),
        (date(2026, 5, 6), 19, 0, 20),
    ]


def test_quotas_of_senders_bound_a_workspace_also_where_other_campaigns_run() -> None:
    others = Planned(id="before", prospects=("a", "b"), delay_days=(0,))
    draft = a_draft(SendingSettings(daily_quota=20), prospects=4, delays=(0,), senders=(sender("grace", 1),))
    found = of(draft, others, senders={"ada": sender("ada", 2)})

    assert [(day.planned, day.others, day.allowance) for day in found.days] == [(1, 2, 3), (3, 0, 3)]


def test_of_more_mails_than_anybody_waits_for_nothing_is_known() -> None:
    draft = a_draft(prospects=31)
    found = forecast(Outset(draft=draft, agenda=Agenda(settings=BERLIN)), now=MONDAY, random=Random(7), most=61)

    assert (found.days, found.ends_on) == ((), None)
    assert "62 mails are still to leave" in found.reason


def test_a_draft_without_prospects_has_nothing_to_send() -> None:
    found = of(a_draft(prospects=0))

    assert (found.mails, found.days, found.first, found.ends_on, found.left) == (0, (), None, None, 0)


@pytest.mark.parametrize(
    ("settings", "left", "reason"),
    [
        (SendingSettings(daily_quota=0), 60, "the daily quota is 0; raise it"),
        (SendingSettings(ramp_up=RampUp(schedule=(5, 0))), 55, "the ramp-up allows 0 mails on its day 2"),
    ],
)
def test_what_would_never_leave_is_counted_and_explained(settings: SendingSettings, left: int, reason: str) -> None:
    found = of(a_draft(settings))

    assert (found.left, found.ends_on) == (left, None)
    assert reason in found.reason


def test_senders_who_may_send_nothing_are_what_holds_a_plan_and_not_the_quota_of_the_workspace() -> None:
    found = of(a_draft(senders=(sender("ada", 0), sender("grace", None, 0))))

    assert found.reason.startswith("the senders of these campaigns may together send 0 mails a day; raise their own")


def sender(id: str, quota: int | None = None, *ramp: int) -> Sender:
    return Sender(
        id=id, address=f"{id}@example.org", daily_quota=quota, ramp_up=RampUp(schedule=ramp) if ramp else None
    )


@pytest.mark.parametrize(
    ("senders", "quota", "ramp"),
    [
        ((), 20, (5, 10)),
        ((sender("a"), sender("b", 3)), 20, (5, 10)),
        ((sender("a", 4), sender("b", 3)), 7, (5, 7)),
        ((sender("a", 40), sender("b", 30)), 20, (5, 10)),
        ((sender("a", 8, 1, 2, 3),), 8, (1, 2, 3)),
        ((sender("a", None, 1, 2, 3),), 20, (1, 2, 3)),
        ((sender("a", 8, 1), sender("b", 9)), 17, (5, 10)),
    ],
)
def test_senders_send_no_more_together_than_each_of_them_may(
    senders: tuple[Sender, ...], quota: int, ramp: tuple[int, ...]
) -> None:
    found = beneath_senders(BERLIN, senders)

    assert (found.daily_quota, found.ramp_up and found.ramp_up.schedule) == (quota, ramp)
    assert found.timezone == BERLIN.timezone
