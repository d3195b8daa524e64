"""The outreach team's campaign: its forecast comes true, its log obeys the rules, and a log that does not is told."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from examples.outreach.__main__ import pace
from examples.outreach.live import Addresses, forget, running
from examples.outreach.log import Delivery
from examples.outreach.report import tell_findings
from examples.outreach.rules import Facts, violations
from examples.outreach.team import CAMPAIGN, WORKSPACE
from examples.outreach.verdict import Finding, added_up, same_as_forecast
from examples.outreach.weeks import played
from postroom import Outbox
from postroom.campaigns import RampUp, SendingSettings
from postroom.campaigns.looking.totals import Totals, totals_of
from tests.examples.outreach import outreach
from tests.examples.portals import environment

PATIENCE = 300


def test_the_whole_story_is_one_command_and_every_promise_is_kept() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.outreach", "--once"],
        capture_output=True, text=True, env=environment(), timeout=PATIENCE, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "✓ the forecast equals what was really sent: 180 mails on 12 days" in done.stdout
    assert "✓ nobody was mailed after their stop, nor while they were away (P12)" in done.stdout
    assert "180 launched = 172 sent + 0 waiting + 8 stopped (2 bounced, 1 complained, 4 replied, 1 unsubscribed)" in (
        " ".join(done.stdout.split())
    )
    assert "✗" not in done.stdout


def test_the_forecast_is_what_a_run_really_sends_day_by_day() -> None:
    """Whatever gaps chance draws: those of the forecast and those of the run are not the same."""
    with played(seed=77) as play:
        play.work_to_the_end()
        sent = play.sent_by_day()

        assert list(sent.items()) == [(each.day, each.planned) for each in play.forecast.days]
        assert sum(sent.values()) == play.forecast.mails == 180


def test_the_live_campaign_mails_at_once_and_one_click_stops_the_follow_ups(tmp_path: Path) -> None:
    with outreach(tmp_path / "data") as team:
        assert "60 letters leave now, one every second or two" in team.told
        team.press(team.link_in_a_letter())

    with Outbox(f"sqlite:///{tmp_path / 'data' / 'outreach.db'}") as outbox:
        totals = outbox.database.run(totals_of(WORKSPACE, CAMPAIGN))
    assert totals.stopped == {"unsubscribed": 2}


@pytest.mark.parametrize(
    ("ready", "waiting", "told"),
    [(3, 120, "3 letters leave now"), (0, 120, "120 follow-ups wait for their day"), (0, 0, "All letters have left")],
)
def test_started_again_it_says_what_leaves_now(ready: int, waiting: int, told: str) -> None:
    """The first letters are out after two minutes, and the follow-ups come days later."""
    at = Addresses(desk="", campaign="", inbox="", ready=ready, waiting=waiting)

    assert pace(at, draft=False).startswith(told)


# ---------------------------------------------------------------- the checks can fail

MONDAY = datetime(2026, 3, 23, 9, tzinfo=UTC)
SETTINGS = SendingSettings(
    daily_quota=3, ramp_up=RampUp(schedule=(2,)), gap_seconds=(60, 90), holidays=[date(2026, 3, 25)]
)
FACTS = Facts(settings=SETTINGS, delays=(0, 1), quiet=True)


def mail(to: str, step: int, *, days: int = 0, minutes: int = 0, **other: Any) -> Delivery:
    at = MONDAY + timedelta(days=days, minutes=minutes)
    subject = {1: "Doors", 2: "Re: Doors"}[step]
    fields = {
        "at": at,
        "day": at.date(),
        "to": to,
        "sender": "grace",
        "envelope_sender": "returns@alder.example",
        "message_id": f"<{to}.{step}>",
        "subject": subject,
        "answers": f"<{to}.1>" if step == 2 else "",
        "step": step,
        "unsubscribe": "https://alder.example/u/1",
    }
    return Delivery(**(fields | other))


LOG = [
    mail("ada", 1, minutes=1),
    mail("ben", 1, minutes=3),
    mail("ada", 2, days=1, minutes=1),
    mail("ben", 2, days=1, minutes=3),
    mail("cleo", 1, days=1, minutes=5),
]


def broken(log: list[Delivery], **facts: Any) -> dict[str, list[str]]:
    found = violations(log, replace(FACTS, **facts))
    return {promise[promise.rindex("(") :]: by for promise, by in found.items() if by}


def test_a_log_that_obeys_the_rules_breaks_none() -> None:
    assert broken(LOG, stops={"ada": MONDAY + timedelta(days=2)}, pauses=[(MONDAY, MONDAY)]) == {}


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("(P1, P2, P3, P9)", [mail("ada", 1, minutes=-1)]),
        ("(P1, P2, P3, P9)", [mail("ada", 1, minutes=8 * 60)]),
        ("(P1, P2, P3, P9)", [mail("ada", 1, days=5)]),
        ("(P1, P2, P3, P9)", [mail("ada", 1, days=2)]),
        ("(P4, P5)", [*LOG[:2], mail("cleo", 1, minutes=5)]),
        ("(P6)", [LOG[0], mail("ben", 1, minutes=1)]),
        ("(P7)", [mail("ada", 1), mail("ada", 2, minutes=5)]),
        ("(P7)", [mail("ada", 2)]),
        ("(P8)", [*LOG[:2], mail("cleo", 1, days=1), mail("ada", 2, days=1, minutes=3)]),
        ("(P13)", [LOG[0], replace(LOG[0], at=MONDAY + timedelta(minutes=5), message_id="<again>")]),
        ("(P13)", [LOG[0], replace(LOG[1], message_id=LOG[0].message_id)]),
        ("(P14)", [LOG[0], replace(LOG[2], answers="<ben.1>")]),
        ("(P14)", [LOG[0], replace(LOG[2], sender="linus")]),
        ("(P14)", [replace(LOG[0], unsubscribe="")]),
    ],
)
def test_a_log_that_breaks_a_rule_is_told_by_that_rule(rule: str, wrong: list[Delivery]) -> None:
    assert rule in broken(wrong)


@pytest.mark.parametrize(
    ("rule", "facts"),
    [
        ("(P11)", {"pauses": [(MONDAY, MONDAY + timedelta(minutes=2))]}),
        ("(P12)", {"stops": {"ada": MONDAY + timedelta(hours=1)}}),
        ("(P12)", {"held": {"ada": (MONDAY + timedelta(hours=1), date(2026, 3, 26))}}),
    ],
)
def test_mail_that_leaves_against_somebody_s_will_is_told(rule: str, facts: dict[str, Any]) -> None:
    assert list(broken(LOG, **facts)) == [rule]


def test_a_forecast_that_does_not_come_true_is_told_by_the_day() -> None:
    monday, tuesday = date(2026, 3, 23), date(2026, 3, 24)

    assert not same_as_forecast({monday: 2}, {monday: 2}).broken_by
    assert same_as_forecast({monday: 2}, {monday: 1, tuesday: 1}).broken_by == (
        "23 Mar: 2 forecast, 1 sent",
        "24 Mar: 0 forecast, 1 sent",
    )


def test_one_promise_that_is_broken_is_enough_to_fail() -> None:
    words = StringIO()
    output = Console(file=words)
    kept, broken = (
        Finding(promise="mails kept their distance"),
        Finding(promise="nobody twice", broken_by=["ada twice"]),
    )

    assert tell_findings(output, [kept])
    assert not tell_findings(output, [kept, broken])
    assert words.getvalue().splitlines()[-2:] == ["✗ nobody twice", "    ada twice"]


def test_beginning_anew_removes_what_the_example_has_made_and_nothing_else(tmp_path: Path) -> None:
    with running(tmp_path, draft=True):
        pass
    (tmp_path / "letter.txt").write_text("of somebody else")
    forget(tmp_path)

    assert [each.name for each in tmp_path.iterdir()] == ["letter.txt"]


def test_books_that_do_not_add_up_are_told() -> None:
    assert not list(added_up(3, 2, Totals(states={"sent": 2, "stopped": 1})))
    assert len(list(added_up(3, 2, Totals(states={"sent": 1, "waiting": 1})))) == 3
