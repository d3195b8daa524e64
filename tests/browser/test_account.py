"""Signing in while mail is down, as a person does it in a browser that runs no scripts."""

from __future__ import annotations

import time
from base64 import b32decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from postroom.accounts.accounts import get_person
from postroom.accounts.chance import new_code
from postroom.accounts.secret import secret_key
from postroom.accounts.steps import code_from_the_host
from postroom.accounts.totp import STEP, code_at
from tests.browser.entrance import PASSWORD, give_code, give_password
from tests.browser.house import House
from tests.work.office import wait_until

NAME = "grace@hillhouse.example"


@pytest.fixture
def locked_house(tmp_path: Path) -> Iterator[House]:
    """Somebody may sign in, and no worker sends mail."""
    with House(tmp_path, dev=False) as house:
        house.add_person(NAME, PASSWORD)
        yield house


def code_on_the_host(house: House, name: str = NAME) -> str:
    """What `postroom user code` prints."""
    code, run = new_code(), house.outbox.database.run
    person = run(get_person(name), writes=False).person
    run(code_from_the_host(person, code, key=run(secret_key(house.outbox.settings)), by="root"))
    return code


def enter(page: Page, house: House, code: str, name: str = NAME) -> None:
    page.goto(house.address("/admin"))
    give_password(page, name)
    give_code(page, code)


def add_authenticator(page: Page, house: House) -> tuple[bytes, int, list[str]]:
    """Its secret, the step that was used, and the recovery codes."""
    page.goto(house.address("/admin/account"))
    page.get_by_label("Your password, once more").fill(PASSWORD)
    page.get_by_role("button", name="Add an authenticator").click()
    expect(page.get_by_role("img", name="QR code for your authenticator")).to_be_visible()
    secret = b32decode((page.locator(".secret").text_content() or "").replace(" ", ""))
    step = int(time.time()) // STEP
    page.get_by_label("The six digits it shows now").fill(code_at(secret, step))
    page.get_by_role("button", name="Take it into use").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    return secret, step, page.locator(".codes li").all_text_contents()


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Email address")).to_be_visible()


def test_an_authenticator_and_a_recovery_code_let_in_while_no_mail_moves(locked_house: House, plain_page: Page) -> None:
    page, house = plain_page, locked_house
    enter(page, house, code_on_the_host(house))
    secret, step, codes = add_authenticator(page, house)
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_text("10 recovery codes left")).to_be_visible()
    sign_out(page)

    give_password(page, NAME)
    expect(page.get_by_text("no worker is running")).to_be_visible()
    give_code(page, code_at(secret, step + 1))
    sign_out(page)
    enter(page, house, codes[0])
    page.goto(house.address("/admin/account"))
    expect(page.get_by_text("9 recovery codes left")).to_be_visible()


def height_of(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None
    return box["height"]


def test_the_head_of_a_page_stands_in_one_row_however_long_the_account_s_address(
    locked_house: House, plain_page: Page
) -> None:
    name = f"{'somebody.with.a.long.name' * 2}@hillhouse.example"
    locked_house.add_person(name, PASSWORD)
    enter(plain_page, locked_house, code_on_the_host(locked_house, name), name)
    plain_page.set_viewport_size({"width": 1280, "height": 800})
    account = plain_page.get_by_role("link", name=name)
    plain_page.wait_for_load_state("load")
    # What it looked like before it was as wide as that, or had its styles, is not asked about.
    wait_until(lambda: height_of(plain_page.locator(".masthead-inner")) < 70)
    frame = account.bounding_box()

    assert frame is not None
    assert frame["width"] > 100, "as much of it as there is room for"
    assert account.get_attribute("title") == f"{name}, admin"
    assert plain_page.evaluate("document.documentElement.scrollWidth") == 1280
