"""The portals as somebody sees them who has just started the example: a browser, three inboxes, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from examples.portals.company import PASSWORD as STAFF_PASSWORD
from examples.portals.company import staff_of
from tests.examples.portals import PASSWORD, Portals, portals

ADA = "ada@example.org"
NEW_PASSWORD = "a swim in the lake"
CODE = re.compile(r"\b\d{6}\b")


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portals]:
    with portals(tmp_path_factory.mktemp("portals") / "data") as running:
        yield running


def test_somebody_signs_up_in_german_verifies_forgets_the_password_and_comes_back_in(
    plain_page: Page, company: Portals
) -> None:
    """(C3, C7) Every link is clicked in the email itself, as the region's inbox shows it. No script runs anywhere."""
    page = plain_page
    page.goto(f"{company.at.site}/hub")
    page.get_by_role("link", name="Deutsch").click()
    page.get_by_role("link", name="Konto eröffnen").click()
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("E-Mail-Adresse").fill(ADA)
    page.get_by_label("Passwort").fill(PASSWORD)
    page.get_by_label("Deutschland").check()
    page.get_by_role("button", name="Konto eröffnen").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Bitte ins Postfach schauen")

    follow(page, company, "hub/verify")
    page.get_by_role("button", name="Ja, bestätigen").click()
    expect(page.get_by_role("status")).to_contain_text("bestätigt")

    page.get_by_role("link", name="Passwort vergessen?").click()
    page.get_by_label("E-Mail-Adresse").fill(ADA)
    page.get_by_role("button", name="Link schicken").click()
    follow(page, company, "hub/new-password")
    page.get_by_label("Neues Passwort").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Speichern").click()
    expect(page.get_by_role("status")).to_contain_text("geändert")

    page.get_by_label("E-Mail-Adresse").fill(ADA)
    page.get_by_label("Passwort").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Anmelden").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Hallo Ada")
    expect(page.get_by_role("main")).to_contain_text("deu1")


def test_one_of_the_staff_signs_in_with_the_six_digits_from_the_regions_inbox(page: Page, company: Portals) -> None:
    """(C4) And then sees how every region is doing, though only the emails of one."""
    page.goto(company.at.site)
    page.get_by_role("link", name="Alder Admin").click()
    page.get_by_role("link", name="Sign in to deu1").click()
    page.get_by_label("Email address").fill(staff_of("deu1"))
    page.get_by_label("Password").fill(STAFF_PASSWORD)
    page.get_by_role("button", name="Continue").click()
    expect(page).to_have_url(re.compile("/regions/deu1/admin/sign-in/code"))
    page.locator("input[name=code]").fill(code_of(page, company))
    page.locator("input[name=code]").press("Enter")
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()

    page.goto(f"{company.at.site}/staff/regions")
    for region in company.at.inboxes:
        expect(page.get_by_role("main")).to_contain_text(region)
    page.goto(f"{company.at.site}/staff/regions/usa1/admin/email-queue")
    expect(page).to_have_url(re.compile("/regions/usa1/admin/sign-in"))


@pytest.mark.parametrize("width", [360, 1280])
def test_no_page_is_wider_than_the_window_and_arabic_runs_from_the_right(
    plain_page: Page, company: Portals, width: int
) -> None:
    page = plain_page
    page.set_viewport_size({"width": width, "height": 800})
    for path in ("/", "/hub?language=ar", "/hub/sign-up?language=de", "/org/sign-up", "/agency/sign-in"):
        page.goto(f"{company.at.site}{path}")
        box = page.locator("body").bounding_box()

        assert box is not None
        assert box["width"] <= width, path
        assert page.locator("html").evaluate("e => e.scrollWidth") <= width, path
    page.goto(f"{company.at.site}/hub/sign-up?language=ar")
    assert page.locator("html").get_attribute("dir") == "rtl"


def follow(page: Page, company: Portals, to: str) -> None:
    """Click the button of the newest email that leads to this page, in the inbox of deu1."""
    reading = page.context.new_page()
    letter_in(reading, company, f"/{to}?token=")
    with page.context.expect_page() as opened:
        _shown(reading).locator(f'a[href*="/{to}?token="]').first.click()
    opened.value.wait_for_url(re.compile(f"/{to}"))
    address = opened.value.url
    opened.value.close()
    reading.close()
    page.goto(address)


def code_of(page: Page, company: Portals) -> str:
    reading = page.context.new_page()
    letter_in(reading, company, staff_of("deu1"))
    reading.get_by_role("link", name="Text").click()
    expect(reading.locator("main")).to_contain_text(CODE)
    code = CODE.search(reading.locator("main").inner_text())
    assert code is not None
    reading.close()
    return code[0]


def letter_in(reading: Page, company: Portals, words: str) -> None:
    """Open the newest email with these words. The page does not wait for one, so it is asked again."""
    letter = reading.locator("a.letter").first
    for _ in range(60):
        reading.goto(f"{company.at.inboxes['deu1']}?q={words.replace('?', '%3F').replace('=', '%3D')}")
        if letter.count():
            break
        reading.wait_for_timeout(500)
    letter.click()


def _shown(reading: Page) -> FrameLocator:
    return reading.frame_locator("iframe").first
