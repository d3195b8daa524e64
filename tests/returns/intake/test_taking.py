"""A message that comes back is recorded on its email, once, whichever way it came."""

from __future__ import annotations

import asyncio
import os
import smtplib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from postroom import Email, EmailId, Outbox, Status
from postroom.errors import ConfigurationError, PostroomError
from postroom.returns.intake import Taken, Taker
from postroom.returns.intake.listening import server as mail_server
from postroom.returns.intake.listening import taking
from postroom.returns.intake.maildir import TAKEN, Maildir
from postroom.returns.intake.noting import MOST_NOTES
from postroom.smtpd import MailServer, Protocol
from postroom.smtpd.server import Place
from postroom.store.kept_returns import read_return, returns
from postroom.store.plan import ask_sql
from postroom.store.suppressions import suppressions
from postroom.testing import ScriptedSmtp
from postroom.vocabulary import BounceClass, Return, SuppressionReason
from tests.returns.intake.post import RETURN_ADDRESS, bounce, complaint, maildir, reply
from tests.returns.reading.test_hostile import BLOCKS, in_parts


def sender_of(outbox: Outbox, id: EmailId) -> str:
    path = outbox.settings.return_path()
    assert path is not None
    return path.sender(id)


def suppressed(outbox: Outbox) -> list[tuple[str, SuppressionReason]]:
    return [(each.address, each.reason) for each in outbox.database.run(suppressions(limit=100))]


def fate(outbox: Outbox, id: EmailId) -> tuple[Return, BounceClass | None] | None:
    found = outbox.get(id).recipients[0].returned
    return None if found is None else (found.what, found.bounce_class)


def test_the_envelope_sender_names_the_email_and_the_header_stays(
    outbox: Outbox, server: ScriptedSmtp, ours: EmailId
) -> None:
    [message] = server.messages

    assert message.sender == sender_of(outbox, ours)
    assert b"\r\nFrom: desk@example.org\r\n" in b"\r\n" + message.data


def test_a_bounce_to_the_address_of_an_email_needs_no_message_id(outbox: Outbox, ours: EmailId) -> None:
    taken = Taker(outbox).take(bounce(), delivered_to=[sender_of(outbox, ours).upper()])

    assert [(each.email_id, each.suppressed) for each in taken.noted] == [(ours, True)]
    assert fate(outbox, ours) == (Return.BOUNCED, BounceClass.PERMANENT)
    assert suppressed(outbox) == [("ada@example.org", SuppressionReason.HARD_BOUNCE)]
    assert outbox.get(ours).status is Status.SENT
    assert outbox.conservation().holds


def test_the_address_may_stand_in_the_headers(outbox: Outbox, ours: EmailId) -> None:
    taken = Taker(outbox).take(bounce(to=sender_of(outbox, ours)))

    assert taken.noted[0].email_id == ours


def test_the_message_id_of_the_returned_original_tells_as_well(outbox: Outbox, ours: EmailId) -> None:
    Taker(outbox).take(bounce(about=outbox.get(ours).message_id, status="4.2.2", diagnostic="452 4.2.2 mailbox full"))

    assert fate(outbox, ours) == (Return.BOUNCED, BounceClass.TRANSIENT)
    assert suppressed(outbox) == []


def test_one_report_tells_of_each_recipient_what_became_of_them(outbox: Outbox) -> None:
    both = Email(to=["ada@example.org", "bo@example.org"], subject="Hi", text="Hello")
    id = EmailId(outbox.send(both, durable=True).id)
    bo = b"Final-Recipient: rfc822; bo@example.org\r\nAction: delivered\r\nStatus: 2.0.0\r\n\r\n"
    report = bounce(about=outbox.get(id).message_id).replace(b"Final-Recipient", bo + b"Final-Recipient")
    taken = Taker(outbox).take(report)

    fates = {each.address: each.returned and each.returned.what for each in outbox.get(id).recipients}
    assert fates == {"ada@example.org": Return.BOUNCED, "bo@example.org": Return.DELIVERED}
    assert [entry.what for entry in outbox.get(id).history] == ["bounced", "delivered"]
    assert taken.kind == "bounced"
    told = [(each["address"], each["kind"]) for each in taken.record()["recipients"]]
    assert told == [("ada@example.org", "bounced"), ("bo@example.org", "delivered")]


