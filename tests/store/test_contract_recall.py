"""Recall: what was accepted and then forgotten is sent again in the books, never at the server."""

from __future__ import annotations

import json

import pytest

from postroom import EmailId, Outbox, Status
from postroom.errors import EmailNotFound
from postroom.store.contract import Claim, Settlement
from postroom.store.recall import Accepted, recall
from postroom.vocabulary import LeaseToken
from tests.store.journey import (
    Clock,
    bring_to,
    claim,
    claim_queued,
    email,
    enqueue,
    in_doubt,
    named,
    reserve,
    retrying,
    sent,
    settle,
    take_over,
)

DETAIL = json.dumps({"outcome": "sent", "attempt": 1, "settled_from": "journal"})


def known(id: EmailId, token: int, *, version: int = 1, worker: str = "worker", attempts: int = 1) -> Accepted:
    return Accepted(
        settlement=Settlement(
            claim=Claim(id, LeaseToken(token)),
            status=Status.SENT,
            attempts=attempts,
            reply_code=250,
            reply='{"text":"Ok"}',
            event="sent",
            detail=DETAIL,
        ),
        version=version,
        worker=worker,
    )


def tell(outbox: Outbox, *accepted: Accepted, keep_sent: bool = True) -> set[EmailId]:
    return outbox.database.run(recall(accepted, keep_sent=keep_sent))


def test_a_forgotten_email_is_sent_again_in_the_books_alone(outbox: Outbox, clock: Clock) -> None:
    """As it is when the commits of its claim and of its settle are lost."""
    [id] = enqueue(outbox)

    assert tell(outbox, known(id, 1)) == {id}
    stored = outbox.get(id)
    assert (stored.status, stored.attempts, stored.reply_code, stored.doubts) == (Status.SENT, 1, 250, 0)
    assert (stored.sent_at, stored.finished_at, stored.next_attempt_at) == (clock.now, clock.now, None)
    assert [(entry.what, entry.detail["settled_from"]) for entry in stored.history] == [("sent", "journal")]
    assert claim(outbox) == []
    assert outbox.counts()["sent"] == 1
    assert outbox.conservation().holds


@pytest.mark.parametrize("status", [Status.PENDING, Status.RETRYING, Status.IN_DOUBT, Status.QUEUED])
def test_it_is_so_in_whatever_status_it_waits(outbox: Outbox, status: Status) -> None:
    id = bring_to(outbox, status)

    assert tell(outbox, known(id, 7, attempts=3)) == {id}
    assert (outbox.get(id).status, outbox.get(id).attempts) == (Status.SENT, 3)
    assert outbox.conservation().holds


@pytest.mark.parametrize("status", [Status.DEAD, Status.CANCELLED, Status.SENT])
def test_what_is_finished_is_left_alone(outbox: Outbox, status: Status) -> None:
    id = bring_to(outbox, status)
    before = outbox.get(id)

    assert tell(outbox, known(id, 7)) == set()
    assert outbox.get(id) == before


def test_what_is_gone_is_left_alone(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)
    outbox.dismiss(id)

    assert tell(outbox, known(id, 7)) == set()
    assert outbox.conservation().holds


def test_nothing_that_was_remembered_is_told_twice(outbox: Outbox) -> None:
    ids = enqueue(outbox, 2)
    tell(outbox, known(ids[0], 1))

    assert tell(outbox, *(known(id, 1) for id in ids), known(ids[1], 2, attempts=2)) == {ids[1]}
    assert [len(outbox.get(id).history) for id in ids] == [1, 1]
    assert outbox.get(ids[1]).attempts == 2
    assert outbox.counts()["sent"] == 2


def test_an_email_that_a_person_retried_since_is_sent_again(outbox: Outbox, clock: Clock) -> None:
    """Its owner's word came too late, somebody has looked at the doubt, and wants it sent."""
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [in_doubt(claimed, None)])
    outbox.retry(id)

    assert tell(outbox, known(id, claimed.claim.token)) == set()
    assert outbox.get(id).status is Status.PENDING


def test_a_corrected_email_is_another_one(outbox: Outbox) -> None:
    """However many claims were lost."""
    [id] = enqueue(outbox)
    outbox.cancel(id)
    outbox.replay(id, to="right@example.org")

    assert tell(outbox, known(id, 9)) == set()
    assert tell(outbox, known(id, 9, version=2)) == {id}


def test_a_doubt_of_whoever_took_it_over_is_lifted(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    clock.advance(seconds=31)
    [taken] = take_over(outbox)
    settle(outbox, [in_doubt(taken, None)])

    assert tell(outbox, known(id, claimed.claim.token)) == {id}
    assert outbox.get(id).status is Status.SENT


def test_a_claim_that_its_own_owner_is_settling_is_left_to_it(outbox: Outbox) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)

    assert tell(outbox, known(id, claimed.claim.token)) == set()
    assert settle(outbox, [sent(claimed)]) == {id}
    assert outbox.get(id).history == ()


@pytest.mark.parametrize("token", [1, 5])
def test_one_that_another_is_sending_under_an_old_token_may_have_left_twice(outbox: Outbox, token: int) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox, worker="another")

    assert tell(outbox, known(id, token)) == {id}
    stored = outbox.get(id)
    assert (stored.status, stored.doubts, stored.worker) == (Status.SENT, 1, None)
    assert [entry.detail.get("possible_second_copy") for entry in stored.history] == [True]
    assert settle(outbox, [sent(claimed)]) == set()


def test_a_newer_claim_is_not_touched(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [first] = claim(outbox)
    settle(outbox, [retrying(first, clock.now)])
    [second] = claim(outbox, worker="another")

    assert tell(outbox, known(id, first.claim.token)) == set()
    assert settle(outbox, [sent(second)]) == {id}


def test_a_message_that_names_it_comes_too_late(outbox: Outbox) -> None:
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    tell(outbox, known(id, 1))

    assert claim_queued(outbox, [named(reserved)]) == []


def test_with_nothing_to_keep_it_goes_at_once(outbox: Outbox) -> None:
    id = outbox.enqueue(email(), key="memo-7").id

    assert tell(outbox, known(id, 1), keep_sent=False) == {id}
    with pytest.raises(EmailNotFound):
        outbox.get(id)
    assert outbox.conservation().holds
