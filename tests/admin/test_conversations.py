"""An attempt told as a conversation, and recipients × attempts as a page and as JSON show them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from postroom import AsyncOutbox, Outbox
from postroom.accounts.values import Role
from postroom.admin.conversations import conversation
from postroom.operate.values import AttemptView, ResultView
from postroom.web import admin
from tests.admin.callers import caller, token_for
from tests.store.journey import claim, dead, email, settle

NOW = datetime(2026, 5, 17, 3, 0, tzinfo=UTC)
ADA, BEN = "ada@example.org", "ben@example.org"
HOSTILE = "<script>alert(1)</script>"


def attempt(**said: Any) -> AttemptView:
    return AttemptView(**({"number": 1, "at": NOW, "outcome": "retrying"} | said))


def spoken(view: AttemptView) -> list[tuple[str, tuple[str, ...], bool]]:
    return [(line.ours.partition(" ")[0], line.theirs, line.went_well) for line in conversation(view)]


def test_a_refused_password_ends_the_conversation_there() -> None:
    view = attempt(
        phase="auth",
        code=535,
        enhanced="5.7.8",
        text="no",
        milliseconds={"connect": 1.0, "greeting": 2.0, "hello": 3.0},
    )

    assert spoken(view) == [
        ("(we", (), True),
        ("(we", (), True),
        ("EHLO", (), True),
        ("AUTH", ("535 5.7.8 no",), False),
    ]
    assert [line.milliseconds for line in conversation(view)] == [1.0, 2.0, 3.0, None]


def test_on_a_connection_that_was_open_it_begins_with_mail() -> None:
    view = attempt(phase="dot", code=250, text="queued", outcome="sent", milliseconds={"mail": 1.0, "dot": 2.0})

    assert [ours for ours, _, _ in spoken(view)] == ["MAIL", "RCPT", "DATA", "(the", "."]
    assert spoken(view)[-1] == (".", ("250 queued",), True)


def test_each_recipient_who_was_refused_is_told_at_rcpt_and_the_others_at_the_dot() -> None:
    view = attempt(
        phase="rcpt",
        code=550,
        text="gone",
        milliseconds={"mail": 1.0, "dot": 2.0},
        results=(
            ResultView(address=ADA, fate="accepted", code=250, text="queued"),
            ResultView(address=BEN, fate="refused", code=550, text="gone"),
        ),
    )

    assert spoken(view)[1] == ("RCPT", (f"{BEN}: 550 gone",), False)
    assert spoken(view)[-1] == (".", ("250 queued",), True)


def test_a_refusal_at_the_dot_is_not_told_at_rcpt() -> None:
    results = tuple(ResultView(address=each, fate="refused", code=554, text="spam") for each in (ADA, BEN))
    view = attempt(phase="dot", code=554, text="spam", milliseconds={"dot": 1.0}, results=results)

    assert spoken(view)[1] == ("RCPT", (), True)
    assert spoken(view)[-1] == (".", ("554 spam",), False)


def test_where_the_connection_was_cut_that_is_said_in_place_of_a_reply() -> None:
    view = attempt(phase="dot", fault="cut", text="connection reset", milliseconds={"mail": 1.0, "body": 1.0})

    assert spoken(view)[-1] == (".", ("cut: connection reset",), False)


def test_an_attempt_without_a_server_has_no_conversation() -> None:
    assert conversation(attempt(takeover=True)) == ()


@pytest.fixture
async def viewer(outbox: Outbox) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        AsyncOutbox(outbox.database_url) as awaiting,
        caller(admin(awaiting), token_for(outbox, Role.VIEWER)) as client,
    ):
        yield client


def refused(outbox: Outbox, *, results: Any, **said: Any) -> str:
    """An email to two that died like this."""
    id = outbox.enqueue(email(to=[ADA, BEN])).id
    [claimed] = claim(outbox)
    detail = {"outcome": "dead", "phase": "rcpt", "code": 550, "milliseconds": {"mail": 12.3}, **said}
    detail |= {"results": results} if results else {}
    settle(outbox, [dead(claimed, detail=json.dumps(detail))])
    return id


async def test_the_page_shows_recipients_by_attempts_and_the_conversation(
    viewer: httpx.AsyncClient, outbox: Outbox
) -> None:
    id = refused(outbox, results=[["deferred", 450, "4.2.1", "busy"], ["refused", 550, "5.1.1", HOSTILE]])
    page = (await viewer.get(f"/admin/email-queue/{id}")).text

    [grid] = re.findall(r'<table class="grid">.*?</table>', page, re.DOTALL)
    [header, ada, ben] = re.findall(r"<tr>.*?</tr>", grid, re.DOTALL)
    assert "Attempt 1" in header
    assert "decided at RCPT" in header
    assert "mail <b>12 ms</b>" in header
    assert ADA in ada
    assert "450 4.2.1 busy" in ada
    assert BEN in ben
    assert "550 5.1.1 &lt;script&gt;" in ben
    assert '<details class="conversation"' in page
    assert f"{BEN}: 550 5.1.1 &lt;script&gt;" in page
    assert HOSTILE not in page


async def test_a_row_from_before_results_were_kept_still_has_its_page(
    viewer: httpx.AsyncClient, outbox: Outbox
) -> None:
    id = refused(outbox, results=None, recipients={"deferred": 1, "refused": 1})
    answer = await viewer.get(f"/admin/email-queue/{id}")

    assert answer.status_code == 200
    assert "Attempt 1" in answer.text


async def test_the_api_tells_what_each_recipient_got(viewer: httpx.AsyncClient, outbox: Outbox) -> None:
    id = refused(outbox, results=[None, ["refused", 550, "5.1.1", "gone"]])
    [conversation] = (await viewer.get(f"/api/admin/outbox/{id}")).json()["conversations"]

    assert conversation["results"] == [
        {"address": BEN, "fate": "refused", "code": 550, "enhanced": "5.1.1", "text": "gone"}
    ]
    assert (conversation["phase"], conversation["milliseconds"]) == ("rcpt", {"mail": 12.3})
