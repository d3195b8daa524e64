"""A move that ends between any two of its transactions, or meets another of its kind: nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from postroom import Outbox, Status
from postroom.errors import StoreUnavailable
from postroom.outbox.submission import Submission
from postroom.regions import leaving
from postroom.regions.moving import Crossing, Moved
from postroom.regions.reasons import Stays
from postroom.store.contract import Claim, Settlement
from postroom.store.enqueue import enqueue as enqueue_orders
from postroom.vocabulary import EmailId, LeaseToken
from tests.regions.moving.pair import ADA, Pair, cut_short, knows
from tests.store.journey import bring_to, claim, email, enqueue, sent, settle

STEPS = 8
"""The transactions of a move of a few emails: look for what is under way, find, ask there, depart, pack, arrive,
complete, look again."""
DEPARTED = 4
"""After so many of them, emails are under way."""
FINISHING = 5
"""The transactions of finishing a move: find, pack, arrive, complete, look."""


def sendable(pair: Pair) -> set[EmailId]:
    """What workers of either region would find due, each in one place."""
    found = [each.id for outbox in (pair.here, pair.there) for each in outbox.list(status="pending").emails]
    assert len(found) == len(set(found))
    return set(found)


def send_and_prune(outbox: Outbox) -> list[EmailId]:
    claimed = claim(outbox)
    settle(outbox, [sent(each) for each in claimed], keep_sent=False)
    return [each.id for each in claimed]


def test_cut_short_after_any_transaction_and_run_again(pair: Pair) -> None:
    for after in range(STEPS + 1):
        ids = {pair.here.enqueue(email(f"Email {n}"), key=f"{ADA}:{after}:{n}").id for n in range(3)}
        cut_short(pair.moving(), after=after)

        assert pair.adds_up
        assert sendable(pair) in ([set(), ids] if pair.here.counts()["moving"] else [ids])
        pair.move()
        assert {each.id for each in pair.there.list().emails} == ids
        assert not knows(pair.here, "ada")
        assert pair.adds_up
        assert claim(pair.here) == []
        assert set(send_and_prune(pair.there)) == ids


def test_what_arrived_is_sent_once_even_if_it_was_sent_and_pruned_before_the_move_was_finished(pair: Pair) -> None:
    for after in range(STEPS + 1):
        [id] = enqueue(pair.here)
        cut_short(pair.moving(), after=after)
        copies = send_and_prune(pair.here) + send_and_prune(pair.there)
        pair.resume()
        copies += send_and_prune(pair.here) + send_and_prune(pair.there)

        assert copies == [id]
        assert pair.here.counts()["moving"] == 0
        assert pair.adds_up


def test_two_who_finish_the_same_move_at_once_do_it_once(pair: Pair) -> None:
    """One goes some steps, the other goes all the way, then the first goes on from where it was."""
    for after in range(FINISHING + 1):
        ids = enqueue(pair.here, 2)
        cut_short(pair.moving(), after=DEPARTED)
        assert pair.here.counts()["moving"] == 2
        copies = list[EmailId]()

        def finish_and_send(copies: list[EmailId] = copies) -> None:
            pair.resume()
            copies += send_and_prune(pair.there)

        _interrupted(pair.resuming(), after=after, by=finish_and_send)
        copies += send_and_prune(pair.there)

        assert sorted(copies) == ids
        assert claim(pair.here) == []
        assert pair.adds_up


def _interrupted(crossing: Crossing[Moved], *, after: int, by: Callable[[], None]) -> None:
    """Carry a crossing out, with something else in between."""
    step = 0
    try:
        asked = next(crossing)
        while True:
            if step == after:
                by()
            asked = crossing.send(asked.place.database.run(asked.plan, writes=asked.writes))
            step += 1
    except StopIteration:
        if step < after:
            by()


def test_an_old_arrival_is_not_taken_for_a_new_one(pair: Pair) -> None:
    """There, back, and cut short on the way there again: the note of the first arrival says nothing of the second."""
    [id] = enqueue(pair.here)
    pair.move()
    pair.back()
    cut_short(pair.moving(), after=DEPARTED)
    assert pair.here.counts()["moving"] == 1
    pair.resume()

    assert pair.there.get(id).status is Status.PENDING
    assert pair.adds_up


def test_a_key_that_is_taken_meanwhile_brings_the_email_back_as_it_was(pair: Pair) -> None:
    id = pair.here.enqueue(email(), key="k").id
    before = pair.here.get(id)
    cut_short(pair.moving(), after=DEPARTED)
    pair.there.enqueue(email("Another"), key="k")
    finished = pair.resume()

    assert finished.named == ((id, Stays.KEY),)
    assert pair.here.get(id) == before
    assert pair.here.enqueue(email(), key="k").id == id
    assert pair.adds_up
    assert pair.move().stays == {Stays.KEY: 1}


def test_a_refusal_stands_even_if_the_reason_for_it_went_away(pair: Pair) -> None:
    """Who is told of it later puts the email back, and whoever moves it anew asks anew."""
    id = pair.here.enqueue(email(), key="k").id
    cut_short(pair.moving(), after=DEPARTED)
    other = pair.there.enqueue(email("Another"), key="k").id
    cut_short(pair.resuming(), after=3)
    with pair.there.transaction() as connection:
        tables = pair.there.database.dialect.tables
        connection.execute(f"DELETE FROM {tables}keys")
    pair.resume()

    assert pair.here.get(id).status is Status.PENDING
    assert pair.move().emails == 1
    assert {each.id for each in pair.there.list().emails} == {id, other}
    assert pair.adds_up


def test_what_is_under_way_is_told_and_its_key_and_history_are_not_swept(pair: Pair) -> None:
    id = bring_to(pair.here, Status.DEAD, key="k")
    cut_short(pair.moving(), after=DEPARTED)
    pair.clock.advance(days=365)
    pair.here.prune()

    [under_way] = pair.here.database.run(leaving.underway(), writes=False)
    assert (under_way.region, under_way.emails) == ("usa1", 1)
    assert pair.here.enqueue(email(), key="k").duplicate
    pair.resume()
    assert [each.what for each in pair.there.get(id).history] == ["failed", "moved"]


def test_a_database_that_goes_away_leaves_a_move_to_be_finished(pair: Pair) -> None:
    enqueue(pair.here)
    moving, asked = pair.moving(), []

    def away(crossing: Crossing[Moved]) -> None:
        asked.append(next(crossing))
        for _ in range(5):
            asked.append(crossing.send(asked[-1].place.database.run(asked[-1].plan, writes=asked[-1].writes)))
        crossing.throw(StoreUnavailable("away"))

    with pytest.raises(StoreUnavailable):
        away(moving)
    assert pair.here.counts()["moving"] == 1
    assert pair.move().resumed == 1
    assert pair.adds_up


def test_an_email_that_was_moved_is_not_taken_in_again_by_whoever_was_sending_it_inline(pair: Pair) -> None:
    """A process whose database was away while it sent keeps the order, to take it in should there be no row."""
    order = pair.here.rules.order(Submission(email()), now=pair.clock.now)
    pair.here.database.run(enqueue_orders([order]))
    late = Settlement(
        claim=Claim(order.id, LeaseToken(1)),
        status=Status.RETRYING,
        attempts=1,
        due_at=pair.clock.now,
        order=order,
    )
    for after in (DEPARTED, STEPS):
        cut_short(pair.moving(), after=after)

        assert settle(pair.here, [late]) == set()
        assert pair.here.list().emails == ()
    assert pair.adds_up
