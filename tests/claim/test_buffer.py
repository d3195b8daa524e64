"""The buffer: who is next, and how large emails wait for room without holding anybody up."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from postroom.claim.buffer import Buffer
from postroom.claim.lanes import ROUND
from postroom.claim.room import AHEAD, ROOM, Room, whole_up_to
from postroom.store.claims import WHOLE
from postroom.store.contract import Claim, Claimed
from postroom.vocabulary import EmailId, LeaseToken, OnDoubt, Priority
from postroom.work.worker import MOST_BUFFERED

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EMAIL = Claimed(
    claim=Claim(EmailId(""), LeaseToken(1)),
    attempts=0,
    max_attempts=5,
    policy="standard",
    on_doubt=OnDoubt.RESEND,
    doubts=0,
    takeovers=0,
    priority=Priority.NORMAL,
    kind="",
    workspace="",
    channel="email",
    route="default",
    sensitive=False,
    outcomes=None,
    expires_at=None,
    due_at=NOW,
    created_at=NOW,
    leased_until=NOW,
    dot_noted=False,
    version=1,
    subject="",
    message_id="",
    envelope="{}",
    text=None,
    html=None,
    claimed_at=NOW,
)


def email(name: str, share: float = 0.0, priority: Priority = Priority.NORMAL) -> Claimed:
    """One that needs such a share of the room; none, when it is small."""
    claim = Claim(EmailId(name), LeaseToken(1))
    return replace(EMAIL, claim=claim, unloaded=int(share * ROOM), priority=priority)


def taken(buffer: Buffer) -> list[str]:
    """Whoever can be taken now."""
    found = []
    while (next := buffer.take()) is not None:
        found.append(next.id)
    return found


def test_bulk_leaves_in_its_turn_although_urgent_and_normal_are_always_there() -> None:
    """So it is with a claimer that is quicker than the lines: for each that leaves, another comes."""
    buffer = Buffer()
    fill = {lane: [email(f"{lane.name} {count}", priority=lane) for count in range(40)] for lane in Priority}
    for emails in fill.values():
        buffer.add(emails)

    lanes: list[Priority] = []
    for _ in range(4 * len(ROUND)):
        next = buffer.take()
        assert next is not None
        lanes.append(next.priority)
        buffer.add([next])

    assert lanes == [*ROUND] * 4


def test_an_urgent_email_waits_for_one_other_at_most() -> None:
    for turn in range(len(ROUND)):
        buffer = Buffer()
        buffer.add([email(f"bulk {count}", priority=Priority.BULK) for count in range(40)])
        buffer.add([email(f"normal {count}") for count in range(40)])
        for _ in range(turn):
            buffer.take()
        buffer.add([email("urgent", priority=Priority.URGENT)])

        assert "urgent" in taken(buffer)[:2]


def test_no_turn_lets_a_large_bulk_email_pass_one_that_waits_for_room() -> None:
    buffer = Buffer()
    first = email("first", 0.7)
    buffer.add([first, email("second", 0.7), email("large bulk", 0.1, Priority.BULK)])
    buffer.add([email(f"small {count}") for count in range(30)])

    assert taken(buffer) == ["first", *(f"small {count}" for count in range(30))]
    buffer.done(first)
    assert taken(buffer) == ["second", "large bulk"]


def test_small_emails_pass_a_large_one_that_waits_for_room() -> None:
    buffer = Buffer()
    first, second = email("first", 0.7), email("second", 0.7)
    buffer.add([first, second, email("small"), email("bulk", priority=Priority.BULK)])

    assert taken(buffer) == ["first", "small", "bulk"]
    buffer.done(first)
    assert taken(buffer) == ["second"]


def test_no_later_large_email_takes_the_room_that_an_earlier_one_waits_for() -> None:
    buffer = Buffer()
    first = email("first", 0.7)
    buffer.add([first, email("second", 0.7), email("third", 0.1), email("bulk", 0.1, Priority.BULK)])

    assert taken(buffer) == ["first"]
    buffer.add([email("urgent", 0.1, Priority.URGENT)])
    assert taken(buffer) == ["urgent"]
    buffer.done(first)
    assert taken(buffer) == ["second", "third", "bulk"]


def test_an_email_larger_than_the_room_has_it_for_itself() -> None:
    buffer = Buffer()
    first, huge = email("first", 0.1), email("huge", 3.0)
    buffer.add([first, huge, email("after", 0.1)])

    assert taken(buffer) == ["first"]
    buffer.done(first)
    assert taken(buffer) == ["huge"]
    buffer.done(huge)
    assert taken(buffer) == ["after"]


def test_what_rides_behind_a_dot_is_never_large() -> None:
    buffer = Buffer()
    buffer.add([email("large", 0.1), email("small")])

    behind = buffer.take(large=False)
    assert behind is not None
    assert behind.id == "small"
    assert buffer.take(large=False) is None
    assert taken(buffer) == ["large"]


def test_those_that_stand_aside_are_counted_apart_and_given_back_with_the_rest() -> None:
    buffer = Buffer()
    buffer.add([email("first", 0.7), email("second", 0.7), email("small")])
    buffer.take()
    buffer.take()

    assert (len(buffer), buffer.aside(Priority.NORMAL), buffer.aside(Priority.BULK)) == (0, 1, 0)
    assert [each.id for each in buffer.empty()] == ["second"]
    assert buffer.aside(Priority.NORMAL) == 0


def test_one_that_stands_aside_can_be_taken_out_by_its_claim_like_any_other() -> None:
    buffer = Buffer()
    first, aside, waiting = email("first", 0.7), email("aside", 0.7), email("waiting")
    buffer.add([first, aside, email("small"), waiting])
    buffer.take()
    buffer.take()

    assert buffer.remove([aside.claim, waiting.claim, first.claim]) == [waiting, aside]
    assert (len(buffer), buffer.aside(Priority.NORMAL)) == (0, 0)
    buffer.done(first)
    assert taken(buffer) == []


async def test_a_line_that_waits_is_served_as_soon_as_there_is_room() -> None:
    buffer = Buffer()
    first = email("first", 0.7)
    buffer.add([first, email("second", 0.7)])
    await buffer.next()
    waiting = asyncio.create_task(buffer.next())
    await asyncio.sleep(0)
    assert not waiting.done()
    buffer.done(first)
    served = await waiting

    assert served is not None
    assert served.id == "second"


async def test_one_whose_content_cannot_be_had_is_tried_again_and_is_still_the_first() -> None:
    buffer = Buffer()
    buffer.add([email("first", 0.7), email("second", 0.7), email("small")])
    first = await buffer.next()
    assert first is not None
    buffer.postpone(first, 0.01)

    assert taken(buffer) == ["small"]
    again = await buffer.next()
    assert again is first


def test_room_is_given_back_once() -> None:
    room, one, told = Room(10), replace(EMAIL, unloaded=8), list[str]()
    room.freed.append(lambda: told.append("freed"))

    assert room.enter(one)
    assert not room.enter(replace(one, claim=Claim(EmailId("other"), LeaseToken(1))))
    room.leave(one.claim)
    room.leave(one.claim)
    assert told == ["freed"]


async def test_room_that_one_route_gives_back_is_taken_by_another() -> None:
    room = Room(10)
    here, there = Buffer(room), Buffer(room)
    one, other = (replace(EMAIL, unloaded=8, claim=Claim(EmailId(name), LeaseToken(1))) for name in ("one", "other"))
    here.add([one])
    there.add([other])

    assert await here.next() is one
    waiting = asyncio.ensure_future(there.next())
    await asyncio.sleep(0)
    assert not waiting.done()
    here.done(one)
    assert await waiting is other


def test_the_more_emails_may_wait_the_smaller_those_that_come_whole() -> None:
    assert whole_up_to(1) == whole_up_to(64) == WHOLE
    assert MOST_BUFFERED * whole_up_to(MOST_BUFFERED) <= AHEAD


async def test_a_line_that_has_been_in_use_is_served_before_one_that_would_have_to_connect() -> None:
    """Even if the other one began to wait later."""
    buffer = Buffer()
    warm = asyncio.create_task(buffer.next())
    await asyncio.sleep(0)
    cold = asyncio.create_task(buffer.next(warm=False))
    await asyncio.sleep(0)
    buffer.add([email("first")])
    await asyncio.sleep(0)

    assert warm.done()
    assert not cold.done()
    buffer.close()
    assert await cold is None
