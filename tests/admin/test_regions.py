"""One desk over regions: numbers and states of all, and a region's emails to its own people only (C1, C4)."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from postroom import AsyncRegions, Regions, Settings
from postroom.accounts.accounts import add_person
from postroom.accounts.code_email import CODE_KIND
from postroom.accounts.values import Role
from postroom.web import desk
from tests.admin.front_door import PASSWORD, kept
from tests.regions.continents import (
    SECURE,
    WRITTEN_TO,
    furnished,
    session_in,
    silent_server,
    two_regions,
    visited,
    with_one_away,
)
from tests.sealing.mailbox import letter_in_box

PERSONAL = re.compile(r"@(deu1|usa1|house)\.example|A secret of")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return two_regions(tmp_path)


@pytest.fixture
def regions(settings: Settings) -> Iterator[Regions]:
    with furnished(settings) as regions:
        yield regions


async def test_whoever_is_signed_in_nowhere_sees_names_and_where_to_sign_in(
    settings: Settings, regions: Regions
) -> None:
    async with visited(settings) as browser:
        page = await browser.get("/regions")

    assert page.status_code == 200
    assert all(f'href="/regions/{name}/admin/sign-in"' in page.text for name in regions)
    assert "pending" not in page.text
    assert not PERSONAL.search(page.text)


async def test_somebody_of_one_region_sees_its_emails_and_no_others(settings: Settings, regions: Regions) -> None:
    """(C1, C4)"""
    token = session_in(regions["deu1"], "grace@deu1.example")
    async with visited(settings) as browser:
        browser.cookies.set("postroom_session.deu1", token, domain="desk.example")
        own = await browser.get("/regions/deu1/admin/email-queue")
        other = await browser.get("/regions/usa1/admin/email-queue")
        by_api = await browser.get("/regions/usa1/api/admin/dashboard")

    assert WRITTEN_TO["deu1"] in own.text
    assert WRITTEN_TO["usa1"] not in own.text
    assert (other.status_code, other.headers["location"]) == (
        303,
        "/regions/usa1/admin/sign-in?next=/regions/usa1/admin/email-queue",
    )
    assert by_api.status_code == 401


async def test_a_session_of_one_region_shown_to_another_is_nobodys(settings: Settings, regions: Regions) -> None:
    token = session_in(regions["deu1"], "grace@deu1.example")
    async with visited(settings) as browser:
        browser.cookies.set("postroom_session.usa1", token, domain="desk.example")
        other = await browser.get("/regions/usa1/admin")
        overview = await browser.get("/regions")

    assert other.status_code == 303
    assert "pending" not in overview.text


async def test_the_overview_shows_numbers_and_states_and_nothing_personal(settings: Settings, regions: Regions) -> None:
    """Not even what a person wrote as the reason for a pause, or who it was."""
    token = session_in(regions["deu1"], "grace@deu1.example")
    async with visited(settings) as browser:
        browser.cookies.set("postroom_session.deu1", token, domain="desk.example")
        page = await browser.get("/regions")

    assert page.status_code == 200
    assert len(re.findall(r"<dt>pending</dt><dd>1</dd>", page.text)) == 2
    assert "default: held by a person" in page.text
    assert "Open deu1" in page.text
    assert "Sign in to usa1" in page.text
    assert not PERSONAL.search(page.text)


async def test_somebody_who_may_see_some_workspaces_is_shown_states_alone(settings: Settings, regions: Regions) -> None:
    token = session_in(regions["deu1"], "hotel@deu1.example", role=Role.VIEWER, workspaces=["hotel"])
    async with visited(settings) as browser:
        browser.cookies.set("postroom_session.deu1", token, domain="desk.example")
        page = await browser.get("/regions")

    assert "Mail is due, and no worker is running." in page.text
    assert "<dt>pending</dt>" not in page.text


async def test_a_region_that_is_away_is_shown_as_away_within_moments(settings: Settings, regions: Regions) -> None:
    token = session_in(regions["deu1"], "grace@deu1.example")
    with silent_server() as url:
        async with visited(with_one_away(settings, url)) as browser:
            browser.cookies.set("postroom_session.deu1", token, domain="desk.example")
            browser.cookies.set("postroom_session.sgp1", token, domain="desk.example")
            begun = time.monotonic()
            page = await browser.get("/regions")
            took = time.monotonic() - begun

    assert re.search(r'id="region-sgp1">\s*<header><h2>sgp1</h2><span class="status status-broken">away', page.text)
    assert len(re.findall(r"<dt>pending</dt><dd>1</dd>", page.text)) == 2
    assert took < 10, "a region that is away is waited for two seconds; the rest is a busy machine"


async def test_a_region_that_this_machine_does_not_know_is_shown_by_its_name(tmp_path: Path) -> None:
    settings = two_regions(tmp_path)
    with furnished(settings) as regions:
        token = session_in(regions["usa1"], "grace@usa1.example")
    tables = {name: {"database": table.database} for name, table in settings.regions.items()}
    async with visited(Settings(regions={**tables, "jpn1": {}})) as browser:  # type: ignore[arg-type]
        browser.cookies.set("postroom_session.usa1", token, domain="desk.example")
        page, beneath = await browser.get("/regions"), await browser.get("/regions/jpn1/admin")

    assert "not known here" in page.text
    assert beneath.status_code == 404
    assert "choose one of deu1, usa1" in beneath.text


async def test_cookies_of_regions_stand_side_by_side(settings: Settings, regions: Regions) -> None:
    """Signing in to one region, with password and code, ends no session in another (C4)."""
    for name in regions:
        regions[name].database.run(add_person(f"grace@{name}.example", role=Role.ADMIN, password=kept(PASSWORD)))
    async with visited(settings, base=SECURE) as browser:
        for name in regions:
            await sign_in(browser, regions, name)
        pages = [(await browser.get(f"/regions/{name}/admin/email-queue")).status_code for name in regions]
        overview = (await browser.get("/regions")).text

        assert pages == [200, 200]
        assert {"__Host-postroom.deu1", "__Host-postroom.usa1"} <= {*browser.cookies}
        assert "Open deu1" in overview
        assert "Open usa1" in overview


async def sign_in(browser: httpx.AsyncClient, regions: Regions, name: str) -> None:
    """Both steps, on the pages of one region; the code from that region's own outbox."""
    here = f"/regions/{name}/admin/sign-in"
    asked = await browser.get(here)
    assert f"Region {name}; back to all regions" in asked.text
    given = await submit(browser, here, asked, name=f"grace@{name}.example", password=PASSWORD)
    assert given.status_code == 303, given.text
    outbox = regions[name]
    [email, *_] = outbox.list(kind=CODE_KIND).emails
    letter = outbox.database.run(letter_in_box(email.id, outbox.rules.keyring), writes=False)
    [code] = re.findall(r"\b\d{6}\b", letter.text or "")[:1]
    entered = await submit(browser, f"{here}/code", await browser.get(f"{here}/code"), code=code)
    assert (entered.status_code, entered.headers["location"]) == (303, f"/regions/{name}/admin")


