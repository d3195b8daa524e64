"""What is asked for again and again costs no more than what is new in it."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from fastapi.responses import Response

from postroom import Email, Outbox
from postroom.accounts.values import Role
from postroom.admin.economy import Economy
from postroom.admin.forgery import covered, uncovered
from postroom.vocabulary import Status
from postroom.web import admin
from tests.admin.callers import caller, token_for
from tests.admin.desk import desk
from tests.admin.front_door import House, open_house
from tests.store.journey import bring_to

REFRESH = {"x-postroom-refresh": "1"}
TOKEN = "ab" * 32


@pytest_asyncio.fixture
async def house(sqlite_url: str) -> AsyncIterator[House]:
    async with open_house(sqlite_url) as house:
        yield house


async def raw(client: httpx.AsyncClient, path: str, **headers: str) -> tuple[httpx.Headers, bytes]:
    """An answer as it travels."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with client.stream("GET", path, headers=sent) as answer:
        return answer.headers, b"".join([piece async for piece in answer.aiter_raw()])


@pytest.mark.parametrize("path", ["/admin", "/admin/email-queue", "/api/admin/dashboard", "/admin/static/base.css"])
async def test_pages_json_and_styles_are_compressed(house: House, path: str) -> None:
    browser = await house.signed_in()
    headers, body = await raw(browser.client, path, accept_encoding="gzip")

    assert headers["content-encoding"] == "gzip"
    assert int(headers["content-length"]) == len(body)
    assert len(gzip.decompress(body)) > 2 * len(body)
    assert "Accept-Encoding" in headers["vary"]


@pytest.mark.parametrize(
    "asked", [{"accept_encoding": "identity"}, {"accept_encoding": "gzip;q=0"}, {"sec_fetch_site": "cross-site"},
              {"sec_fetch_site": "same-site"}],
)  # fmt: skip
async def test_nothing_is_compressed_for_other_sites_nor_for_who_cannot_read_it(
    house: House, asked: dict[str, str]
) -> None:
    """The length of a compressed page tells whether a word of the asker's is in it somewhere else (BREACH)."""
    browser = await house.signed_in()
    headers, body = await raw(browser.client, "/admin/email-queue?q=guess", **({"accept_encoding": "gzip"} | asked))

    assert "content-encoding" not in headers
    assert b"guess" in body


async def test_the_forms_token_is_another_text_on_every_page_and_good_on_each(house: House) -> None:
    browser = await house.signed_in()
    await browser.get("/admin")
    first = browser.csrf
    await browser.get("/admin")
    second = browser.csrf
    browser.csrf = first

    assert first != second
    assert uncovered(first) == uncovered(second) != ""
    assert (await browser.submit("/admin/sign-out")).status_code == 303


def test_a_token_is_uncovered_as_it_was() -> None:
    assert uncovered(covered(TOKEN)) == TOKEN
    assert covered(TOKEN, chance=b"\x01" * 32) == "01" * 32 + "aa" * 32
    assert covered("") == ""
    assert [uncovered(each) for each in ("", "x", "abc", "é", "ab" * 3)] == ["", "", "", "", ""]


async def test_what_has_not_changed_is_not_sent_again(house: House) -> None:
    browser = await house.signed_in()
    for path in ("/admin/email-queue", "/api/admin/outbox", "/admin/static/admin.js"):
        first = await browser.client.get(path)
        again = await browser.client.get(path, headers={"if-none-match": first.headers["etag"]})

        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert again.headers["x-content-type-options"] == "nosniff"


async def test_what_has_changed_is_sent(house: House) -> None:
    browser = await house.signed_in()
    first = await browser.client.get("/admin/email-queue")
    await house.outbox.enqueue(Email(to="ada@example.org", subject="News", text="Hi"))
    again = await browser.client.get("/admin/email-queue", headers={"if-none-match": first.headers["etag"]})

    assert again.status_code == 200
    assert "News" in again.text


async def test_another_person_has_another_page(house: House) -> None:
    """Else a page would keep the form token of who was signed in before."""
    one, other = await house.signed_in(Role.ADMIN), await house.signed_in(Role.OPERATOR)

    assert (await one.client.get("/admin/email-queue")).headers["etag"] != (
        await other.client.get("/admin/email-queue")
    ).headers["etag"]


async def test_downloads_and_errors_are_left_as_they_are(house: House) -> None:
    browser = await house.signed_in()
    id = (await house.outbox.enqueue(Email(to="ada@example.org", text="Hi " * 1_000))).id
    download, body = await raw(browser.client, f"/admin/email-queue/{id}/source", accept_encoding="gzip")
    missing, _ = await raw(browser.client, "/admin/nothing", accept_encoding="gzip")

    assert "content-encoding" not in download
    assert b"Hi Hi" in body
    assert "content-encoding" not in missing


async def test_an_answer_in_pieces_is_put_together() -> None:
    app = FastAPI()

    @app.get("/")
    async def answer() -> Response:
        return Response("x" * 200_000, media_type="text/plain")

    async with httpx.AsyncClient(transport=httpx.ASGITransport(Economy(app)), base_url="http://localhost") as client:
        got = await client.get("/")

    assert got.text == "x" * 200_000
    assert int(got.headers["content-length"]) < 2_000


def test_looking_for_news_about_a_large_email_takes_little(sqlite_url: str) -> None:
    """It was 2.3 MB every three seconds. Over a real socket, with all the server adds."""
    with Outbox(sqlite_url, sender="desk@example.org") as outbox:
        outbox.migrate()
        viewer = f"Authorization: Bearer {token_for(outbox, Role.VIEWER)}"
        html = "<p>" + "a long letter " * 120_000
        id = outbox.enqueue(Email(to="ada@example.org", subject="Long", text="x", html=html)).id
        with desk(outbox) as web:
            page = web.ask(f"/admin/email-queue/{id}", viewer, "Accept-Encoding: gzip")
            news = web.ask(f"/admin/email-queue/{id}", viewer, "Accept-Encoding: gzip", "X-Postroom-Refresh: 1")

    assert len(page) < 100_000
    assert len(news) < 10_000
    assert b"content-encoding: gzip" in news.lower()


async def test_finished_mail_is_not_asked_about_again(outbox: Outbox) -> None:
    """The script looks for news of what is marked as live, and of nothing else."""
    pages = {}
    async with caller(admin(outbox, dev=True)) as browser:
        for status in (Status.SENT, Status.DEAD, Status.PENDING):
            pages[status] = (await browser.get(f"/admin/email-queue/{bring_to(outbox, status)}")).text

    assert [page.count(" data-live") for page in pages.values()] == [0, 4, 4]
