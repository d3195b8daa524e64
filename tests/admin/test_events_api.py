"""`GET /api/events`: the stream of changes, for programs that read it at their own pace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from postroom import AsyncOutbox, Outbox
from postroom.accounts.values import Role
from postroom.web import admin
from tests.admin.callers import caller, token_for
from tests.store.journey import claim, dead, enqueue, sent, settle
from tests.store.stream import read_until


@pytest.fixture
async def app(outbox: Outbox) -> AsyncIterator[FastAPI]:
    async with AsyncOutbox(outbox.database_url) as awaiting:
        yield admin(awaiting)


@pytest.fixture
async def viewer(app: FastAPI, outbox: Outbox) -> AsyncIterator[httpx.AsyncClient]:
    async with caller(app, token_for(outbox, Role.VIEWER)) as client:
        yield client


async def events(client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    response = await client.get("/api/events", params=query)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_an_event_says_what_happened_to_which_email_and_when(viewer: httpx.AsyncClient, outbox: Outbox) -> None:
    [id] = enqueue(outbox, 1, kind="invoice", workspace="acme", key="a-7")
    settle(outbox, map(sent, claim(outbox)))
    [told] = read_until(outbox, 1)

    answer = await events(viewer)

    [event] = answer["events"]
    assert event.pop("at").replace("Z", "+00:00") == told.at.isoformat()
    assert event == {
        "id": str(told.id),
        "event": "sent",
        "emailId": id,
        "attempts": 1,
        "kind": "invoice",
        "workspace": "acme",
        "route": "default",
        "channel": "email",
        "key": "a-7",
    }
    assert (answer["next"], answer["more"]) == (str(told.id), False)


async def test_the_stream_is_read_piece_by_piece_without_gaps(viewer: httpx.AsyncClient, outbox: Outbox) -> None:
    ids = enqueue(outbox, 7)
    settle(outbox, map(sent, claim(outbox, 4)))
    settle(outbox, map(sent, claim(outbox)))
    read_until(outbox, 7)

    found, answer = list[str](), await events(viewer, limit=2)
    while answer["more"]:
        found += [event["emailId"] for event in answer["events"]]
        answer = await events(viewer, limit=2, after=answer["next"])
    found += [event["emailId"] for event in answer["events"]]

    assert found == ids
    assert (await events(viewer, after=answer["next"]))["events"] == []


async def test_events_are_chosen_by_change_and_kind(viewer: httpx.AsyncClient, outbox: Outbox) -> None:
    for kind in ("invoice", "news"):
        enqueue(outbox, 2, kind=kind)
    a, b, c, d = claim(outbox)
    settle(outbox, [sent(a), dead(b), sent(c), dead(d)])
    read_until(outbox, 4)

    async def chosen(**query: Any) -> list[str]:
        return [event["emailId"] for event in (await events(viewer, **query))["events"]]

    assert await chosen(of="dead") == [b.id, d.id]
    assert await chosen(of=["dead", "sent"], kind="news") == [c.id, d.id]
    assert await chosen(of="cancelled") == []


@pytest.mark.parametrize(
    "query", [{"after": "yesterday"}, {"of": "snet"}, {"limit": "0"}, {"limit": "1001"}, {"since": "2026-01-01"}]
)
async def test_what_is_not_understood_is_refused(viewer: httpx.AsyncClient, query: dict[str, str]) -> None:
    response = await viewer.get("/api/events", params=query)

    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_request")


async def test_a_person_of_one_workspace_hears_of_no_other(app: FastAPI, outbox: Outbox) -> None:
    """(E8) Also when the email is gone."""
    enqueue(outbox, 1, workspace="theirs")
    [ours] = enqueue(outbox, 1, workspace="ours")
    settle(outbox, map(sent, claim(outbox)), keep_sent=False)
    read_until(outbox, 2)

    async with caller(app, token_for(outbox, Role.VIEWER, workspaces=["ours"])) as person:
        answer = await events(person)

    assert [event["emailId"] for event in answer["events"]] == [ours]


async def test_nobody_reads_it_without_a_sign_in(app: FastAPI) -> None:
    async with caller(app) as nobody:
        assert (await nobody.get("/api/events")).status_code == 401
