"""The audit log as a page and as JSON: who may read it, what it tells, how it is paged and narrowed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape

import pytest
import pytest_asyncio

from postroom import AsyncOutbox, Email
from postroom.accounts.accounts import add_person
from postroom.accounts.audit import read_audit, write_audit
from postroom.accounts.tokens import add_token
from postroom.accounts.values import Role
from tests.admin.callers import caller
from tests.admin.front_door import House, open_house
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]

PAGE = "/admin/audit"
HOSTILE = "<script>alert(1)</script>"


@pytest_asyncio.fixture
async def house(sqlite_url: str) -> AsyncIterator[House]:
    async with open_house(sqlite_url) as house:
        yield house


async def write(outbox: AsyncOutbox, *lines: tuple[str, str]) -> None:
    for actor, what in lines:
        await outbox.database.run(write_audit(actor, what, address="192.0.2.1"))


async def test_an_admin_reads_who_did_what(house: House) -> None:
    browser = await house.signed_in(Role.ADMIN)
    overview = (await browser.get("/admin")).text
    page = (await browser.get(PAGE)).text

    assert f'href="{PAGE}"' in overview
    assert "admin@example.org" in page
    assert ">password_right<" in page
    assert ">sign_in<" in page


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
async def test_nobody_else_does(house: House, role: Role) -> None:
    browser = await house.signed_in(role)

    assert (await browser.get(PAGE)).status_code == 403
    assert PAGE not in (await browser.get("/admin")).text
    async with caller(house.app, await house.token(role)) as program:
        assert (await program.get("/api/admin/audit")).status_code == 403


async def test_an_admin_of_some_workspaces_does_not_read_of_all(house: House) -> None:
    """(E8)"""
    plan = add_person("some@example.org", role=Role.ADMIN, password="unused", workspaces=["hotel"])
    await house.outbox.database.run(add_token(await house.outbox.database.run(plan), "of some", scope=Role.ADMIN))
    async with caller(house.app, "of some") as admin:
        answers = [await admin.get(PAGE), await admin.get("/api/admin/audit")]
        overview = (await admin.get("/admin")).text

    assert [answer.status_code for answer in answers] == [403, 403]
    assert "every workspace" in answers[0].text
    assert PAGE not in overview


async def test_the_page_is_narrowed_by_person_and_act(house: House) -> None:
    browser = await house.signed_in(Role.ADMIN)
    await write(house.outbox, ("ada", "retried"), ("bob", "retried"), ("ada", "slept"))

    hers = (await browser.get(PAGE, params={"who": "ada"})).text
    both = (await browser.get(PAGE, params={"who": "ada", "act": "slept"})).text
    none = (await browser.get(PAGE, params={"who": "nobody"})).text

    assert (len(re.findall(r"<tr>\s*<td ", hers)), "bob" in hers) == (2, False)
    assert len(re.findall(r"<tr>\s*<td ", both)) == 1
    assert "No line matches" in none


async def test_pages_go_on_where_the_one_before_ended(house: House) -> None:
    browser = await house.signed_in(Role.ADMIN)
    await write(house.outbox, *[("ada", f"act {number:03}.") for number in range(130)])
    first = (await browser.get(PAGE, params={"who": "ada"})).text
    older = re.search(r'rel="next" href="([^"]*)"', first)
    assert older is not None
    second = (await browser.get(unescape(older[1]))).text

    seen = re.findall(r">(act \d{3}\.)</a>", first + second)
    assert len(seen) == len(set(seen)) == 130
    assert seen == sorted(seen, reverse=True)


async def test_what_others_wrote_is_escaped_and_a_place_that_is_none_is_the_first_page(house: House) -> None:
    browser = await house.signed_in(Role.ADMIN)
    await house.outbox.database.run(write_audit(HOSTILE, HOSTILE, address=HOSTILE, id=HOSTILE, reason=HOSTILE))
    answer = await browser.get(PAGE, params={"before": "nonsense"})

    assert answer.status_code == 200
    assert HOSTILE not in answer.text
    assert "&lt;script&gt;" in answer.text


async def test_programs_read_the_same_page_by_page(house: House) -> None:
    await write(house.outbox, ("ada", "one"), ("bob", "two"), ("ada", "three"))
    async with caller(house.app, await house.token(Role.ADMIN)) as program:
        first = (await program.get("/api/admin/audit", params={"actor": "ada", "limit": 1})).json()
        second = (
            await program.get("/api/admin/audit", params={"actor": "ada", "limit": 1, "before": first["next"]})
        ).json()

    assert [entry["what"] for entry in first["entries"] + second["entries"]] == ["three", "one"]
    assert first["entries"][0]["address"] == "192.0.2.1"


async def test_a_look_at_the_confirmation_is_no_act_and_the_act_tells_all(house: House) -> None:
    ids = [(await house.outbox.enqueue(Email(to="a@example.org", subject="Hi", text="x"))).id for _ in range(2)]
    browser = await house.signed_in(Role.OPERATOR)
    await browser.get("/admin/email-queue")
    before = await house.audited()
    asked = await browser.submit("/admin/email-queue/act", act="cancel-all", q="Hi")
    assert "Cancel 2 emails?" in asked.text
    assert 'name="reason"' in asked.text
    assert await house.audited() == before
    await browser.submit("/admin/email-queue/act", act="cancel-all", q="Hi", confirmed="1", reason="by mistake")
    page = await house.outbox.database.run(read_audit(), writes=False)
    done, begun = page.entries[:2]

    assert (done.actor, done.what, done.address) == ("operator@example.org", "cancel", "192.0.2.7")
    assert done.detail == {
        "act": begun.detail["act"],
        "state": "done",
        "filter": {"q": "Hi"},
        "reason": "by mistake",
        "done": 2,
    }
    assert {(await house.outbox.get(id)).status for id in ids} == {"cancelled"}


async def test_a_dry_run_through_the_api_is_no_act(house: House) -> None:
    await house.outbox.enqueue(Email(to="a@example.org", subject="Hi", text="x"))
    async with caller(house.app, await house.token(Role.OPERATOR, label="nightly")) as program:
        filter = {"status": "pending"}
        await program.post("/api/admin/outbox/cancel", json={"filter": filter, "dryRun": True})
        assert await house.audited() == []
        await program.post("/api/admin/outbox/cancel", json={"filter": filter, "reason": "old"})
    async with caller(house.app, await house.token(Role.ADMIN)) as admin:
        [done, begun] = (await admin.get("/api/admin/audit")).json()["entries"]

    assert (done["detail"]["done"], done["detail"]["reason"], done["detail"]["token"]) == (1, "old", "nightly")
    assert (begun["detail"]["state"], begun["detail"]["filter"]) == ("begun", filter)


async def test_the_page_tells_a_correction_with_what_was_and_what_is(house: House) -> None:
    id = (await house.outbox.enqueue(Email(to="wrong@example.org", subject="Helo", text="private"))).id
    await house.outbox.cancel(id)
    browser = await house.signed_in(Role.ADMIN)
    await browser.get("/admin")
    fields = {"to": "right@example.org", "subject": "Hello", "reason": "typing mistake"}
    await browser.submit(f"/admin/email-queue/{id}/replay", **fields)
    page = unescape((await browser.get(PAGE)).text)

    assert "wrong@example.org → right@example.org" in page
    assert "Helo → Hello" in page
    assert "typing mistake" in page
    assert f"/admin/email-queue/{id}" in page
    assert "private" not in page


async def test_what_no_text_can_hold_is_looked_for_in_vain_and_kept_out(store_url: str) -> None:
    async with open_house(store_url) as house:
        browser = await house.signed_in(Role.ADMIN)
        looked = await browser.get(PAGE, params={"who": "\0", "act": "\0"})
        id = (await house.outbox.enqueue(Email(to="a@example.org", subject="Hi", text="x"))).id
        done = await browser.submit("/admin/email-queue/act", act="cancel", ids=id, reason="why\0not")

        assert (looked.status_code, done.status_code) == (200, 303)
        assert "whynot" in (await browser.get(PAGE)).text
