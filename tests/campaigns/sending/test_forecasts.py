"""What is foreseen of a campaign that was launched, wherever it stands: of whoever is still to get something."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from postroom.campaigns.drafts.forecasting import Forecast, forecast_of
from postroom.campaigns.sending.acting import (
    pause_campaign,
    pause_prospect,
    resume_campaign,
    stop_in_campaign,
)
from postroom.campaigns.sending.launching import launch
from postroom.campaigns.sending.replanning import replan
from tests.campaigns.sending.stage import MONDAY, OFFICE, SHOP, Stage
from tests.campaigns.sending.test_launch import some_of


def forecast(stage: Stage, id: str = "spring") -> Forecast:
    return stage.run(forecast_of(SHOP, id, now=stage.clock.now))


def days(found: Forecast) -> list[tuple[str, int, int]]:
    """Each with the mails of the campaign, and those of others."""
    return [(f"{day.day:%a %-d}", day.planned, day.others) for day in found.days]


def under_way(stage: Stage) -> None:
    """Three people and two steps, of which one was sent; two may leave a day."""
    stage.settings(replace(OFFICE, daily_quota=2))
    stage.launched("spring", 3, (0, 1))
    stage.clock.now = MONDAY.replace(hour=9)
    stage.send()
    assert stage.tick().claimed is None, "what follows from it was concluded, and the gap holds"


def test_a_paused_campaign_is_foreseen_as_if_it_were_resumed_now(stage: Stage) -> None:
    under_way(stage)
    running = forecast(stage)
    stage.run(pause_campaign(SHOP, "spring"))
    found = forecast(stage)

    assert (found.mails, found.prospects, running.supposing) == (5, 3, "")
    assert "if it is resumed now" in found.supposing
    assert (found.days, found.first, found.last) == (running.days, running.first, running.last)


def test_that_of_a_paused_campaign_comes_true_when_it_is_resumed(stage: Stage) -> None:
    """It keeps its place by its launch, before a campaign that was launched later."""
    under_way(stage)
    stage.draft("autumn", 2, sequence="autumn-words")
    stage.advance(seconds=1)
    stage.launch("autumn")
    stage.run(pause_campaign(SHOP, "spring"))
    foreseen = forecast(stage)
    stage.go_through(resume_campaign(SHOP, "spring"))

    assert days(foreseen) == days(forecast(stage))
    assert days(foreseen) == [("Mon 9", 1, 0), ("Tue 10", 2, 0), ("Wed 11", 1, 1), ("Thu 12", 1, 1)]


def test_whom_a_launch_had_not_reached_when_it_was_paused_are_foreseen_as_well(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.sender()
    stage.draft(prospects=5, delays=(0, 1))
    some_of(launch(SHOP, "spring", batch=2), stage, 2)
    stage.run(pause_campaign(SHOP, "spring"))

    found = forecast(stage)
    assert (found.mails, found.prospects) == (10, 5)


def test_a_cancelled_campaign_is_foreseen_as_if_it_were_launched_again_now(stage: Stage) -> None:
    """Without whoever has had their last mail, was stopped by somebody, or is paused then again."""
    under_way(stage)
    stage.run(stop_in_campaign(SHOP, "spring", "p2", reason="by hand"))
    stage.cancel()
    found = forecast(stage)
    assert (found.mails, found.prospects, found.left) == (3, 2, 0)
    assert "if it is launched again now" in found.supposing

    stage.launch(again=True)
    assert days(forecast(stage)) == days(found)


def test_who_was_paused_when_a_campaign_was_cancelled_gets_nothing_when_it_is_launched_again(stage: Stage) -> None:
    under_way(stage)
    stage.run(pause_prospect(SHOP, "spring", "p3"))
    stage.cancel()
    foreseen = forecast(stage)
    stage.launch(again=True)

    assert (foreseen.prospects, days(foreseen)) == (2, days(forecast(stage)))


def test_people_who_get_nothing_more_are_not_among_those_who_would_get_mail(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 3)
    stage.clock.now = MONDAY.replace(hour=9)
    stage.send()
    assert stage.tick().claimed is None, "what follows from it was concluded, and the gap holds"
    stage.run(stop_in_campaign(SHOP, "spring", "p2", reason="by hand"))
    assert (forecast(stage).prospects, forecast(stage).mails) == (1, 1)

    stage.send_until(MONDAY + timedelta(days=1))
    over = forecast(stage)
    assert (over.prospects, over.mails, over.supposing, over.status) == (0, 0, "", "completed")


def test_of_what_would_never_leave_only_the_mails_of_the_campaign_are_told(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 3)
    stage.draft("autumn", 2, sequence="autumn-words")
    stage.launch("autumn")
    stage.settings(replace(OFFICE, daily_quota=0))
    stage.go_through(replan(SHOP))

    assert (forecast(stage).left, forecast(stage, "autumn").left) == (3, 2)
