"""The gallery in the admin app: who may look, who may send, to whom, and what is kept of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from postroom import Portal
from postroom.accounts.audit import read_audit
from postroom.accounts.values import Role
from postroom.gallery.collection import Collection
from tests.admin.front_door import House, open_house

FRONT = "/admin/templates"
WELCOME = f"{FRONT}/shop/welcome"
FORM = {"language": "de", "sample": "ada", "to": "somebody.else@example.org"}


@pytest_asyncio.fixture
async def house(sqlite_url: str, shop: Portal) -> AsyncIterator[House]:
    async with open_house(sqlite_url) as house:
        house.app.state.gallery = Collection(lambda: {"shop": shop}, live=False)
        yield house


@pytest.mark.parametrize(
    "path", [FRONT, WELCOME, f"{WELCOME}/document", f"{FRONT}/changed", f"{FRONT}/gallery.js", f"{FRONT}/gallery.css"]
)
async def test_nobody_looks_who_is_not_signed_in(house: House, path: str) -> None:
    answer = await house.browser().get(path)

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/admin/sign-in?next=")
    assert "Welcome" not in answer.text


@pytest.mark.parametrize("role", Role)
async def test_everybody_who_is_signed_in_may_look(house: House, role: Role) -> None:
    browser = await house.signed_in(role)
    front = await browser.get(FRONT)
    page = await browser.get(WELCOME)
    document = await browser.get(f"{WELCOME}/document")

    assert "The Shop" in front.text
    assert "<strong>Welcome, Ada</strong>" in page.text
    assert "frame-ancestors 'self'" in document.headers["content-security-policy"]
    assert ("Send me this" in page.text) == role.may(Role.OPERATOR)
    assert ("Operators can have this sent to themselves" in page.text) == (role is Role.VIEWER)


async def test_an_operator_is_sent_the_sample_and_nobody_else_is(house: House) -> None:
    browser = await house.signed_in(Role.OPERATOR)
    await browser.get(WELCOME)
    answer = await browser.submit(f"{WELCOME}/send", **FORM)
    told = await browser.get(answer.headers["location"])
    [email] = (await house.outbox.list(kind="shop.welcome")).emails
    letter = await house.outbox.letter(email.id)

    assert answer.status_code == 303
    assert [str(each) for each in letter.to] == ["operator@example.org"]
    assert (letter.subject, letter.tags) == ("Willkommen, Ada", ("preview",))
    assert "On its way to your address." in told.text
    assert f'href="/admin/email-queue/{email.id}"' in told.text
    assert (await house.audited())[-1] == ("operator@example.org", "enqueue")


async def test_a_viewer_cannot_send(house: House) -> None:
    browser = await house.signed_in(Role.VIEWER)
    await browser.get("/admin")
    answer = await browser.submit(f"{WELCOME}/send", **FORM)

    assert answer.status_code == 403
    assert (await house.outbox.list(kind="shop.welcome")).emails == ()
    assert (await house.audited())[-1] == ("viewer@example.org", "not_allowed")


@pytest.mark.parametrize("headers", [{"sec-fetch-site": "cross-site"}, {"origin": "http://evil.example"}])
async def test_another_page_cannot_have_anything_sent(house: House, headers: dict[str, str]) -> None:
    browser = await house.signed_in(Role.OPERATOR)
    await browser.get(WELCOME)
    forged = await browser.submit(f"{WELCOME}/send", headers=headers, **FORM)
    without_token = await browser.submit(f"{WELCOME}/send", csrf="", **FORM)

    assert (forged.status_code, without_token.status_code) == (403, 403)
    assert (await house.outbox.list(kind="shop.welcome")).emails == ()


async def test_what_cannot_be_sent_is_told_and_on_record(house: House, shop: Portal) -> None:
    (shop.root / "welcome" / "body.txt").write_text("No link, {{ name }}")
    browser = await house.signed_in(Role.OPERATOR)
    page = await browser.get(f"{WELCOME}?language=en")
    answer = await browser.submit(f"{WELCOME}/send", language="en", sample="ada")
    unknown = await browser.submit(f"{FRONT}/shop/nothing/send", **FORM)
    lines = (await house.outbox.database.run(read_audit(), writes=False)).entries[:2]

    assert "This cannot be rendered" in page.text
    assert answer.status_code == 422
    assert "Not sent: shop.welcome" in answer.text
    assert unknown.status_code == 404
    assert [(line.what, line.detail["template"]) for line in lines] == [
        ("enqueue", "shop.nothing"),
        ("enqueue", "shop.welcome"),
    ]


async def test_files_that_change_under_a_running_application_are_not_read_again(house: House, shop: Portal) -> None:
    """The portal may be the application's own: it sends what it was deployed with, and the page shows that."""
    browser = await house.signed_in(Role.VIEWER)
    before = await browser.get(WELCOME)
    (shop.root / "welcome" / "subject.txt").write_text("Half a deployment")
    after = await browser.get(WELCOME)

    assert "Welcome, Ada" in before.text
    assert "Half a deployment" not in after.text
    assert 'data-state=""' in after.text
    assert (await browser.get(f"{FRONT}/changed?since=x")).json() == {"state": ""}


async def test_the_menu_leads_there_where_the_settings_name_portals(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_house(sqlite_url) as house:
        without = await (await house.signed_in(Role.VIEWER)).get("/admin")
    monkeypatch.setenv("POSTROOM_PORTALS", '["examples.portals.mail:admin"]')
    async with open_house(f"{sqlite_url}.2") as house:
        browser = await house.signed_in(Role.VIEWER)
        there = await browser.get("/admin")
        front = await browser.get(FRONT)

    assert f'href="{FRONT}"' not in without.text
    assert f'href="{FRONT}"' in there.text
    assert "Alder Admin" in front.text


async def test_a_developer_without_an_address_is_told_so(sqlite_url: str, shop: Portal) -> None:
    async with open_house(sqlite_url, dev=True) as house:
        house.app.state.gallery = Collection(lambda: {"shop": shop}, live=True)
        browser = house.browser("http://localhost", client="127.0.0.1")
        page = await browser.get(WELCOME)

    assert "developer has no address" in page.text
    assert "Send me this" not in page.text


async def test_it_works_wherever_the_app_is_mounted(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_PORTALS", '["examples.portals.mail:admin"]')
    async with open_house(sqlite_url, mounted="/desk") as house:
        browser = house.browser()
        answer = await browser.get(f"/desk{FRONT}/admin/tfa")

    assert answer.headers["location"].startswith("/desk/admin/sign-in?next=/desk/admin/templates/admin/tfa")
