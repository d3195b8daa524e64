"""Nothing that can be written into an address, a form or a body makes the app fail: every parameter of every route.

What no database takes (NUL, halves of characters, numbers beyond all bounds, dates outside of time) is refused with a
4xx, or means «not narrowed» on a page; it is never a 5xx, on neither store.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import fields
from typing import Any
from urllib.parse import quote

import httpx
import pytest_asyncio

from postroom import Email
from postroom.accounts.values import Role
from postroom.admin.addresses import AuditAddress, QueueAddress
from tests.admin.front_door import House, open_house
from tests.admin.test_route_walk import filled, routes
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]

HOSTILE = (
    "a%00b", "%ED%A0%80", "%FF%FE", "9" * 30, "9" * 5000, "-1", "%D9%A4%D9%A5%D9%A0", "%C2%B2",
    "99999-01-01T00:00:00Z", "0001-01-01T00:00:00%2B23:59", "9999-12-31T23:59:59-23:59",
    "9999999999999999999.999999999999999999.999999999", "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "code:%D9%A4%D9%A5%D9%A0",
)  # fmt: skip
"""As they stand in an address."""

TEXTS = ("\x00", "a\x00b", "\ud800", "9" * 5000, "x" * 100_000, "‮", "\r\nBcc: eve@example.org")
"""For JSON bodies."""

EMAIL = (
    "to", "cc", "bcc", "replyTo", "sender", "subject", "text", "html", "kind", "workspace", "route", "priority",
    "policy", "notBefore", "expiresAt",
)  # fmt: skip
FILTER = (
    "q", "status", "kind", "workspace", "route", "tag", "recipient", "cause", "since", "until", "replyCode"
)  # fmt: skip
QUEUE = tuple(each.name for each in fields(QueueAddress))
PAGES = {
    "/admin": ("notice", "count", "left"),
    "/admin/email-queue": (*QUEUE, "notice", "count", "left"),
    "/admin/email-queue/{id}": ("view", "version", "images", "notice"),
    "/admin/email-queue/{id}/source": ("version",),
    "/admin/email-queue/{id}/attachments/{number}": ("version",),
    "/admin/audit": tuple(each.name for each in fields(AuditAddress)),
    "/admin/campaigns": ("workspace", "after", "notice", "count"),
    "/admin/campaigns/{id}": ("workspace", "q", "status", "after", "waiting", "check"),
    "/admin/sequences/{id}": ("workspace", "campaign", "prospect"),
    "/admin/sending": ("workspace",),
    "/admin/sign-in": ("next", "over"),
    "/admin/sign-in/code": ("next", "wait"),
}
"""What pages read of their addresses."""

FORMS = {
    "/admin/email-queue/act": ("act", "ids", "next", *QUEUE),
    "/admin/email-queue/{id}/replay": ("to", "cc", "bcc", "subject", "text", "html"),
    "/admin/email-queue/{id}/{name}": ("next",),
    "/admin/transports/{name}": ("name", "reason"),
    "/admin/campaigns": ("name", "id", "sequence", "senders", "sender_name", "sender_address", "subject", "text"),
    "/admin/campaigns/{id}/cancel": ("reason", "again"),
    "/admin/sequences/{id}": ("act", "name", "prospect", "campaign", "text-1", "subject-1", "html-1", "delay_days-1"),
    "/admin/sending": (
        "version", "sending_days", "start_hour", "timezone", "daily_quota", "ramp_up", "holidays", "gap_least",
        "bounce_limit", "limit_after",
    ),
    "/admin/sending/senders": ("id", "name", "address", "reply_to", "route", "daily_quota", "ramp_up"),
    "/admin/sending/senders/{id}": ("name", "address", "reply_to", "route", "daily_quota", "ramp_up", "was"),
    "/admin/sending/senders/{id}/pause": ("reason",),
}  # fmt: skip


@pytest_asyncio.fixture
async def house(store_url: str) -> AsyncIterator[House]:
    async with open_house(store_url) as house:
        yield house


@pytest_asyncio.fixture
async def client(house: House) -> AsyncIterator[httpx.AsyncClient]:
    client = house.browser().client
    client.headers["Authorization"] = f"Bearer {await house.token(Role.ADMIN)}"
    yield client
    await client.aclose()


@pytest_asyncio.fixture
async def id(house: House) -> str:
    return (await house.outbox.enqueue(Email(to="ada@example.org", subject="Hello", text="Hi"))).id


def queries(app: Any) -> Iterator[tuple[str, str]]:
    """Paths and the names in their queries: of the API by its description, of pages by the list above."""
    for path, methods in app.openapi()["paths"].items():
        for each in methods.get("get", {}).get("parameters", ()):
            if each["in"] == "query":
                yield path, each["name"]
    for path, names in PAGES.items():
        for name in names:
            yield path, name


async def bad(client: httpx.AsyncClient, method: str, path: str, **options: Any) -> list[tuple[str, str, int]]:
    answer = await client.request(method, path, **options)
    return [(method, path[:200], answer.status_code)] if answer.status_code >= 500 else []


async def test_no_query_makes_it_fail(house: House, client: httpx.AsyncClient, id: str) -> None:
    asked = list(queries(house.app))
    failures = []
    for path, name in asked:
        for value in HOSTILE:
            failures += await bad(client, "GET", f"{filled(path, id)}?{name}={value}")

    assert len(asked) > 40
    assert failures == []


async def test_no_name_in_a_path_makes_it_fail(house: House, client: httpx.AsyncClient, id: str) -> None:
    failures = []
    for method, path in routes(house.app):
        if "{" not in path:
            continue
        for value in HOSTILE:
            if len(value) < 6_000:
                failures += await bad(client, method, filled(path, value), json={})
            if path.count("{") > 1:
                failures += await bad(client, method, filled(path.replace("{id}", id), value), json={})

    assert failures == []


async def test_no_field_of_a_form_makes_it_fail(client: httpx.AsyncClient, id: str) -> None:
    failures = []
    chosen = {"act": "retry-all", "confirmed": "1", "name": "default"}
    form = {"content-type": "application/x-www-form-urlencoded"}
    for path, names in FORMS.items():
        for name in names:
            for value in HOSTILE:
                target = path.replace("{id}", id).replace("{name}", "pause" if "transports" in path else "retry")
                given = "&".join(f"{key}={one}" for key, one in (chosen | {name: value}).items())
                failures += await bad(client, "POST", target, content=given, headers=form)

    assert failures == []


async def test_no_text_in_a_body_makes_it_fail(client: httpx.AsyncClient, id: str) -> None:
    email = {"to": "ada@example.org", "subject": "Hi", "text": "Hello"}
    failures = []
    for text in (*TEXTS, 10**30, -1, "99999-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"):
        bodies = [("/api/emails", email | {name: text}) for name in EMAIL]
        bodies += [("/api/emails", email | extra) for extra in ({"tags": [text]}, {"headers": {"X-A": text}})]
        bodies += [("/api/emails", email | {"headers": {str(text): "x"}})]
        bodies += [("/api/admin/outbox/retry", {"filter": {name: text}}) for name in FILTER]
        bodies += [(f"/api/admin/outbox/{id}/replay", {name: text}) for name in ("to", "subject", "text", "html")]
        bodies += [
            ("/api/admin/transports/default/pause", {"reason": text}),
            ("/api/admin/outbox/retry", {"ids": [text]}),
        ]
        for path, body in bodies:
            content = json.dumps(body).encode()
            failures += await bad(client, "POST", path, content=content, headers={"content-type": "application/json"})
    failures += await bad(client, "POST", "/api/emails", json=email, headers={"idempotency-key": "x" * 5_000})

    assert failures == []


async def test_cookies_and_tokens_do_not_either(house: House) -> None:
    client = house.browser().client
    failures = []
    for value in HOSTILE:
        if len(value) < 6_000:
            failures += await bad(client, "GET", "/admin", headers={"cookie": f"postroom_session={value}"})
            failures += await bad(client, "GET", "/api/events", headers={"authorization": f"Bearer {value}"})
            failures += await bad(client, "GET", f"/admin/{quote(value)}")
    failures += await bad(client, "GET", "/api/events", headers={"authorization": b"Bearer \xff\xfe"})
    failures += await bad(client, "GET", "/admin", headers={"cookie": b"postroom_session=\xff\xfe\x01"})

    assert failures == []
