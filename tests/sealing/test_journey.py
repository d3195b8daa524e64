"""A sensitive email on its way: unreadable in the database, right in the mailbox, gone from the outbox once sent."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from typing import Any

import pytest

from postroom import Attachment, DeadReason, Email, EmailId, Outbox, Sms, Status, Webhook
from postroom.channels import channel_named
from postroom.cli.sealing_checks import check_sealing
from postroom.errors import ConfigurationError
from postroom.outbox.submission import HouseRules, Submission
from postroom.sealing import Keyring
from postroom.store.enqueue import enqueue, enqueue_each
from postroom.testing import ScriptedSmtp
from postroom.work.parcel import pack
from tests.channels.house import House
from tests.sealing.conftest import KEYRING, SECRET, Houses
from tests.sealing.everything import everything_in
from tests.store.journey import claim, claim_on, claim_queued, enqueue_on, named, reserve

CODE = "493817"


def email(**given: Any) -> Email:
    said = {
        "to": "Ada Lovelace <ada@example.org>",
        "subject": f"Subject {CODE}",
        "text": f"Text {CODE}",
        "html": f"<p>{CODE}",
        "headers": {"X-Code": CODE},
        "attachments": [Attachment(f"{CODE}.txt", CODE.encode() * 3)],
    }
    return Email(**said | given)


def plain(outbox: Outbox, **given: Any) -> EmailId:
    """As a release before took a sensitive email in: all of it readable, and its attachments shared."""
    order = replace(outbox.rules.order(Submission(email(**given))), sensitive=True)
    outbox.database.run(enqueue([order]))
    return order.id


async def test_the_database_holds_nothing_of_it_and_the_mailbox_all(house: House, server: ScriptedSmtp) -> None:
    id = house.outbox.enqueue(email(tags=["shown"]), key="k", sensitive=True).id

    assert CODE not in everything_in(house.outbox)
    assert "Lovelace" not in everything_in(house.outbox)

    await house.work()
    stored, [message] = house.outbox.get(id), server.messages

    assert stored.status is Status.SENT
    for told in (f"Subject: Subject {CODE}", f"Text {CODE}", f"X-Code: {CODE}", "Ada Lovelace <ada@", f"{CODE}.txt"):
        assert told in message.data.decode(), told


async def test_what_it_said_is_gone_once_it_is_sent_and_its_story_stays(houses: Houses, server: ScriptedSmtp) -> None:
    """With and without a secret."""
    for house in (houses(secret=SECRET), houses()):
        id = house.outbox.enqueue(email(), sensitive=True).id
        await house.work()
        stored = house.outbox.get(id)

        assert (stored.status, stored.subject, stored.erased) == (Status.SENT, "(sensitive)", True)
        assert [(each.address, each.status) for each in stored.recipients] == [("ada@example.org", "sent")]
        assert CODE not in everything_in(house.outbox)
        assert boxes(house.outbox) == 0
        assert house.outbox.conservation().holds


def boxes(outbox: Outbox) -> int:
    table = "postroom_attachments" if outbox.database.dialect.name == "sqlite" else "postroom.attachments"
    with outbox.transaction() as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


async def test_a_large_one_is_read_in_pieces_and_opened(house: House, server: ScriptedSmtp) -> None:
    content = os.urandom(3_000_000)
    id = house.outbox.enqueue(email(attachments=[Attachment("a.bin", content)]), sensitive=True).id
    await house.work()

    assert house.outbox.get(id).status is Status.SENT
    assert len(server.messages[0].data) > 4_000_000


async def test_without_the_key_it_is_dead_with_the_remedy_and_the_others_go_on(
    houses: Houses, server: ScriptedSmtp
) -> None:
    knowing, ignorant = houses(secret=SECRET), houses()
    locked = knowing.outbox.enqueue(email(), sensitive=True).id
    other = knowing.outbox.enqueue(email()).id
    await ignorant.work()
    stored = knowing.outbox.get(locked)

    assert (stored.status, stored.dead_reason) == (Status.DEAD, DeadReason.INVALID)
    assert "POSTROOM_PREVIOUS_SECRETS, then retry the email" in (stored.last_error or "")
    assert knowing.outbox.get(other).status is Status.SENT

    knowing.outbox.retry(locked)
    await knowing.work()

    assert knowing.outbox.get(locked).status is Status.SENT
    assert len(server.messages) == 2


async def test_a_former_secret_opens_what_was_sealed_with_it(houses: Houses, server: ScriptedSmtp) -> None:
    id = houses(secret=SECRET).outbox.enqueue(email(), sensitive=True).id
    later = houses(secret="n" * 40, previous_secrets=["m" * 40, SECRET])
    await later.work()

    assert later.outbox.get(id).status is Status.SENT
    assert CODE in server.messages[0].data.decode()


async def test_boxes_that_were_swapped_are_sent_to_nobody(house: House, server: ScriptedSmtp) -> None:
    """Whoever can write to the database cannot have Bob's code sent to Ada."""
    outbox = house.outbox
    first, second = (outbox.enqueue(email(to=f"{who}@example.org"), sensitive=True).id for who in ("ada", "bob"))
    contents = "postroom_attachments" if outbox.database.dialect.name == "sqlite" else "postroom.attachments"
    mark = "?" if outbox.database.dialect.name == "sqlite" else "%s"
    with outbox.transaction() as connection:
        rows = connection.execute(f"SELECT digest, content FROM {contents} ORDER BY digest").fetchall()
        for (digest, _), (_, other) in zip(rows, reversed(rows), strict=True):
            connection.execute(f"UPDATE {contents} SET content = {mark} WHERE digest = {mark}", (other, digest))
    await house.work()

    assert server.messages == []
    for id in (first, second):
        assert "changed or damaged" in (outbox.get(id).last_error or "")


