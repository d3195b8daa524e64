"""Signing in as a person does: password, then the code from the mail that the house itself sends."""

from __future__ import annotations

import re
from email import message_from_bytes, policy

from playwright.sync_api import Page, expect

from tests.browser.house import House

PASSWORD = "correct horse battery staple"


def give_password(page: Page, name: str) -> None:
    """The first step, on the sign-in page."""
    page.get_by_label("Email address").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    expect(page).to_have_url(re.compile("/admin/sign-in/code"))


def code_in_mail(house: House, name: str) -> str:
    """The newest code that arrived at the mail server; a worker must be at work."""
    house.wait(lambda: any(mail.recipients == (name,) for mail in house.smtp.messages))
    mail = [mail for mail in house.smtp.messages if mail.recipients == (name,)][-1]
    body = message_from_bytes(mail.data, policy=policy.default).get_body(("plain",))
    assert body is not None
    code = re.search(r"\b\d{6}\b", body.get_content())
    assert code is not None
    return code[0]


def give_code(page: Page, code: str) -> None:
    """The second step."""
    page.locator("input[name=code]").fill(code)
    page.locator("input[name=code]").press("Enter")
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
