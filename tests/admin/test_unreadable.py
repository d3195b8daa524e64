"""One row that cannot be read: pages and API show it as what it is, and everything else as usual."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from postroom import AsyncOutbox, Outbox, Status
from postroom.accounts.values import Role
from postroom.admin.app import build
from tests.admin.callers import caller, token_for
from tests.store.damage import DAMAGES, damage
from tests.store.journey import bring_to, email

QUEUE = "/admin/email-queue"
API = "/api/admin/outbox"

each_damage = pytest.mark.parametrize("what", DAMAGES)


@pytest.fixture
async def browser(outbox: Outbox) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody at this machine, under `--dev`."""
    async with (
        AsyncOutbox(outbox.database_url) as awaiting,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(build(awaiting, dev=True)), base_url="http://localhost"
        ) as client,
    ):
        yield client


@pytest.fixture
async def operator(outbox: Outbox) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        AsyncOutbox(outbox.database_url) as awaiting,
        caller(build(awaiting), token_for(outbox, Role.OPERATOR)) as client,
    ):
        yield client


def told(page: str) -> str:
    """What a page says, without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)).replace("&#39;", "'")


@each_damage
async def test_the_pages_show_it_as_what_it_is(browser: httpx.AsyncClient, outbox: Outbox, what: str) -> None:
    bad = bring_to(outbox, Status.DEAD)
    well = outbox.enqueue(email("in good order")).id
    damage(outbox, bad, what)
    pages = [await browser.get(path) for path in ("/admin", QUEUE, f"{QUEUE}/{bad}", f"{QUEUE}/{well}")]

    assert [page.status_code for page in pages] == [200] * 4
    assert "in good order" in told(pages[1].text)
    assert DAMAGES[what][1] in told(pages[1].text)
    assert DAMAGES[what][1] in told(pages[2].text)
    assert "nreadable" not in told(pages[3].text)


@pytest.mark.parametrize("what", ["content", "envelope"])
async def test_its_preview_correction_and_source_say_why_there_is_nothing(
    browser: httpx.AsyncClient, outbox: Outbox, what: str
) -> None:
    bad = bring_to(outbox, Status.DEAD)
    damage(outbox, bad, what)
    page = await browser.get(f"{QUEUE}/{bad}")
    others = [await browser.get(f"{QUEUE}/{bad}/{part}") for part in ("replay", "source")]

    assert "What this email says cannot be shown" in told(page.text)
    assert [answer.status_code for answer in others] == [409, 409]
    assert all("cannot be read" in told(answer.text) for answer in others)


@each_damage
async def test_the_api_shows_it_as_what_it_is(operator: httpx.AsyncClient, outbox: Outbox, what: str) -> None:
    bad = bring_to(outbox, Status.DEAD)
    well = outbox.enqueue(email("in good order")).id
    damage(outbox, bad, what)
    listed = (await operator.get(API)).json()
    shown = await operator.get(f"{API}/{bad}")
    state = await operator.get("/api/admin/dashboard")
    found = {each["id"]: each["unreadable"] for each in listed["emails"]}

    assert set(found) == {bad, well}
    assert found[well] is None
    assert DAMAGES[what][1] in found[bad]
    assert (shown.status_code, state.status_code) == (200, 200)
