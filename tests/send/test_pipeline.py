"""Pipelining changes the speed and nothing else; the next envelope may ride behind the dot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.send.contract import Envelope, FaultKind, Phase, Report
from postroom.send.smtp import SmtpTransport
from postroom.send.smtp.capabilities import Capabilities
from postroom.send.smtp.commands import stuffed, stuffed_blocks, whole
from postroom.testing import ScriptedSmtp
from tests.send.conftest import QUICK
from tests.send.letters import ADA, BOB, EVE, letter, message_id

Connect = Callable[..., SmtpTransport]

STORIES: dict[str, list[dict[str, Any]]] = {
    "all is well": [],
    "sender refused": [{"at": "mail", "reply": "550 5.7.1 not you"}],
    "sender deferred": [{"at": "mail", "reply": "451 4.3.0 later"}],
    "one recipient refused": [{"at": "rcpt", "argument": ADA, "reply": "550 5.1.1 who?"}],
    "too many recipients": [{"at": "rcpt", "argument": EVE, "reply": "452 4.5.3 too many"}],
    "every recipient refused": [{"at": "rcpt", "reply": "550 5.1.1 who?"}],
    "every recipient refused, and go ahead": [
        {"at": "rcpt", "reply": "550 5.1.1 who?"},
        {"at": "data", "reply": "354 go ahead"},
    ],
    "data refused": [{"at": "data", "reply": "554 5.7.1 no"}],
    "dot refused": [{"at": "dot", "reply": "554 5.7.1 spam"}],
    "dot deferred": [{"at": "dot", "reply": "451-4.3.0 not\r\n451 4.3.0 now"}],
    "session closed at mail": [{"at": "mail", "reply": "421 4.7.0 bye", "cut": "after"}],
    "session closed at a recipient": [{"at": "rcpt", "argument": BOB, "reply": "421 4.7.0 bye", "cut": "after"}],
    "session closed at data": [{"at": "data", "reply": "421 4.7.0 bye", "cut": "after"}],
    "session closed at the dot": [{"at": "dot", "reply": "421 4.7.0 bye", "cut": "after"}],
    "cut after the dot": [{"at": "dot", "cut": True}],
}


async def reports_of(connect: Connect, extensions: tuple[str, ...], story: list[dict[str, Any]]) -> list[Report]:
    """The same two emails to one server; what is timing in the reports is left out."""
    with ScriptedSmtp(extensions=extensions) as server:
        for rule in story:
            server.script(**rule)
        transport = connect(server.url)
        reports = [await transport.send(letter(number, ADA, BOB, EVE)) for number in (1, 2)]
        assert server.violations == []
        return [replace(report, milliseconds={}) for report in reports]


@pytest.mark.parametrize("story", STORIES)
async def test_reports_are_the_same_with_and_without_pipelining(connect: Connect, story: str) -> None:
    pipelined = await reports_of(connect, ("PIPELINING",), STORIES[story])
    in_turn = await reports_of(connect, (), STORIES[story])

    assert pipelined == in_turn


async def test_without_the_offer_nothing_is_pipelined(connect: Connect) -> None:
    with ScriptedSmtp(extensions=()) as server:
        async with connect(server.url).connection() as line:
            first, second = letter(1, ADA, BOB), letter(2)
            await line.deliver(first, following=second)
            await line.deliver(second)

        assert server.violations == []
        assert len(server.messages) == 2


async def test_a_server_that_knows_only_helo_is_served(connect: Connect) -> None:
    with ScriptedSmtp(esmtp=False, extensions=()) as server:
        report = await connect(server.url).send(letter())

        assert report.reply is not None
        assert report.reply.code == 250
        assert [command.split()[0] for command in server.commands] == ["EHLO", "HELO", "MAIL", "RCPT", "DATA"]


async def test_the_next_envelope_rides_behind_the_dot(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    letters = [letter(number, ADA, BOB) for number in range(5)]
    async with connect(smtp_server.url).connection() as line:
        for current, following in zip(letters, [*letters[1:], None], strict=True):
            report = await line.deliver(current, following=following)
            assert report.reply is not None
            assert report.reply.code == 250

    assert [message.data for message in smtp_server.messages] == [one.message for one in letters]
    assert smtp_server.connections == 1
    assert smtp_server.violations == []


async def test_permission_for_the_next_email_is_asked_at_its_own_dot(
    connect: Connect, smtp_server: ScriptedSmtp
) -> None:
    first, second = letter(1), letter(2)
    async with connect(smtp_server.url).connection() as line:
        await line.deliver(first, following=second)
        report = await line.deliver(second, before_dot=lambda: False)

    assert report.fault is not None
    assert (report.fault.kind, report.dot_left) == (FaultKind.ABANDONED, False)
    assert [message.message_id for message in smtp_server.messages] == [message_id(1)]


async def test_a_refused_email_does_not_take_the_next_one_with_it(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    smtp_server.script(at="dot", reply="554 5.7.1 spam", times=1)
    first, second = letter(1), letter(2)
    async with connect(smtp_server.url).connection() as line:
        refused = await line.deliver(first, following=second)
        accepted = await line.deliver(second)

    assert (refused.reply and refused.reply.code, accepted.reply and accepted.reply.code) == (554, 250)
    assert smtp_server.connections == 1


@pytest.mark.parametrize(
    ("rule", "connections"),
    [
        ({"at": "dot", "reply": "421 4.7.0 enough", "cut": "after"}, 2),
        ({"at": "dot", "reply": "250 2.0.0 Ok", "cut": "after"}, 2),
        ({"at": "dot", "cut": True}, 2),
    ],
    ids=["closed politely", "cut behind the reply", "cut"],
)
async def test_an_envelope_opened_on_a_connection_that_ends_goes_out_once_on_the_next(
    connect: Connect, smtp_server: ScriptedSmtp, rule: dict[str, Any], connections: int
) -> None:
    smtp_server.script(times=1, **rule)
    first, second = letter(1), letter(2)
    async with connect(smtp_server.url).connection() as line:
        await line.deliver(first, following=second)
        report = await line.deliver(second)

    assert report.reply is not None
    assert report.reply.code == 250
    assert smtp_server.copies(message_id(2)) == 1
    assert smtp_server.connections == connections


async def test_refused_recipients_of_the_next_envelope_are_its_own(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    smtp_server.script(at="rcpt", argument=EVE, reply="550 5.1.1 who?")
    first, second, third = letter(1, ADA, EVE), letter(2, EVE), letter(3, BOB)
    async with connect(smtp_server.url).connection() as line:
        reports = [
            await line.deliver(first, following=second),
            await line.deliver(second, following=third),
            await line.deliver(third),
        ]

    codes = [[reply and reply.code for reply in report.recipients] for report in reports]
    assert codes == [[250, 550], [550], [250]]
    assert [message.recipients for message in smtp_server.messages] == [(ADA,), (BOB,)]


async def test_an_envelope_that_was_opened_and_not_asked_for_closes_the_connection(
    connect: Connect, smtp_server: ScriptedSmtp
) -> None:
    transport = connect(smtp_server.url)
    async with transport.connection() as line:
        await line.deliver(letter(1), following=letter(2))
        report = await line.deliver(letter(3))
        assert report.reply is not None
        assert report.reply.code == 250
        await line.deliver(letter(4), following=letter(5))
    await transport.send(letter(6))

    assert [message.message_id for message in smtp_server.messages] == [message_id(number) for number in (1, 3, 4, 6)]
    assert smtp_server.connections == 3


async def test_an_envelope_with_very_many_recipients_waits_for_its_turn(
    connect: Connect, smtp_server: ScriptedSmtp
) -> None:
    crowd = letter(2, *(f"user{number}@example.org" for number in range(500)))
    async with connect(smtp_server.url).connection() as line:
        await line.deliver(letter(1), following=crowd)
        assert not any(command.startswith("RCPT TO:<user") for command in smtp_server.commands)
        report = await line.deliver(crowd)

    assert report.reply is not None
    assert (report.reply.code, len(report.recipients)) == (250, 500)
    assert smtp_server.connections == 1


async def test_a_message_larger_than_the_server_takes_is_never_uploaded(connect: Connect) -> None:
    with ScriptedSmtp(extensions=("PIPELINING", "SIZE 1000")) as server:
        large = letter(2, text=b"x" * 1000 + b"\r\n")
        async with connect(server.url).connection() as line:
            await line.deliver(letter(1), following=large)
            report = await line.deliver(large)

        assert report.fault is not None
        assert (report.fault.kind, report.fault.phase) == (FaultKind.TOO_LARGE, Phase.MAIL)
        assert len([command for command in server.commands if command.startswith("MAIL")]) == 1


@pytest.mark.parametrize("flagged", [True, False], ids=["flagged", "seen in the address"])
async def test_smtputf8_that_is_needed_and_not_offered_ends_before_the_upload(connect: Connect, flagged: bool) -> None:
    envelope = replace(letter(1, ADA if flagged else "ådne@example.org"), smtputf8=flagged)
    with ScriptedSmtp(extensions=("PIPELINING",)) as server:
        report = await connect(server.url).send(envelope)

        assert report.fault is not None
        assert report.fault.kind is FaultKind.NEEDS_SMTPUTF8
        assert not any(command.startswith("MAIL") for command in server.commands)


async def test_smtputf8_is_asked_for_where_it_is_needed(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    await connect(smtp_server.url, QUICK).send(replace(letter(1, "ådne@example.org"), smtputf8=True))

    assert smtp_server.messages[0].recipients == ("ådne@example.org",)
    assert any(command.endswith(" BODY=8BITMIME SMTPUTF8") for command in smtp_server.commands)


@pytest.mark.parametrize(
    "address", ["a@b.c>\r\nRCPT TO:<eve@example.org", "a@b.c\r\nDATA", "a@b.c\n", "a\0@b.c", "a@b.c> SIZE=1 X=<"]
)
@pytest.mark.parametrize("extensions", [("PIPELINING",), ()], ids=["pipelined", "in turn"])
async def test_an_address_cannot_carry_commands(connect: Connect, address: str, extensions: tuple[str, ...]) -> None:
    with ScriptedSmtp(extensions=extensions) as server:
        transport = connect(server.url)
        with pytest.raises(ValueError, match="address"):
            await transport.send(letter(1, ADA, address))
        with pytest.raises(ValueError, match="address"):
            await transport.send(replace(letter(2), sender=address))
        async with transport.connection() as line:
            report = await line.deliver(letter(3), following=letter(4, address))

        assert report.reply is not None
        assert report.reply.code == 250
        assert [message.message_id for message in server.messages] == [message_id(3)]


LINES = st.lists(st.binary(max_size=6).map(lambda line: line.translate(None, b"\r\n")) | st.sampled_from([b".", b".."]))


@given(LINES)
def test_dots_are_doubled_and_undoubled_to_the_same_message(lines: list[bytes]) -> None:
    message = b"".join(line + b"\r\n" for line in lines)
    wire = stuffed(message)

    received = [line[1:] if line.startswith(b".") else line for line in wire.split(b"\r\n")]
    assert b"\r\n".join(received) == message
    assert b".\r\n" not in [line + b"\r\n" for line in wire.split(b"\r\n")]


@given(st.binary())
def test_no_message_can_end_early(message: bytes) -> None:
    """Not even with bare line feeds, which some servers take for line ends."""
    wire = b"\r\n" + stuffed(message)

    assert b"\n.\r" not in wire
    assert b"\n.\n" not in wire
    assert wire.endswith(b"\r\n")


@given(st.lists(st.sampled_from([b".", b"..", b"\n", b"\r\n", b"a"])).map(b"".join), st.integers(1, 9))
def test_dots_are_doubled_in_blocks_as_they_are_in_one_go(message: bytes, size: int) -> None:
    assert b"".join(stuffed_blocks(message, size)) == stuffed(message)


@given(st.lists(st.text(), min_size=1, max_size=3), st.text())
def test_commands_are_as_many_as_the_paths_whatever_the_addresses(recipients: list[str], sender: str) -> None:
    envelope = Envelope(sender=sender, recipients=tuple(recipients), message=b"\r\n")
    try:
        lines = whole(envelope, Capabilities()).split(b"\r\n")
    except (ValueError, UnicodeEncodeError):
        return

    assert [line[:4] for line in lines] == [b"MAIL", *[b"RCPT"] * len(recipients), b"DATA", b""]
