"""Claim: each email to one caller, under a lease and a token; oldest first; each lane its share."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from threading import Barrier, Thread

import pytest

from postroom import Attachment, Email, Outbox, Status
from postroom.store import claims
from postroom.store.contents import read_content
from postroom.store.contract import Claim
from postroom.store.questions import next_due
from postroom.vocabulary import LANES, LeaseToken, Priority
from tests.store.journey import (
    LEASE,
    Clock,
    bring_to,
    claim,
    claim_lanes,
    email,
    enqueue,
    in_doubt,
    note_dots,
    release,
    renew,
    retrying,
    sent,
    settle,
    take_over,
)


def test_a_claimed_email_is_sending_and_has_an_owner_until_the_lease_ends(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox, worker="postbox-1")

    stored = outbox.get(id)
    assert (stored.status, stored.worker, stored.attempts) == (Status.SENDING, "postbox-1", 0)
    assert stored.leased_until == claimed.leased_until == clock.now + LEASE
    assert stored.last_attempt_at == claimed.claimed_at == clock.now
    assert stored.next_attempt_at is None


def test_nothing_is_claimed_before_it_is_due(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox, not_before=clock.now + timedelta(minutes=5))

    assert claim(outbox) == []
    assert outbox.oldest_due() is None
    assert outbox.database.run(next_due()) == clock.now + timedelta(minutes=5)
    clock.advance(minutes=5)
    assert outbox.oldest_due() == clock.now
    assert [each.id for each in claim(outbox)] == [id]


def test_the_oldest_due_goes_first(outbox: Outbox, clock: Clock) -> None:
    """(A4)"""
    due = [5, 1, 3, 2, 4]
    ids = {minutes: enqueue(outbox, not_before=clock.now + timedelta(minutes=minutes))[0] for minutes in due}
    clock.advance(hours=1)

    claimed = [each.id for each in claim(outbox, 3)] + [each.id for each in claim(outbox, 3)]
    assert claimed == [ids[minutes] for minutes in sorted(due)]


def test_of_those_due_at_once_the_first_enqueued_goes_first(outbox: Outbox) -> None:
    ids = enqueue(outbox, 10)

    assert [each.id for each in claim(outbox, 4)] == ids[:4]


def test_each_lane_gets_its_share_and_what_the_lanes_before_it_leave(outbox: Outbox) -> None:
    for priority in ("bulk", "normal", "urgent"):
        enqueue(outbox, 10, priority=priority)

    def lanes(**shares: int) -> dict[str, int]:
        return dict(Counter(each.priority.label for each in claim_lanes(outbox, **shares)))

    assert lanes(urgent=4, normal=3, bulk=2) == {"urgent": 4, "normal": 3, "bulk": 2}
    assert lanes(urgent=8, normal=3, bulk=2) == {"urgent": 6, "normal": 5, "bulk": 2}
    assert lanes(urgent=5, normal=0, bulk=1) == {"normal": 2, "bulk": 4}
    assert lanes(urgent=5, normal=5, bulk=5) == {"bulk": 2}
    assert lanes(urgent=5, normal=5, bulk=5) == {}


@pytest.mark.parametrize("status", [Status.SENDING, Status.SENT, Status.DEAD, Status.CANCELLED])
def test_what_is_not_waiting_is_not_claimed(outbox: Outbox, clock: Clock, status: Status) -> None:
    bring_to(outbox, status)
    clock.advance(days=1)

    assert claim(outbox) == []


def test_a_doubt_that_is_held_for_a_person_is_not_claimed(outbox: Outbox, clock: Clock) -> None:
    bring_to(outbox, Status.IN_DOUBT)
    clock.advance(days=1)

    assert claim(outbox) == []
    assert outbox.database.run(next_due()) is None


def test_a_doubt_that_is_to_be_resent_is_claimed_when_due(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [in_doubt(claimed, clock.now + timedelta(minutes=1))])

    assert claim(outbox) == []
    clock.advance(minutes=1)
    [again] = claim(outbox)
    assert (again.id, again.doubts, again.attempts) == (claimed.id, 1, 1)


def test_a_claim_carries_everything_an_attempt_needs(outbox: Outbox, clock: Clock) -> None:
    expires_at = clock.now + timedelta(days=1)
    id = outbox.enqueue(
        Email(to="ada@example.org", subject="S", text="T", html="<p>H", attachments=[Attachment("a.txt", b"a")]),
        kind="welcome",
        workspace="acme",
        expires_at=expires_at,
        on_doubt="hold",
        priority="bulk",
    ).id
    [claimed] = claim(outbox)

    stored = outbox.get(id)
    assert (claimed.kind, claimed.workspace, claimed.channel) == ("welcome", "acme", "email")
    assert (claimed.sensitive, claimed.on_doubt, claimed.priority) == (False, stored.on_doubt, stored.priority)
    assert (claimed.expires_at, claimed.due_at, claimed.created_at) == (expires_at, clock.now, clock.now)
    assert (claimed.subject, claimed.text, claimed.html) == ("S", "T", "<p>H")
    assert (claimed.message_id, claimed.version, claimed.max_attempts) == (stored.message_id, 1, stored.max_attempts)
    assert list(claimed.attachments.values()) == [b"a"]
    assert (claimed.attempts, claimed.doubts, claimed.takeovers, claimed.dot_noted) == (0, 0, 0, False)


def test_many_threads_claiming_at_once_never_get_the_same_email(outbox: Outbox) -> None:
    """(B3)"""
    outbox.enqueue_many(email(f"Email {number}") for number in range(500))
    together, taken = Barrier(8), [list[str]() for _ in range(8)]

    def work(mine: list[str]) -> None:
        together.wait()
        while batch := claim(outbox, 20):
            mine += [each.id for each in batch]

    threads = [Thread(target=work, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    everything = [id for mine in taken for id in mine]
    assert len(everything) == len(set(everything)) == 500
    assert outbox.counts()["sending"] == 500


def test_every_claim_has_a_greater_token(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox)
    tokens = []
    for _ in range(3):
        [claimed] = claim(outbox)
        tokens.append(claimed.claim.token)
        release(outbox, [claimed.claim])
    [claimed] = claim(outbox)
    clock.advance(minutes=1)
    [taken] = take_over(outbox)

    assert [*tokens, claimed.claim.token, taken.claim.token] == [1, 2, 3, 4, 5]


def test_a_renewed_lease_ends_later(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    clock.advance(seconds=20)

    assert renew(outbox, [claimed.claim]) == {id: clock.now + LEASE}
    clock.advance(seconds=20)
    assert take_over(outbox) == []


def test_a_released_email_is_due_as_before_and_no_attempt_is_counted(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    due_at = outbox.get(id).next_attempt_at
    [claimed] = claim(outbox)
    note_dots(outbox, [claimed.claim])
    clock.advance(seconds=5)

    assert release(outbox, [claimed.claim]) == {id}
    stored = outbox.get(id)
    assert (stored.status, stored.attempts, stored.next_attempt_at) == (Status.PENDING, 0, due_at)
    assert (stored.worker, stored.leased_until) == (None, None)
    [again] = claim(outbox)
    assert not again.dot_noted


def test_a_released_email_that_had_failed_is_retrying_again(outbox: Outbox, clock: Clock) -> None:
    id = bring_to(outbox, Status.RETRYING)
    clock.advance(minutes=1)
    [claimed] = claim(outbox)
    release(outbox, [claimed.claim])

    assert (outbox.get(id).status, outbox.get(id).attempts) == (Status.RETRYING, 1)


def test_a_released_email_that_was_in_doubt_stays_visibly_so(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [in_doubt(claimed, clock.now)])
    [again] = claim(outbox)
    release(outbox, [again.claim])

    assert outbox.get(id).status is Status.IN_DOUBT


def test_only_expired_leases_are_taken_over(outbox: Outbox, clock: Clock) -> None:
    [slow] = enqueue(outbox)
    claim(outbox)
    clock.advance(seconds=20)
    enqueue(outbox)
    claim(outbox)
    clock.advance(seconds=10)

    assert take_over(outbox) == []  # the lease ends now, and a moment is not yet past
    clock.advance(microseconds=1)
    assert [each.id for each in take_over(outbox)] == [slow]
    assert take_over(outbox) == []
    assert outbox.get(slow).worker == "another worker"
    assert outbox.get(slow).leased_until == clock.now + LEASE


def test_a_take_over_tells_whether_the_dot_was_noted(outbox: Outbox, clock: Clock) -> None:
    noted, untouched = enqueue(outbox, 2)
    held = {each.id: each.claim for each in claim(outbox)}

    assert note_dots(outbox, [held[noted]]) == {noted}
    clock.advance(minutes=1)
    assert {each.id: each.dot_noted for each in take_over(outbox)} == {noted: True, untouched: False}


def test_a_take_over_stops_at_its_limit(outbox: Outbox, clock: Clock) -> None:
    ids = enqueue(outbox, 5)
    claim(outbox)
    clock.advance(minutes=1)

    assert [each.id for each in take_over(outbox, limit=3)] == ids[:3]
    assert [each.id for each in take_over(outbox, limit=3)] == ids[3:]


def test_whoever_lost_an_email_can_do_nothing_to_it(outbox: Outbox, clock: Clock) -> None:
    """The fence: a worker that was cut off, and comes back, finds its token worthless."""
    [id] = enqueue(outbox)
    [lost] = claim(outbox)
    clock.advance(minutes=1)
    [owned] = take_over(outbox)
    before = outbox.get(id)

    assert settle(outbox, [sent(lost)]) == set()
    assert settle(outbox, [retrying(lost, clock.now)]) == set()
    assert renew(outbox, [lost.claim]) == {}
    assert release(outbox, [lost.claim]) == set()
    assert note_dots(outbox, [lost.claim]) == set()
    assert outbox.get(id) == before
    assert settle(outbox, [sent(owned)]) == {id}


def test_whoever_released_an_email_can_do_nothing_to_it(outbox: Outbox) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    release(outbox, [claimed.claim])
    before = outbox.get(id)

    assert settle(outbox, [sent(claimed)]) == set()
    assert renew(outbox, [claimed.claim]) == {}
    assert release(outbox, [claimed.claim]) == set()
    assert note_dots(outbox, [claimed.claim]) == set()
    assert outbox.get(id) == before


def test_a_token_that_was_never_given_opens_nothing(outbox: Outbox) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    forged = Claim(id=id, token=LeaseToken(claimed.claim.token + 1))

    assert renew(outbox, [forged]) == {}
    assert release(outbox, [forged]) == set()
    assert outbox.get(id).status is Status.SENDING


def test_the_late_word_of_an_old_owner_ends_a_doubt(outbox: Outbox, clock: Clock) -> None:
    """Taken over and put in doubt, an email is sent after all when its first owner can tell."""
    [id] = enqueue(outbox)
    [lost] = claim(outbox)
    clock.advance(minutes=1)
    [taken] = take_over(outbox)
    settle(outbox, [in_doubt(taken, clock.now + timedelta(minutes=1))])

    assert settle(outbox, [retrying(lost, clock.now)]) == set()
    assert settle(outbox, [sent(lost)]) == {id}
    assert outbox.get(id).status is Status.SENT
    assert outbox.conservation().holds
    assert outbox.counts()["sent"] == 1


def test_a_large_email_is_claimed_without_its_content_which_can_be_read_later(outbox: Outbox) -> None:
    file = Attachment("report.bin", bytes(range(256)) * 10_000)
    text, html = "Grüße\n" * 300_000, None
    large = outbox.enqueue(email("Large", text=text, html=html, attachments=[file])).id
    small = outbox.enqueue(email("Small", attachments=[Attachment("small.txt", b"small")])).id
    claimed = {each.id: each for each in claim(outbox)}

    assert (claimed[large].text, claimed[large].html, claimed[large].attachments) == (None, None, {})
    assert claimed[large].unloaded == outbox.get(large).size
    assert (claimed[small].text, claimed[small].unloaded) == ("Good morning.", 0)
    assert list(claimed[small].attachments.values()) == [b"small"]
    content = outbox.database.run(read_content(large, 1, claimed[large].envelope))
    assert (content.text, content.html, content.attachments) == (text.encode(), html, {file.digest: file.content})


def test_how_large_is_large_is_said_by_the_caller(outbox: Outbox) -> None:
    enqueue(outbox)
    [claimed] = outbox.database.run(claims.claim(worker="w", lease=LEASE, urgent=1, normal=0, bulk=0, whole=10))

    assert claimed.text is None
    assert claimed.unloaded == outbox.get(claimed.id).size


def test_what_is_taken_over_comes_without_its_content(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox)
    claim(outbox)
    clock.advance(minutes=1)
    [taken] = take_over(outbox)

    assert taken.text is None
    assert taken.envelope


@pytest.mark.parametrize("closed", LANES)
def test_from_a_closed_lane_nothing_is_claimed_whatever_the_others_leave(outbox: Outbox, closed: Priority) -> None:
    for lane in LANES:
        enqueue(outbox, 2, priority=lane)
    plan = claims.claim(worker="w", lease=LEASE, urgent=10, normal=10, bulk=10, closed=[closed])

    assert Counter(each.priority for each in outbox.database.run(plan)) == {
        lane: 2 for lane in LANES if lane is not closed
    }
