"""Delivery modes as an application meets them: real sends to a real server, inline and in the background."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from postroom import Email, Outbox, Settings, Status
from postroom.operate.outlook import outlook
from postroom.send.memory import MemoryTransport
from postroom.store.migrate import migrate
from postroom.store.open import open_database
from postroom.testing import ScriptedSmtp
from postroom.work.thread import WorkerThread
from tests.outbox.application import wait_until
from tests.store.test_roles import apply_roles

MakeOutbox = Callable[..., Any]
LETTER = Email(to="ada@example.org", cc="bob@example.com", subject="Booked", text="See you on Friday.")


def settings_of(outbox: Any) -> Settings:
    """Of either shell."""
    found = (outbox if isinstance(outbox, Outbox) else outbox.outbox).settings
    assert isinstance(found, Settings)
    return found


def reply_of(outbox: Any, id: str) -> str:
    return str(outbox.get(id).reply)


@pytest.mark.parametrize("durable", [True, False])
def test_what_is_captured_counts_as_sent_says_so_and_reaches_nobody(
    make_outbox: MakeOutbox, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    """Also without `durable`: the row is all that tells what became of it."""
    monkeypatch.setenv("POSTROOM_DELIVERY", "capture")
    outbox = make_outbox(smtp=server.url)

    sending = outbox.send(LETTER, durable=durable)

    assert sending.sent
    stored = outbox.get(sending.id)
    assert stored.status is Status.SENT
    assert "captured: not delivered" in reply_of(outbox, sending.id)
    assert outlook(stored, obstacle=None, now=datetime.now(UTC)).startswith("Captured")
    assert outbox.letter(sending.id).subject == "Booked"
    assert (server.messages, server.commands) == ([], [])


def test_where_everything_is_captured_no_server_has_to_be_named(
    make_outbox: MakeOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop with this one setting; a worker there has the same routes."""
    monkeypatch.setenv("POSTROOM_DELIVERY", "capture")
    outbox = make_outbox()

    sending = outbox.send(LETTER)
    waiting = outbox.enqueue(LETTER).id

    assert sending.sent
    with WorkerThread(settings_of(outbox)):
        wait_until(lambda: outbox.get(waiting).status is Status.SENT)
    assert "captured" in reply_of(outbox, waiting)


