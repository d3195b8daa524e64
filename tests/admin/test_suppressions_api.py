"""Who is not to be mailed, in the JSON API: what it shows, what it does, and to whom."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from postroom import AsyncOutbox, Outbox
from postroom.accounts.audit import read_audit
from postroom.accounts.values import Role
from postroom.store.suppressions import Stop, Suppression, suppress
from postroom.vocabulary import SuppressionReason, SuppressionScope
from postroom.web import admin
from tests.admin.callers import caller, token_for
from tests.admin.test_api import error_of

PATH = "/api/admin/suppressions"
ADA = "ada@example.org"


@pytest.fixture
async def app(outbox: Outbox) -> AsyncIterator[FastAPI]:
    async with AsyncOutbox(outbox.database_url) as awaiting:
        yield admin(awaiting)


@pytest.fixture
async def operator(app: FastAPI, outbox: Outbox) -> AsyncIterator[httpx.AsyncClient]:
    async with caller(app, token_for(outbox, Role.OPERATOR)) as client:
        yield client


@asynccontextmanager
async def somebody(
    app: FastAPI, outbox: Outbox, role: Role, workspaces: Collection[str] | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    async with caller(app, token_for(outbox, role, workspaces=workspaces)) as client:
        yield client


def stopped(outbox: Outbox, address: str = ADA, **fields: Any) -> Suppression:
    [entry] = outbox.database.run(
        suppress([Stop(**({"address": address, "reason": SuppressionReason.MANUAL} | fields))])
    )
    return entry


def of_workspace(name: str) -> dict[str, Any]:
    return {"scope": SuppressionScope.WORKSPACE, "workspace": name}


async def test_an_entry_is_added_once_and_heard_of_again(operator: httpx.AsyncClient) -> None:
    wanted = {"address": "Ada@Example.org", "scope": "kind", "workspace": "hotel", "kind": "news", "evidence": "phone"}
    first = await operator.post(PATH, json={**wanted, "expiresAt": "2999-01-01T00:00:00Z"})
    again = await operator.post(PATH, json=wanted)

    assert (first.status_code, again.status_code) == (201, 200)
    entry = first.json()
    assert (entry["address"], entry["scope"], entry["kind"], entry["reason"]) == (ADA, "kind", "news", "manual")
    assert entry["stops"] == "mail of kind news of workspace hotel that can be unsubscribed from"
    assert entry["expiresAt"] == "2999-01-01T00:00:00Z"
    assert again.json() == entry | {"notedAt": again.json()["notedAt"], "expiresAt": None}


async def test_entries_are_searched_by_part_and_reason_page_by_page(
    operator: httpx.AsyncClient, outbox: Outbox
) -> None:
    for number in range(3):
        stopped(outbox, f"guest_{number}@example.org")
    stopped(outbox, reason=SuppressionReason.COMPLAINT)
    first = (await operator.get(PATH, params={"part": "T_", "limit": 2})).json()
    second = (await operator.get(PATH, params={"part": "T_", "limit": 2, "before": first["next"]})).json()
    complaints = (await operator.get(PATH, params={"reason": "complaint"})).json()

    assert [each["address"][6] for each in first["suppressions"] + second["suppressions"]] == ["2", "1", "0"]
    assert second["next"] is None
    assert [each["address"] for each in complaints["suppressions"]] == [ADA]
    assert (await operator.get(PATH, params={"part": "%"})).json()["suppressions"] == []


async def test_a_list_is_imported_and_exported_and_both_are_on_record(
    operator: httpx.AsyncClient, outbox: Outbox
) -> None:
    usual = {"scope": "workspace", "workspace": "hotel"}
    report = await operator.post(f"{PATH}/import", params=usual, content=b"address\nada@example.org\nnobody\n")
    exported = await operator.post(f"{PATH}/export")
    again = await operator.post(f"{PATH}/import", content=exported.content)

    assert report.json() == {
        "lines": 2, "added": 1, "known": 0, "refused": 1,
        "problems": [{"line": 3, "problem": report.json()["problems"][0]["problem"]}],
    }  # fmt: skip
    assert "'nobody' is not an email address" in report.json()["problems"][0]["problem"]
    assert exported.headers["content-type"].startswith("text/csv")
    assert exported.text.splitlines()[1].startswith("ada@example.org,imported,workspace,hotel,")
    assert (again.json()["lines"], again.json()["known"]) == (1, 1)
    lines = [entry.what for entry in outbox.database.run(read_audit(), writes=False).entries]
    assert lines == ["suppressions_import", "suppressions_import", "suppressions_export"] + 2 * ["suppressions_import"]


@pytest.mark.parametrize("body", [b"", b"\xff\xfea\x00", b"name,town\nAda,X\n", b"x" * 70_000, b"no\n" * 1_000])
async def test_what_is_no_list_is_refused_in_the_one_shape(operator: httpx.AsyncClient, body: bytes) -> None:
    answer = await operator.post(f"{PATH}/import", content=body)

    assert (answer.status_code, error_of(answer)["message"].partition(":")[0]) == (422, "file")
    assert (await operator.post(f"{PATH}/import", params={"reason": "manual"})).status_code == 422
    assert (await operator.get(PATH)).json()["suppressions"] == []


async def test_a_search_is_narrowed_to_a_workspace_that_may_be_seen(app: FastAPI, outbox: Outbox) -> None:
    shared, own = stopped(outbox), stopped(outbox, **of_workspace("hotel"))
    other = stopped(outbox, **of_workspace("bank"))
    async with (
        somebody(app, outbox, Role.VIEWER) as everybody,
        somebody(app, outbox, Role.OPERATOR, ["hotel"]) as clerk,
    ):
        answers = [
            {each["id"] for each in (await client.get(PATH, params={"workspace": name})).json()["suppressions"]}
            for client, name in ((everybody, "bank"), (clerk, "hotel"), (clerk, "bank"))
        ]
        taken = (await clerk.post(f"{PATH}/export")).text
        refused = await clerk.post(f"{PATH}/import", content=b"grace@example.org\n")
        forbidden = [(await everybody.post(f"{PATH}/{act}", content=b"")).status_code for act in ("import", "export")]

    assert answers == [{shared.id, other.id}, {shared.id, own.id}, {shared.id}]
    assert ("hotel" in taken, "bank" in taken) == (True, False)
    assert (refused.json()["added"], refused.json()["refused"]) == (0, 1), "an entry about all mail is not theirs"
    assert forbidden == [403, 403]


async def test_a_persons_own_word_is_removed_only_with_confirm(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    entry = stopped(outbox, reason=SuppressionReason.UNSUBSCRIBE)
    refused = await operator.delete(f"{PATH}/{entry.id}")

    assert (refused.status_code, error_of(refused)["code"]) == (409, "not_confirmed")
    assert "has said no" in error_of(refused)["message"]
    assert (await operator.delete(f"{PATH}/{entry.id}", params={"confirm": "true"})).status_code == 204
    gone = await operator.delete(f"{PATH}/{entry.id}")
    assert (gone.status_code, error_of(gone)["code"]) == (404, "suppression_not_found")


async def test_who_sees_one_workspace_sees_and_changes_what_is_theirs(app: FastAPI, outbox: Outbox) -> None:
    shared, own = stopped(outbox), stopped(outbox, **of_workspace("hotel"))
    other = stopped(outbox, **of_workspace("bank"))
    async with somebody(app, outbox, Role.OPERATOR, ["hotel"]) as clerk:
        seen = (await clerk.get(PATH)).json()["suppressions"]
        answers = [await clerk.delete(f"{PATH}/{each.id}") for each in (other, shared, own)]
        everywhere = await clerk.post(PATH, json={"address": ADA})
        elsewhere = await clerk.post(PATH, json={"address": ADA, "scope": "workspace", "workspace": "bank"})
        here = await clerk.post(PATH, json={"address": ADA, "scope": "workspace", "workspace": "hotel"})

    assert {each["id"] for each in seen} == {shared.id, own.id}
    assert [answer.status_code for answer in answers] == [404, 403, 204]
    assert [error_of(answer)["code"] for answer in answers[:2]] == ["suppression_not_found", "not_allowed"]
    assert [everywhere.status_code, elsewhere.status_code, here.status_code] == [403, 403, 201]
    assert "one of your workspaces" in error_of(everywhere)["remedy"]


async def test_who_may_look_changes_nothing(app: FastAPI, outbox: Outbox) -> None:
    entry = stopped(outbox)
    async with somebody(app, outbox, Role.VIEWER) as viewer:
        assert (await viewer.get(PATH)).status_code == 200
        assert (await viewer.post(PATH, json={"address": ADA})).status_code == 403
        assert (await viewer.delete(f"{PATH}/{entry.id}")).status_code == 403


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"address": "nobody"}, "address"),
        ({"address": "ada@example.org\r\nBcc: all@example.org"}, "address"),
        ({"address": ADA, "scope": "kind"}, "kind"),
        ({"address": ADA, "scope": "some"}, "scope"),
        ({"address": ADA, "workspace": "hotel"}, "scope"),
        ({"address": ADA, "expiresAt": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"address": ADA, "evidence": "a\r\nb"}, "evidence"),
        ({"address": ADA, "resaon": "manual"}, "resaon"),
        ({}, "address"),
    ],
)
async def test_what_cannot_be_meant_is_refused_by_field(
    operator: httpx.AsyncClient, body: dict[str, Any], told: str
) -> None:
    answer = await operator.post(PATH, json=body)

    assert answer.status_code == 422
    assert told in error_of(answer)["message"]
    assert (await operator.get(PATH)).json()["suppressions"] == []


async def test_who_acted_is_on_record_with_their_token_and_without_the_evidence(
    operator: httpx.AsyncClient, outbox: Outbox
) -> None:
    id = (await operator.post(PATH, json={"address": ADA, "evidence": "a secret"})).json()["id"]
    await operator.delete(f"{PATH}/{id}")
    removed, added = outbox.database.run(read_audit(), writes=False).entries

    assert (added.what, removed.what) == ("suppress", "unsuppress")
    assert added.actor.startswith("operator-")
    assert added.detail.keys() == {"recipient", "reason", "scope", "entry", "token"}