def test_answers_and_complaints_are_recorded_on_the_email_they_are_about(outbox: Outbox, ours: EmailId) -> None:
    about, taker = outbox.get(ours).message_id, Taker(outbox)
    taker.take(reply(about=about, automatic=True, text="I am out of office until 1 April 2026."))
    assert (fate(outbox, ours), suppressed(outbox)) == ((Return.AUTORESPONDED, None), [])
    taker.take(reply(about=about))
    assert (fate(outbox, ours), suppressed(outbox)) == ((Return.REPLIED, None), [])
    taker.take(complaint(about=about))

    assert fate(outbox, ours) == (Return.COMPLAINED, None)
    assert suppressed(outbox) == [("ada@example.org", SuppressionReason.COMPLAINT)]
    assert [entry.what for entry in outbox.get(ours).history] == ["autoresponded", "replied", "complained"]


@pytest.mark.parametrize(
    "forged",
    [
        bounce(recipient="grace@example.org"),
        bounce(to=f"bounces+{'a' * 40}@mail.example.org"),
        bounce(about=f"<{'0' * 32}@example.org>"),
        complaint(about="<made-up@example.org>"),
    ],
)
def test_a_forged_message_stops_nobody(outbox: Outbox, ours: EmailId, forged: bytes) -> None:
    taken = Taker(outbox).take(forged)

    assert not any(each.suppressed for each in taken.noted)
    assert (suppressed(outbox), fate(outbox, ours)) == ([], None)
    assert [each.unclear for each in outbox.database.run(returns(limit=9))] == [True]


def test_a_bounce_of_our_email_about_a_stranger_stops_nobody(outbox: Outbox, ours: EmailId) -> None:
    Taker(outbox).take(bounce(to=sender_of(outbox, ours), recipient="grace@example.org"))

    assert suppressed(outbox) == []


def nested(depth: int) -> bytes:
    inner = b"Content-Type: text/plain\r\n\r\nhello\r\n"
    for number in range(depth):
        inner = b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (number, number) + inner
    return b"Subject: deep\r\n" + inner


MANY = b"".join(
    b"Final-Recipient: rfc822; p%d@x.org\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n" % n for n in range(1_000)
)