async def test_one_that_a_release_before_took_in_is_sent_and_then_erased(house: House, server: ScriptedSmtp) -> None:
    id = plain(house.outbox)
    shared = house.outbox.enqueue(email(subject="Other", text="o", html="o", headers={})).id

    assert house.outbox.get(id).subject == "(sensitive)"

    await house.work()
    stored = house.outbox.get(id)

    assert (stored.status, stored.erased, len(server.messages)) == (Status.SENT, True, 2)
    assert [each.address for each in stored.recipients] == ["ada@example.org"]
    assert f"Text {CODE}" not in everything_in(house.outbox)
    assert house.outbox.letter(shared).attachments[0].content == CODE.encode() * 3


@pytest.mark.parametrize(
    "payload",
    [
        email(),
        Webhook(url="https://example.org/hook", event="code", data={"code": CODE}),
        Sms(to="+4915112345678", text=CODE),
    ],
    ids=["email", "webhook", "sms"],
)
def test_a_worker_of_the_release_before_cannot_make_anything_of_it(payload: Any) -> None:
    """It begins by reading the envelope as JSON, whatever the channel: that fails, and nothing is sent."""
    rules = HouseRules(routes=frozenset({"default", "sms", "webhooks"}), keyring=KEYRING)
    letter = rules.order(Submission.of(payload, sensitive=True)).letter

    assert (letter.text, letter.html) == (None, None)
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(letter.envelope)


async def test_other_addresses_on_the_outside_lead_nowhere(house: House, server: ScriptedSmtp) -> None:
    """Whoever can write to the database cannot have the box sent elsewhere: it names whom it is for."""
    outbox = house.outbox
    id = outbox.enqueue(email(to=["ada@example.org", "bob@example.org"]), sensitive=True).id
    emails, contents = (
        ("postroom_emails", "postroom_contents")
        if outbox.database.dialect.name == "sqlite"
        else ("postroom.emails", "postroom.contents")
    )
    with outbox.transaction() as connection:
        connection.execute(f"UPDATE {contents} SET envelope = replace(envelope, 'ada@example', 'eve@example')")
        connection.execute(f'UPDATE {emails} SET outcomes = \'[["open",null,null],["sent",250,null]]\'')
    await house.work()

    assert outbox.get(id).status is Status.SENT
    assert [message.recipients for message in server.messages] == [("ada@example.org",)]


