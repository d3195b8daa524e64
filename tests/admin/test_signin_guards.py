"""What stands between a request and an act (C4): forged forms, redirects, headers, roles, tokens, audit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated

import httpx
import pytest
import pytest_asyncio
from fastapi import Depends, Request
from hypothesis import given
from hypothesis import strategies as st

from postroom import Email
from postroom.accounts.tokens import revoke_token, tokens_of
from postroom.accounts.values import Person, Role
from postroom.admin.forgery import uncovered
from postroom.admin.headers import content_policy
from postroom.admin.limits import Limiter, block_of
from postroom.admin.security import csrf_token, needs, safe_next
from tests.admin.front_door import PASSWORD, PLAIN, Browser, House, open_house

ACT = "/api/admin/outbox/{id}/cancel"


@pytest_asyncio.fixture
async def house(sqlite_url: str) -> AsyncIterator[House]:
    async with open_house(sqlite_url) as house:
        yield house


async def waiting(house: House) -> str:
    """The id of an email that can be cancelled."""
    return (await house.outbox.enqueue(Email(to="ada@example.org", subject="Hi", text="Hello"))).id


async def cancel(browser: Browser, id: str, **headers: str) -> int:
    answer = await browser.client.post(ACT.format(id=id), headers=headers)
    return answer.status_code


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site", "origin": PLAIN},
        {"sec-fetch-site": "same-site", "origin": PLAIN},
        {"sec-fetch-site": "none"},
        {"origin": "http://evil.example"},
        {"origin": "http://desk.example.evil.example"},
        {"origin": "http://desk.example:8080"},
        {"origin": "null"},
    ],
)
async def test_what_another_site_sends_is_refused_although_it_has_the_token(
    house: House, headers: dict[str, str]
) -> None:
    browser, id = await house.signed_in(), await waiting(house)
    await browser.get("/admin")

    assert await cancel(browser, id, **headers, **{"x-csrf-token": browser.csrf}) == 403
    assert (await house.outbox.get(id)).status == "pending"


@pytest.mark.parametrize("headers", [{"sec-fetch-site": "same-origin"}, {"origin": PLAIN}, {}])
async def test_what_comes_without_the_token_is_refused_although_our_page_sent_it(
    house: House, headers: dict[str, str]
) -> None:
    browser, id = await house.signed_in(), await waiting(house)
    await browser.get("/admin")

    assert await cancel(browser, id, **headers) == 403
    assert await cancel(browser, id, **headers, **{"x-csrf-token": "x" + browser.csrf[1:]}) == 403
    assert (await house.outbox.get(id)).status == "pending"
    assert await cancel(browser, id, **headers, **{"x-csrf-token": browser.csrf}) == 200
    assert (await house.outbox.get(id)).status == "cancelled"


async def test_the_token_of_one_session_is_worth_nothing_in_another(house: House) -> None:
    first = await house.signed_in(Role.ADMIN)
    second = await house.signed_in(Role.OPERATOR)
    await first.get("/admin")
    id = await waiting(house)

    assert await cancel(second, id, **{"x-csrf-token": first.csrf, "origin": PLAIN}) == 403


async def test_nobody_can_be_signed_in_by_another_site(house: House) -> None:
    browser = house.browser()
    await browser.get("/admin/sign-in")
    fields = {"name": "admin@example.org", "password": PASSWORD}
    refused = [
        await browser.submit("/admin/sign-in", headers={"sec-fetch-site": "cross-site"}, **fields),
        await browser.submit("/admin/sign-in", csrf="", **fields),
        await house.browser().submit("/admin/sign-in", csrf=browser.csrf, **fields),
    ]

    assert [answer.status_code for answer in refused] == [403] * 3


async def test_nobody_can_be_signed_out_by_another_site(house: House) -> None:
    browser = await house.signed_in()
    await browser.get("/admin")

    assert (await browser.submit("/admin/sign-out", headers={"origin": "http://evil.example"})).status_code == 403
    assert (await browser.get("/admin")).status_code == 200


HOSTILE = [
    "//evil.example",
    "https://evil.example",
    "http://desk.example.evil.example/admin",
    "/\\evil.example",
    "\\\\evil.example",
    "/admin/..//evil.example",
    "/admin/../../evil",
    "/administrator",
    "/admin\r\nset-cookie: a=b",
    "/admin//evil.example",
    "javascript:alert(1)",
    " /admin",
    "/ädmin",
    "",
]


@pytest.mark.parametrize("wanted", HOSTILE)
async def test_signing_in_leads_to_no_other_host(house: House, wanted: str) -> None:
    browser = await house.half_signed_in()
    answer = await browser.submit("/admin/sign-in/code", code=await house.newest_code(), next=wanted)

    assert (answer.status_code, answer.headers["location"]) == (303, "/admin")


@given(wanted=st.sampled_from(HOSTILE) | st.text(alphabet="/\\.:?#@ax%0 \t\n", max_size=12).map("/admin".__add__))
def test_wherever_signing_in_leads_is_a_page_of_ours(wanted: str) -> None:
    request = Request({"type": "http", "root_path": "/desk", "path": "/", "headers": []})
    target = httpx.URL(f"{PLAIN}/desk/admin").join(safe_next(request, "/desk" + wanted))

    assert (target.scheme, target.host) == ("http", "desk.example")
    assert target.path == "/desk/admin" or target.path.startswith("/desk/admin/")


@pytest.mark.parametrize("path", ["/admin/sign-in", "/admin", "/api/admin/dashboard", "/nowhere", "/admin/sign-out"])
async def test_every_answer_carries_the_headers(house: House, path: str) -> None:
    headers = (await house.browser().get(path)).headers

    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
    assert (headers["referrer-policy"], headers["cache-control"]) == ("same-origin", "no-store")


async def test_also_the_answer_to_a_bug_carries_them(house: House) -> None:
    async def stumble() -> None:
        raise RuntimeError

    house.app.add_api_route("/api/stumble", stumble)
    answer = await house.browser().get("/api/stumble")

    assert (answer.status_code, answer.headers["x-frame-options"]) == (500, "DENY")


def test_no_page_may_run_scripts_but_our_own() -> None:
    policies = [content_policy(inline_styles=one, remote_images=other) for one in (0, 1) for other in (0, 1)]

    assert all("script-src 'self';" in policy for policy in policies)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("by", ["session", "token"])
async def test_looking_needs_a_viewer_and_acting_an_operator(house: House, role: Role, by: str) -> None:
    id = await waiting(house)
    if by == "session":
        browser = await house.signed_in(role)
        await browser.get("/admin")
        headers = {"x-csrf-token": browser.csrf, "origin": PLAIN}
    else:
        browser, headers = house.browser(), {"authorization": f"Bearer {await house.token(role)}"}
    looked = await browser.client.get("/api/admin/dashboard", headers=headers)

    assert looked.status_code == 200
    assert await cancel(browser, id, **headers) == (403 if role is Role.VIEWER else 200)
    assert (await house.outbox.get(id)).status == ("pending" if role is Role.VIEWER else "cancelled")


async def test_a_role_that_was_taken_away_is_gone_with_the_next_request(house: House) -> None:
    browser = await house.signed_in(Role.OPERATOR)
    await browser.get("/admin")
    async with house.outbox.transaction() as connection:
        await connection.execute("UPDATE postroom_people SET role = 'viewer'")

    assert await cancel(browser, await waiting(house), **{"x-csrf-token": browser.csrf, "origin": PLAIN}) == 403


async def test_a_token_is_narrowed_by_its_scope_and_by_its_owner(house: House) -> None:
    narrow = await house.token(Role.ADMIN, scope=Role.VIEWER)
    wide = await house.token(Role.VIEWER, scope=Role.ADMIN)
    id = await waiting(house)

    for token in (narrow, wide):
        assert await cancel(house.browser(), id, authorization=f"Bearer {token}") == 403


async def test_a_token_that_was_revoked_or_ran_out_is_worth_nothing(house: House) -> None:
    admin = house.people[Role.ADMIN]
    revoked = await house.token()
    [known] = await house.outbox.database.run(tokens_of(admin), writes=False)
    await house.outbox.database.run(revoke_token(admin, known.id))
    short = await house.token(expires_at=house.clock.now + timedelta(minutes=1))
    assert await ask(house, f"Bearer {short}") == 200
    house.clock.advance(minutes=1)

    assert [await ask(house, f"Bearer {token}") for token in (revoked, short)] == [401, 401]


@pytest.mark.parametrize("shown", ["Bearer", "Bearer ", "Bearer x", "Basic YTpi", "", "bearer postroom_", "Bearer é"])
async def test_what_is_no_token_lets_nobody_in(house: House, shown: str) -> None:
    assert await ask(house, shown) == 401


async def test_a_bad_token_is_not_made_up_for_by_a_session(house: House) -> None:
    browser = await house.signed_in()
    answer = await browser.client.get("/api/admin/dashboard", headers={"authorization": "Bearer wrong"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "bad_token")


async def test_guessing_tokens_is_slowed_down_and_told_when_to_come_back(house: House) -> None:
    answers = [
        await house.browser().client.get("/api/admin/dashboard", headers={"authorization": f"Bearer {number}"})
        for number in range(40)
    ]
    slowed = [answer for answer in answers if answer.status_code == 429]

    assert slowed
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in slowed)
    assert await ask(house, f"Bearer {await house.token()}") == 200, "a good token is not held up"


async def test_a_token_is_stored_as_a_hash(house: House) -> None:
    token = await house.token()
    async with house.outbox.transaction() as connection:
        kept = await connection.execute("SELECT * FROM postroom_tokens")

    assert len(kept) == 1
    assert token not in str(kept)


async def test_every_act_is_in_the_audit_log_also_one_that_was_refused(house: House) -> None:
    id = await waiting(house)
    viewer, operator = await house.token(Role.VIEWER), await house.token(Role.OPERATOR, label="nightly")
    await cancel(house.browser(), id, authorization=f"Bearer {viewer}")
    await cancel(house.browser(), id, authorization=f"Bearer {operator}")

    assert await house.audited() == [("viewer@example.org", "not_allowed"), ("operator@example.org", "cancel")]


async def test_the_audit_log_tells_the_whole_story_of_a_sign_in(house: House) -> None:
    browser = await house.signed_in()
    await browser.get("/admin")
    await browser.submit("/admin/sign-out")

    assert [what for _, what in await house.audited()] == ["password_right", "sign_in", "sign_out"]


async def test_in_development_only_this_machine_is_let_in_and_only_under_its_own_name(sqlite_url: str) -> None:
    async with open_house(sqlite_url, dev=True) as house:
        here = house.browser("http://localhost:8090", client="127.0.0.1")
        elsewhere = house.browser("http://localhost:8090", client="192.0.2.7")
        rebound = house.browser("http://evil.example:8090", client="127.0.0.1")
        answers = [await browser.get("/api/admin/dashboard") for browser in (here, elsewhere, rebound)]

        assert [answer.status_code for answer in answers] == [200, 401, 401]
        assert (await here.get("/admin/sign-in")).headers["location"] == "/admin"


async def test_in_development_other_sites_still_cannot_act(sqlite_url: str) -> None:
    async with open_house(sqlite_url, dev=True) as house:
        id = await waiting(house)
        browser = house.browser("http://localhost:8090", client="127.0.0.1")

        assert await cancel(browser, id, origin="http://evil.example") == 403
        assert await cancel(browser, id, origin="http://localhost:8090") == 403


async def test_a_program_that_acts_without_a_token_is_told_to_show_one_and_then_may(sqlite_url: str) -> None:
    """Looking works without one where no sign-in is asked for, and no page of ours is what a program needs."""
    async with open_house(sqlite_url, dev=True) as house:
        id = await waiting(house)
        program = house.browser("http://localhost:8090", client="127.0.0.1")
        refused = (await program.client.post(ACT.format(id=id))).json()["error"]
        token = await house.token(Role.OPERATOR)

        assert (refused["code"], "page" in refused["remedy"]) == ("forged", False)
        assert "`postroom user token`" in refused["remedy"]
        assert "`Authorization: Bearer …`" in refused["remedy"]
        assert await cancel(program, id, authorization=f"Bearer {token}") == 200
        assert "load the page again" in (await program.client.post("/admin/campaigns")).text


async def test_a_form_of_a_page_carries_the_token_that_its_act_wants(house: House) -> None:
    seen: list[str] = []

    @house.app.post("/admin/try")
    async def act(request: Request, person: Annotated[Person, Depends(needs(Role.OPERATOR))]) -> dict[str, str]:
        seen.append(csrf_token(request))
        return {"by": person.name}

    browser = await house.signed_in()
    await browser.get("/admin")

    assert (await browser.submit("/admin/try")).json() == {"by": "admin@example.org"}
    assert [uncovered(each) for each in seen] == [uncovered(browser.csrf)]


def test_a_limiter_lets_so_many_through_at_once_and_then_so_many_a_minute() -> None:
    limiter = Limiter(a_minute=6, at_once=3)
    at_once = [limiter.wait("a", 100.0) for _ in range(4)]

    assert at_once == [0, 0, 0, 10]
    assert [limiter.wait("a", 109.9) > 0, limiter.wait("a", 110.0), limiter.wait("b", 100.0)] == [True, 0, 0]


def test_a_limiter_remembers_a_bounded_number_of_addresses() -> None:
    limiter = Limiter(a_minute=6, at_once=1)
    for number in range(20_000):
        limiter.wait(f"host {number}", float(number))

    assert len(limiter._next) == 10_000


def test_neighbours_in_ipv6_are_one_household() -> None:
    assert block_of("2001:db8:1:2::1") == block_of("2001:db8:1:2:ffff::2%eth0") != block_of("2001:db8:1:3::1")
    assert block_of("::ffff:192.0.2.7") == block_of("192.0.2.7") != block_of("192.0.2.8")
    assert block_of("a unix socket") == "a unix socket"


async def ask(house: House, shown: str) -> int:
    headers = [(b"authorization", shown.encode())]
    answer = await house.browser().client.get("/api/admin/dashboard", headers=headers)
    return answer.status_code
