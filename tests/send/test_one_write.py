"""A short message leaves together with its dot, in one write, and what is known of the dot stays exact."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroom.send.contract import BeforeDot, Envelope, FaultKind, Phase, Report
from postroom.send.smtp.connection import BLOCK
from postroom.send.smtp.server import Limits
from tests.send.far_end import ROOMY, FarEnd, connected
from tests.send.letters import letter

NARROW = 2048
"""Less than the kernel really gives, and far less than a message of `long()`."""
DOT = b"\r\n.\r\n"
OK = b"250 2.0.0 Ok\r\n"
Manner = Literal["hung up", "closed", "reset", "refused", "accepted", "silent"]


def long(length: int = 50_000) -> Envelope:
    """Still short enough for one write, and too long for narrow buffers."""
    return letter(text=b"x" * length + b"\r\n")


async def play(
    far_end_does: Callable[[FarEnd], Awaitable[None]],
    envelope: Envelope,
    *,
    room: int = NARROW,
    limits: Limits | None = None,
    before_dot: BeforeDot | None = None,
    following: Envelope | None = None,
) -> tuple[Report, FarEnd]:
    """Deliver one envelope to a far end that welcomes it and does as it is told; then all that came is read."""
    async with connected(room=room, limits=limits) as (connection, far_end):
        delivery = asyncio.create_task(connection.deliver(envelope, before_dot=before_dot, following=following))
        await far_end.welcome()
        await far_end_does(far_end)
        report = await delivery
        connection.close()
        if not far_end.closed:
            await far_end.read_to_the_end()
        return report, far_end


def ended(report: Report) -> tuple[FaultKind | None, Phase | None, bool]:
    return (report.fault and report.fault.kind, report.fault and report.fault.phase, report.dot_left)


async def test_message_dot_and_the_next_envelope_are_one_write() -> None:
    first, second = letter(1), letter(2)
    async with connected() as (connection, far_end):
        delivery = asyncio.create_task(connection.deliver(first, following=second))
        await far_end.welcome()
        await far_end.read_until(b"DATA\r\n")
        await far_end.say(OK)
        await delivery

        assert far_end.received.startswith(first.message + b".\r\nMAIL FROM:")
        assert far_end.ours.sends == 2, "MAIL, RCPT and DATA of the first; its message and the envelope of the second"


async def test_permission_is_asked_before_the_first_byte_of_a_short_message() -> None:
    """It cannot be asked between the body and the dot of one write."""
    async with connected() as (connection, far_end):
        seen: list[bool] = []
        delivery = asyncio.create_task(
            connection.deliver(letter(), before_dot=lambda: seen.append(far_end.nothing_to_read()) or False)  # type: ignore[func-returns-value]
        )
        await far_end.welcome()
        report = await delivery
        await far_end.read_to_the_end()

        assert ended(report) == (FaultKind.ABANDONED, Phase.BODY, False)
        assert seen == [True]
        assert far_end.received == b""
        assert not connection.usable


async def test_permission_for_a_long_message_is_asked_when_its_body_has_left() -> None:
    asked: list[bool] = []

    async def read_all(far_end: FarEnd) -> None:
        await far_end.read(1000)
        assert asked == []
        await far_end.read_until(DOT)
        await far_end.say(OK)

    report, _ = await play(read_all, long(BLOCK * 8), before_dot=lambda: asked.append(True) or True)  # type: ignore[func-returns-value]

    assert (report.reply and report.reply.code, asked) == (250, [True])


@pytest.mark.parametrize("following", [None, letter(2)], ids=["alone", "with the next behind"])
async def test_what_the_kernel_did_not_take_at_once_follows(following: Envelope | None) -> None:
    async def read_all(far_end: FarEnd) -> None:
        await far_end.read_until(DOT)
        await far_end.say(OK)

    report, far_end = await play(read_all, long(), following=following)

    assert (report.reply and report.reply.code, report.fault, report.dot_left) == (250, None, True)
    assert far_end.received.startswith(long().message + b".\r\n")


async def test_a_refusal_while_the_dot_is_still_in_our_hands_is_about_the_body() -> None:
    async def refuse(far_end: FarEnd) -> None:
        await far_end.read(1000)
        await far_end.say(b"552 5.3.4 too much\r\n")

    report, far_end = await play(refuse, long())

    assert report.reply is not None
    assert (report.reply.phase, report.reply.code, report.dot_left) == (Phase.BODY, 552, False)
    assert DOT not in far_end.received


async def test_a_yes_to_a_dot_that_is_still_in_our_hands_is_no_yes() -> None:
    async def accept_too_early(far_end: FarEnd) -> None:
        await far_end.read(1000)
        await far_end.say(OK)

    report, far_end = await play(accept_too_early, long())

    assert ended(report) == (FaultKind.PROTOCOL, Phase.BODY, False)
    assert report.reply is None
    assert DOT not in far_end.received


async def test_an_upload_that_stands_still_ends_with_the_block_limit_and_has_not_sent_the_dot() -> None:
    async def stand_still(far_end: FarEnd) -> None:
        await far_end.read(1000)

    report, _ = await play(stand_still, long(), limits=Limits(block=0.2))

    assert ended(report) == (FaultKind.TIMEOUT, Phase.BODY, False)


async def test_a_reply_that_does_not_come_after_a_slow_upload_ends_with_the_dot_limit() -> None:
    async def take_and_say_nothing(far_end: FarEnd) -> None:
        await far_end.read_to_the_end()

    report, _ = await play(take_and_say_nothing, long(), limits=Limits(block=60, dot=0.2))

    assert ended(report) == (FaultKind.TIMEOUT, Phase.DOT, True)


async def test_a_server_that_hangs_up_while_the_dot_is_in_our_hands_does_not_get_it() -> None:
    async def hang_up(far_end: FarEnd) -> None:
        await far_end.read(1000)
        far_end.hang_up()

    report, far_end = await play(hang_up, long())

    assert ended(report) == (FaultKind.CUT, Phase.BODY, False)
    assert DOT not in far_end.received


async def test_a_connection_lost_while_part_was_with_the_kernel_leaves_the_fate_open() -> None:
    """Nothing tells how much of the rest the kernel had taken by then."""

    async def cut(far_end: FarEnd) -> None:
        await far_end.read(1000)
        far_end.reset()

    report, _ = await play(cut, long())

    assert ended(report) == (FaultKind.CUT, Phase.DOT, True)


@pytest.mark.parametrize("following", [None, letter(2)], ids=["alone", "with the next behind"])
async def test_a_write_on_a_connection_that_was_reset_has_not_sent_the_dot(following: Envelope | None) -> None:
    """The kernel took nothing of it, although permission had been given."""
    async with connected() as (connection, far_end):
        delivery = asyncio.create_task(
            connection.deliver(letter(), before_dot=lambda: far_end.reset() or True, following=following)  # type: ignore[func-returns-value]
        )
        await far_end.welcome()
        report = await delivery

        assert ended(report) == (FaultKind.CUT, Phase.BODY, False)
        assert not connection.has_opened_any


@settings(max_examples=60, deadline=None)
@given(
    length=st.integers(0, BLOCK),
    room=st.sampled_from([NARROW, 8192, 20_000, ROOMY]),
    read=st.integers(0, BLOCK),
    chained=st.booleans(),
    manner=st.sampled_from(["hung up", "closed", "reset", "refused", "accepted", "silent"]),
)
def test_a_dot_that_was_seen_at_the_far_end_is_never_said_not_to_have_left(
    length: int, room: int, read: int, chained: bool, manner: Manner
) -> None:
    """However much the kernel took, however much the server read, and however it ended."""

    async def end(far_end: FarEnd) -> None:
        while len(far_end.received) < read and DOT not in far_end.received and await far_end.read(read):
            pass
        if manner in ("refused", "accepted"):
            await far_end.say(b"554 5.7.1 no\r\n" if manner == "refused" else OK)
        if manner == "reset":
            far_end.reset()
        elif manner == "closed":
            far_end.close()
        elif manner == "hung up":
            far_end.hang_up()

    envelope = long(length)
    report, far_end = asyncio.run(
        play(
            end,
            envelope,
            room=room,
            limits=Limits(block=0.02, dot=0.02),
            following=letter(2) if chained else None,
        )
    )

    arrived = b"\r\n" + far_end.received
    assert report.dot_left or DOT not in arrived
    if report.reply is not None and report.reply.code == 250:
        assert report.dot_left
        assert report.reply.phase is Phase.DOT
