"""Every route of the app is walked (C4): nothing works for nobody, nor for a sign-in whose code was not given."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.routing import Mount, Route

from postroom import Email
from postroom.accounts.factors import Factors, factors_of
from postroom.accounts.values import Role
from tests.admin.front_door import PLAIN, House, open_house

OPEN = {
    ("GET", "/healthz"): "for whoever keeps processes running; tells nothing",
    ("GET", "/readyz"): "the same",
    ("GET", "/admin/sign-in"): "the door",
    ("POST", "/admin/sign-in"): "the door",
    ("GET", "/admin/sign-in/code"): "the door",
    ("POST", "/admin/sign-in/code"): "the door",
    ("POST", "/admin/sign-in/resend"): "the door",
    ("POST", "/admin/sign-out"): "ends a sign-in, also one that was only begun",
    ("POST", "/api/cron/send-emails"): "has a secret of its own, and is not there without one",
    ("GET", "/admin/static/{path}"): "styles and pictures of our own",
    ("GET", "/u/{token}"): "people who unsubscribe have no account; the token is all they need",
    ("POST", "/u/{token}"): "the same",
}
"""What needs no sign-in, and why."""

OWN = "/admin/account/"
"""What everybody may change about themselves; each asks for the password or a code again."""

REDIRECTS = {303}
REFUSALS = {401, 403}

FILLED = {
    "/admin/email-queue/{id}/{name}": "/admin/email-queue/{id}/cancel",
    "/admin/transports/{name}": "/admin/transports/pause",
    "/admin/campaigns/{id}/{act}": "/admin/campaigns/{id}/cancel",
    "/admin/campaigns/{id}/prospects/{prospect}/{act}": "/admin/campaigns/{id}/prospects/{prospect}/stop",
    "/admin/sending/senders/{id}/{act}": "/admin/sending/senders/{id}/pause",
}
HOURS = {
    "sending_days": "mon", "start_hour": "9", "end_hour": "17", "daily_quota": "50", "gap_least": "30",
    "gap_most": "90", "person_hours": "0", "limit_after": "100",
}  # fmt: skip
BODIES: dict[str, Any] = {
    "/api/admin/outbox/{id}/replay": lambda id: {"json": {}},
    "/api/admin/outbox/retry": lambda id: {"json": {"ids": [id]}},
    "/api/admin/outbox/cancel": lambda id: {"json": {"ids": [id]}},
    "/api/admin/outbox/dismiss": lambda id: {"json": {"ids": [id]}},
    "/api/admin/transports/{name}/pause": lambda id: {"json": {}},
    "/api/emails": lambda id: {"json": {"to": "ada@example.org", "subject": "Hi", "text": "Hello"}},
    "/api/campaigns/{id}/prospects": lambda id: {"content": "email\nada@example.org\n"},
    "/admin/email-queue/act": lambda id: {"data": {"act": "cancel", "ids": id}},
    "/api/admin/suppressions": lambda id: {"json": {"address": "ada@example.org"}},
    "/api/admin/suppressions/import": lambda id: {"content": b"ada@example.org"},
    "/admin/suppressions": lambda id: {"data": {"address": "ada@example.org"}},
    "/admin/suppressions/import": lambda id: {"files": {"file": ("list.csv", b"ada@example.org")}},
    "/admin/suppressions/{id}/remove": lambda id: {"data": {"confirmed": "1"}},
    "/admin/campaigns": lambda id: {
        "data": {"name": "Spring", "sender_address": "ada@example.org", "subject": "Hi", "text": "Hello"}
    },
    "/admin/campaigns/{id}/import": lambda id: {"files": {"file": ("list.csv", b"email\nada@example.org\n")}},
    "/admin/campaigns/{id}/{act}": lambda id: {"data": {"confirmed": "1"}},
    "/admin/campaigns/{id}/prospects/{prospect}/{act}": lambda id: {"data": {"confirmed": "1"}},
    "/admin/sequences/{id}": lambda id: {"data": {"act": "save", "subject-1": "Hi", "text-1": "Hello"}},
    "/admin/sending": lambda id: {"data": {"version": "0", "timezone": "UTC", **HOURS}},
    "/admin/sending/senders": lambda id: {"data": {"id": "ada", "address": "ada@example.org"}},
}
"""What an act wants to be told beside its address."""


@pytest_asyncio.fixture
async def house(sqlite_url: str) -> AsyncIterator[House]:
    async with open_house(sqlite_url) as house:
        yield house


def routes(app: Any) -> Iterator[tuple[str, str]]:
    """Method and path of everything the app answers to."""
    for route in app.routes:
        match route:
            case Mount():
                yield "GET", f"{route.path}/{{path}}"
            case Route():
                for method in sorted((route.methods or {"GET"}) - {"HEAD", "OPTIONS"}):
                    yield method, re.sub(r":\w+}", "}", route.path)
            case _:
                inner = getattr(route, "original_router", None) or getattr(route, "router", None)
                if inner is None:
                    pytest.fail(f"the walk does not know how to walk {route!r}")
                yield from routes(inner)


def filled(path: str, id: str) -> str:
    """The path with its places filled in."""
    while "{" in path:
        before, _, rest = path.partition("{")
        _, _, after = rest.partition("}")
        path = f"{before}{id}{after}"
    return path


async def walk(house: House, client: httpx.AsyncClient, csrf: str) -> dict[tuple[str, str], httpx.Response]:
    """Ask for everything, with a real email's id and, as far as one can be had, the right form token."""
    id = (await house.outbox.enqueue(Email(to="ada@example.org", subject="A secret", text="Hello"))).id
    headers = {"origin": PLAIN, "sec-fetch-site": "same-origin", "x-csrf-token": csrf}
    return {
        (method, path): await client.request(method, filled(path, id), headers=headers)
        for method, path in routes(house.app)
        if (method, path) not in OPEN
    }


