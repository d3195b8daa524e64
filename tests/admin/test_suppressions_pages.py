"""The page of who is not to be mailed, as plain HTTP: what is on it, what its forms do, what never gets out."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient, Response

from postroom import AsyncOutbox
from postroom.accounts.audit import read_audit
from postroom.accounts.values import Role
from postroom.admin.app import build
from postroom.operate import Actor
from postroom.operate.campaigns import AsyncCampaignOperations
from postroom.store.suppressions import Stop, Suppression, suppress, suppressions
from postroom.vocabulary import SuppressionReason, SuppressionScope
from tests.admin.callers import token_for
from tests.admin.test_pages import HOSTILE, letter, press

PAGE = "/admin/suppressions"
ADA = "ada@example.org"


@pytest.fixture
async def outbox(sqlite_url: str) -> AsyncIterator[AsyncOutbox]:
    async with AsyncOutbox(sqlite_url, sender="desk@hillhouse.example") as outbox:
        await outbox.migrate()
        yield outbox


@pytest.fixture
async def browser(outbox: AsyncOutbox) -> AsyncIterator[AsyncClient]:
    """Somebody at this machine, under `--dev`."""
    async with AsyncClient(transport=ASGITransport(build(outbox, dev=True)), base_url="http://localhost") as client:
        yield client


async def stopped(outbox: AsyncOutbox, address: str = ADA, **fields: Any) -> Suppression:
    stop = Stop(**({"address": address, "reason": SuppressionReason.MANUAL} | fields))
    [entry] = await outbox.database.run(suppress([stop]))
    return entry


async def entries(outbox: AsyncOutbox) -> list[Suppression]:
    return await outbox.database.run(suppressions(limit=1_000), writes=False)


async def upload(browser: AsyncClient, content: bytes, **fields: str) -> Response:
    """Send the form of a list, with the token that the page carries."""
    found = re.search(r'name="csrf" value="([^"]*)"', (await browser.get(PAGE)).text)
    assert found is not None
    files = {"file": ("list.csv", content, "text/csv")}
    return await browser.post(f"{PAGE}/import", data={"csrf": found[1], **fields}, files=files)


def text_of(response: Response) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", response.text)).split())


async def test_the_list_tells_what_is_stopped_why_since_when_and_by_which_email(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    id = (await outbox.enqueue(letter())).id
    await stopped(
        outbox,
        reason=SuppressionReason.UNSUBSCRIBE,
        scope=SuppressionScope.WORKSPACE,
        workspace="hotel",
        evidence="by the link",
        email_id=id,
    )
    page = await browser.get(PAGE)

    assert f'<th scope="row"><bdi>{ADA}</bdi></th>' in page.text
    assert "mail of workspace hotel that can be unsubscribed from" in text_of(page)
    assert "Unsubscribe : by the link" in text_of(page)
    assert f'href="/admin/email-queue/{id}"' in page.text
    assert f'href="{PAGE}" aria-current="page"' in page.text


async def test_any_part_of_an_address_is_found_and_wildcards_are_taken_as_they_stand(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    for name in ("a_b", "axb"):
        await stopped(outbox, f"{name}@example.org")
    found = (await browser.get(PAGE, params={"q": "A_B"})).text

    assert ("a_b@example.org" in found, "axb@example.org" in found) == (True, False)
    assert "No entry matches" in (await browser.get(PAGE, params={"q": "%"})).text
    assert (await browser.get(PAGE, params={"reason": "nonsense", "before": "nonsense"})).status_code == 200


async def test_an_address_is_added_and_what_is_wrong_is_told_in_the_form(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    fields = {"address": "Ada@example.org", "scope": "all", "reason": "manual", "expires_at": "2999-12-31"}
    done = await press(browser, PAGE, PAGE, **fields, evidence="said so")
    wrong = await press(browser, PAGE, PAGE, address="grace@example.org", scope="kind", workspace="hotel")

    assert (done.status_code, done.headers["location"].partition("&added=")[0]) == (
        303,
        f"{PAGE}?notice=suppress&count=1",
    )
    assert f"Added. From now on, {ADA} gets no mail." in text_of(await browser.get(done.headers["location"]))
    assert (wrong.status_code, "kind: goes with the scope 'kind'" in text_of(wrong)) == (422, True)
    assert 'value="grace@example.org"' in wrong.text, "what was typed is not lost"
    [entry] = await entries(outbox)
    assert (entry.address, entry.evidence, entry.actor) == (ADA, "said so", "developer")


@pytest.mark.parametrize("form", ["", "/import"])
@pytest.mark.parametrize("scope", ["workspace", "kind"])
async def test_a_workspace_that_is_not_named_is_asked_for(
    browser: AsyncClient, outbox: AsyncOutbox, form: str, scope: str
) -> None:
    fields = {"address": ADA, "scope": scope, "workspace": "", "kind": "news" * (scope == "kind")}
    page = await (upload(browser, b"ada@example.org\n", **fields) if form else press(browser, PAGE, PAGE, **fields))

    assert page.status_code == 422
    assert "workspace: is missing; name it, or choose mail without a workspace" in text_of(page)
    assert f'<option value="{scope}" selected>' in page.text, "what was chosen is not lost"
    assert await entries(outbox) == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"scope": "nameless"}, "mail without a workspace that can be unsubscribed from"),
        ({"scope": "nameless", "kind": "news"}, "mail of kind news without a workspace that can be unsubscribed from"),
        ({"scope": "workspace", "workspace": "hotel"}, "mail of workspace hotel that can be unsubscribed from"),
        ({"scope": "all", "reason": "complaint"}, "mail"),
    ],
)
async def test_it_is_said_what_an_entry_stops(browser: AsyncClient, fields: dict[str, str], told: str) -> None:
    done = await press(browser, PAGE, PAGE, address=ADA, **fields)
    page = await browser.get(done.headers["location"])

    assert f"Added. From now on, {ADA} gets no {told}." in text_of(page)
    assert ("notice-done" in page.text, "notice-caution" in page.text) == (True, False)


async def test_a_workspace_of_no_campaign_is_taken_with_a_caution(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    campaigns = AsyncCampaignOperations(outbox)
    await campaigns.change_settings("hotel", {"daily_quota": 5}, by=Actor(name="grace"))
    form = {"address": ADA, "scope": "workspace"}
    pages = [
        await browser.get((await press(browser, PAGE, PAGE, **form, workspace=name)).headers["location"])
        for name in ("hotl", "hotel")
    ]

    assert "No campaign is of a workspace hotl: look whether it is spelt like that." in text_of(pages[0])
    assert ["notice-caution" in page.text for page in pages] == [True, False]
    assert '<option value="hotel"></option>' in pages[0].text


async def test_removing_asks_first_and_says_what_the_law_usually_wants(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    entry = await stopped(outbox, reason=SuppressionReason.COMPLAINT)
    asked = await press(browser, PAGE, f"{PAGE}/{entry.id}/remove", next=f"{PAGE}?q=ada")

    assert (asked.status_code, await entries(outbox)) == (200, [entry])
    assert "The person has said no: they complained. The law usually wants that to be kept." in text_of(asked)
    done = await press(browser, PAGE, f"{PAGE}/{entry.id}/remove", next=f"{PAGE}?q=ada", confirmed="1")
    assert done.headers["location"] == f"{PAGE}?q=ada&notice=unsuppress&count=1"
    assert await entries(outbox) == []
    again = await press(browser, PAGE, f"{PAGE}/{entry.id}/remove", next="https://elsewhere.example")
    assert again.headers["location"] == "/admin?notice=no_suppression&count=1"


@pytest.mark.parametrize("id", ["%00", "nothing", "ffffffff-ffff-ffff-ffff-ffffffffffff", "x" * 5_000])
async def test_what_is_no_entry_is_not_here_any_more(browser: AsyncClient, outbox: AsyncOutbox, id: str) -> None:
    await stopped(outbox)
    for confirmed in ("", "1"):
        answer = await press(browser, PAGE, f"{PAGE}/{id}/remove", confirmed=confirmed)
        assert answer.headers["location"] == f"{PAGE}?notice=no_suppression&count=1"

    assert len(await entries(outbox)) == 1


async def test_a_list_is_imported_with_its_report_shown(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    page = await upload(
        browser, b"\xef\xbb\xbfaddress\nada@example.org\nnobody\n", scope="workspace", workspace="hotel"
    )

    assert "2 lines: 1 added, 0 known already, 1 refused." in text_of(page)
    assert "Line 3 address: 'nobody' is not an email address" in text_of(page)
    [entry] = await entries(outbox)
    assert (entry.address, entry.scope, entry.workspace, entry.reason) == (ADA, "workspace", "hotel", "imported")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"x" * 10_000_000, "more than 65,536 characters"),
        (b"\xfe\xff" * 5_000_000, "save it as CSV in UTF-8"),
        (b"no\n" * 3_000_000, "none of its first 1,000 lines could be taken"),
    ],
    ids=["one line", "octets", "words"],
)
async def test_ten_megabytes_of_garbage_are_refused_with_the_remedy(
    browser: AsyncClient, outbox: AsyncOutbox, content: bytes, told: str
) -> None:
    page = await upload(browser, content)

    assert (page.status_code, told in text_of(page)) == (422, True)
    assert await entries(outbox) == []


async def test_an_import_without_a_file_says_what_is_missing(browser: AsyncClient) -> None:
    page = await press(browser, PAGE, f"{PAGE}/import", scope="all")

    assert (page.status_code, "Choose a file first." in page.text) == (422, True)


async def test_what_is_exported_is_a_file_that_can_be_imported_again(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await stopped(outbox, "=1+1@example.org", evidence="@SUM(A1)")
    for number in range(3):
        await stopped(outbox, f"guest{number}@example.org")
    answer = await press(browser, PAGE, f"{PAGE}/export")
    before = await entries(outbox)
    page = await upload(browser, answer.content)

    assert answer.headers["content-disposition"] == 'attachment; filename="suppressions.csv"'
    assert "sandbox" in answer.headers["content-security-policy"]
    assert not re.search(r"(^|,)[=@]", answer.text, re.MULTILINE)
    assert "4 lines: 0 added, 4 known already, 0 refused." in text_of(page)
    assert {each.address for each in before} == {each.address for each in await entries(outbox)}
    done = [entry.what for entry in (await outbox.database.run(read_audit(), writes=False)).entries]
    assert done == ["suppressions_import", "suppressions_import", "suppressions_export"]


async def test_what_others_have_written_is_shown_and_not_run(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await stopped(outbox, "<b>@example.org", evidence=HOSTILE, scope=SuppressionScope.WORKSPACE, workspace=HOSTILE)
    page = await browser.get(PAGE, params={"q": "<b>"})
    report = await upload(browser, f"address\n{HOSTILE}\n".encode())

    for answer in (page, report):
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
    assert "&lt;b&gt;@example.org" in page.text


async def test_a_suppressed_recipient_is_shown_on_the_page_of_an_email(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    id = (await outbox.enqueue(letter(to="Ada@example.org"))).id
    before = (await browser.get(f"/admin/email-queue/{id}")).text
    await stopped(outbox)
    after = (await browser.get(f"/admin/email-queue/{id}")).text

    assert "suppressed:" not in before
    assert f'href="{PAGE}?q=Ada%40example.org">suppressed: manual</a>' in after


async def test_every_field_has_a_label_and_every_column_a_heading(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    await stopped(outbox)
    page = (await browser.get(PAGE)).text
    fields = set(re.findall(r'<(?:input|select)[^>]* id="([^"]+)"', page)) - {"keys-on"}

    assert len(fields) > 10
    assert fields == set(re.findall(r'<label for="([^"]+)"', page))
    assert page.count('<th scope="col">') == 6
    assert page.count("<table") == page.count("<caption") == 1
    assert len(re.findall(r"<h1>", page)) == 1


@pytest.mark.parametrize(("role", "shown"), [(Role.VIEWER, False), (Role.OPERATOR, True)])
async def test_who_may_only_look_has_no_buttons(outbox: AsyncOutbox, role: Role, shown: bool) -> None:
    entry = await stopped(outbox)
    async with as_somebody(outbox, role) as client:
        page = (await client.get(PAGE)).text

    assert ADA in page
    assert (f"{PAGE}/{entry.id}/remove" in page, 'id="add-it"' in page, 'id="export"' in page) == (shown,) * 3


async def test_who_sees_one_workspace_is_offered_what_is_theirs(outbox: AsyncOutbox) -> None:
    shared = await stopped(outbox)
    own = await stopped(outbox, scope=SuppressionScope.WORKSPACE, workspace="hotel")
    other = await stopped(outbox, "grace@example.org", scope=SuppressionScope.WORKSPACE, workspace="bank")
    async with as_somebody(outbox, Role.OPERATOR, "hotel") as client:
        page = (await client.get(PAGE)).text
        exported = (await client.post(f"{PAGE}/export")).text
        refused = await client.post(PAGE, data={"address": ADA, "scope": "all"})
        unseen = await client.post(f"{PAGE}/{other.id}/remove", data={"confirmed": "1"})
        shared_one = await client.post(f"{PAGE}/{shared.id}/remove", data={"confirmed": "1"})

    assert [f"{PAGE}/{each.id}/remove" in page for each in (own, shared, other)] == [True, False, False]
    assert ("grace" in page, "grace" in exported, 'option value="all"' in page) == (False, False, False)
    assert '<option value="hotel">' in page
    assert (refused.status_code, "one of your workspaces" in refused.text) == (422, True)
    assert unseen.headers["location"].startswith(f"{PAGE}?notice=no_suppression")
    assert shared_one.status_code == 403
    assert len(await entries(outbox)) == 3


def as_somebody(outbox: AsyncOutbox, role: Role, *workspaces: str) -> AsyncClient:
    """A client with the token of somebody new."""
    from postroom import Outbox

    with Outbox(outbox.database_url) as blocking:
        token = token_for(blocking, role, workspaces=workspaces or None)
    transport = ASGITransport(build(outbox), client=("127.0.0.1", 40000))
    return AsyncClient(transport=transport, base_url="http://localhost", headers={"Authorization": f"Bearer {token}"})
