"""What a server said to each recipient, wherever people and programs look: library, command line, API, pages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient

from postroom import AsyncOutbox, Email, Outbox
from postroom.admin.app import build
from postroom.testing import ScriptedSmtp
from tests.cli.conftest import CommandLine

ADA, BOB, EVE = "ada@example.org", "bob@example.org", "eve@example.org"
ACCEPTED = {"address": ADA, "status": "sent", "code": 250, "text": "2.0.0 Ok: queued", "returned": None}
REFUSED = {"address": BOB, "status": "dead", "code": 550, "text": "5.1.1 no such user", "returned": None}


@pytest.fixture
def outbox(sqlite_url: str) -> Iterator[Outbox]:
    with ScriptedSmtp() as server, Outbox(sqlite_url, smtp=server.url, sender="desk@example.org") as outbox:
        server.script(at="rcpt", argument=BOB, reply="550 5.1.1 no such user")
        server.script(at="dot", cut=True, when=lambda _: "doubtful" in server.commands[-2])
        outbox.migrate()
        yield outbox


@pytest.fixture
def postroom(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("COLUMNS", "200")
    return CommandLine(sqlite_url)


def send(outbox: Outbox, *to: str, **wishes: Any) -> str:
    return outbox.send(Email(to=list(to), subject="Hi", text="Hello"), **wishes).id


def over_http(outbox: Outbox, path: str) -> Any:
    """An answer of the web app to somebody at this machine, under `--dev`."""

    async def ask() -> Any:
        async with (
            AsyncOutbox(outbox.database_url) as awaiting,
            AsyncClient(transport=ASGITransport(build(awaiting, dev=True)), base_url="http://localhost") as client,
        ):
            answer = await client.get(path)
            answer.raise_for_status()
            return unescape(answer.text) if path.startswith("/admin") else answer.json()

    return asyncio.run(ask())


def test_what_was_said_to_the_only_recipient_is_told_everywhere(outbox: Outbox, postroom: CommandLine) -> None:
    id = send(outbox, ADA)

    assert outbox.get(id).recipients[0].text == ACCEPTED["text"]
    assert postroom("show", id, "--json").json["recipients"] == [ACCEPTED]
    assert postroom("list", "--json").json["emails"][0]["recipients"] == [ACCEPTED]
    assert "2.0.0 Ok: queued" in postroom("show", id).out
    assert over_http(outbox, f"/api/admin/outbox/{id}")["recipients"] == [ACCEPTED]
    assert over_http(outbox, "/api/admin/outbox")["emails"][0]["recipients"] == [ACCEPTED]
    assert "Ok: queued" in over_http(outbox, f"/admin/email-queue/{id}")


def test_an_email_that_some_refused_is_plainly_sent_nowhere(outbox: Outbox, postroom: CommandLine) -> None:
    id = send(outbox, ADA, BOB, EVE)

    assert (outbox.get(id).status, outbox.get(id).refused_recipients) == ("sent", 1)
    assert REFUSED in postroom("show", id, "--json").json["recipients"]
    assert postroom("list", "--json").json["emails"][0]["refused_recipients"] == 1
    assert "sent, 1 of 3 refused" in postroom("list").out
    assert "sent, 1 of 3 refused" in postroom("show", id).out
    assert over_http(outbox, f"/api/admin/outbox/{id}")["refusedRecipients"] == 1
    assert over_http(outbox, "/api/admin/outbox")["emails"][0]["refusedRecipients"] == 1
    for page in ("/admin/email-queue", f"/admin/email-queue/{id}"):
        assert "1 of 3 refused" in over_http(outbox, page)
        assert "no such user" in over_http(outbox, page)


def test_an_email_that_everybody_took_is_plainly_sent(outbox: Outbox, postroom: CommandLine) -> None:
    id = send(outbox, ADA, EVE)

    assert "refused" not in postroom("list").out
    assert over_http(outbox, f"/api/admin/outbox/{id}")["refusedRecipients"] == 0
    assert "refused" not in over_http(outbox, f"/admin/email-queue/{id}")


def test_a_recipient_in_doubt_is_told_to_be_in_doubt(outbox: Outbox, postroom: CommandLine) -> None:
    id = send(outbox, "doubtful@example.org", on_doubt="hold")

    assert outbox.get(id).recipients[0].status == "in_doubt"
    assert postroom("show", id, "--json").json["recipients"][0]["status"] == "in_doubt"
    assert over_http(outbox, f"/api/admin/outbox/{id}")["recipients"][0]["status"] == "in_doubt"
    assert over_http(outbox, f"/admin/email-queue/{id}").count("status-in_doubt") >= 2