def test_everybody_who_claims_gets_what_can_be_opened(outbox: Outbox) -> None:
    """Also behind a broker, and on the way out of a fallback."""
    outbox.rules = replace(outbox.rules, keyring=KEYRING)
    outbox.enqueue(email(), sensitive=True)
    [direct] = claim(outbox)
    outbox.enqueue(email(), sensitive=True)
    [queued] = claim_queued(outbox, [named(each) for each in reserve(outbox)])
    enqueue_on(outbox, "backup", sensitive=True)
    [rerouted] = claim_on(outbox, "backup", onto="default", reason="outage")

    for claimed in (direct, queued):
        payload = pack(claimed, channel_named("email"), keyring=KEYRING).payload
        assert f"Text {CODE}".encode() in payload.message  # type: ignore[attr-defined]
    assert pack(rerouted, channel_named("email"), keyring=KEYRING).recipients == ("ada@example.org",)


async def test_inline_sends_open_what_they_have_closed(houses: Houses, server: ScriptedSmtp) -> None:
    house = houses(secret=SECRET)
    stored = await asyncio.to_thread(house.outbox.send, email(), sensitive=True)
    unstored = await asyncio.to_thread(house.outbox.send, email(), sensitive=True, durable=False)

    assert (stored.sent, unstored.sent, len(server.messages)) == (True, True, 2)
    assert house.outbox.get(stored.id).erased
    assert CODE not in everything_in(house.outbox)


def test_many_at_once_are_sealed_each(outbox: Outbox) -> None:
    outbox.rules = replace(outbox.rules, keyring=KEYRING)
    orders = [
        outbox.rules.order(Submission.of(email(to=f"{number}@example.org"), sensitive=number % 2 == 1))
        for number in range(6)
    ]
    assert outbox.database.run(enqueue_each(orders, copies=outbox.database.copies)) == 6

    claimed = claim(outbox)
    sealed = [pack(each, channel_named("email"), keyring=KEYRING) for each in claimed]
    assert sorted(each.recipients for each in sealed) == [(f"{number}@example.org",) for number in range(6)]
    assert [each.text is None for each in claimed] == [False, True] * 3


def test_a_secret_without_the_package_stores_nothing(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    outbox.rules = replace(outbox.rules, keyring=Keyring(SECRET))
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'postroom\[encryption\]'"):
        outbox.enqueue(email(), sensitive=True)
    assert outbox.enqueue(email()).id == outbox.list().emails[0].id
    assert len(outbox.list().emails) == 1


def test_who_guesses_under_a_known_key_is_told_nothing(outbox: Outbox) -> None:
    """With a secret and without: a duplicate says whether the recipients differ, and not what is said to them."""
    for number, keyring in enumerate((Keyring(), KEYRING)):
        outbox.rules = replace(outbox.rules, keyring=keyring)
        key = f"k{number}"
        outbox.enqueue(email(text=CODE), key=key, sensitive=True)
        wrong = outbox.enqueue(email(text="000000"), key=key, sensitive=True)
        right = outbox.enqueue(email(text=CODE), key=key, sensitive=True)
        unsaid = outbox.enqueue(email(text=CODE), key=key)
        elsewhere = outbox.enqueue(email(to="eve@example.org"), key=key, sensitive=True)

        assert (wrong.duplicate, wrong.content_differs) == (right.duplicate, right.content_differs) == (True, False)
        assert (unsaid.content_differs, elsewhere.content_differs) == (True, True)


def test_the_doctor_finds_what_cannot_be_opened(houses: Houses) -> None:
    """On both stores."""
    house = houses(secret=SECRET)
    house.outbox.enqueue(email(), sensitive=True)
    settings = [house.settings, houses().settings, houses(secret="n" * 40, previous_secrets=[SECRET]).settings]

    assert [check_sealing(each, house.outbox.database).level for each in settings] == ["ok", "fail", "ok"]
