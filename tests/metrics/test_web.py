"""`/metrics` of the admin app: complete, behind the door, and without a word about anybody (B6)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from postroom import Email
from postroom.accounts.values import Role
from postroom.metrics.catalogue import OF_THE_DATABASE, Kind
from tests.admin.front_door import House, open_house
from tests.metrics.scrape import Scrape, family_name


@pytest.fixture
async def house(sqlite_url: str) -> AsyncIterator[House]:
    async with open_house(sqlite_url) as house:
        yield house


async def scraped(house: House, **token: object) -> httpx.Response:
    """As Prometheus would."""
    headers = {"Authorization": f"Bearer {await house.token(Role.VIEWER, **token)}"}
    return await house.browser().client.get("/metrics", headers=headers)


async def test_nobody_reads_metrics_without_a_sign_in_or_a_token(house: House) -> None:
    answer = await house.browser().client.get("/metrics")

    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "not_signed_in"


async def test_a_viewers_token_is_enough_and_everything_in_the_catalogue_is_there(house: House) -> None:
    answer = await scraped(house)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = Scrape(answer.text)
    assert set(found.families) == {family_name(metric) for metric in OF_THE_DATABASE}
    for metric in OF_THE_DATABASE:
        assert found.families[family_name(metric)].type == metric.kind is not Kind.HISTOGRAM
        assert found.families[family_name(metric)].documentation == metric.meaning
        assert found.labels_of(metric.name) <= {tuple(sorted(metric.labels))}


async def test_somebody_who_is_signed_in_may_read_them_too(house: House) -> None:
    browser = await house.signed_in(Role.VIEWER)

    assert (await browser.get("/metrics")).status_code == 200


async def test_somebody_who_may_see_some_workspaces_only_does_not_see_numbers_about_all(house: House) -> None:
    answer = await scraped(house, workspaces=["north"])

    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "not_allowed"


async def test_nothing_about_anybody_is_in_the_metrics(house: House) -> None:
    await house.outbox.enqueue(
        Email(to="Ada Lovelace <ada@secret.example>", subject="Confidential", text="Hello", tags=["affair"]),
        kind="dismissal", workspace="board", key="payroll-7",
    )  # fmt: skip

    text = (await scraped(house)).text

    assert "postroom_emails_enqueued_total 1.0" in text
    assert "@" not in text
    for word in ("ada", "secret.example", "Confidential", "affair", "dismissal", "board", "payroll"):
        assert word not in text


async def test_while_the_database_is_away_a_scrape_fails_and_says_so(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scrape that fails is what `up` shows; numbers made up would be worse than none."""
    from postroom.errors import StoreUnavailable
    from postroom.operate import AsyncOperations

    async def away(operations: AsyncOperations) -> None:
        raise StoreUnavailable("the database cannot be reached just now")

    monkeypatch.setattr(AsyncOperations, "standing", away)

    answer = await scraped(house)

    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "store_unavailable"
