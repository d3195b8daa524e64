"""The JSON API: what it shows, what it does, to whom, and in which shapes (A7)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from postroom import AsyncOutbox, Edition, Outbox, Status
from postroom.accounts.values import Role
from postroom.web import admin
from postroom.work import breakers
from tests.admin.callers import caller, token_for
from tests.store.journey import bring_to, email, enqueue


@pytest.fixture
async def app(outbox: Outbox) -> AsyncIterator[FastAPI]:
    async with AsyncOutbox(outbox.database_url) as awaiting:
        yield admin(awaiting)


@pytest.fixture
async def operator(app: FastAPI, outbox: Outbox) -> AsyncIterator[httpx.AsyncClient]:
    async with caller(app, token_for(outbox, Role.OPERATOR)) as client:
        yield client


def error_of(response: httpx.Response) -> dict[str, str]:
    """The error, provided that it has the one shape and no other."""
    body: dict[str, Any] = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "remedy"}
    assert all(isinstance(words, str) and words for words in body["error"].values())
    return body["error"]


async def test_the_dashboard_carries_the_two_counts_of_the_queue_card(
    operator: httpx.AsyncClient, outbox: Outbox
) -> None:
    """(A7)"""
    bring_to(outbox, Status.DEAD)
    enqueue(outbox, 2)

    body = (await operator.get("/api/admin/dashboard")).json()

    assert (body["pendingEmailCount"], body["failedEmailCount"]) == (2, 1)
    assert (len(body["lastHour"]["points"]), body["lastDay"]["stepSeconds"]) == (60, 3600)
    [failure] = body["failures"]
    assert (failure["reason"], failure["replyCode"], failure["count"]) == ("permanent", 550, 1)


async def test_emails_are_listed_page_by_page_in_camel_case(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    ids = enqueue(outbox, 3, kind="welcome")
    enqueue(outbox, 1)

    first = (await operator.get("/api/admin/outbox", params={"kind": "welcome", "limit": 2})).json()
    second = (
        await operator.get("/api/admin/outbox", params={"kind": "welcome", "limit": 2, "before": first["next"]})
    ).json()

    assert [each["id"] for each in first["emails"] + second["emails"]] == ids[::-1]
    assert second["next"] is None
    assert {"messageId", "maxAttempts", "nextAttemptAt", "deadReason"} <= set(first["emails"][0])
    assert not any("_" in name for name in first["emails"][0])


async def test_free_text_finds_and_says_what_it_was_taken_for(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    outbox.enqueue(email("Hi", to="grace@example.org"))
    enqueue(outbox)

    body = (await operator.get("/api/admin/outbox", params={"q": "grace@example.org"})).json()

    assert ([each["subject"] for each in body["emails"]], body["understood"]) == (["Hi"], "recipient")


async def test_emails_of_a_template_are_found_and_tell_their_edition(
    operator: httpx.AsyncClient, outbox: Outbox
) -> None:
    """(C3)"""
    edition = Edition(portal="hub", template="welcome", version="9f2c1a83b0de", language="de")
    outbox.enqueue(email("Hallo", edition=edition))
    outbox.enqueue(email("Of no template"))

    for query in ("portal=hub", "template=hub.welcome", "version=9f2c1a83b0de", "language=de", "q=language:de"):
        [found] = (await operator.get(f"/api/admin/outbox?{query}")).json()["emails"]

        assert found["subject"] == "Hallo"
        assert found["edition"] == {
            "portal": "hub", "template": "welcome", "version": "9f2c1a83b0de", "language": "de"
        }  # fmt: skip
    [other] = (await operator.get("/api/admin/outbox?q=subject:Of")).json()["emails"]
    assert (other["edition"], other["late"]) == (None, False)


async def test_one_email_tells_its_story(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)

    body = (await operator.get(f"/api/admin/outbox/{id}")).json()

    assert (body["status"], body["acts"]) == ("dead", ["retry", "dismiss", "replay"])
    assert body["sentence"].startswith("Given up: the server refused it for good")
    assert [entry["what"] for entry in body["history"]] == ["failed"]


async def test_no_answer_holds_the_body_of_an_email(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    id = outbox.enqueue(email("Your code", text="It is 123456", html="<p>123456</p>"), sensitive=True).id

    for path in (f"/api/admin/outbox/{id}", "/api/admin/outbox", "/api/admin/dashboard"):
        assert "123456" not in (await operator.get(path)).text


async def test_a_dead_email_is_retried_and_dismissed(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    """(A6, A7)"""
    retried = bring_to(outbox, Status.DEAD)

    response = await operator.post(f"/api/admin/outbox/{retried}/retry")

    assert (response.status_code, response.json()["status"]) == (200, "pending")
    assert response.json()["history"][-1]["actor"].startswith("operator-")

    outbox.cancel(retried)
    dismissed = bring_to(outbox, Status.DEAD)
    assert (await operator.delete(f"/api/admin/outbox/{dismissed}")).status_code == 204
    assert error_of(await operator.get(f"/api/admin/outbox/{dismissed}"))["code"] == "email_not_found"


async def test_a_dismissal_is_listed_and_undone(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)
    await operator.delete(f"/api/admin/outbox/{id}")
    [listed] = (await operator.get("/api/admin/dismissed")).json()["emails"]
    back = await operator.post(f"/api/admin/outbox/{id}/reinstate", params={"reason": "a slip"})

    assert (listed["id"], listed["status"], listed["undo"]) == (id, "dead", id)
    assert listed["dismissedBy"].startswith("operator-")
    assert (back.status_code, back.json()["status"]) == (200, "dead")
    assert [entry["what"] for entry in back.json()["history"]] == ["failed", "dismissed", "reinstated"]
    again = await operator.post(f"/api/admin/outbox/{id}/reinstate")
    assert (again.status_code, error_of(again)["code"]) == (404, "email_not_found")


async def test_a_dismissal_of_many_is_undone_by_what_it_answered(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    ids = [bring_to(outbox, Status.DEAD) for _ in range(3)]
    undo = (await operator.post("/api/admin/outbox/dismiss", json={"ids": ids})).json()["undo"]
    other = bring_to(outbox, Status.DEAD)
    await operator.delete(f"/api/admin/outbox/{other}")
    done = await operator.post(f"/api/admin/dismissed/{undo}/reinstate")

    assert done.json() == {"done": 3}
    assert (outbox.counts()["dead"], outbox.counts()["dismissed"]) == (3, 1)
    assert (await operator.post(f"/api/admin/dismissed/{undo}/reinstate")).json() == {"done": 0}


async def test_what_the_status_does_not_allow_is_a_conflict(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    id = bring_to(outbox, Status.SENT)

    for method, path in (("POST", "/retry"), ("POST", "/cancel"), ("DELETE", "")):
        response = await operator.request(method, f"/api/admin/outbox/{id}{path}")
        assert (response.status_code, error_of(response)["code"]) == (409, "not_applicable")


async def test_a_replay_corrects_what_is_given(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    """(B5)"""
    id = bring_to(outbox, Status.DEAD, key="order-7")

    response = await operator.post(f"/api/admin/outbox/{id}/replay", json={"to": "right@example.org"})

    body = response.json()
    assert ([each["address"] for each in body["recipients"]], body["key"]) == (["right@example.org"], "order-7")
    assert [version["recipients"] for version in body["versions"]] == [["ada@example.org"], ["right@example.org"]]

    outbox.cancel(id)
    refused = await operator.post(f"/api/admin/outbox/{id}/replay", json={"to": "not an address"})
    assert (refused.status_code, error_of(refused)["code"]) == (422, "invalid_email")


async def test_many_are_acted_on_by_filter_after_a_dry_run(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    for _ in range(3):
        bring_to(outbox, Status.DEAD)
    chosen = {"filter": {"status": "dead", "replyCode": 550}}

    counted = (await operator.post("/api/admin/outbox/retry", json={**chosen, "dryRun": True})).json()
    done = (await operator.post("/api/admin/outbox/retry", json=chosen)).json()

    assert counted == {"matched": 3, "done": 0, "skipped": 0, "capped": False, "undo": None}
    assert done == {"matched": 3, "done": 3, "skipped": 0, "capped": False, "undo": None}
    assert outbox.counts()["pending"] == 3


async def test_many_are_acted_on_by_their_ids(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    ids = enqueue(outbox, 2)

    body = (await operator.post("/api/admin/outbox/cancel", json={"ids": ids})).json()

    assert (body["matched"], body["done"]) == (2, 2)


@pytest.mark.parametrize("body", [{}, {"filter": {}}, {"filter": {"status": None}}, {"ids": []}, {"filter": {"x": 1}}])
async def test_a_bulk_act_on_everything_by_mistake_is_refused(
    operator: httpx.AsyncClient, outbox: Outbox, body: dict[str, Any]
) -> None:
    """A misspelt or empty filter must not mean «all»."""
    enqueue(outbox, 2)

    response = await operator.post("/api/admin/outbox/cancel", json=body)

    assert (response.status_code, error_of(response)["code"]) == (422, "invalid_request")
    assert outbox.counts()["pending"] == 2


async def test_a_transport_is_paused_and_resumed(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    outbox.database.run(breakers.learn("smtp.example.org:587", None, jitter=0))
    path = "/api/admin/transports/smtp.example.org:587"

    paused = (await operator.post(f"{path}/pause", json={"reason": "moving house"})).json()
    shown = (await operator.get("/api/admin/dashboard")).json()["transports"][0]
    resumed = (await operator.post(f"{path}/resume")).json()

    assert (paused["state"], shown["held"], resumed["state"]) == ("paused", True, "ok")
    assert paused["reason"].startswith("moving house (operator-")
    unknown = await operator.post("/api/admin/transports/elsewhere/resume")
    assert (unknown.status_code, error_of(unknown)["code"]) == (404, "transport_not_found")


async def test_an_email_asks_for_its_route_and_an_unknown_one_is_refused(
    operator: httpx.AsyncClient, outbox: Outbox
) -> None:
    wanted = {"to": ["ada@example.org"], "subject": "Hi", "text": "…"}

    taken = await operator.post("/api/emails", json=wanted | {"route": "default"})
    refused = await operator.post("/api/emails", json=wanted | {"route": "nowhere"})

    assert (taken.status_code, outbox.get(taken.json()["id"]).route) == (201, "default")
    assert refused.status_code == 422
    assert "nowhere" in refused.text
    assert outbox.counts()["pending"] == 1


async def test_an_email_is_enqueued_once_under_its_key(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    """(B2) A duplicate is a result, not an error."""
    wanted = {
        "to": ["ada@example.org"],
        "subject": "Hi",
        "text": "…",
        "kind": "welcome",
        "attachments": [{"filename": "a.txt", "content": b64encode(b"hello").decode()}],
    }

    first = await operator.post("/api/emails", json=wanted, headers={"Idempotency-Key": "k-1"})
    second = await operator.post("/api/emails", json=wanted, headers={"Idempotency-Key": "k-1"})

    assert (first.status_code, first.json()["duplicate"]) == (201, False)
    assert (second.status_code, second.json()) == (
        200,
        {"id": first.json()["id"], "duplicate": True, "contentDiffers": False},
    )
    assert outbox.counts()["pending"] == 1
    assert outbox.letter(first.json()["id"]).attachments[0].content == b"hello"


@pytest.mark.parametrize(
    "content", ["PATCH", "aGVsbG8", "aGVs bG8=", "aGVsbG8=\n", "\u00e4\u00f6\u00fc!", "====", 7, None]
)
async def test_a_damaged_file_is_refused_instead_of_being_made_into_another(
    operator: httpx.AsyncClient, content: object
) -> None:
    """A decoder that skips what is no Base64 would send something, and it would not be what was meant."""
    body = {"to": "ada@example.org", "attachments": [{"filename": "hello.txt", "content": content}]}
    response = await operator.post("/api/emails", json=body)

    assert (response.status_code, error_of(response)["code"]) == (422, "invalid_request")


@pytest.mark.parametrize("path", ["/api/emails", "/api/admin/outbox/retry", "/api/campaigns/spring/launch"])
@pytest.mark.parametrize(
    ("content_type", "content", "message", "remedy"),
    [
        ("application/x-www-form-urlencoded", '{"a": 1}', "body: is not said to be JSON", "`Content-Type: appl"),
        ("", '{"a": 1}', "body: is not said to be JSON", "`Content-Type: application/json`"),
        ("application/json", '{\n  "a": no}', "body: is no JSON: Expecting value in line 2, column 8", "correct it"),
        ("application/json", "{", "body: is no JSON: Expecting property name", "correct it"),
    ],
)  # fmt: skip
async def test_a_body_that_is_no_json_is_told_so_and_where(
    operator: httpx.AsyncClient, path: str, content_type: str, content: str, message: str, remedy: str
) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    response = await operator.post(path, content=content, headers=headers)

    assert response.status_code == 422
    assert response.json()["error"]["message"].startswith(message)
    assert remedy in response.json()["error"]["remedy"]


async def test_an_email_that_cannot_be_accepted_is_refused_with_a_remedy(operator: httpx.AsyncClient) -> None:
    for wrong in (
        {"subject": "nobody"},
        {"to": "x"},
        {"to": "a@b.org", "policy": "none"},
        {"to": "a@b.org", "bogus": 1},
    ):
        response = await operator.post("/api/emails", json=wrong)
        assert response.status_code == 422, wrong
        assert error_of(response)["remedy"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/admin/outbox?limit=0", 422, "invalid_request"),
        ("GET", "/api/admin/outbox?stauts=dead", 422, "invalid_request"),
        ("GET", "/api/admin/outbox?q=%00", 422, "invalid_request"),
        ("GET", "/api/admin/outbox/nonsense", 404, "not_found"),
        ("GET", "/api/admin/outbox/01890000-0000-7000-8000-000000000000", 404, "email_not_found"),
        ("GET", "/api/nothing", 404, "not_found"),
        ("PUT", "/api/admin/outbox", 405, "method_not_allowed"),
        ("POST", "/api/admin/outbox/retry", 422, "invalid_request"),
    ],
)
async def test_every_error_has_one_shape(
    operator: httpx.AsyncClient, method: str, path: str, status: int, code: str
) -> None:
    response = await operator.request(method, path)

    assert (response.status_code, error_of(response)["code"]) == (status, code)


async def test_a_method_that_is_not_taken_is_told_which_are(operator: httpx.AsyncClient, outbox: Outbox) -> None:
    [id] = enqueue(outbox)

    one = await operator.put(f"/api/admin/outbox/{id}")
    bulk = await operator.get("/api/admin/outbox/retry")

    assert (one.status_code, one.headers["allow"]) == (405, "DELETE, GET")
    assert (bulk.status_code, bulk.headers["allow"]) == (405, "POST")


async def test_a_viewer_looks_and_does_nothing(app: FastAPI, outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)
    async with caller(app, token_for(outbox, Role.VIEWER)) as viewer:
        assert (await viewer.get("/api/admin/outbox")).status_code == 200
        for method, path in (
            ("POST", f"/api/admin/outbox/{id}/retry"),
            ("DELETE", f"/api/admin/outbox/{id}"),
            ("POST", "/api/admin/outbox/dismiss"),
            ("POST", f"/api/admin/outbox/{id}/reinstate"),
            ("POST", f"/api/admin/dismissed/{id}/reinstate"),
            ("POST", "/api/emails"),
            ("POST", "/api/admin/transports/x/pause"),
        ):
            response = await viewer.request(method, path, json={"filter": {"status": "dead"}})
            assert (response.status_code, error_of(response)["code"]) == (403, "not_allowed"), path

    assert outbox.get(id).status is Status.DEAD


async def test_a_person_of_one_workspace_stays_in_it(app: FastAPI, outbox: Outbox) -> None:
    """(E8)"""
    theirs = bring_to(outbox, Status.DEAD, workspace="theirs")
    async with caller(app, token_for(outbox, Role.OPERATOR, workspaces=["ours"])) as person:
        listed = (await person.get("/api/admin/outbox")).json()
        shown = await person.get(f"/api/admin/outbox/{theirs}")
        bulk = (await person.post("/api/admin/outbox/retry", json={"filter": {"status": "dead"}})).json()
        enqueued = await person.post("/api/emails", json={"to": "a@b.org", "workspace": "theirs"})
        own = await person.post("/api/emails", json={"to": "a@b.org", "workspace": "ours"})
        pause = await person.post("/api/admin/transports/smtp/pause", json={})

    assert (listed["emails"], shown.status_code, bulk["matched"]) == ([], 404, 0)
    assert (enqueued.status_code, own.status_code, pause.status_code) == (403, 201, 403)


async def test_nobody_gets_in_without_a_sign_in(app: FastAPI) -> None:
    async with caller(app) as nobody:
        for path in ("/api/admin/outbox", "/api/admin/dashboard", "/api/admin/openapi.json"):
            response = await nobody.get(path)
            assert (response.status_code, error_of(response)["code"]) == (401, "not_signed_in"), path


async def test_health_is_open_to_all_and_tells_when_the_database_is_not_ready(sqlite_url: str) -> None:
    async with AsyncOutbox(sqlite_url) as outbox, caller(admin(outbox)) as nobody:
        assert (await nobody.get("/healthz")).json() == {"status": "ok"}
        before = await nobody.get("/readyz")
        await outbox.migrate()
        after = await nobody.get("/readyz")

    assert (before.status_code, error_of(before)["code"]) == (503, "schema_not_ready")
    assert after.json() == {"status": "ok"}


async def test_the_app_works_beneath_another_one(outbox: Outbox) -> None:
    """`app.mount("/postroom", postroom.web.admin(outbox))`, also with a blocking outbox."""
    own = FastAPI()
    own.mount("/postroom", admin(outbox))
    async with caller(own, token_for(outbox, Role.VIEWER)) as viewer:
        response = await viewer.get("/postroom/api/admin/dashboard")
        lost = await viewer.get("/postroom/api/nothing")

    assert (response.status_code, response.json()["pendingEmailCount"]) == (200, 0)
    assert error_of(lost)["code"] == "not_found"


async def test_a_fault_of_ours_has_the_same_shape_and_tells_nothing(
    app: FastAPI, operator: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(**_: object) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(app.state.operations, "dashboard", broken)

    response = await operator.get("/api/admin/dashboard")

    assert (response.status_code, error_of(response)["code"]) == (500, "internal_error")
    assert "hunter2" not in response.text
