"""A campaign in a real browser: prospects in, checked, forecast, launched, the first mail sent, paused and resumed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from postroom.campaigns.arithmetic.window import next_open
from postroom.operate.campaigns import CampaignOperations
from tests.browser.house import House
from tests.browser.outreach import BY, LINKS, WORKSPACE, fill, outreach, table
from tests.browser.phone import check_on_phone, phone

W = f"?workspace={WORKSPACE}"
LINES_OF_DOMAIN = """
(cell) => {
  const domain = document.createRange();
  domain.selectNodeContents(cell.lastChild);
  return domain.getClientRects().length;
}
"""
"""In how many lines stands what is behind the @ of an address, or all of it where nothing divides it."""
ALWAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """One that can make links to unsubscribe."""
    for name, value in LINKS.items():
        monkeypatch.setenv(name, value)
    with House(tmp_path) as house:
        yield house


def people(text: str) -> FilePayload:
    return {"name": "people.csv", "mimeType": "text/csv", "buffer": text.encode()}


def open_always(page: Page, house: House) -> None:
    """Have the workspace send at all hours, without gaps, one mail a day; on a clock on which no day ends soon."""
    noon = f"Etc/GMT{datetime.now(UTC).hour - 12:+d}"
    page.goto(house.address(f"/admin/sending{W}"))
    for day in ALWAYS:
        page.locator(f"input[value={day}]").check()
    for name, value in {
        "start_hour": "0",
        "end_hour": "24",
        "daily_quota": "1",
        "gap_least": "0",
        "gap_most": "0",
        "timezone": noon,
    }.items():
        page.locator(f"#{name}").fill(value)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Mail leaves by these settings from now on.")).to_be_visible()


def draft(page: Page, house: House, name: str = "Spring letter") -> None:
    page.goto(house.address(f"/admin/campaigns{W}"))
    form = page.get_by_role("region", name="New campaign")
    form.get_by_label("Name", exact=True).fill(name)
    form.get_by_label("Address").fill("ada@hillhouse.example")
    form.get_by_label("Subject of the first mail").fill("About {{ company }}")
    form.get_by_label("Text").fill("Hello {{ name }}")
    form.get_by_role("button", name="Make a draft").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def test_a_campaign_is_filled_checked_launched_watched_paused_and_resumed(house: House, page: Page) -> None:
    open_always(page, house)
    draft(page, house)
    page.get_by_label("CSV file").set_input_files(
        people("email,name,company\nada@x.example,Ada,Engines\nbob@x.example,Bob,Boats\nno\n")
    )
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("2 came into the campaign.")).to_be_visible()
    expect(page.get_by_role("region", name="Rows to look at")).to_contain_text("refused")
    page.get_by_role("link", name="Check").click()
    expect(page.get_by_role("heading", name="Ready to be launched")).to_be_visible()
    forecast = page.get_by_role("region", name="Forecast")
    expect(forecast).to_contain_text("Busiest day")
    expect(forecast).to_contain_text("1 mail")

    page.get_by_role("button", name="Launch…").click()
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(page.get_by_text("Launched: 2 mails planned.")).to_be_visible()
    with house.worker():
        expect(page.locator("#sent-count")).to_have_text("1")  # the page looks for news by itself
        expect(page.get_by_role("region", name="Waiting mails")).to_contain_text("quota used 1/1, next")
    assert [message.recipients for message in house.smtp.messages] == [("ada@x.example",)]

    expect(page.locator("#by-day")).to_contain_text("1 sent")

    campaigns = CampaignOperations(house.outbox)
    campaigns.pause(WORKSPACE, "spring-letter", by=BY, reason="the words are looked at again")
    expect(page.get_by_text("the words are looked at again. Nothing of it leaves")).to_be_visible()  # by itself, again
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("The campaign runs again.")).to_be_visible()
    page.get_by_label("Why it is to be paused").fill("the words are looked at again")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#head")).to_contain_text(": the words are looked at again. Nothing of it leaves")
    expect(page.get_by_text("The campaign is paused.")).to_be_visible()
    expect(page.get_by_role("region", name="Waiting mails")).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("The campaign runs again.")).to_be_visible()
    campaigns.cancel(WORKSPACE, "spring-letter", by=BY)
    expect(page.get_by_text("Ended: there is no more news")).to_be_visible()
    expect(page.get_by_role("button", name="Launch again…")).to_be_visible()
    page.get_by_role("link", name="ada@x.example").click()
    page.locator("#thread").get_by_role("link", name="About Engines").click()
    expect(page.get_by_role("heading", name="About Engines")).to_be_visible()


def test_a_campaign_with_a_name_in_another_script_is_made_watched_and_sent(house: House, page: Page) -> None:
    """Its id is of these letters, too, and stands in every address."""
    open_always(page, house)
    draft(page, house, "Весна 100 %")
    fill(house, "весна-100", table(1))
    page.get_by_role("link", name="Sequence").click()
    expect(page.get_by_role("heading", name="Весна 100 %")).to_be_visible()
    page.get_by_role("link", name="← The campaign").click()
    page.get_by_role("link", name="Check", exact=True).click()
    expect(page.get_by_text("Ready to be launched")).to_be_visible()
    page.get_by_role("button", name="Launch…").click()
    page.get_by_role("button", name="Launch", exact=True).click()
    with house.worker():
        expect(page.locator("#sent-count")).to_have_text("1")
    page.get_by_role("link", name="ada.0@engine.example").click()
    expect(page.locator("#thread")).to_contain_text("About Engine Works")


def test_a_sequence_is_written_and_previewed_without_any_script(house: House, plain_page: Page) -> None:
    page = plain_page
    open_always(page, house)
    draft(page, house)
    fill(house, "spring-letter", table(2))
    page.get_by_role("link", name="Sequence").click()
    page.get_by_role("button", name="Add a step").click()
    follow_up = page.get_by_role("group", name="Step 2", exact=True)
    follow_up.get_by_label("Days after the step before").fill("4")
    follow_up.get_by_label("Text", exact=True).fill("And how is {{ town }}?")
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(page.get_by_role("group", name="Step 1 for ada.0@engine.example")).to_contain_text("Hello Ada")
    expect(follow_up.get_by_text("there is no 'town'")).to_be_visible()
    follow_up.get_by_label("Text", exact=True).fill("And how is {{ city }}?")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved as a new version.")).to_be_visible()
    expect(page.get_by_text("Version 2.")).to_be_visible()


STANDING = """
[...document.querySelectorAll(".day-axis > span")].flatMap((column, number) => {
  if (!column.textContent) return [];
  const date = column.firstElementChild.getBoundingClientRect();
  const bar = document.querySelectorAll("#calendar g.bar")[number].getBoundingClientRect();
  return [[date.left, date.right, bar.left, bar.right]];
})
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_each_date_of_the_calendar_stands_beneath_its_own_day(house: House, plain_page: Page, width: int) -> None:
    """Of an even number of days none is in the middle."""
    open_always(plain_page, house)
    draft(plain_page, house)
    fill(house, "spring-letter", table(8))
    plain_page.set_viewport_size({"width": width, "height": 800})
    plain_page.reload()
    first, middle, last = plain_page.evaluate(STANDING)

    assert plain_page.locator(".day-axis > span").count() == 8
    for left, right, start, end in (first, middle, last) if width == 1280 else (middle,):
        assert abs((left + right) - (start + end)) < 2, "in the middle of it"
    assert first[0] >= first[2] - 1, "and none sticks out"
    assert last[1] <= last[3] + 1


