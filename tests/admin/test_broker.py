"""The broker on the overview and in the API: a card only where somebody dispatches over one."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from html import unescape

import httpx
import pytest
from httpx import ASGITransport, AsyncClient

from postroom import AsyncOutbox, Outbox
from postroom.admin.app import build
from tests.operate.services import beat, told
from tests.store.journey import enqueue

DEPTHS = {"email.dispatcher.send.urgent": 0, "email.dispatcher.send": 1200, "email.dispatcher.send.bulk": 4}
AWAY = told(connected=False, reason="connection refused")


@pytest.fixture
async def browser(outbox: Outbox) -> AsyncIterator[AsyncClient]:
    """Somebody at this machine, under `--dev`."""
    async with AsyncOutbox(outbox.database_url) as awaiting, AsyncClient(
        transport=ASGITransport(build(awaiting, dev=True)), base_url="http://localhost"
    ) as client:  # fmt: skip
        yield client


def card(page: httpx.Response) -> str:
    """The words of the broker's card; empty where there is none."""
    found = re.search(r'<section class="card" id="broker".*?</section>', page.text, re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", found[0]))) if found else ""


async def test_without_schedulers_and_senders_there_is_no_card(browser: AsyncClient, outbox: Outbox) -> None:
    beat(outbox, "plain", role="worker", broker="")
    page = await browser.get("/admin")

    assert card(page) == ""
    assert "1 worker at work" in page.text
    assert (await browser.get("/api/admin/dashboard")).json()["broker"] is None


async def test_the_card_tells_the_state_the_queues_and_who_is_at_work(browser: AsyncClient, outbox: Outbox) -> None:
    beat(outbox, "plain", role="worker", broker="")
    beat(outbox, "one", role="scheduler", broker=told(depths=DEPTHS, dead={"email.dispatcher.dead": 3}), rate=12.5)
    beat(outbox, "two", role="sender", in_flight=16)

    page = await browser.get("/admin")
    words = card(page)

    assert "RabbitMQ rabbit:5672 is connected · 1,204 messages wait" in words
    assert "email.dispatcher.send 1,200" in words
    assert "email.dispatcher.dead 3 to be read" in words
    assert "scheduler one connected h" in words
    assert "sender two connected h" in words
    assert "– 12.5/s" in words  # a scheduler holds no email
    assert "1 worker at work, 1 scheduler and 1 sender are at work" in page.text
    workers = page.text.partition('id="workers"')[2]
    assert "plain" in workers
    assert "two" not in re.findall(r'<strong class="mono">(\w+)</strong>', workers)


async def test_the_card_and_the_house_tell_of_a_broker_that_is_away(browser: AsyncClient, outbox: Outbox) -> None:
    enqueue(outbox, 2)
    beat(outbox, "one", role="scheduler", broker=AWAY)
    beat(outbox, "two", role="sender", broker=AWAY)

    page = await browser.get("/admin")

    said = "connection refused — 2 emails wait in the database"
    assert said in card(page)
    assert re.search(rf"<h1>RabbitMQ rabbit:5672 is away since [^<]*: {said}</h1>", page.text)
    assert "house-trouble" in page.text
    assert "email.dispatcher" not in card(page)  # nobody can tell what waits there


async def test_what_a_broker_says_of_itself_is_never_markup(browser: AsyncClient, outbox: Outbox) -> None:
    hostile = "<script>alert(1)</script>"
    beat(outbox, "one", role="scheduler", broker=told(connected=False, reason=hostile, name=hostile))

    page = await browser.get("/admin")

    assert hostile not in page.text
    assert "&lt;script&gt;alert(1)" in page.text


async def test_the_api_has_the_broker_in_camel_case_and_describes_it(browser: AsyncClient, outbox: Outbox) -> None:
    beat(outbox, "one", role="scheduler", broker=told(depths=DEPTHS, dead={"email.dispatcher.dead": 3}))
    beat(outbox, "two", role="sender", broker=AWAY)

    broker = (await browser.get("/api/admin/dashboard")).json()["broker"]
    described = (await browser.get("/api/admin/openapi.json")).json()["components"]["schemas"]["BrokerShape"]

    assert broker["sentence"].startswith("RabbitMQ rabbit:5672 is out of reach for 1 of 2 services since")
    assert (broker["name"], broker["connected"], broker["away"]) == ("rabbit:5672", False, 1)
    assert (broker["waiting"], broker["depths"]) == (1204, DEPTHS)
    assert broker["deadLetters"] == {"email.dispatcher.dead": 3}
    assert (broker["schedulers"], broker["senders"], broker["reason"]) == (1, 1, "connection refused")
    assert set(described["properties"]) == set(broker)
    assert "password" not in json.dumps(broker)
