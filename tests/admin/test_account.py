"""One's own account (C4): an authenticator and recovery codes, for when mail is down; as a browser meets it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape

import pytest
import pytest_asyncio

from postroom.accounts import totp
from postroom.accounts.letters import ACCOUNT_KIND
from postroom.accounts.values import Role
from postroom.admin.qr import draw
from postroom.store.heartbeats import beat
from postroom.work import breakers
from tests.admin.front_door import PASSWORD, Browser, House, open_house

PAGE = "/admin/account"
ADMIN = "admin@example.org"


@pytest_asyncio.fixture
async def house(sqlite_url: str) -> AsyncIterator[House]:
    async with open_house(sqlite_url) as house:
        yield house


async def enrol(house: House, browser: Browser) -> tuple[bytes, list[str]]:
    """An authenticator in use, and its recovery codes, as the pages show them."""
    await browser.get(PAGE)
    offered = await browser.submit(f"{PAGE}/authenticator", proof=PASSWORD)
    assert offered.status_code == 200, offered.text
    secret = secret_in(offered.text)
    code = totp.code_at(secret, totp.step_of(house.clock.now))
    done = await browser.submit(f"{PAGE}/authenticator/confirm", code=f"{code[:3]} {code[3:]}")
    assert done.status_code == 200, done.text
    house.clock.advance(minutes=5)
    return secret, re.findall(r"<li class=\"mono\">([\w-]{11})</li>", done.text)


def secret_in(page: str) -> bytes:
    """What somebody would type into their authenticator."""
    from base64 import b32decode

    found = re.search(r'class="mono secret">([A-Z2-7 ]+)<', page)
    assert found is not None
    return b32decode(found[1].replace(" ", ""))


async def test_an_authenticator_is_added_and_lets_in_while_no_mail_moves(house: House) -> None:
    secret, codes = await enrol(house, await house.signed_in())
    browser = await house.half_signed_in()
    page = (await browser.get("/admin/sign-in/code")).text
    answer = await browser.submit("/admin/sign-in/code", code=totp.code_at(secret, totp.step_of(house.clock.now)))

    assert len(codes) == 10
    assert "no worker is running" in page
    assert "authenticator" in page
    assert answer.status_code == 303
    assert (await browser.get("/admin")).status_code == 200


async def test_a_recovery_code_lets_in_once(house: House) -> None:
    _, [code, *_] = await enrol(house, await house.signed_in())
    for status in (303, 401):
        browser = await house.half_signed_in()
        assert (await browser.submit("/admin/sign-in/code", code=code.upper())).status_code == status


async def test_nobody_with_an_authenticator_is_mailed_a_code_they_did_not_ask_for(house: House) -> None:
    await enrol(house, await house.signed_in())
    before = await house.newest_code()
    browser = await house.half_signed_in()
    assert await house.newest_code() == before
    asked = await browser.submit("/admin/sign-in/resend")

    assert asked.status_code == 200
    assert (await browser.submit("/admin/sign-in/code", code=await house.newest_code())).status_code == 303


@pytest.mark.parametrize("trouble", ["no worker is running", "paused", "nothing"])
async def test_the_second_step_says_when_mail_is_not_moving(house: House, trouble: str) -> None:
    if trouble != "no worker is running":
        await house.outbox.database.run(beat("w", host="h", version="1", in_flight=0, rate=0.0))
        await house.outbox.database.run(breakers.standing_of({"default": "smtp.secret.example:25"}))
    if trouble == "paused":
        await house.outbox.database.run(breakers.pause("default", "a secret reason"))
    page = (await (await house.half_signed_in()).get("/admin/sign-in/code")).text

    assert ("Mail is not moving" in page) == (trouble != "nothing")
    assert (trouble in page) == (trouble != "nothing")
    assert "secret" not in page, "what is wrong with which server is for people who are signed in"
    assert "postroom user code" in page


async def test_every_change_asks_for_the_password_or_a_code_and_is_told_by_email(house: House) -> None:
    browser = await house.signed_in()
    secret, _ = await enrol(house, browser)
    await browser.get(PAGE)
    refused = [
        await browser.submit(f"{PAGE}/recovery-codes", proof="wrong"),
        await browser.submit(f"{PAGE}/authenticator/off"),
    ]
    renewed = await browser.submit(f"{PAGE}/recovery-codes", proof=PASSWORD)
    code = totp.code_at(secret, totp.step_of(house.clock.now))
    off = await browser.submit(f"{PAGE}/authenticator/off", proof=code)
    told = [(await house.outbox.letter(email.id)).text for email in (await house.outbox.list(kind=ACCOUNT_KIND)).emails]

    assert [answer.status_code for answer in refused] == [422, 422]
    assert renewed.text.count('<li class="mono">') == 10
    assert (off.status_code, off.headers["location"].startswith(f"{PAGE}?notice=")) == (303, True)
    assert ["taken away" in text for text in told if text] == [True, False, False]
    assert {"authenticator_on", "recovery_codes_made", "authenticator_off"} <= {
        what for _, what in await house.audited()
    }
    assert "a code by email" in (await browser.get(PAGE)).text


async def test_an_offer_without_its_code_changes_nothing(house: House) -> None:
    browser = await house.signed_in()
    await browser.get(PAGE)
    offered = await browser.submit(f"{PAGE}/authenticator", proof=PASSWORD)
    wrong = await browser.submit(f"{PAGE}/authenticator/confirm", code="000000")

    assert secret_in(offered.text) == secret_in(wrong.text), "the same picture again"
    assert (wrong.status_code, "not a code of this authenticator" in wrong.text) == (422, True)
    assert "Add an authenticator" in (await browser.get(PAGE)).text


async def test_guesses_at_the_password_of_an_open_browser_are_slowed_down(house: House) -> None:
    browser = await house.signed_in()
    await browser.get(PAGE)
    answers = [await browser.submit(f"{PAGE}/authenticator", proof=f"guess {n}") for n in range(12)]
    slowed = [answer for answer in answers if answer.status_code == 429]

    assert slowed
    assert all(int(answer.headers["retry-after"]) > 0 for answer in slowed)


async def test_a_token_is_nobody_with_an_account(house: House) -> None:
    token = await house.token(Role.ADMIN)
    answer = await house.browser().client.get(PAGE, headers={"authorization": f"Bearer {token}"})

    assert answer.status_code == 403


async def test_neither_is_a_developer(sqlite_url: str) -> None:
    async with open_house(sqlite_url, dev=True) as house:
        here = house.browser("http://localhost:8090", client="127.0.0.1")

        assert (await here.get(PAGE)).status_code == 403
        assert PAGE not in (await here.get("/admin")).text


async def test_the_picture_is_drawn_on_the_page_and_needs_no_leave(house: House) -> None:
    """No style attribute, no script, nothing from elsewhere: the policy of every other page is enough."""
    browser = await house.signed_in()
    await browser.get(PAGE)
    offered = await browser.submit(f"{PAGE}/authenticator", proof=PASSWORD)
    found = re.search(r'<svg class="qr".*?</svg>', offered.text, re.DOTALL)
    assert found is not None

    assert "style=" not in found[0]
    assert "unsafe-inline" not in offered.headers["content-security-policy"]
    assert offered.headers["cache-control"] == "no-store"
    assert f"otpauth://totp/Postroom:{ADMIN.replace('@', '%40')}" in unescape(offered.text)


def test_the_picture_has_the_three_corners_that_readers_look_for() -> None:
    drawing = draw("otpauth://totp/Postroom:ada%40example.org?secret=JBSWY3DPEHPK3PXP")
    edge = drawing.size - 4 - 7

    assert drawing.path.startswith("M4 4h7v1h-7z")
    assert f"M{edge} 4h7v1h-7z" in drawing.path
    assert f"M4 {edge}h7v1h-7z" in drawing.path
