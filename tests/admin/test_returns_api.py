"""What came back, in the JSON API: what it tells, to whom, and never the message itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from postroom import AsyncOutbox, Outbox, Status
from postroom.accounts.values import Role
from postroom.store.returns import Mention, Note, Raw, note_returns
from postroom.vocabulary import BounceClass, EmailId, Return
from postroom.web import admin
from tests.admin.callers import caller, token_for
from tests.admin.test_api import error_of
from tests.store.journey import bring_to

PATH = "/api/admin/returns"
ADA = "ada@example.org"
_ids = count(1)


@pytest.fixture
async def app(outbox: Outbox) -> AsyncIterator[FastAPI]:
    async with AsyncOutbox(outbox.database_url) as awaiting:
        yield admin(awaiting)


@pytest.fixture
async def viewer(app: FastAPI, outbox: Outbox) -> AsyncIterator[httpx.AsyncClient]:
    async with caller(app, token_for(outbox, Role.VIEWER)) as client:
        yield client


def came_back(outbox: Outbox, id: EmailId | None = None, **fields: Any) -> str:
    usual: dict[str, Any] = {
        "source": "mail", "source_id": str(next(_ids)), "what": Return.BOUNCED, "address": ADA,
        "bounce_class": BounceClass.PERMANENT, "status": "5.1.1", "code": 550, "text": "no such user",
        "mentions": (Mention(id=id, signed=True),) if id else (),
    }  # fmt: skip
    raw = Raw(content=b"a report", size=9_000_000)
    [noted] = outbox.database.run(note_returns([Note(**(usual | fields))], raw=raw))
    assert noted.id is not None
    return noted.id


def ids_of(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["returns"]]


async def test_a_return_is_told_with_what_it_is_about_and_what_followed(
    viewer: httpx.AsyncClient, outbox: Outbox
) -> None:
    email = bring_to(outbox, Status.SENT, workspace="hotel")
    id = came_back(outbox, email)
    [listed] = (await viewer.get(PATH)).json()["returns"]
    whole = (await viewer.get(f"{PATH}/{id}")).json()

    told = {name: listed[name] for name in ("kind", "bounceClass", "status", "code", "text", "address", "workspace")}
    assert told == {
        "kind": "bounced", "bounceClass": "permanent", "status": "5.1.1", "code": 550, "text": "no such user",
        "address": ADA, "workspace": "hotel",
    }  # fmt: skip
    assert (listed["emailId"], listed["emailKept"], listed["unclear"], listed["mail"]) == (email, True, False, None)
    assert (listed["suppression"]["reason"], listed["suppression"]["emailId"]) == ("hard_bounce", email)
    assert whole == listed | {"message": {"size": 9_000_000, "kept": 8}, "sensitive": False, "others": []}
    assert "a report" not in str(whole)


async def test_filters_narrow_together_and_pages_follow_one_another(viewer: httpx.AsyncClient, outbox: Outbox) -> None:
    email = bring_to(outbox, Status.SENT, workspace="hotel")
    bounced = came_back(outbox, email)
    strange = came_back(outbox, what=Return.REPLIED, bounce_class=None)
    junk = came_back(outbox, what="unreadable", bounce_class=None, address="")
    first = await viewer.get(PATH, params={"limit": 2})
    second = await viewer.get(PATH, params={"limit": 2, "before": first.json()["next"]})

    assert (ids_of(first) + ids_of(second), second.json()["next"]) == ([junk, strange, bounced], None)
    assert ids_of(await viewer.get(PATH, params={"unclear": "true"})) == [junk, strange]
    assert ids_of(await viewer.get(PATH, params={"unclear": "true", "kind": "replied"})) == [strange]
    assert ids_of(await viewer.get(PATH, params={"about": ADA})) == [strange, bounced]
    assert ids_of(await viewer.get(PATH, params={"about": email, "kind": "bounced"})) == [bounced]


@pytest.mark.parametrize("query", [{"kind": "never"}, {"limit": 0}, {"limit": 201}, {"before": "x"}, {"since": "x"}])
async def test_what_cannot_be_meant_is_refused(viewer: httpx.AsyncClient, query: dict[str, Any]) -> None:
    answer = await viewer.get(PATH, params=query)

    assert (answer.status_code, error_of(answer)["code"]) == (422, "invalid_request")


async def test_another_workspaces_returns_and_nobodys_are_not_there(app: FastAPI, outbox: Outbox) -> None:
    theirs = came_back(outbox, bring_to(outbox, Status.SENT, workspace="hotel"))
    others = came_back(outbox, bring_to(outbox, Status.SENT, workspace="bank"))
    nobodys = came_back(outbox)
    async with caller(app, token_for(outbox, Role.VIEWER, workspaces=["hotel"])) as client:
        assert ids_of(await client.get(PATH)) == ids_of(await client.get(PATH, params={"about": ADA})) == [theirs]
        assert (await client.get(f"{PATH}/{theirs}")).status_code == 200
        for hidden in (others, nobodys):
            answer = await client.get(f"{PATH}/{hidden}")
            assert (answer.status_code, error_of(answer)["code"]) == (404, "return_not_found")


async def test_of_a_sensitive_email_there_is_no_message(viewer: httpx.AsyncClient, outbox: Outbox) -> None:
    id = came_back(outbox, bring_to(outbox, Status.SENT, sensitive=True))
    whole = (await viewer.get(f"{PATH}/{id}")).json()

    assert (whole["sensitive"], whole["message"]) == (True, None)


async def test_nobody_is_told_anything(app: FastAPI) -> None:
    async with caller(app) as client:
        assert (await client.get(PATH)).status_code == 401
