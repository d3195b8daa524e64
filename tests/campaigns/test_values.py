"""What a workspace has for its campaigns is checked when it is made, and comes back from its record as it was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.campaigns import RampUp, SendingSettings
from postroom.campaigns.arithmetic.settings import DAYS
from postroom.campaigns.fields import spelled
from postroom.campaigns.records import (
    changed_settings,
    sender_from,
    sender_record,
    sending_from,
    sending_record,
    settings_record,
    steps_from,
)
from postroom.campaigns.values import Campaign, Prospect, Sender, Sequence, Step, WorkspaceSettings
from postroom.errors import InvalidCampaign

STEP = Step(number=1, subject="Hi", text="Hello")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: WorkspaceSettings(person_hours=-1), "person_hours: expected a whole number from 0"),
        (lambda: WorkspaceSettings(bounce_limit=0), "bounce_limit: expected a share above 0 and up to 1, got 0"),
        (lambda: WorkspaceSettings(complaint_limit=True), "complaint_limit: expected a share"),
        (lambda: WorkspaceSettings(limit_after=0), "limit_after: expected a whole number from 1"),
        (lambda: Sender(id="a:b", address="a@example.org"), r"sender\.id: 'a:b' contains «:»"),
        (lambda: Sender(id="a", address="a"), r"sender\.address: "),
        (lambda: Sender(id="a", address="a@example.org", name="A\nB"), r"sender\.name: contains the line feed"),
        (lambda: Sender(id="a", address="a@example.org", reply_to="b"), r"sender\.reply_to: "),
        (lambda: Sender(id="a", address="a@example.org", daily_quota=-1), r"sender\.daily_quota: expected"),
        (lambda: Step(number=1, subject="Hi"), r"steps\[1\]\.text: is missing"),
        (lambda: Step(number=2, text=" "), r"steps\[2\]\.text: is empty"),
        (lambda: Step(number=2, text="x", delay_days=-1), r"steps\[2\]\.delay_days: expected a whole number from 0"),
        (lambda: Step(number=1, subject="x" * 999, text="x"), r"steps\[1\]\.subject: has 999 characters"),
        (lambda: Step(number=1, template="welcome"), r"steps\[1\]\.template: names no portal; write portal\.template"),
        (lambda: Step(number=1, template="hub.x", text="x"), r"steps\[1\]\.template: stands beside words of its own"),
        (lambda: Sequence(id="s", name="S", steps=()), "steps: there is none"),
        (lambda: Sequence(id="s", name="S", steps=(Step(number=1, text="x"),)), r"steps\[1\]\.subject: is missing"),
        (lambda: Sequence(id="s", name="S", steps=(STEP, STEP)), r"steps\.number: expected a whole number from 2 to 2"),
        (lambda: Campaign(id="", name="S", sequence_id="s"), r"campaign\.id: is empty"),
        (lambda: Prospect(id="p", address="p@example.org", language="d").checked(), "language: expected the tag"),
        (lambda: Prospect(id="p", address="p@example.org", language="xx").checked(), "language: expected the tag"),
        (lambda: Prospect(id="p", address="p@example.org", language="zz-ZZ").checked(), "language: expected the tag"),
        (lambda: Prospect(id="p", address="p@example.org", language="german").checked(), "language: expected the tag"),
        (lambda: Prospect(id="p", address="p@example.org", fields={"name": "x"}).checked(), "name: is what every"),
        (lambda: Prospect(id="p", address="p@example.org", fields={"A": "x"}).checked(), "A: cannot be written"),
        (
            lambda: Prospect(id="p", address="p@example.org", fields={"unsubscribe_url": "x"}).checked(),
            "unsubscribe_url: means something else in a template; call it unsubscribe_url_field",
        ),
        (
            lambda: Prospect(id="p", address="p@example.org", fields={f"f{n}": "x" for n in range(101)}).checked(),
            "fields: there are 101; 100 are the most",
        ),
        (lambda: steps_from([{"text": "x", "number": 1}]), r"steps\[1\]\.number: is not known"),
        (lambda: steps_from({"text": "x"}), r"steps\[1\]: expected a table, got 'text'"),
        (lambda: sending_from({"timzone": "UTC"}), r"settings\.timzone: is not known; did you mean timezone\?"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_field(made: Callable[[], Any], told: str) -> None:
    """E10."""
    with pytest.raises(InvalidCampaign, match=told):
        made()


RAMPS = st.none() | st.lists(st.integers(0, 500), min_size=1, max_size=4).map(
    lambda steps: RampUp(schedule=tuple(steps))
)
HOURS = st.tuples(st.integers(0, 23), st.integers(0, 24)).filter(lambda hours: hours[0] != hours[1])


@given(
    days=st.sets(st.sampled_from(DAYS), min_size=1),
    hours=HOURS,
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns"]),
    quota=st.integers(0, 10_000),
    ramp_up=RAMPS,
    holidays=st.lists(st.dates(date(2020, 1, 1), date(2040, 1, 1)), max_size=3),
    gap=st.tuples(st.integers(0, 60), st.integers(60, 900)),
)
def test_settings_come_back_from_their_record_as_they_were(
    days: set[str],
    hours: tuple[int, int],
    zone: str,
    quota: int,
    ramp_up: RampUp | None,
    holidays: list[date],
    gap: tuple[int, int],
) -> None:
    settings = SendingSettings(
        sending_days=tuple(days),
        start_hour=hours[0],
        end_hour=hours[1],
        timezone=zone,
        daily_quota=quota,
        ramp_up=ramp_up,
        holidays=tuple(holidays),
        gap_seconds=gap,
    )

    assert sending_from(sending_record(settings)) == settings


def test_a_sender_comes_back_from_what_can_be_written_of_it() -> None:
    sender = Sender(id="ada", address="ada@example.org", name="Ada", daily_quota=3, ramp_up=RampUp(schedule=(1, 2)))
    told = sender_record(sender)

    assert (told.pop("paused_at"), told.pop("pause_reason")) == (None, None)
    assert sender_from(told) == sender


def test_a_change_of_settings_leaves_what_it_does_not_name() -> None:
    before = WorkspaceSettings(sending=SendingSettings(daily_quota=7, timezone="Asia/Tokyo"), person_hours=3, version=4)
    after = changed_settings(before, {"daily_quota": 8, "bounce_limit": None})

    assert (after.sending.daily_quota, after.sending.timezone, after.person_hours) == (8, "Asia/Tokyo", 3)
    assert (after.bounce_limit, after.version) == (None, 4)
    assert settings_record(after)["daily_quota"] == 8


def test_a_prospect_is_kept_as_it_is_normal_and_says_only_what_is_known() -> None:
    kept = Prospect(id="p", address="Ada@EXAMPLE.org", language="de_ch", fields={"company": "A", "city": ""}).checked()

    assert (kept.address, kept.normal_address, kept.language) == ("Ada@example.org", "ada@example.org", "de-CH")
    assert kept.variables() == {"address": "Ada@example.org", "language": "de-CH", "company": "A"}


@pytest.mark.parametrize(
    ("heading", "name"), [("First Name", "first_name"), (" E-Mail ", "e_mail"), ("Straße", "straße")]
)
def test_a_heading_is_spelled_as_templates_can_write_it(heading: str, name: str) -> None:
    assert spelled(heading) == name
