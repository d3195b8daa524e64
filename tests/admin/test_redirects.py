"""Redirects are paths within this app, whatever host a request names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from fastapi import FastAPI

from postroom import Outbox
from postroom.accounts.values import Role
from postroom.web import admin
from tests.admin.callers import caller
from tests.admin.desk import desk
from tests.admin.front_door import House, open_house
from tests.admin.test_route_walk import filled, routes

EVIL = {"host": "evil.example", "x-forwarded-host": "evil.example"}


@pytest.fixture
def outbox(sqlite_url: str) -> Iterator[Outbox]:
    with Outbox(sqlite_url) as outbox:
        outbox.migrate()
        yield outbox


@pytest_asyncio.fixture
async def house(sqlite_url: str) -> AsyncIterator[House]:
    async with open_house(sqlite_url) as house:
        yield house


async def test_no_route_redirects_to_the_host_that_a_request_names(house: House) -> None:
    """Every route, also with a slash behind it, for somebody and for nobody."""
    somebody, nobody = await house.signed_in(Role.ADMIN), house.browser()
    places = []
    for browser in (somebody, nobody):
        for method, path in routes(house.app):
            for ending in ("", "/", "//"):
                target = filled(path, "x") + ending
                answer = await browser.client.request(method, target, headers=EVIL)
                if "location" in answer.headers:
                    places.append(answer.headers["location"])

    assert len(places) > 20
    assert [place for place in places if not place.startswith("/admin")] == []


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/admin/", "/admin"),
        ("/admin/email-queue/?q=ada%20x&status=dead", "/admin/email-queue?q=ada%20x&status=dead"),
        ("/", "/admin"),
    ],
)
def test_a_slash_too_many_leads_to_the_page(outbox: Outbox, path: str, place: str) -> None:
    with desk(outbox, "--dev") as web:
        answer = web.ask(path, "X-Forwarded-Host: evil.example").decode()

    assert answer.startswith("HTTP/1.1 307")
    assert f"location: {place}\r\n" in answer
    assert "evil" not in answer


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/admin/campaigns/a%252Fb/pause?workspace=hotel", "/admin/campaigns/a%252Fb?workspace=hotel"),
        ("/admin/campaigns/spring/prospects/p1/stop", "/admin/campaigns/spring/prospects/p1"),
        ("/admin/sending/senders/ada/resume", "/admin/sending"),
        ("/admin/email-queue/act?notice=signed_out", "/admin/email-queue?notice=signed_out"),
        ("/admin/transports/pause", "/admin"),
        ("/admin/account/authenticator/confirm", "/admin/account"),
    ],
)
async def test_whoever_looks_at_the_address_of_an_act_finds_the_page_that_has_its_button(
    outbox: Outbox, path: str, place: str
) -> None:
    """A page that an act has answered with is loaded again, or asked for after a sign-in."""
    async with caller(admin(outbox, dev=True)) as browser:
        answer = await browser.get(path)
        elsewhere = await browser.request("OPTIONS", path)

    assert (answer.status_code, answer.headers["location"]) == (303, place)
    assert elsewhere.status_code == 405


@pytest.mark.parametrize(
    "path", ["http://localhost//evil.example/", "/admin//evil.example/", "/%5Cevil.example/", "/x/", "/api/admin/"]
)
async def test_no_address_is_made_into_one_of_another_host(outbox: Outbox, path: str) -> None:
    async with caller(admin(outbox, dev=True)) as browser:
        answer = await browser.get(path)

    assert answer.status_code == 404
    assert "location" not in answer.headers


@pytest.mark.parametrize("path", ["/postroom", "/postroom/", "/postroom/admin/"])
async def test_the_place_where_it_is_mounted_leads_to_the_desk(outbox: Outbox, path: str) -> None:
    outer = FastAPI()
    outer.mount("/postroom", admin(outbox, dev=True))
    async with caller(outer) as browser:
        answer = await browser.get(path, follow_redirects=True)

    assert answer.status_code == 200
    assert answer.url.path == "/postroom/admin"


async def test_so_it_does_in_an_app_that_adds_no_slash(outbox: Outbox) -> None:
    """There the mounted app is asked for nothing at all."""
    app = admin(outbox, dev=True)

    async def outer(scope: dict[str, object], receive: object, send: object) -> None:
        await app({**scope, "root_path": "/postroom"}, receive, send)  # type: ignore[arg-type]

    async with caller(outer) as browser:  # type: ignore[arg-type]
        answer = await browser.get("/postroom")

    assert (answer.status_code, answer.headers["location"]) == (307, "/postroom/admin")
