"""The outreach team's campaign in a real browser: filled, forecast, launched, read, and stopped by one click."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from examples.outreach.live import PASSWORD, PERSON
from examples.outreach.team import PROSPECTS
from tests.examples.outreach import Team, outreach

FIRST = "ada.winter@kontor-brinkmann.example"


def test_a_campaign_is_filled_launched_read_in_the_dev_inbox_and_stopped_by_one_click(
    page: Page, tmp_path: Path
) -> None:
    with outreach(tmp_path / "data", "--draft") as team:
        sign_in(page, team)
        page.get_by_label("CSV file").set_input_files(PROSPECTS)
        page.get_by_role("button", name="Import").click()
        expect(page.get_by_text("60 came into the campaign.")).to_be_visible()
        page.get_by_role("link", name="Check").click()
        expect(page.get_by_role("heading", name="Ready to be launched")).to_be_visible()
        expect(page.get_by_role("region", name="Forecast")).to_contain_text("60 mails")

        page.get_by_role("button", name="Launch…").click()
        page.get_by_role("button", name="Launch", exact=True).click()
        expect(page.get_by_text("Launched: 180 mails planned.")).to_be_visible()
        expect(page.locator("#sent-count")).not_to_have_text("0")  # the page looks for news by itself
        unsubscribe(page.context.new_page(), team)

        page.goto(team.campaign)
        page.get_by_role("link", name=FIRST).click()
        thread = page.get_by_role("region", name="Thread")
        expect(thread.get_by_role("listitem").nth(0)).to_contain_text("sent")
        for follow_up in (1, 2):
            expect(thread.get_by_role("listitem").nth(follow_up)).to_contain_text("unsubscribed")


def sign_in(page: Page, team: Team) -> None:
    """With the password that the command has told, and the code that arrives in the dev inbox."""
    page.goto(team.campaign)
    page.get_by_label("Email address").fill(PERSON)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    expect(page).to_have_url(re.compile("/admin/sign-in/code"))
    code = re.search(r"\b\d{6}\b", team.letter_to(PERSON))
    assert code is not None
    page.locator("input[name=code]").fill(code[0])
    page.locator("input[name=code]").press("Enter")
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    page.goto(team.campaign)


def unsubscribe(reading: Page, team: Team) -> None:
    """Read the first letter as the dev inbox shows it, follow its link, and press the button there."""
    reading.goto(f"{team.inbox}?q={FIRST}")
    reading.locator("a.letter").first.click()
    reading.get_by_role("link", name="Text").click()
    link = re.search(r"http\S+/u/\S+", reading.locator("main").inner_text())
    assert link is not None
    reading.goto(link[0])
    reading.get_by_role("button").first.click()
    expect(reading.get_by_role("heading", level=1)).to_have_text("You are unsubscribed")
    reading.close()