def test_the_lived_in_workspace_is_planned_as_it_stands(house: House) -> None:
    """Its past is written by hand, and its pictures tell when mails leave."""
    outreach(house)
    campaigns = CampaignOperations(house.outbox)
    settings = campaigns.settings_of(WORKSPACE).sending
    waiting = campaigns.waiting(WORKSPACE, "spring", limit=1_000)
    first = min(at for each in waiting if (at := each.planned(settings)))
    soon = next_open(settings, datetime.now(UTC))
    assert soon is not None

    assert first <= soon + timedelta(seconds=settings.gap_seconds[1]), "what is due leaves in the next window"


BESIDE = """
[...document.querySelectorAll("#made .facts dd a")].map((link) => {
  const [label, value] = [link.closest("dd").previousElementSibling, link].map((each) => {
    const text = document.createRange();
    text.selectNodeContents(each);
    return text.getClientRects()[0];
  });
  return Math.abs(label.bottom - value.bottom);
})
"""
IN_TWO = """
[...document.querySelectorAll(".waiting .quiet-text, .people [data-label='Last mail']")]
  .filter((each) => {
    const text = document.createRange();
    text.selectNodeContents(each);
    return new Set([...text.getClientRects()].map((line) => line.top)).size > 1;
  })
  .map((each) => each.textContent)
"""


