"""Handing emails to a broker and taking them from it: each due email to one scheduler, each message to one sender."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from threading import Barrier, Thread

import pytest

from postroom import DeadReason, EmailId, Outbox, Status
from postroom.store import claims, dispatch
from postroom.store.contract import Claim
from postroom.store.dispatch import Awaiting, Named
from postroom.vocabulary import LeaseToken, Priority
from tests.store.journey import (
    LEASE,
    Clock,
    bring_to,
    claim,
    claim_queued,
    dead,
    enqueue,
    in_doubt,
    named,
    release,
    renew,
    reserve,
    retrying,
    sent,
    settle,
    take_over,
    unannounced,
)

NOBODY = EmailId("01890000-0000-7000-8000-000000000001")


def confirm(outbox: Outbox, *held: Claim) -> None:
    outbox.database.run(dispatch.confirm_queued(held))


def requeue(outbox: Outbox, limit: int = 100) -> list[Named]:
    return outbox.database.run(dispatch.requeue(limit=limit))


def give_up(outbox: Outbox, *held: Claim) -> set[EmailId]:
    return outbox.database.run(dispatch.give_up(held))


# ---------------------------------------------------------------- reserve


def test_a_reserved_email_is_queued_for_a_scheduler_until_the_lease_ends(outbox: Outbox, clock: Clock) -> None:
    """(D2)"""
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox, worker="scheduler-1")

    stored = outbox.get(id)
    assert (stored.status, stored.worker, stored.attempts) == (Status.QUEUED, "scheduler-1", 0)
    assert stored.leased_until == reserved.leased_until == clock.now + LEASE
    assert (stored.last_queued_at, stored.next_attempt_at) == (None, None)
    assert (reserved.attempts, reserved.attempt) == (0, 1)


def test_each_due_email_is_given_to_one_scheduler(outbox: Outbox) -> None:
    """(D2)"""
    ids = enqueue(outbox, 10)

    first, second, third = reserve(outbox, 4), reserve(outbox, 4), reserve(outbox, 4)
    assert [each.claim.id for each in first + second + third] == ids
    assert reserve(outbox) == []
    assert claim(outbox) == []


def test_schedulers_that_reserve_at_once_get_different_emails(outbox: Outbox) -> None:
    ids = enqueue(outbox, 60)
    barrier, given = Barrier(4), list[EmailId]()

    def schedule() -> None:
        barrier.wait(30)
        while batch := reserve(outbox, 5):
            given.extend(each.claim.id for each in batch)

    threads = [Thread(target=schedule) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    # One that finds everything locked by others may stop early; what is left is still due.
    given += [each.claim.id for each in reserve(outbox)]

    assert sorted(given) == sorted(ids)


def test_each_lane_gets_its_own_seats_and_nothing_of_anothers(outbox: Outbox) -> None:
    """Each has a queue of its own: a seat that one lane leaves empty is of no use to another."""
    for priority in ("bulk", "normal", "urgent"):
        enqueue(outbox, 5, priority=priority)
    seats = {Priority.URGENT: 7, Priority.NORMAL: 0, Priority.BULK: 2}

    lanes = [each.priority for each in outbox.database.run(dispatch.reserve(worker="s", lease=LEASE, seats=seats))]
    assert Counter(lanes) == {Priority.URGENT: 5, Priority.BULK: 2}
    assert lanes == sorted(lanes)


def test_the_oldest_due_is_reserved_first(outbox: Outbox, clock: Clock) -> None:
    due = [5, 1, 3, 2, 4]
    ids = {minutes: enqueue(outbox, not_before=clock.now + timedelta(minutes=minutes))[0] for minutes in due}

    assert reserve(outbox) == []
    clock.advance(hours=1)
    given = [each.claim.id for each in reserve(outbox, 3) + reserve(outbox, 3)]
    assert given == [ids[minutes] for minutes in sorted(due)]


@pytest.mark.parametrize("status", [Status.QUEUED, Status.SENDING, Status.SENT, Status.DEAD, Status.CANCELLED])
def test_what_is_not_waiting_is_not_reserved(outbox: Outbox, clock: Clock, status: Status) -> None:
    bring_to(outbox, status)
    clock.advance(days=1)

    assert reserve(outbox) == []


def test_a_retry_is_reserved_for_its_next_attempt(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [retrying(claimed, clock.now)])

    [reserved] = reserve(outbox)
    assert (reserved.attempts, reserved.attempt) == (1, 2)


# ---------------------------------------------------------------- lost, given back


def test_an_email_whose_message_is_not_heard_of_is_due_again(outbox: Outbox, clock: Clock) -> None:
    """(D7) Whether the message was published and lost, or the scheduler died before that."""
    first, second, third = enqueue(outbox, 3)
    reserved = reserve(outbox)
    confirm(outbox, reserved[0].claim)
    claim_queued(outbox, [named(reserved[1])])

    clock.advance(seconds=29)
    assert requeue(outbox) == []
    clock.advance(seconds=2)
    assert sorted(requeue(outbox), key=lambda each: each.id) == [Named(first, 1), Named(third, 1)]
    assert requeue(outbox) == []
    assert [outbox.get(id).status for id in (first, second, third)] == [Status.PENDING, Status.SENDING, Status.PENDING]
    assert [each.claim.id for each in reserve(outbox)] == [first, third]


def test_only_so_many_come_due_again_at_a_time(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox, 5)
    reserve(outbox)
    clock.advance(minutes=1)

    assert [len(requeue(outbox, limit=2)) for _ in range(4)] == [2, 2, 1, 0]


def test_an_email_that_was_not_published_is_given_back_as_it_was(outbox: Outbox, clock: Clock) -> None:
    """(D4)"""
    [id] = enqueue(outbox)
    due = outbox.get(id).next_attempt_at
    [reserved] = reserve(outbox)

    assert release(outbox, [reserved.claim]) == {id}
    stored = outbox.get(id)
    assert (stored.status, stored.next_attempt_at, stored.attempts) == (Status.PENDING, due, 0)
    assert (stored.worker, stored.leased_until, stored.last_queued_at) == (None, None, None)
    assert [each.claim.id for each in reserve(outbox)] == [id]


@pytest.mark.parametrize("way", ["release", "unqueue", "requeue"])
def test_whoever_comes_back_has_the_status_that_its_past_gives_it(outbox: Outbox, clock: Clock, way: str) -> None:
    first, tried, doubtful = enqueue(outbox, 3)
    past = {each.id: each for each in claim(outbox)}
    release(outbox, [past[first].claim])
    settle(outbox, [retrying(past[tried], clock.now), in_doubt(past[doubtful], clock.now)])

    reserved = reserve(outbox)
    if way == "release":
        release(outbox, [each.claim for each in reserved])
    elif way == "unqueue":
        outbox.database.run(dispatch.unqueue([named(each) for each in reserved]))
    else:
        clock.advance(minutes=1)
        requeue(outbox)

    assert len(reserved) == 3
    statuses = [outbox.get(id).status for id in (first, tried, doubtful)]
    assert statuses == [Status.PENDING, Status.RETRYING, Status.IN_DOUBT]
    assert all(outbox.get(id).leased_until is None for id in (first, tried, doubtful))


def test_a_scheduler_that_comes_too_late_gives_nothing_back(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [late] = reserve(outbox)
    clock.advance(minutes=1)
    requeue(outbox)
    [other] = reserve(outbox, worker="another scheduler")

    assert release(outbox, [late.claim]) == set()
    confirm(outbox, late.claim)
    assert outbox.get(id).status is Status.QUEUED
    assert outbox.get(id).last_queued_at is None
    assert other.claim.token > late.claim.token


def test_the_lease_of_a_scheduler_is_never_lengthened(outbox: Outbox, clock: Clock) -> None:
    """It says when an email whose message is lost is due again."""
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    clock.advance(seconds=10)

    assert renew(outbox, [reserved.claim]) == {}
    assert outbox.get(id).leased_until == reserved.leased_until


def test_what_is_being_sent_is_not_confirmed(outbox: Outbox) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    confirm(outbox, claimed.claim)

    assert outbox.get(id).last_queued_at is None


def test_a_holder_of_messages_makes_their_emails_due_at_once(outbox: Outbox) -> None:
    enqueue(outbox, 3)
    first, second, third = reserve(outbox)
    claim_queued(outbox, [named(third)])
    stale = Named(second.claim.id, 2)

    outbox.database.run(dispatch.unqueue([named(first), stale, named(third), Named(NOBODY, 1)]))
    statuses = [outbox.get(each.claim.id).status for each in (first, second, third)]
    assert statuses == [Status.PENDING, Status.QUEUED, Status.SENDING]


# ---------------------------------------------------------------- confirm, claim


def test_a_confirmed_message_leaves_its_time_on_the_email(outbox: Outbox, clock: Clock) -> None:
    """(D3)"""
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    confirmed_at = clock.advance(seconds=1)
    confirm(outbox, reserved.claim)

    assert outbox.get(id).last_queued_at == confirmed_at
    assert outbox.get(id).status is Status.QUEUED


def test_a_message_is_claimed_by_id_and_attempt(outbox: Outbox, clock: Clock) -> None:
    """(D7)"""
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    confirm(outbox, reserved.claim)
    queued_at = clock.now
    claimed_at = clock.advance(seconds=1)
    [claimed] = claim_queued(outbox, [named(reserved)], worker="sender-1")

    stored = outbox.get(id)
    assert (stored.status, stored.worker) == (Status.SENDING, "sender-1")
    assert stored.leased_until == claimed.leased_until == claimed_at + LEASE
    assert (stored.last_attempt_at, stored.last_queued_at) == (claimed_at, queued_at)
    assert (claimed.id, claimed.attempts) == (id, 0)
    assert claimed.claim.token > reserved.claim.token


def test_a_message_is_good_once(outbox: Outbox) -> None:
    enqueue(outbox)
    [reserved] = reserve(outbox)

    assert len(claim_queued(outbox, [named(reserved)])) == 1
    assert claim_queued(outbox, [named(reserved)]) == []


def test_a_message_that_is_there_twice_claims_once(outbox: Outbox) -> None:
    ids = enqueue(outbox, 3)
    messages = [named(each) for each in reserve(outbox)]

    assert sorted(each.id for each in claim_queued(outbox, messages * 3)) == ids


def test_an_email_is_owned_before_it_is_read(outbox: Outbox, clock: Clock) -> None:
    """Whoever dies in between is an owner like any other: the email is taken over, and that is counted."""
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    owned = outbox.database.run(dispatch.own_queued(named(reserved), worker="sender-1", lease=LEASE))

    assert owned == Claim(id, LeaseToken(reserved.claim.token + 1))
    stored = outbox.get(id)
    assert (stored.status, stored.worker, stored.leased_until) == (Status.SENDING, "sender-1", clock.now + LEASE)
    [claimed] = outbox.database.run(dispatch.read_owned(owned))
    assert (claimed.claim, claimed.attempts, claimed.subject) == (owned, 0, stored.subject)
    clock.advance(seconds=LEASE.total_seconds() + 1)
    assert [each.id for each in take_over(outbox)] == [id]
    assert outbox.database.run(dispatch.read_owned(owned)) == []


def test_what_is_owned_and_large_is_read_without_its_content(outbox: Outbox) -> None:
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    owned = outbox.database.run(dispatch.own_queued(named(reserved), worker="sender-1", lease=LEASE))
    assert owned is not None
    [whole] = outbox.database.run(dispatch.read_owned(owned))
    [without] = outbox.database.run(dispatch.read_owned(owned, whole=10))

    assert (whole.text, whole.unloaded) == ("Good morning.", 0)
    assert (without.text, without.html, without.unloaded) == (None, None, outbox.get(id).size)
    assert without.envelope == whole.envelope


def test_a_message_that_is_stale_makes_nobody_an_owner(outbox: Outbox) -> None:
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    stale = [Named(id, 2), Named(NOBODY, 1)]
    claim_queued(outbox, [named(reserved)], worker="sender-1")

    for message in [*stale, named(reserved)]:
        assert outbox.database.run(dispatch.own_queued(message, worker="sender-2", lease=LEASE)) is None
    assert outbox.get(id).worker == "sender-1"


@pytest.mark.parametrize("attempt", [1, 3, 999_999_999])
def test_a_message_for_another_attempt_claims_nothing(outbox: Outbox, clock: Clock, attempt: int) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [retrying(claimed, clock.now)])
    reserve(outbox)

    assert claim_queued(outbox, [Named(id, attempt)]) == []
    assert [each.id for each in claim_queued(outbox, [Named(id, attempt), Named(id, 2)])] == [id]


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.QUEUED])
def test_a_message_for_an_email_that_is_not_queued_claims_nothing(outbox: Outbox, status: Status) -> None:
    id = bring_to(outbox, status)
    before = outbox.get(id)

    assert claim_queued(outbox, [Named(id, attempt) for attempt in (1, 2)]) == []
    assert outbox.get(id) == before


def test_a_message_for_nobody_claims_nothing_and_hurts_nobody(outbox: Outbox) -> None:
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)

    assert [each.id for each in claim_queued(outbox, [Named(NOBODY, 1), named(reserved)])] == [id]
    assert claim_queued(outbox, []) == []


def test_senders_that_claim_the_same_messages_at_once_share_them(outbox: Outbox) -> None:
    """(D7) Copies of every message reach four senders at the same time."""
    ids = enqueue(outbox, 40)
    messages = [named(each) for each in reserve(outbox)]
    barrier, given = Barrier(4), list[EmailId]()

    def send(order: list[Named]) -> None:
        barrier.wait(30)
        for start in range(0, len(order), 5):
            given.extend(each.id for each in claim_queued(outbox, order[start : start + 5]))

    threads = [Thread(target=send, args=(order,)) for order in (messages, messages[::-1]) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(given) == sorted(ids)


def test_a_sender_that_is_quicker_than_the_scheduler_keeps_the_email(outbox: Outbox, clock: Clock) -> None:
    """The message arrives before its confirmation does."""
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    claimed_at = clock.advance(seconds=1)
    [claimed] = claim_queued(outbox, [named(reserved)])
    clock.advance(seconds=1)
    confirm(outbox, reserved.claim)
    release(outbox, [reserved.claim])

    assert outbox.get(id).status is Status.SENDING
    assert outbox.get(id).last_queued_at == claimed_at
    assert settle(outbox, [sent(claimed)]) == {id}


def test_a_copy_of_a_message_that_was_sent_in_the_meantime_is_stale(outbox: Outbox) -> None:
    enqueue(outbox)
    [reserved] = reserve(outbox)
    [claimed] = claim_queued(outbox, [named(reserved)])
    settle(outbox, [sent(claimed)])

    assert claim_queued(outbox, [named(reserved)]) == []


def test_the_message_of_a_cancelled_email_is_stale(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    outbox.cancel(id)

    assert claim_queued(outbox, [named(reserved)]) == []
    assert release(outbox, [reserved.claim]) == set()
    clock.advance(minutes=5)
    assert requeue(outbox) == []
    assert outbox.get(id).status is Status.CANCELLED
    assert (outbox.get(id).worker, outbox.get(id).leased_until) == (None, None)


def test_what_a_sender_leaves_behind_is_taken_over_like_anybodys(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    claim_queued(outbox, [named(reserved)])
    clock.advance(minutes=1)

    assert requeue(outbox) == []
    assert [each.id for each in take_over(outbox)] == [id]


# ---------------------------------------------------------------- the dead


def test_an_email_without_an_attempt_left_is_given_up_with_what_was_said_last(outbox: Outbox, clock: Clock) -> None:
    """(D5)"""
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [retrying(claimed, clock.now, attempts=claimed.max_attempts)])
    [reserved] = reserve(outbox)
    died_at = clock.advance(seconds=1)

    assert reserved.attempts == reserved.max_attempts
    assert give_up(outbox, reserved.claim) == {id}
    stored = outbox.get(id)
    assert (stored.status, stored.dead_reason) == (Status.DEAD, DeadReason.MAX_ATTEMPTS)
    assert (stored.last_error, stored.reply_code) == ("451 try later", 451)
    assert (stored.finished_at, stored.worker, stored.leased_until) == (died_at, None, None)
    assert (stored.history[-1].what, stored.history[-1].attempt) == ("failed", reserved.attempts)
    assert dict(stored.history[-1].detail) == {"outcome": "dead", "dead_reason": "max_attempts"}
    assert outbox.conservation().holds
    assert outbox.counts()["dead"] == 1


def test_a_scheduler_that_lost_an_email_cannot_give_it_up(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [late] = reserve(outbox)
    clock.advance(minutes=1)
    requeue(outbox)

    assert give_up(outbox, late.claim) == set()
    assert give_up(outbox) == set()
    assert outbox.get(id).status is Status.PENDING
    assert outbox.get(id).history == ()


def test_whoever_dies_is_told_of_once(outbox: Outbox) -> None:
    """(D5)"""
    id = bring_to(outbox, Status.DEAD)
    [died] = unannounced(outbox)
    outbox.database.run(dispatch.announced([died.claim]))

    assert (died.claim.id, died.reason, died.attempts) == (id, DeadReason.PERMANENT, 1)
    assert (died.last_error, died.at) == ("550 no such user", outbox.get(id).finished_at)
    assert unannounced(outbox) == []


def test_whoever_dies_again_is_told_of_again(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)
    [first] = unannounced(outbox)
    outbox.database.run(dispatch.announced([first.claim]))
    outbox.retry(id)

    assert unannounced(outbox) == []
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed)])
    [second] = unannounced(outbox)
    assert second.claim.id == id
    assert second.claim.token > first.claim.token


def test_the_news_of_a_former_death_does_not_pass_for_that_of_the_next(outbox: Outbox) -> None:
    """Told of, brought back to life, and dead again before the note of the first was made."""
    id = bring_to(outbox, Status.DEAD)
    [first] = unannounced(outbox)
    outbox.retry(id)
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed)])
    outbox.database.run(dispatch.announced([first.claim]))

    assert [each.claim for each in unannounced(outbox)] == [claimed.claim]


def test_only_so_many_are_told_of_at_a_time(outbox: Outbox) -> None:
    ids = [bring_to(outbox, Status.DEAD) for _ in range(3)]

    assert [each.claim.id for each in outbox.database.run(dispatch.unannounced(limit=2))] == sorted(ids)[:2]
    outbox.database.run(dispatch.announced([]))
    assert len(unannounced(outbox)) == 3


# ---------------------------------------------------------------- what there is to carry


def test_a_broker_has_something_to_carry_while_anything_is_due_or_queued(outbox: Outbox, clock: Clock) -> None:
    def awaiting() -> Awaiting:
        return outbox.database.run(dispatch.awaiting())

    bring_to(outbox, Status.SENT)
    assert awaiting() == Awaiting(due=False, queued=False)
    enqueue(outbox, not_before=clock.now + timedelta(minutes=1))
    assert awaiting() == Awaiting(due=False, queued=False)
    clock.advance(minutes=1)
    assert awaiting() == Awaiting(due=True, queued=False)
    [reserved] = reserve(outbox)
    assert awaiting() == Awaiting(due=False, queued=True)
    claim_queued(outbox, [named(reserved)])
    assert awaiting() == Awaiting(due=False, queued=False)


def test_nothing_is_lost_on_the_way_through_a_broker(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox, 12)
    reserved = reserve(outbox)
    release(outbox, [reserved[0].claim])
    outbox.cancel(reserved[1].claim.id)
    give_up(outbox, reserved[2].claim, Claim(NOBODY, LeaseToken(1)))
    claimed = claim_queued(outbox, [named(each) for each in reserved[3:6]])
    settle(outbox, [sent(claimed[0]), dead(claimed[1])])
    outbox.database.run(claims.release([reserved[6].claim]))
    clock.advance(minutes=1)
    requeue(outbox, limit=2)

    conservation = outbox.conservation()
    assert conservation.holds
    assert conservation.enqueued == 12
    assert outbox.counts() == conservation.counts
    expected = {"pending": 4, "queued": 3, "sending": 1, "sent": 1, "dead": 2, "cancelled": 1}
    assert {name: count for name, count in outbox.counts().items() if count} == expected
