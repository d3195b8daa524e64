"""The desk over regions in a browser: without scripts, on a telephone, and from one region to the overview and back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from postroom import AsyncRegions
from postroom.web import desk
from tests.browser.house import Pages
from tests.regions.continents import furnished, session_in, two_regions


@pytest.fixture
def address(tmp_path: Path, page: Page, plain_page: Page) -> Iterator[str]:
    """A desk over two regions; both windows are signed in to deu1."""
    settings = two_regions(tmp_path)

    @asynccontextmanager
    async def app() -> AsyncIterator[Any]:
        async with AsyncRegions.from_settings(settings) as regions:
            yield desk(regions)

    with furnished(settings) as regions, Pages(app) as pages:
        address = f"http://127.0.0.1:{pages.port}"
        token = session_in(regions["deu1"], "grace@deu1.example")
        for window in (page, plain_page):
            window.context.add_cookies([{"name": "postroom_session.deu1", "value": token, "url": address}])
        yield address


def test_from_the_overview_to_a_region_and_back_without_scripts(address: str, plain_page: Page) -> None:
    plain_page.goto(address)
    expect(plain_page.get_by_role("heading", name="deu1 and usa1 are in trouble")).to_be_visible()

    plain_page.get_by_role("link", name="Open deu1").click()
    expect(plain_page.get_by_role("link", name="Email queue", exact=True)).to_be_visible()
    plain_page.get_by_role("link", name="Region deu1; back to all regions").click()
    plain_page.get_by_role("link", name="Sign in to usa1").click()

    expect(plain_page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(plain_page.get_by_role("link", name="Region usa1")).to_be_visible()


def test_nothing_is_pushed_off_the_screen_of_a_telephone(address: str, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    for path in ("/regions", "/regions/deu1/admin", "/regions/usa1/admin/sign-in"):
        page.goto(address + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path


def test_the_overview_keeps_itself_up_to_date(address: str, page: Page, browser: Browser, tmp_path: Path) -> None:
    from postroom import Email, Outbox

    page.goto(f"{address}/regions")
    pending = page.locator("#region-usa1 .region-numbers dd").first
    expect(pending).to_have_text("1")
    with Outbox(f"sqlite:///{tmp_path}/usa1.db", sender="desk@example.org") as usa1:
        usa1.enqueue(Email(to="bob@usa1.example", subject="Another", text="Hello"))

    expect(pending).to_have_text("2")