def test_values_stand_beside_their_labels_and_no_date_and_no_step_is_in_two_lines(
    house: House, browser: Browser
) -> None:
    outreach(house)
    long = f"{'a' * 60}@{'b' * 60}.{'c' * 60}.example"
    with sqlite3.connect(house.outbox.database_url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE postroom_prospects SET address = ? WHERE address LIKE 'emmy.%'", (long,))
    with phone(browser) as page:
        page.goto(house.address(f"/admin/campaigns/spring{W}"))
        assert max(page.evaluate(BESIDE)) < 3
        for width in (*range(320, 400, 8), 1280):
            page.set_viewport_size({"width": width, "height": 740})
            assert page.evaluate(IN_TWO) == []


def test_on_a_phone_the_rows_of_an_import_are_all_there_and_no_address_is_cut(house: House, browser: Browser) -> None:
    with phone(browser) as page:
        draft(page, house)
        rows = "".join(f"somebody.with.a.long.name.{number}@workshops.example,Ada\n" for number in range(9))
        page.get_by_label("CSV file").set_input_files(people(f"email,name\n{rows}{rows}"))
        page.get_by_role("button", name="Import").click()

        found = page.get_by_role("region", name="Rows to look at")
        expect(found).to_contain_text("duplicate")
        assert found.evaluate("box => box.scrollHeight - box.clientHeight") == 0
        assert {cell.evaluate(LINES_OF_DOMAIN) for cell in found.locator("td:nth-child(2)").all()} == {1}


FIRST_LINES = """
[...document.querySelectorAll(".thread .with-acts p")].map((each) => {
  const text = document.createRange();
  text.selectNodeContents(each.lastElementChild);
  const [number, subject] = [each.firstElementChild.getBoundingClientRect(), text.getClientRects()[0]];
  return number.bottom - subject.top;
})
"""


def test_on_a_phone_a_table_of_days_shows_all_its_columns_and_a_step_has_its_number_beside_it(
    house: House, browser: Browser
) -> None:
    outreach(house)
    with phone(browser) as page:
        page.set_viewport_size({"width": 360, "height": 740})
        page.goto(house.address(f"/admin/campaigns/spring{W}"))
        page.get_by_text("As a table").click()
        table = page.get_by_role("region", name="Mail by day", exact=True).last
        assert table.evaluate("each => each.scrollWidth - each.clientWidth") == 0

        page.goto(house.address(str(page.locator("#people tbody a").first.get_attribute("href"))))
        beside = page.evaluate(FIRST_LINES)
        assert beside
        assert min(beside) > 5, "no number stands in a line above its subject"


LONG_WORD = "Donaudampfschiffahrtsgesellschaftskapitaenswitwenrentenbescheid"
LONG_ADDRESS = f"{'somebody.with.a.long.name' * 2}@{'workshops' * 5}.example"


def lengthen(house: House) -> None:
    """Give everybody and everything the name of one long word, and an address that goes on."""
    with sqlite3.connect(house.outbox.database_url.removeprefix("sqlite:///")) as connection:
        for thing in ("campaigns", "sequences", "senders", "prospects"):
            connection.execute(f"UPDATE postroom_{thing} SET name = ?", (LONG_WORD,))
        fields = json.dumps({"company": LONG_WORD, "city": LONG_WORD, LONG_WORD.lower(): LONG_WORD})
        connection.execute("UPDATE postroom_prospects SET address = rowid || ?, fields = ?", (LONG_ADDRESS, fields))
        connection.execute("UPDATE postroom_senders SET address = id || ?", (LONG_ADDRESS,))


@pytest.mark.parametrize("long", [False, True], ids=["usual", "long"])
def test_on_a_phone_nothing_is_wider_than_the_screen_and_everything_can_be_hit(
    house: House, browser: Browser, long: bool
) -> None:
    outreach(house)
    if long:
        lengthen(house)
    with phone(browser) as page:
        page.goto(house.address(f"/admin/campaigns/spring{W}"))
        person = page.locator("#people tbody a").first.get_attribute("href")
        for path in (
            f"/admin/campaigns{W}", f"/admin/campaigns/spring{W}", f"/admin/campaigns/summer{W}&check=1", str(person),
            f"/admin/sequences/spring{W}&campaign=spring&prospect=nobody@x.example", f"/admin/sending{W}",
            f"/admin/sending{W}&edit=ada",
        ):  # fmt: skip
            page.goto(house.address(path))
            check_on_phone(page)
        for path, act in (
            (f"/admin/campaigns/summer{W}", "Launch…"), (f"/admin/campaigns/spring{W}", "Cancel…"), (person, "Stop…"),
        ):  # fmt: skip
            page.goto(house.address(str(path)))
            page.get_by_role("button", name=act).click()
            expect(page.locator("#confirm")).to_be_visible()
            check_on_phone(page)