def test_what_is_sent_in_the_background_is_captured_too(
    make_outbox: MakeOutbox, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_DELIVERY", "capture")
    outbox = make_outbox(smtp=server.url)

    id = outbox.send_soon(LETTER).id

    wait_until(lambda: outbox.get(id).status is Status.SENT)
    assert "captured" in reply_of(outbox, id)
    assert server.commands == []


def test_a_redirected_email_reaches_one_address_and_names_those_it_was_for(
    make_outbox: MakeOutbox, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_DELIVERY", "redirect:dev@example.net")
    outbox = make_outbox(smtp=server.url)

    sending = outbox.send(LETTER)

    assert sending.sent
    [message] = server.messages
    assert message.recipients == ("dev@example.net",)
    head, _, _ = message.data.partition(b"\r\n\r\n")
    assert head.startswith(
        b"X-Postroom-Delivery: redirect\r\nX-Postroom-Redirected-From: ada@example.org,\r\n bob@example.com\r\n"
    )
    assert b"\r\nTo: ada@example.org\r\n" in head
    assert "redirected" in reply_of(outbox, sending.id)
    told = outlook(outbox.get(sending.id), obstacle=None, now=datetime.now(UTC))
    assert "for another address than its own" in told


def test_the_bytes_of_a_redirected_email_are_the_same_at_every_attempt(
    make_outbox: MakeOutbox, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_DELIVERY", "redirect:dev@example.net")
    server.script(at="dot", reply="451 4.3.0 later", times=1)
    outbox = make_outbox(smtp=server.url)

    id = outbox.send(LETTER).id
    outbox.cancel(id)
    outbox.replay(id)
    drain(outbox, server)

    [first], [second] = server.refused, server.messages
    assert first.data == second.data
    assert outbox.get(id).status is Status.SENT


def test_only_some_domains_are_reached_and_each_recipient_s_result_is_told(
    make_outbox: MakeOutbox, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_DELIVERY", "only:Example.COM, example.net")
    outbox = make_outbox(smtp=server.url)

    sending = outbox.send(LETTER)

    assert sending.sent
    [message] = server.messages
    assert message.recipients == ("bob@example.com",)
    assert b"X-Postroom" not in message.data
    ada, bob = outbox.get(sending.id).recipients
    assert (ada.status, ada.code, ada.text) == ("sent", 252, "captured: not delivered, as POSTROOM_DELIVERY says")
    assert (bob.status, bob.code) == ("sent", 250)
    told = outlook(outbox.get(sending.id), obstacle=None, now=datetime.now(UTC))
    assert "for 1 recipient; 1 captured, not delivered" in told


def test_a_captured_recipient_stays_so_while_another_is_tried_again(
    make_outbox: MakeOutbox, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_DELIVERY", "only:example.com")
    server.script(at="rcpt", argument="bob@example.com", reply="450 4.2.1 busy", times=1)
    outbox = make_outbox(smtp=server.url)

    id = outbox.send(LETTER).id

    states = {each.address: each.status for each in outbox.get(id).recipients}
    assert states == {"ada@example.org": "sent", "bob@example.com": "open"}
    assert outbox.get(id).status is Status.RETRYING or outbox.get(id).status is Status.PENDING


def test_an_email_for_nobody_at_those_domains_is_captured_whole(
    make_outbox: MakeOutbox, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_DELIVERY", "only:example.net")
    outbox = make_outbox(smtp=server.url)

    sending = outbox.send(LETTER)

    assert sending.sent
    assert "captured" in reply_of(outbox, sending.id)
    assert server.messages == []


@pytest.mark.parametrize("mode", ["", "captur", "redirect:", "redirect:nobody", "only:", "only:ada@example.org", "off"])
def test_a_mode_that_cannot_be_read_delivers_nothing_and_loses_nothing(
    make_outbox: MakeOutbox, server: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("POSTROOM_DELIVERY", mode)
    outbox = make_outbox(smtp=server.url)

    sending, soon = outbox.send(LETTER), outbox.send_soon(LETTER)

    for each in (sending, soon):
        assert (each.sent, each.queued) == (False, True)
        assert "POSTROOM_DELIVERY" in str(each.error)
        assert outbox.get(each.id).status is Status.PENDING
    assert server.commands == []


def test_a_transport_of_one_s_own_keeps_to_the_mode(make_outbox: MakeOutbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_DELIVERY", "only:example.org")
    transport = MemoryTransport()
    outbox = make_outbox(transport=transport)

    outbox.send(LETTER)

    assert [envelope.recipients for envelope in transport.sent] == [("ada@example.org",)]


@pytest.mark.parametrize("configured", ["staging", ""])
def test_an_inline_send_from_a_foreign_database_is_queued_with_the_reason(
    make_outbox: MakeOutbox, server: ScriptedSmtp, store_url: str, monkeypatch: pytest.MonkeyPatch, configured: str
) -> None:
    database = open_database(store_url)
    migrate(database, deployment="production")
    database.close()
    monkeypatch.setenv("POSTROOM_DEPLOYMENT", configured)
    outbox = make_outbox(smtp=server.url)

    sending, soon = outbox.send(LETTER), outbox.send_soon(LETTER)

    for each in (sending, soon):
        assert (each.sent, each.queued) == (False, True)
        assert "belongs to the deployment production" in str(each.error)
    assert server.commands == []


def drain(outbox: Any, server: ScriptedSmtp) -> None:
    """A worker beside the application, until the server has one email."""
    with WorkerThread(settings_of(outbox)):
        server.wait_for(1, timeout=60)


def test_who_may_not_see_whose_database_it_is_keeps_emails_for_a_worker(
    migrated_postgres_url: str, server: ScriptedSmtp, journals: Path
) -> None:
    """The role layout was not renewed after the upgrade."""
    user = migrated_postgres_url.replace("://postroom@", "://uninformed@")
    apply_roles(
        migrated_postgres_url,
        "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'uninformed') "
        "THEN CREATE ROLE uninformed LOGIN; END IF; END $$; "
        "GRANT USAGE ON SCHEMA postroom TO uninformed; "
        "GRANT ALL ON ALL TABLES IN SCHEMA postroom TO uninformed; "
        "REVOKE ALL ON postroom.deployment FROM uninformed",
    )
    with Outbox(user, smtp=server.url, sender="desk@example.org") as outbox:
        sending = outbox.send(LETTER)

        assert (sending.sent, sending.queued) == (False, True)
        assert "migrate --roles" in str(sending.error)
    assert server.commands == []