HOSTILE = {
    "empty": b"",
    "only line ends": b"\r\n\n\r\r\n",
    "no message": bytes(range(256)) * 40,
    "ten megabytes": bounce() + b"x" * 10_000_000,
    "one line of ten megabytes": b"Subject: " + b"a" * 10_000_000,
    "a thousand parts within parts": nested(1_000),
    "zeros": bounce().replace(b"550", b"5\x0050").replace(b"ada", b"a\0da"),
    "bare line ends": bounce().replace(b"\r\n", b"\r") + b"\n.\n",
    "a charset that is none": bounce().replace(b"text/plain", b"text/plain; charset=x-none\xff"),
    "half a character": bounce().replace(b"no such user", b"no \xc3 user \xed\xa0\x80"),
    "a thousand recipients": bounce().replace(b"Final-Recipient", MANY + b"Final-Recipient"),
    "recipients in many reports": in_parts(20, BLOCKS["recipients"]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_comes_is_kept_once_and_stops_nothing(outbox: Outbox, name: str) -> None:
    taker = Taker(outbox)
    taken, again = taker.take(HOSTILE[name]), taker.take(HOSTILE[name])

    assert (taken.duplicate, again.duplicate) == (False, True)
    assert len(outbox.database.run(returns(limit=10_000))) == len(taken.noted) <= MOST_NOTES
    assert suppressed(outbox) == []


# ---------------------------------------------------------------- by LMTP and SMTP


@asynccontextmanager
async def listening(outbox: Outbox, protocol: Protocol = Protocol.LMTP) -> AsyncIterator[MailServer]:
    server = mail_server(Taker(outbox), protocol, Place(), takes=taking(outbox.settings))
    await server.open()
    try:
        yield server
    finally:
        await server.close()


def hand_over(
    port: int, protocol: Protocol, to: list[str], message: bytes, *, sender: str = ""
) -> dict[str, tuple[int, bytes]]:
    client = smtplib.LMTP if protocol is Protocol.LMTP else smtplib.SMTP
    with client("127.0.0.1", port) as connection:
        return connection.sendmail(sender, to, message, ["SMTPUTF8"] if not sender.isascii() else [])


@pytest.mark.parametrize("protocol", Protocol)
async def test_a_bounce_handed_over_is_in_the_database_when_it_is_acknowledged(
    outbox: Outbox, ours: EmailId, protocol: Protocol
) -> None:
    address = sender_of(outbox, ours)
    async with listening(outbox, protocol) as server:
        for _ in range(2):  # an acknowledgement that was lost makes it come again
            await asyncio.to_thread(hand_over, server.place.port, protocol, [address], bounce())
            assert fate(outbox, ours) == (Return.BOUNCED, BounceClass.PERMANENT)

    assert [entry.what for entry in outbox.get(ours).history] == ["bounced"]


VACATION = "I am on holiday."
GATEWAY = """From: "Example mail gateway" <gateway@example.org>
To: desk@example.org
Subject: Undeliverable: Hi
Date: Mon, 9 Mar 2026 12:00:00 +0000
Message-ID: <gateway1@example.org>

Your message could not be delivered to the following recipient:

<ada@example.org>: 550 5.1.1 user unknown

----- Original message -----
From: desk@example.org
To: ada@example.org
Subject: Hi
Message-ID: {about}

Hello
"""


@pytest.mark.parametrize("protocol", Protocol)
async def test_a_message_from_nobody_is_a_programs_however_it_is_written(
    outbox: Outbox, ours: EmailId, protocol: Protocol
) -> None:
    """The envelope may be the only place that says so: an answer without a sign, a report in words of its own."""
    about = outbox.get(ours).message_id
    async with listening(outbox, protocol) as server:
        give = partial(asyncio.to_thread, hand_over, server.place.port, protocol, [RETURN_ADDRESS])
        await give(reply(about=about, text=VACATION))
        assert fate(outbox, ours) == (Return.AUTORESPONDED, None)
        await give(GATEWAY.format(about=about).replace("\n", "\r\n").encode())

    assert fate(outbox, ours) == (Return.BOUNCED, BounceClass.PERMANENT)


@pytest.mark.parametrize("protocol", Protocol)
async def test_a_message_from_somebody_is_what_it_says(outbox: Outbox, ours: EmailId, protocol: Protocol) -> None:
    about = outbox.get(ours).message_id
    async with listening(outbox, protocol) as server:
        await asyncio.to_thread(
            hand_over, server.place.port, protocol, [RETURN_ADDRESS], reply(about=about), sender="ada@example.org"
        )

    assert fate(outbox, ours) == (Return.REPLIED, None)


async def test_the_sender_of_the_envelope_stands_before_a_message_that_tells_none(
    outbox: Outbox, ours: EmailId
) -> None:
    """What it tells itself is nearer to where it comes from. Either way it is the same message."""
    plain = bounce(about=outbox.get(ours).message_id)
    told = b"Received: from mx\r\nReturn-Path: <mx@example.net>\r\n" + plain
    taken: list[Taken] = []
    server = mail_server(Taker(outbox), Protocol.LMTP, Place(), takes=taking(outbox.settings), tell=taken.append)
    await server.open()
    for message in (plain, told):
        await asyncio.to_thread(
            hand_over, server.place.port, Protocol.LMTP, [RETURN_ADDRESS], message, sender="grüße@example.net"
        )
    await server.close()

    found = outbox.database.run(read_return(taken[0].noted[0].id))
    assert found is not None
    kept = found[1]
    assert kept is not None
    assert kept.content == "Return-Path: <grüße@example.net>\r\n".encode() + plain
    assert kept.size == len(kept.content)
    assert [each.duplicate for each in taken] == [False, True]
    assert Taker(outbox).take(plain).duplicate


async def test_while_the_database_is_away_messages_are_to_come_again(outbox: Outbox, ours: EmailId) -> None:
    table = f"{outbox.database.dialect.tables}returns"
    renamed = f"ALTER TABLE {table} RENAME TO {'postroom_' if '_' in table else ''}away"
    back = f"ALTER TABLE {table.replace('returns', 'away')} RENAME TO {'postroom_' if '_' in table else ''}returns"

    def change(sql: str) -> None:
        outbox.database.run(_one(sql))

    async with listening(outbox) as server:
        change(renamed)
        with pytest.raises(smtplib.SMTPDataError) as refused:
            await asyncio.to_thread(hand_over_strictly, server.place.port, sender_of(outbox, ours), bounce())
        change(back)
        assert fate(outbox, ours) is None
        await asyncio.to_thread(hand_over_strictly, server.place.port, sender_of(outbox, ours), bounce())

    assert refused.value.smtp_code == 451
    assert fate(outbox, ours) == (Return.BOUNCED, BounceClass.PERMANENT)


def hand_over_strictly(port: int, to: str, message: bytes) -> None:
    with smtplib.LMTP("127.0.0.1", port) as connection:
        connection.lhlo = connection.ehlo  # type: ignore[attr-defined]
        connection.sendmail("", [to], message)


def _one(sql: str):  # type: ignore[no-untyped-def]
    yield ask_sql(sql)


async def test_mail_to_others_is_not_taken(outbox: Outbox) -> None:
    async with listening(outbox) as server:
        for other in ("ada@example.org", "root@mail.example.org", f"{RETURN_ADDRESS}.evil.example"):
            with pytest.raises(smtplib.SMTPRecipientsRefused):
                await asyncio.to_thread(hand_over, server.place.port, Protocol.LMTP, [other], bounce())

    assert outbox.database.run(returns(limit=9)) == []


def test_which_addresses_are_taken_must_be_said(outbox: Outbox) -> None:
    silent = outbox.settings.model_copy(update={"return_address": None})

    with pytest.raises(ConfigurationError, match="accept-domain"):
        taking(silent)
    assert taking(silent, ["Example.org"])("anybody@EXAMPLE.org")
    assert not taking(silent, ["example.org"])("@example.org")


# ---------------------------------------------------------------- from a Maildir


def test_a_maildir_is_emptied_into_a_folder_of_its_own(outbox: Outbox, ours: EmailId, tmp_path: Path) -> None:
    box = maildir(tmp_path / "box", bounce(to=sender_of(outbox, ours)), b"junk", bounce(number=2))
    taken = list(Maildir(box).take_all(Taker(outbox)))

    assert [each.duplicate for each in taken] == [False] * 3
    assert [file for name in ("new", "cur") for file in (box / name).iterdir()] == []
    assert len(list((box / TAKEN / "cur").iterdir())) == 3
    assert fate(outbox, ours) == (Return.BOUNCED, BounceClass.PERMANENT)
    assert list(Maildir(box).take_all(Taker(outbox))) == []


def test_what_is_no_maildir_is_refused(outbox: Outbox, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no Maildir"):
        list(Maildir(tmp_path).take_all(Taker(outbox)))


def test_what_is_no_regular_file_stays_and_hinders_no_message(outbox: Outbox, tmp_path: Path) -> None:
    """Who may write to a Maildir could else have any file that this program may read shown as a message, or stop it."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"for nobody's eyes")
    box = maildir(tmp_path / "box", b"first", b"second")
    new, told = box / "new", list[str]()
    (new / "0000.loop").symlink_to(new / "0000.loop")
    (new / "0001.link").symlink_to(secret)
    os.mkfifo(new / "0002.pipe")
    (box / "cur" / "0003.folder").mkdir()
    looked_through = Maildir(box, tell=told.append)
    taken = list(looked_through.take_all(Taker(outbox)))

    assert len(taken) == len(outbox.database.run(returns(limit=9))) == 2
    assert list(looked_through.take_all(Taker(outbox))) == []
    assert sorted(file.name for file in new.iterdir()) == ["0000.loop", "0001.link", "0002.pipe"]
    assert told == [
        "'new/0000.loop' is not taken in, and stays there: it is a link",
        "'new/0001.link' is not taken in, and stays there: it is a link",
        "'new/0002.pipe' is not taken in, and stays there: it is no regular file",
        "'cur/0003.folder' is not taken in, and stays there: it is no regular file",
    ]


@pytest.mark.parametrize("name", ["new", "cur", TAKEN])
def test_a_folder_of_a_maildir_that_leads_elsewhere_is_refused(outbox: Outbox, tmp_path: Path, name: str) -> None:
    """Files of another folder would be taken in, or messages be moved into one."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_bytes(b"for nobody's eyes")
    box = maildir(tmp_path / "box", *([b"first"] if name == TAKEN else []))
    if name != TAKEN:
        (box / name).rmdir()
    (box / name).symlink_to(elsewhere)

    with pytest.raises(PostroomError, match="is no folder but a link"):
        list(Maildir(box).take_all(Taker(outbox)))
    assert [file.name for file in elsewhere.iterdir()] == ["file"]
