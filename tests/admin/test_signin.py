"""The sign-in pages (C4), as a browser meets them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape

import httpx
import pytest
import pytest_asyncio

from postroom.accounts import rules
from postroom.accounts.code_email import CODE_KIND
from postroom.accounts.letters import GUESSING_KIND
from postroom.accounts.values import Role
from postroom.admin.limits import Limiter
from tests.admin.front_door import PASSWORD, PLAIN, SECURE, Browser, House, open_house
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]

ADMIN = "admin@example.org"


@pytest_asyncio.fixture
async def house(sqlite_url: str) -> AsyncIterator[House]:
    async with open_house(sqlite_url) as house:
        yield house


async def test_password_and_code_lead_to_the_page_that_was_asked_for(house: House) -> None:
    browser = house.browser()
    asked = await browser.get("/admin/email-queue?status=dead")
    assert (asked.status_code, asked.headers["location"]) == (
        303,
        "/admin/sign-in?next=/admin/email-queue%3Fstatus%3Ddead",
    )
    page = await browser.get(asked.headers["location"])
    wanted = re.findall(r'name="next" value="([^"]*)"', page.text)[0]
    first = await browser.submit("/admin/sign-in", name=ADMIN, password=PASSWORD, next=wanted)
    await browser.get(first.headers["location"])
    second = await browser.submit("/admin/sign-in/code", code=await house.newest_code(), next=wanted)

    assert (second.status_code, second.headers["location"]) == (303, "/admin/email-queue?status=dead")
    assert (await browser.get("/admin/email-queue?status=dead")).status_code == 200


async def signed_in_again(house: House, browser: Browser, location: str) -> str:
    """Where somebody gets to who follows the way to the sign-in, and signs in."""
    page = await browser.get(location)
    wanted = unescape(re.findall(r'name="next" value="([^"]*)"', page.text)[0])
    first = await browser.submit("/admin/sign-in", name=ADMIN, password=PASSWORD, next=wanted)
    await browser.get(first.headers["location"])
    second = await browser.submit("/admin/sign-in/code", code=await house.newest_code(), next=wanted)
    return str(second.headers["location"])


async def test_what_is_pressed_after_the_session_has_ended_is_not_done_and_told_on_the_page_it_was_pressed_on(
    house: House,
) -> None:
    browser = house.browser()
    here = "/admin/email-queue?status=dead"
    asked = await browser.submit("/admin/email-queue/act", headers={"referer": f"{PLAIN}{here}"}, act="retry-all")
    assert asked.status_code == 303
    assert "was not done" in (await browser.get(asked.headers["location"])).text
    back = await signed_in_again(house, browser, asked.headers["location"])

    assert back == f"{here}&notice=signed_out&count=1"
    assert "What you pressed was not done" in (await browser.get(back)).text


@pytest.mark.parametrize("referer", ["https://evil.example/admin/email-queue", f"{PLAIN}/elsewhere", ""])
async def test_without_a_page_of_ours_before_it_a_press_leads_to_the_page_of_its_act(
    house: House, referer: str
) -> None:
    browser = house.browser()
    headers = {"referer": referer} if referer else {}
    asked = await browser.submit("/admin/campaigns/spring/pause?workspace=hotel", headers=headers)

    assert await signed_in_again(house, browser, asked.headers["location"]) == (
        "/admin/campaigns/spring?workspace=hotel&notice=signed_out&count=1"
    )


async def test_after_the_password_alone_every_page_leads_to_the_code(house: House) -> None:
    browser = await house.half_signed_in()
    answer = await browser.get("/admin")

    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/sign-in/code?next=/admin")


@pytest.mark.parametrize(
    ("name", "password"),
    [(ADMIN, "wrong"), ("nobody@example.org", PASSWORD), ("", ""), ("admin@example.org\x00", PASSWORD)],
)
async def test_whatever_is_wrong_the_answer_is_the_same(house: House, name: str, password: str) -> None:
    browser = house.browser()
    await browser.get("/admin/sign-in")
    answer = await browser.submit("/admin/sign-in", name=name, password=password)

    assert answer.status_code == 401
    assert "do not go together" in answer.text
    assert "set-cookie" not in answer.headers
    assert (await house.outbox.list(kind=CODE_KIND)).emails == ()


async def hammer(house: House, *, tries: int = rules.OF_NAME.at_once + 1, name: str = ADMIN) -> list[httpx.Response]:
    """Wrong passwords, each from another address."""
    answers = []
    for number in range(tries):
        browser = house.browser(client=f"203.0.113.{number}")
        await browser.get("/admin/sign-in")
        answers.append(await browser.submit("/admin/sign-in", name=name, password="wrong"))
    return answers


def seen(answer: httpx.Response) -> tuple[int, str]:
    """An answer without what differs from form to form."""
    return answer.status_code, re.sub(r'"[0-9a-f]{128}"', "", answer.text)


async def test_under_attack_right_and_wrong_look_alike_and_both_together_let_the_owner_in(house: House) -> None:
    answers = await hammer(house)
    browser = house.browser(client="198.51.100.7")
    await browser.get("/admin/sign-in")
    right = await browser.submit("/admin/sign-in", name=ADMIN, password=PASSWORD)
    code = await house.newest_code()
    wrong = await browser.submit("/admin/sign-in", name=ADMIN, password="wrong", code=code)
    together = await browser.submit("/admin/sign-in", name=ADMIN, password=PASSWORD, code=code)

    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    assert seen(right) == seen(wrong) == seen(answers[-1])
    assert "set-cookie" not in right.headers
    assert 'name="code"' in right.text
    assert (together.status_code, together.headers["location"]) == (303, "/admin")
    assert (await browser.get("/admin")).status_code == 200
    assert [email.recipients[0].address for email in (await house.outbox.list(kind=GUESSING_KIND)).emails] == [ADMIN]


async def test_under_attack_the_owner_signs_in_as_ever_where_they_are_known(house: House) -> None:
    await house.signed_in(client="192.0.2.7")
    house.clock.advance(minutes=1)
    await hammer(house)

    assert (await (await house.signed_in(client="192.0.2.7")).get("/admin")).status_code == 200


async def test_a_name_that_nobody_has_is_answered_alike_under_attack(house: House) -> None:
    known = [seen(answer) for answer in await hammer(house)]
    unknown = [seen(answer) for answer in await hammer(house, name="nobody@example.org")]

    assert known == [(status, text.replace("nobody@example.org", ADMIN)) for status, text in unknown]


@pytest.mark.parametrize(
    "spelling", ["ADMIN@example.org", " Admin@Example.Org ", "ａｄｍｉｎ@example.org", "ＡＤＭＩＮ＠example.org"]
)
async def test_a_name_is_understood_however_it_is_spelled_and_counted_as_one(house: House, spelling: str) -> None:
    browser = house.browser()
    await browser.get("/admin/sign-in")
    assert (await browser.submit("/admin/sign-in", name=spelling, password=PASSWORD)).status_code == 303
    await hammer(house, name=spelling)

    assert [answer.status_code for answer in await hammer(house, tries=1)] == [429]


@pytest.mark.parametrize("field", ["name", "password", "code", "next", "csrf"])
@pytest.mark.parametrize("text", ["\\x00", "\\ud800", "a\\x00b@example.org", "\\U0010ffff", "\\x1b[2J"])
async def test_absurd_text_is_an_ordinary_refusal(store_url: str, field: str, text: str) -> None:
    """A form may name any alphabet for its text, also one that has half characters in it."""
    async with open_house(store_url) as house:
        browser = house.browser()
        await browser.get("/admin/sign-in")
        fields = {"csrf": browser.csrf, "name": ADMIN, "password": "wrong", "code": "000000"} | {field: text}
        body = "".join(
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
        )
        answers = [
            await browser.client.post(
                path,
                content=f"{body}--b--\r\n".encode(),
                headers={"content-type": "multipart/form-data; boundary=b; charset=unicode_escape", "origin": PLAIN},
            )
            for path in ("/admin/sign-in", "/admin/sign-in/code", "/admin/sign-in/resend", "/admin/sign-out")
        ]

    assert {answer.status_code for answer in answers} <= {303, 401, 403, 422}


async def test_a_wrong_code_can_be_corrected_and_says_how_often(house: House) -> None:
    browser = await house.half_signed_in()
    code = await house.newest_code()
    answer = await browser.submit("/admin/sign-in/code", code=f"{(int(code) + 1) % 1_000_000:06d}")

    assert (answer.status_code, "4 times more" in answer.text) == (401, True)
    assert (await browser.submit("/admin/sign-in/code", code=f"{code[:3]} {code[3:]}")).status_code == 303
    assert (await browser.get("/admin")).status_code == 200


async def test_too_many_wrong_codes_have_to_wait_and_are_told_how_long(house: House) -> None:
    for number in range(2):
        browser = await house.half_signed_in(client=f"192.0.2.{number}")
        code = await house.newest_code()
        for _ in range(5):
            answer = await browser.submit("/admin/sign-in/code", code=f"{(int(code) + 1) % 1_000_000:06d}")
        house.clock.advance(minutes=1)
    right = await browser.submit("/admin/sign-in/code", code=code)

    assert (answer.status_code, right.status_code) == (429, 429)
    assert int(right.headers["retry-after"]) == rules.OF_CODES.every.total_seconds() - 120
    assert "118 minutes" in right.text
    assert len((await house.outbox.list(kind=GUESSING_KIND)).emails) == 1


async def test_a_new_code_can_be_asked_for_after_half_a_minute(house: House) -> None:
    browser = await house.half_signed_in()
    early = await browser.submit("/admin/sign-in/resend")
    house.clock.advance(seconds=30)
    late = await browser.submit("/admin/sign-in/resend")

    assert (early.status_code, "in 30 s" in early.text, early.headers["retry-after"]) == (429, True, "30")
    assert (late.status_code, "on its way" in late.text) == (200, True)
    assert len((await house.outbox.list(kind=CODE_KIND)).emails) == 2


async def test_a_second_sign_in_within_half_a_minute_says_when_a_code_can_be_asked_for(house: House) -> None:
    await house.half_signed_in()
    browser = house.browser()
    await browser.get("/admin/sign-in")
    answer = await browser.submit("/admin/sign-in", name=ADMIN, password=PASSWORD)
    page = await browser.get(answer.headers["location"])

    assert "can be asked for in 30 s" in page.text
    assert len((await house.outbox.list(kind=CODE_KIND)).emails) == 1


async def test_sign_out_ends_the_session_on_the_server(house: House) -> None:
    browser = await house.signed_in()
    copied = browser.cookies
    await browser.get("/admin")
    answer = await browser.submit("/admin/sign-out")
    thief = house.browser()
    thief.bring("postroom_session", copied["postroom_session"])

    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/sign-in")
    assert "postroom_session" not in browser.cookies
    assert (await thief.get("/admin")).headers["location"].startswith("/admin/sign-in")


async def test_a_session_lasts_twelve_hours(house: House) -> None:
    browser = await house.signed_in()
    house.clock.advance(hours=12, seconds=-1)
    assert (await browser.get("/admin")).status_code == 200
    house.clock.advance(seconds=1)

    assert (await browser.get("/admin")).status_code == 303


async def test_a_session_that_was_planted_is_not_carried_on(house: House) -> None:
    """Session fixation: somebody brings a browser to sign in under a token that they know."""
    thief = await house.half_signed_in(Role.VIEWER)
    planted = thief.cookies["postroom_session"]
    victim = house.browser()
    victim.bring("postroom_session", planted)
    await victim.get("/admin/sign-in")
    await victim.submit("/admin/sign-in", name=ADMIN, password=PASSWORD)
    half = victim.cookies["postroom_session"]
    await victim.get("/admin/sign-in/code")
    await victim.submit("/admin/sign-in/code", code=await house.newest_code())
    full = victim.cookies["postroom_session"]

    assert len({planted, half, full}) == 3
    assert (await victim.get("/admin")).status_code == 200
    for known in (planted, half):
        other = house.browser()
        other.bring("postroom_session", known)
        assert (await other.get("/admin")).headers["location"] == "/admin/sign-in?next=/admin"


async def test_behind_tls_cookies_are_secure_and_bound_to_the_host(house: House) -> None:
    browser = house.browser(SECURE)
    form = (await browser.get("/admin/sign-in")).headers["set-cookie"]
    first = await browser.submit("/admin/sign-in", name=ADMIN, password=PASSWORD)
    await browser.get("/admin/sign-in/code")
    second = await browser.submit("/admin/sign-in/code", code=await house.newest_code())

    assert form.startswith("__Host-postroom-form=")
    for answer in (first, second):
        [cookie] = [each for each in answer.headers.get_list("set-cookie") if each.startswith("__Host-postroom=")]
        attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert attributes == {"httponly", "path=/", "samesite=lax", "secure"}


async def test_without_tls_cookies_are_still_out_of_reach_for_scripts_and_other_sites(house: House) -> None:
    browser = house.browser()
    await browser.get("/admin/sign-in")
    answer = await browser.submit("/admin/sign-in", name=ADMIN, password=PASSWORD)

    attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert attributes == {"httponly", "path=/", "samesite=lax"}


async def test_behind_tls_a_cookie_that_came_without_it_is_worth_nothing(house: House) -> None:
    plain = await house.signed_in()
    browser = house.browser(SECURE)
    browser.bring("postroom_session", plain.cookies["postroom_session"])

    assert (await browser.get("/admin")).status_code == 303


async def test_one_address_can_knock_so_often_and_another_is_not_held_up(house: House) -> None:
    """So slowly that on a busy machine, too, no place comes free before the last has knocked."""
    house.app.state.knocks = Limiter(a_minute=1, at_once=10)
    browser = house.browser(client="192.0.2.7")
    await browser.get("/admin/sign-in")
    answers = [await browser.submit("/admin/sign-in", name=f"a{n}@example.org", password="x") for n in range(14)]
    refused = [answer for answer in answers if answer.status_code == 429]
    other = house.browser(client="192.0.2.8")
    await other.get("/admin/sign-in")

    assert 0 < len(refused) <= 4
    assert int(refused[0].headers["retry-after"]) > 0
    assert (await other.submit("/admin/sign-in", name=ADMIN, password=PASSWORD)).status_code == 303


async def test_nothing_but_a_short_form_is_read_at_the_door(house: House) -> None:
    browser = house.browser()
    await browser.get("/admin/sign-in")
    answer = await browser.submit("/admin/sign-in", name="x" * 100_000, password="x")

    assert answer.status_code == 413


async def test_a_mounted_app_signs_in_beneath_its_mount(sqlite_url: str) -> None:
    async with open_house(sqlite_url, mounted="/postroom") as house:
        browser = house.browser()
        asked = await browser.get("/postroom/admin")
        await browser.get(asked.headers["location"])
        first = await browser.submit("/postroom/admin/sign-in", name=ADMIN, password=PASSWORD)
        await browser.get(first.headers["location"])
        second = await browser.submit("/postroom/admin/sign-in/code", code=await house.newest_code())

        assert asked.headers["location"] == "/postroom/admin/sign-in?next=/postroom/admin"
        assert first.headers["location"] == "/postroom/admin/sign-in/code?next=/postroom/admin"
        assert second.headers["location"] == "/postroom/admin"
        assert (await browser.get("/postroom/admin")).status_code == 200
