"""Somebody at the desk who wants a sensitive email: what it says, or to have it sent to themselves."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from postroom import Email
from postroom.accounts.audit import read_audit
from postroom.accounts.code_email import CODE_KIND
from postroom.accounts.values import AuditEntry, Role
from postroom.config import load
from postroom.events import listeners_of
from postroom.store.claims import claim, settle
from postroom.vocabulary import Status
from tests.admin.callers import caller
from tests.admin.front_door import House, open_house
from tests.store.journey import LEASE, dead

QUEUE = "/admin/email-queue"
EVE = "eve@attacker.example"


@pytest_asyncio.fixture(params=["with a secret", "without a secret"])
async def house(
    sqlite_url: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    if request.param == "with a secret":
        monkeypatch.setenv("POSTROOM_SECRET", "s" * 40)
    async with open_house(sqlite_url) as house:
        yield house


async def dead_email(house: House, kind: str = "reset") -> str:
    """A sensitive email that was refused."""
    email = Email(to="ada@example.org", subject="Reset 493817", text="493817", html="<p>493817")
    id = (await house.outbox.enqueue(email, sensitive=True, kind=kind)).id
    database = house.outbox.database
    held = await database.run(claim(worker="w", lease=LEASE, urgent=9, normal=9, bulk=9))
    await database.run(settle([dead(each, sensitive=True) for each in held]))
    return id


async def refusals(house: House) -> list[str]:
    """Who was refused something because of what the email is, oldest first; its status is another reason."""
    page = await house.outbox.database.run(read_audit(), writes=False)
    return [entry.actor for entry in reversed(page.entries) if _is_about_the_email(entry)]


def _is_about_the_email(entry: AuditEntry) -> bool:
    why = str(entry.detail.get("refused", ""))
    return entry.what == "sensitive_refused" or "it is sensitive" in why or "the code of a sign-in" in why


async def test_who_knows_an_admins_password_cannot_have_the_code_sent_elsewhere(house: House) -> None:
    """The route is paused so that the code waits; then everything an operator can press is pressed."""
    async with caller(house.app, await house.token(Role.OPERATOR)) as eve:
        await eve.post("/api/admin/transports/default/pause", json={"reason": "…"})
        await house.half_signed_in(Role.ADMIN)
        [email] = (await eve.get("/api/admin/outbox", params={"kind": CODE_KIND})).json()["emails"]
        code, path = await house.newest_code(), f"/api/admin/outbox/{email['id']}"
        answers = [
            await eve.post(f"{path}/replay", json={"to": [EVE]}),
            await eve.post(f"{path}/cancel"),
            await eve.post(f"{path}/replay", json={"to": [EVE]}),
            await eve.post(f"{path}/replay", json={"bcc": [EVE]}),
            await eve.post(f"{path}/replay", json={}),
            await eve.post(f"{path}/retry"),
            await eve.get(path),
            await eve.get("/api/admin/outbox", params={"q": "code"}),
            await eve.get("/api/events"),
        ]

    assert [answer.status_code for answer in answers] == [409, 200, 403, 403, 403, 409, 200, 200, 200]
    assert "no code is sent twice" in answers[2].json()["error"]["message"]
    assert "another code" in answers[2].json()["error"]["remedy"]
    assert not any(code in answer.text or EVE in answer.text for answer in answers)
    stored = await house.outbox.get(email["id"])
    assert (stored.status, stored.erased, stored.version) == (Status.CANCELLED, True, 1)
    assert [each.address for each in stored.recipients] == ["admin@example.org"]
    assert await refusals(house) == ["operator@example.org"] * 3


async def test_an_admin_cannot_have_a_code_sent_again_either(house: House) -> None:
    id = await dead_email(house, kind=CODE_KIND)
    async with caller(house.app, await house.token(Role.ADMIN)) as admin:
        answer = await admin.post(f"/api/admin/outbox/{id}/replay", json={})

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "sensitive_email")


async def test_a_sensitive_email_is_replayed_as_it_was_and_by_admins_only(house: House) -> None:
    id = await dead_email(house)
    path = f"/api/admin/outbox/{id}/replay"
    async with caller(house.app, await house.token(Role.OPERATOR)) as operator:
        asked = await operator.post(path, json={})
    async with caller(house.app, await house.token(Role.ADMIN)) as admin:
        corrected = await admin.post(path, json={"to": [EVE]})
        replayed = await admin.post(path, json={})

    assert [asked.status_code, corrected.status_code, replayed.status_code] == [403, 403, 200]
    assert "only admins" in asked.json()["error"]["message"]
    assert "replay it as it is" in corrected.json()["error"]["remedy"]
    assert await refusals(house) == ["operator@example.org", "admin@example.org"]
    assert ("admin@example.org", "sensitive_replay") in await house.audited()


async def test_a_token_narrowed_to_operator_is_no_admin(house: House) -> None:
    id = await dead_email(house)
    async with caller(house.app, await house.token(Role.ADMIN, scope=Role.OPERATOR)) as narrowed:
        answer = await narrowed.post(f"/api/admin/outbox/{id}/replay", json={})

    assert answer.status_code == 403


async def test_the_pages_offer_an_operator_nothing_and_refuse_what_is_sent_all_the_same(house: House) -> None:
    id = await dead_email(house)
    operator = await house.signed_in(Role.OPERATOR)
    page = await operator.get(f"{QUEUE}/{id}")
    form = await operator.get(f"{QUEUE}/{id}/replay")
    await operator.get(f"{QUEUE}/{id}")
    sent = await operator.submit(f"{QUEUE}/{id}/replay", to=EVE)
    bare = await operator.submit(f"{QUEUE}/{id}/replay")

    assert "/replay" not in page.text
    assert [form.status_code, sent.status_code, bare.status_code] == [403, 403, 403]
    assert (await house.outbox.get(id)).status is Status.DEAD


async def test_an_admin_replays_it_from_a_page_that_has_nothing_to_correct(house: House) -> None:
    id = await dead_email(house)
    admin = await house.signed_in(Role.ADMIN)
    page = await admin.get(f"{QUEUE}/{id}/replay")
    forged = await admin.submit(f"{QUEUE}/{id}/replay", to=EVE)
    answer = await admin.submit(f"{QUEUE}/{id}/replay")

    assert re.findall(r'<(?:input|textarea)[^>]* name="(?!csrf|reason)', page.text) == []
    assert forged.status_code == 403
    assert answer.status_code == 303
    stored = await house.outbox.get(id)
    assert (stored.status, stored.version) == (Status.PENDING, 1)


@pytest.mark.parametrize("role", list(Role))
async def test_nobody_is_shown_what_it_says_and_who_tried_is_on_record(house: House, role: Role) -> None:
    id = await dead_email(house)
    browser = await house.signed_in(role)
    views = ("html", "text", "source", "headers", "attachments")
    pages = [QUEUE, f"{QUEUE}?q=493817", "/admin", *[f"{QUEUE}/{id}?view={view}" for view in views]]
    files = [f"{QUEUE}/{id}/source", f"{QUEUE}/{id}/attachments/1", f"{QUEUE}/{id}/source?version=1"]
    for page in pages:
        told = (await browser.get(page)).text.replace("q=493817", "").replace('value="493817"', "")
        assert "493817" not in told.replace("«493817»", ""), page
    downloads = [await browser.get(file) for file in files]

    assert [each.status_code for each in downloads] == [404] * 3
    assert "493817" not in "".join(each.text for each in downloads)
    assert await refusals(house) == [f"{role}@example.org"] * 3


async def test_an_erased_email_says_so(house: House) -> None:
    id = await dead_email(house, kind=CODE_KIND)
    browser = await house.signed_in(Role.ADMIN)
    page: httpx.Response = await browser.get(f"{QUEUE}/{id}")

    assert "It was erased" in page.text
    assert ">Retry<" not in page.text


async def test_webhooks_of_events_carry_nothing_it_says(sqlite_url: str) -> None:
    from postroom import Outbox

    settings = load(database=sqlite_url, events=[{"url": "https://example.org/hook"}])
    with Outbox.from_settings(settings) as outbox:
        outbox.migrate()
        assert listeners_of(settings)
        id = outbox.enqueue(Email(to="ada@example.org", subject="493817", text="493817"), sensitive=True).id
        outbox.cancel(id)
        [webhook] = outbox.list(kind="postroom.event").emails

        assert "493817" not in (outbox.letter(webhook.id).text or "")
