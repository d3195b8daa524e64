"""The gallery in a real browser: it follows the files, and shows dark, phone and what is broken."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from postroom import Portal
from postroom.admin.serving import Config, Server
from postroom.gallery.collection import Collection
from postroom.gallery.site import Preview, build
from tests.browser.chromium import chromium
from tests.gallery.shop import HTML, open_shop

expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[str, Portal]]:
    """Where the gallery is served, and the portal that it shows."""
    shop = open_shop(tmp_path / "shop")
    collection = Collection(lambda: {"shop": shop}, live=True)
    server = Server(Config(build(Preview(collection, None)), places=100, timeout_graceful_shutdown=2))
    listening = socket.create_server(("127.0.0.1", 0))
    serving = Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    serving.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/templates", shop
    collection.close()
    server.should_exit = True
    serving.join()


@pytest.fixture
def page(browser: Browser, place: tuple[str, Portal]) -> Iterator[Page]:
    """A fresh window. What reaches another host, or a mistake in our own script, fails the test."""
    with browser.new_context(viewport={"width": 1500, "height": 700}) as context:
        page = context.new_page()
        requests: list[Request] = []
        problems: list[str] = []
        page.on("request", lambda request: requests.append(request))
        page.on("pageerror", lambda error: problems.append(str(error)))
        yield page

        ours = (place[0].removesuffix("/templates"), "data:", "about:")
        assert [each.url for each in requests if not each.url.startswith(ours) and each.failure != "csp"] == []
        assert problems == []


def colour(page: Page, frame: str) -> str:
    body = page.frame_locator(frame).locator("body")
    return str(body.evaluate("element => getComputedStyle(element).backgroundColor"))


def test_the_page_follows_the_files_and_stays_where_it_is(page: Page, place: tuple[str, Portal]) -> None:
    url, shop = place
    body = shop.root / "welcome" / "body.html"
    body.write_text(HTML.replace("GREETING", "Good morning").replace("</body>", "<p>line</p>" * 60 + "</body>"))
    page.goto(f"{url}/shop/welcome")
    expect(page.frame_locator("#desk").get_by_text("Good morning Ada")).to_be_visible()
    page.wait_for_function("document.getElementById('phone').offsetHeight > 1500")
    page.evaluate("scrollTo(0, 500)")

    body.write_text(body.read_text().replace("Good morning", "Good evening"))
    for frame in ("#desk", "#phone"):
        expect(page.frame_locator(frame).get_by_text("Good evening Ada")).to_be_attached()
    assert page.evaluate("scrollY") == 500

    whole = body.read_text()
    body.write_text(whole.replace("{{ name }}", "{{ nmae }}"))
    expect(page.get_by_role("alert")).to_contain_text("did you mean name?", ignore_case=True)
    expect(page.locator(".meant")).to_have_text("<p>Good evening {{ nmae }}</p>")

    body.write_text(whole)
    expect(page.frame_locator("#desk").get_by_text("Good evening Ada")).to_be_attached()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_desktop_phone_light_and_dark_are_each_what_they_say(page: Page, place: tuple[str, Portal]) -> None:
    page.goto(f"{place[0]}/shop/welcome")
    wide = page.frame_locator("#desk").get_by_text("Only where there is room")
    narrow = page.frame_locator("#phone").get_by_text("Only where there is room")
    logo = page.frame_locator("#desk").get_by_role("img", name="The Shop")

    expect(wide).to_be_visible()
    expect(narrow).to_be_hidden()
    assert page.frame_locator("#phone").locator("body").evaluate("() => innerWidth") == 360
    assert logo.evaluate("element => element.naturalWidth") == 1
    assert colour(page, "#desk") == "rgb(255, 255, 255)"
    page.keyboard.press("d")
    page.wait_for_url("**scheme=dark")
    expect(page.frame_locator("#phone").get_by_text("Good morning Ada")).to_be_visible()
    assert colour(page, "#desk") == "rgb(16, 16, 16)"


def test_keys_lead_through_samples_templates_languages_and_views(page: Page, place: tuple[str, Portal]) -> None:
    page.goto(f"{place[0]}/shop/welcome")
    for key, address in (
        ("ArrowRight", "**/welcome?language=en&sample=markup"),
        ("l", "**/welcome?language=de&sample=markup"),
        ("2", "**/welcome?language=de&sample=markup&view=text"),
        ("ArrowRight", "**/goodbye?language=de&sample=eve&view=text"),
        ("m", "**/templates"),
    ):
        page.keyboard.press(key)
        page.wait_for_url(address)


def test_hostile_templates_and_values_run_nothing(page: Page, place: tuple[str, Portal]) -> None:
    url, shop = place
    body = shop.root / "welcome" / "body.html"
    hostile = '<script>parent.document.title = "stolen"</script><img src="http://elsewhere.example/p.gif" alt="">'
    body.write_text(body.read_text().replace("</body>", f"{hostile}<p onclick=x>End</p></body>"))
    page.goto(f"{url}/shop/welcome?sample=markup")

    expect(page.frame_locator("#desk").get_by_text("End")).to_be_visible()
    expect(page.frame_locator("#desk").get_by_text("Good morning <script>")).to_be_visible()
    expect(page).to_have_title("shop.welcome · Postroom templates")


def test_without_scripts_everything_is_there(browser: Browser, place: tuple[str, Portal]) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(place[0])
        page.get_by_role("link", name="fine – welcome in German (de)").click()

        expect(page.frame_locator("#desk").get_by_text("Guten Morgen Ada")).to_be_visible()
        page.get_by_role("link", name="Text", exact=True).click()
        expect(page.locator("pre")).to_contain_text("Guten Morgen Ada")
