"""The pages of what came back, as plain HTTP: what is on them, who sees what, what a stranger's message cannot do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape
from itertools import count
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient, Response

from postroom import AsyncOutbox
from postroom.accounts.audit import read_audit
from postroom.accounts.values import Role
from postroom.admin.app import build
from postroom.store.returns import Mention, Note, Raw, note_returns
from postroom.store.suppressions import suppressions, unsuppress
from postroom.vocabulary import BounceClass, EmailId, Return
from tests.admin.test_pages import HOSTILE, letter
from tests.admin.test_suppressions_pages import as_somebody, text_of
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]

PAGE = "/admin/returns"
ADA = "ada@example.org"
LOST = "\N{REPLACEMENT CHARACTER}"
_ids = count(1)


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


async def ours(outbox: AsyncOutbox, workspace: str = "hotel", **fields: Any) -> EmailId:
    return (await outbox.enqueue(letter(), workspace=workspace, **fields)).id


async def came_back(outbox: AsyncOutbox, id: EmailId | None = None, *, raw: bytes | None = None, **fields: Any) -> str:
    """A note about an email, or about none; its id."""
    usual: dict[str, Any] = {
        "source": "mail", "source_id": str(next(_ids)), "what": Return.BOUNCED, "address": ADA,
        "bounce_class": BounceClass.PERMANENT, "status": "5.1.1", "code": 550, "text": "550 5.1.1 no such user",
        "mentions": (Mention(id=id, signed=True),) if id else (),
    }  # fmt: skip
    kept = None if raw is None else Raw(content=raw, size=len(raw))
    [noted] = await outbox.database.run(note_returns([Note(**(usual | fields))], raw=kept))
    assert noted.id is not None
    return noted.id


def rows(page: Response) -> list[str]:
    """The ids of what a list shows."""
    return re.findall(rf'href="{PAGE}/([0-9a-f-]+)\?next=', page.text)


async def test_the_list_tells_what_came_back_from_whom_about_which_email_and_what_followed(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    email = await ours(outbox)
    id = await came_back(outbox, email)
    page = await browser.get(PAGE)

    assert rows(page) == [id]
    assert "bounced there is no such mailbox (550 5.1.1) ada@example.org Hi suppressed: hard bounce" in text_of(page)
    assert f'href="/admin/email-queue/{email}"' in page.text
    assert 'href="/admin/suppressions?q=ada%40example.org"' in page.text or "q=ada@example.org" in page.text
    assert f'href="{PAGE}" aria-current="page"' in page.text


async def test_what_nobody_can_place_says_why_and_stands_under_unclear(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    await came_back(outbox, await ours(outbox))
    strange = await came_back(outbox)
    junk = await came_back(outbox, what="unreadable", address="", problem="it is no report", bounce_class=None)
    page = await browser.get(PAGE, params={"unclear": "1"})

    assert rows(page) == [junk, strange]
    assert "it does not say which email it is about unclear" in text_of(page)
    assert "nobody is named it is no report unclear" in text_of(page)


async def test_the_list_is_narrowed_by_kind_address_and_email_and_gone_through_by_a_cursor(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    email = await ours(outbox)
    bounced = await came_back(outbox, email)
    replied = await came_back(outbox, what=Return.REPLIED, bounce_class=None, address="eve@x.org")
    many = [await came_back(outbox, address="flood@x.org") for _ in range(51)]

    assert rows(await browser.get(PAGE, params={"q": "ADA@example.org"})) == [bounced]
    assert rows(await browser.get(PAGE, params={"q": email})) == [bounced]
    assert rows(await browser.get(PAGE, params={"kind": "replied"})) == [replied]
    assert (
        rows(await browser.get(PAGE, params={"kind": "nonsense", "before": "nonsense", "unclear": "2"}))
        == [*reversed(many)][:50]
    )
    first = await browser.get(PAGE)
    onward = re.search(r'rel="next" href="([^"]*)"', first.text)
    assert onward is not None
    second = await browser.get(unescape(onward[1]))
    assert rows(first) + rows(second) == [*reversed(many), replied, bounced]
    assert 'rel="next"' not in second.text
    assert "Nothing matches" in (await browser.get(PAGE, params={"q": "nobody@x.org"})).text


@pytest.mark.parametrize(
    ("query", "told"),
    [("", "Nothing has come back"), ("?unclear=1", "Nothing is unclear"), ("?q=%00", "Nothing has come back")],
)
async def test_where_there_is_nothing_that_is_said(browser: AsyncClient, query: str, told: str) -> None:
    assert told in (await browser.get(f"{PAGE}{query}")).text


async def test_one_return_tells_all_that_was_read_and_shows_the_message(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    email = await ours(outbox)
    id = await came_back(outbox, email, raw=b"Subject: no\r\n\r\nthere is nobody\r\n", reader="dsn")
    page = await browser.get(f"{PAGE}/{id}", params={"next": f"{PAGE}?kind=bounced"})

    assert "There is no such mailbox (550 5.1.1). 550 5.1.1 no such user" in text_of(page)
    assert "Class permanent Reply code 550 Status code 5.1.1 Read as dsn" in text_of(page)
    assert "Subject: no\n\nthere is nobody\n</pre>" in page.text
    assert f'href="{PAGE}?kind=bounced">← What came back' in page.text
    assert f'href="/admin/email-queue/{email}"' in page.text
    elsewhere = await browser.get(f"{PAGE}/{id}", params={"next": "https://elsewhere.example"})
    assert "elsewhere.example" not in elsewhere.text.split("<main", 1)[1]


async def test_an_entry_that_was_taken_away_is_not_what_followed(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    id = await came_back(outbox, await ours(outbox))
    [entry] = await outbox.database.run(suppressions(limit=9))
    await outbox.database.run(unsuppress([entry.id]))

    assert "no entry among the suppressions" in text_of(await browser.get(f"{PAGE}/{id}"))


async def test_a_download_is_plain_text_that_no_browser_takes_for_a_page(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    raw = HOSTILE.encode() + b"\0\xff"
    id = await came_back(outbox, raw=raw)
    answer = await browser.get(f"{PAGE}/{id}/source")

    assert answer.content == raw
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''return-{id}.txt"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["cache-control"] == "no-store"


async def test_a_strangers_message_is_seen_and_not_obeyed(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    direction, screen = "\u202egnp.exe \u2066", "\x1b[2J\0"
    text = f"</pre>{HOSTILE}{direction}{screen}"
    id = await came_back(
        outbox, raw=text.encode(), what="unreadable", bounce_class=None, address=f'{HOSTILE}"@x.org', text=text,
        problem=text, status=HOSTILE, message_id=HOSTILE, feedback=HOSTILE, reader=HOSTILE,
    )  # fmt: skip

    for path in (PAGE, f"{PAGE}?unclear=1", f"{PAGE}/{id}", f"{PAGE}?q={HOSTILE}", f"{PAGE}/{id}?next={HOSTILE}"):
        page = await browser.get(path)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert not {"\u202e", "\u2066", "\x1b", "\0"} & {*page.text}, path
        assert "script-src 'self'" in page.headers["content-security-policy"]
    shown = (await browser.get(f"{PAGE}/{id}")).text
    assert (
        f"&lt;/pre&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;{LOST}gnp"
        in shown
    )


@pytest.mark.parametrize("octets", [b"\0", b"<", b"\xff", "\u202e".encode(), b"a b\n"])
async def test_a_megabyte_of_anything_is_shown_up_to_a_bound_and_kept_whole(
    browser: AsyncClient, outbox: AsyncOutbox, octets: bytes
) -> None:
    raw = (octets * 1_000_000)[:1_000_000]
    id = await came_back(outbox, raw=raw, what="unreadable", bounce_class=None, address="")
    page = await browser.get(f"{PAGE}/{id}")

    assert page.status_code == 200
    assert len(page.content) < 1_300_000
    assert "it is shown as text, and only its beginning" in text_of(page)
    assert (await browser.get(f"{PAGE}/{id}/source")).content == raw


@pytest.mark.parametrize(
    "id",
    ["%00", "nothing", "ffffffff-ffff-ffff-ffff-ffffffffffff", "x" * 5_000, "0198c5b2-0000-7000-8000-000000000000"],
)
@pytest.mark.parametrize("tail", ["", "/source"])
async def test_what_is_no_return_is_not_found(browser: AsyncClient, id: str, tail: str) -> None:
    answer = await browser.get(f"{PAGE}/{id}{tail}")

    assert answer.status_code == 404
    assert "Traceback" not in answer.text


async def test_people_see_what_came_back_to_their_workspaces_alone(outbox: AsyncOutbox) -> None:
    theirs = await came_back(outbox, await ours(outbox), raw=b"for the hotel")
    others = await came_back(outbox, await ours(outbox, "bank"), raw=b"for the bank")
    nobodys = await came_back(outbox, raw=b"for nobody", what="unreadable", bounce_class=None)
    async with as_somebody(outbox, Role.VIEWER, "hotel") as client:
        lists = [rows(await client.get(f"{PAGE}{query}")) for query in ("", f"?q={ADA}", "?kind=bounced")]
        unclear = rows(await client.get(f"{PAGE}?unclear=1"))
        seen = [(await client.get(f"{PAGE}/{id}{tail}")).status_code for id in (theirs, others, nobodys)
                for tail in ("", "/source")]  # fmt: skip
    async with as_somebody(outbox, Role.VIEWER) as client:
        everything = rows(await client.get(PAGE))

    assert (lists, unclear, everything) == ([[theirs]] * 3, [], [nobodys, others, theirs])
    assert seen == [200, 200, 404, 404, 404, 404]


async def test_of_a_sensitive_email_no_message_is_shown_and_who_asked_for_it_is_on_record(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    email = await ours(outbox, sensitive=True)
    id = await came_back(outbox, email, raw=b"your code is 123456")
    page, source = await browser.get(f"{PAGE}/{id}"), await browser.get(f"{PAGE}/{id}/source")

    assert ("123456" in page.text, "Sensitive" in page.text, "(sensitive)" in page.text) == (False, True, True)
    assert (source.status_code, "123456" in source.text) == (404, False)
    [line] = (await outbox.database.run(read_audit(), writes=False)).entries
    assert (line.what, line.detail) == ("sensitive_refused", {"id": email, "act": "show"})


async def test_looking_is_not_on_record(browser: AsyncClient, outbox: AsyncOutbox) -> None:
    id = await came_back(outbox, await ours(outbox), raw=b"x")
    for path in (PAGE, f"{PAGE}/{id}", f"{PAGE}/{id}/source"):
        assert (await browser.get(path)).status_code == 200

    assert (await outbox.database.run(read_audit(), writes=False)).entries == ()


async def test_every_field_has_a_label_every_table_a_caption_and_every_page_one_heading(
    browser: AsyncClient, outbox: AsyncOutbox
) -> None:
    id = await came_back(outbox, await ours(outbox), raw=b"x")
    for path in (PAGE, f"{PAGE}?unclear=1&q=x", f"{PAGE}/{id}"):
        page = (await browser.get(path)).text
        fields = set(re.findall(r'<(?:input|select|textarea)[^>]* id="([^"]+)"', page)) - {"keys-on"}

        assert fields == set(re.findall(r'<label for="([^"]+)"', page)), path
        assert len(re.findall("<h1>", page)) == 1, path
        assert page.count("<table") == page.count("<caption"), path
        assert all('scope="' in heading for heading in re.findall("<th(?: [^>]*)?>", page)), path


async def test_the_pages_answer_on_either_store(store_url: str) -> None:
    async with AsyncOutbox(store_url, sender="desk@hillhouse.example") as outbox:
        id = await came_back(outbox, await ours(outbox), raw=b"x")
        async with as_somebody(outbox, Role.VIEWER, "hotel") as client:
            answers = [await client.get(f"{PAGE}{tail}") for tail in ("", "?kind=bounced", f"?q={ADA}", f"/{id}")]

        assert [answer.status_code for answer in answers] == [200] * 4