async def submit(browser: httpx.AsyncClient, path: str, page: httpx.Response, **fields: str) -> httpx.Response:
    """A form of this page."""
    found = re.search(r'name="csrf" value="([^"]*)"', page.text)
    assert found is not None
    headers = {"origin": SECURE, "sec-fetch-site": "same-origin"}
    return await browser.post(path, data={"csrf": found[1]} | fields, headers=headers)


async def test_pages_of_a_region_lead_back_to_all_of_them(settings: Settings, regions: Regions) -> None:
    async with visited(settings) as browser:
        page = await browser.get("/regions/deu1/admin/sign-in")

    assert '<a class="region" href="/regions"' in page.text


@pytest.mark.parametrize("path", ["/", "/admin", "/regions/"])
async def test_other_ways_lead_to_the_overview(settings: Settings, regions: Regions, path: str) -> None:
    async with visited(settings) as browser:
        answer = await browser.get(path)

    assert (answer.status_code, answer.headers["location"]) == (307, "/regions")


@pytest.mark.parametrize("path", ["/regions", "/regions/mars", "/elsewhere", "/regions/deu1/admin/sign-in", "/healthz"])
async def test_every_answer_has_the_headers_that_protect_it_once(
    settings: Settings, regions: Regions, path: str
) -> None:
    async with visited(settings) as browser:
        answer = await browser.get(path)

    assert answer.headers.get_list("x-frame-options") == ["DENY"]
    assert len(answer.headers.get_list("content-security-policy")) == 1
    assert answer.headers["cache-control"] == "no-store"


async def test_it_may_be_mounted_into_another_app_and_over_blocking_regions(regions: Regions) -> None:
    outer = FastAPI(openapi_url=None)
    outer.mount("/postroom", desk(regions, dev=True))
    transport = httpx.ASGITransport(outer, client=("127.0.0.1", 40_000))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        overview = await browser.get("/postroom/regions")
        inside = await browser.get("/postroom/regions/usa1/admin/email-queue")
        styles = await browser.get("/postroom/admin/static/pages.css")

    assert 'href="/postroom/regions/usa1/admin"' in overview.text
    assert WRITTEN_TO["usa1"] in inside.text
    assert '<a class="region" href="/postroom/regions"' in inside.text
    assert styles.status_code == 200


async def test_a_token_opens_its_own_region_and_not_the_overview(settings: Settings, regions: Regions) -> None:
    from postroom.accounts.chance import new_token
    from postroom.accounts.tokens import add_token

    person = regions["deu1"].database.run(add_person("robot@deu1.example", role=Role.ADMIN, password="none"))
    token = new_token()
    regions["deu1"].database.run(add_token(person, token, scope=Role.VIEWER))
    async with visited(settings) as browser:
        browser.headers["authorization"] = f"Bearer {token}"
        answers = [(await browser.get(f"/regions/{name}/api/admin/dashboard")).status_code for name in ("deu1", "usa1")]
        overview = await browser.get("/regions")

    assert answers == [200, 401]
    assert "pending" not in overview.text


async def test_regions_that_were_never_opened_are_closed_with_the_rest(settings: Settings) -> None:
    async with AsyncRegions.from_settings(settings) as regions:
        assert desk(regions) is not None