def test_filled_leaves_no_place_open() -> None:
    assert filled("/a/{id}/b/{name:path}", "7") == "/a/7/b/7"


async def test_the_walk_comes_by_every_kind_of_route(house: House) -> None:
    """A walk that saw nothing would prove nothing."""
    walked = set(routes(house.app))

    assert len(walked) > 15
    assert walked >= {("GET", "/admin"), ("GET", "/admin/email-queue"), ("GET", "/api/admin/dashboard")}
    assert walked >= {("POST", "/api/admin/outbox/{id}/retry"), ("DELETE", "/api/admin/outbox/{id}"), *OPEN}


@pytest.mark.parametrize("path", ["/admin/forgotten", "/api/forgotten"])
async def test_the_walk_notices_a_route_that_was_left_open(house: House, path: str) -> None:
    async def forgotten() -> dict[str, str]:
        return {}

    house.app.add_api_route(path, forgotten)
    answers = await walk(house, house.browser().client, "")

    with pytest.raises(AssertionError, match="forgotten"):
        check_refused(answers, "/admin/sign-in")


async def test_nothing_works_for_nobody(house: House) -> None:
    browser = house.browser()
    await browser.get("/admin/sign-in")
    answers = await walk(house, browser.client, browser.csrf)

    check_refused(answers, "/admin/sign-in")
    await check_untouched(house)


async def test_nothing_works_for_a_sign_in_whose_code_was_not_given(house: House) -> None:
    browser = await house.half_signed_in()
    answers = await walk(house, browser.client, browser.csrf)

    check_refused(answers, "/admin/sign-in/code")
    await check_untouched(house, codes=1)


async def test_no_act_works_for_somebody_who_may_only_look(house: House) -> None:
    browser = await house.signed_in(Role.VIEWER)
    await browser.get("/admin")
    answers = await walk(house, browser.client, browser.csrf)
    acts = {route: answer.status_code for route, answer in answers.items() if route[0] != "GET"}
    own = {route for route in acts if route[1].startswith(OWN)}

    assert len(acts) > 5
    assert {acts[route] for route in acts if route not in own} == {403}, acts
    assert len(own) == 4
    await check_untouched(house, codes=1)
    assert (await house.outbox.database.run(factors_of(house.people[Role.VIEWER].id))) == Factors()


async def test_no_act_works_without_the_token_of_the_form(house: House) -> None:
    browser = await house.signed_in(Role.ADMIN)
    answers = await walk(house, browser.client, "")
    acts = {route: answer.status_code for route, answer in answers.items() if route[0] != "GET"}

    assert set(acts.values()) == {403}, acts
    await check_untouched(house, codes=1)


async def test_looking_changes_nothing(house: House) -> None:
    """No effect by GET: a link, a picture or a look ahead does nothing."""
    browser = await house.signed_in(Role.ADMIN)
    before = await house.audited()
    answers = await walk(house, browser.client, "")

    assert [answer.status_code for route, answer in answers.items() if route[0] == "GET"].count(200) > 5
    await check_untouched(house, codes=1)
    assert await house.audited() == before


async def test_with_everything_right_the_walk_gets_somewhere(house: House) -> None:
    """So that the refusals above are about the person, not about the requests."""
    browser = await house.signed_in(Role.ADMIN)
    await browser.get("/admin")
    answers = await walk(house, browser.client, browser.csrf)

    assert {route for route, answer in answers.items() if answer.status_code in REFUSALS} == set()


async def test_every_act_that_is_asked_for_is_on_record_also_one_that_comes_to_nothing(house: House) -> None:
    """A route that changes anything and forgets its line is found here."""
    browser = await house.signed_in(Role.ADMIN)
    await browser.get("/admin")
    headers = {"origin": PLAIN, "sec-fetch-site": "same-origin", "x-csrf-token": browser.csrf}
    silent = set()
    for method, path in routes(house.app):
        if method == "GET" or (method, path) in OPEN:
            continue
        id = (await house.outbox.enqueue(Email(to="ada@example.org", subject="Hi", text="Hello"))).id
        before = len(await house.audited())
        body = BODIES.get(path, {})
        await browser.client.request(
            method, filled(FILLED.get(path, path), id), headers=headers, **body(id) if body else {}
        )
        if len(await house.audited()) == before:
            silent.add(path)

    nothing_asked_for = {"/admin/account/recovery-codes", "/admin/account/authenticator/confirm"}
    given_back = {"/admin/campaigns/{id}/report"}
    assert silent == nothing_asked_for | given_back


def check_refused(answers: dict[tuple[str, str], httpx.Response], door: str) -> None:
    assert answers
    for (method, path), answer in answers.items():
        page = path.startswith("/admin")
        assert answer.status_code in (REDIRECTS if page else REFUSALS), (method, path, answer.status_code)
        assert "A secret" not in answer.text
        if page:
            assert answer.headers["location"].partition("?")[0] == door, (method, path)
        else:
            assert set(answer.json()["error"]) == {"code", "message", "remedy"}


async def check_untouched(house: House, *, codes: int = 0) -> None:
    """Nothing was changed; only the walk's own email is there, and the codes of a sign-in."""
    assert (await house.outbox.counts())["pending"] == 1 + codes
    assert {email.status for email in (await house.outbox.list()).emails} == {"pending"}
