"""What several transactions do to each other: who waits, who does not, and who is refused.

Only a database with row locks lets two writers meet; on SQLite one of them has not begun yet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Event
from typing import Any

import psycopg
import pytest

from postroom import Attachment, Outbox, Status
from postroom.errors import NotApplicable
from postroom.outbox.submission import Submission
from postroom.store import acts, claims, dispatch
from postroom.store.enqueue import enqueue
from postroom.store.housekeeping import Keep, prune_batch, sweep
from postroom.store.plan import Plan, Statement, Step, drive
from postroom.vocabulary import Priority
from tests.store.journey import (
    LEASE,
    Clock,
    bring_to,
    claim,
    claim_queued,
    email,
    named,
    release,
    renew,
    reserve,
    sent,
    settle,
)
from tests.store.journey import enqueue as put

NOTHING_KEPT = Keep(emails=timedelta(0), keys=timedelta(0), undo=timedelta(0))


@contextmanager
def elsewhere(work: Callable[[], Any]) -> Iterator[Future[Any]]:
    """Something going on in another thread."""
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(work)


def wait_until_somebody_waits(outbox: Outbox) -> None:
    """Until the server says that a transaction waits for another one's lock."""
    with psycopg.connect(outbox.database_url, autocommit=True) as connection:
        while not connection.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone():
            connection.execute("SELECT pg_sleep(0.005)")


def paused_after(plan: Plan[Any], name: str, reached: Event, proceed: Event) -> Plan[Any]:
    """The plan, held up after one of its statements."""
    step: Step = next(plan)
    try:
        while True:
            rows = yield step
            if getattr(step, "name", None) == name:
                reached.set()
                assert proceed.wait(30)
            step = plan.send(rows)
    except StopIteration as finished:
        return finished.value


@pytest.mark.parametrize("lane", ["urgent", "normal", "bulk"])
def test_a_claim_does_not_wait_for_another_claim(postgres_outbox: Outbox, lane: str) -> None:
    """(B3) SKIP LOCKED: what another worker is taking just now is passed over."""
    ids = put(postgres_outbox, 10, priority=lane)
    with postgres_outbox.transaction() as connection:
        first = postgres_outbox.database.run_on(
            connection, claims.claim(worker="a", lease=LEASE, urgent=4, normal=0, bulk=0)
        )
        second = claim(postgres_outbox, 10, worker="b")

    assert [each.id for each in first] == ids[:4]
    assert [each.id for each in second] == ids[4:]


def test_a_take_over_does_not_wait_for_another(postgres_outbox: Outbox, clock: Clock) -> None:
    ids = put(postgres_outbox, 4)
    claim(postgres_outbox)
    clock.advance(minutes=1)
    plan = claims.take_over(worker="a", lease=LEASE, limit=2)
    with postgres_outbox.transaction() as connection:
        first = postgres_outbox.database.run_on(connection, plan)
        second = postgres_outbox.database.run(claims.take_over(worker="b", lease=LEASE, limit=10))

    assert [each.id for each in first] == ids[:2]
    assert [each.id for each in second] == ids[2:]


def test_a_prune_passes_over_what_somebody_is_working_on(postgres_outbox: Outbox, clock: Clock) -> None:
    first, second = (bring_to(postgres_outbox, Status.SENT) for _ in range(2))
    clock.advance(days=31)
    with postgres_outbox.transaction() as connection:
        connection.execute("SELECT 1 FROM postroom.emails WHERE id = %s FOR UPDATE", (first,))
        went = postgres_outbox.database.run(prune_batch(before=clock.now, statuses=[Status.SENT], limit=10))

    assert went == 1
    assert [each.id for each in postgres_outbox.list().emails] == [first]
    assert second != first


def test_an_act_waits_for_a_claim_and_then_refuses_what_is_being_sent(postgres_outbox: Outbox) -> None:
    [id] = put(postgres_outbox)
    thread = ThreadPoolExecutor(1)
    with postgres_outbox.transaction() as connection:
        postgres_outbox.database.run_on(connection, claims.claim(worker="w", lease=LEASE, urgent=1, normal=0, bulk=0))
        cancelling = thread.submit(lambda: postgres_outbox.cancel(id))
        wait_until_somebody_waits(postgres_outbox)
        waited = not cancelling.done()

    with pytest.raises(NotApplicable, match="it is sending"):
        cancelling.result(30)
    thread.shutdown()
    assert waited
    assert postgres_outbox.get(id).status is Status.SENDING


def test_a_claim_passes_over_what_a_person_is_acting_on(postgres_outbox: Outbox) -> None:
    first, second = put(postgres_outbox, 2)
    with postgres_outbox.transaction() as connection:
        postgres_outbox.database.run_on(connection, acts.cancel([first], actor=None))
        taken = claim(postgres_outbox)

    assert [each.id for each in taken] == [second]
    assert postgres_outbox.get(first).status is Status.CANCELLED


def test_a_second_enqueue_waits_for_the_first_and_is_then_a_duplicate(postgres_outbox: Outbox) -> None:
    """(B2) Also when the first is not committed yet."""
    with postgres_outbox.transaction() as connection:
        first = postgres_outbox.enqueue(email(), key="race", connection=connection)
        thread = ThreadPoolExecutor(1)
        second = thread.submit(lambda: postgres_outbox.enqueue(email("Other"), key="race"))
        wait_until_somebody_waits(postgres_outbox)
        waited = not second.done()

    receipt = second.result(30)
    thread.shutdown()
    assert waited
    assert (receipt.id, receipt.duplicate, receipt.content_differs) == (first.id, True, True)


def test_a_second_enqueue_enters_when_the_first_is_rolled_back(postgres_outbox: Outbox) -> None:
    thread = ThreadPoolExecutor(1)
    with postgres_outbox.transaction() as connection:
        postgres_outbox.enqueue(email(), key="race", connection=connection)
        second = thread.submit(lambda: postgres_outbox.enqueue(email(), key="race"))
        wait_until_somebody_waits(postgres_outbox)
        raise psycopg.Rollback

    receipt = second.result(30)
    thread.shutdown()
    assert not receipt.duplicate
    assert postgres_outbox.conservation().enqueued == 1


def test_batches_with_the_same_keys_in_another_order_do_not_deadlock(postgres_outbox: Outbox) -> None:
    keys = [f"key-{number}" for number in range(200)]

    def put_in(order: list[str]) -> int:
        return postgres_outbox.enqueue_many((email(), key) for key in order)

    with ThreadPoolExecutor(4) as threads:
        added = sum(threads.map(put_in, [keys, keys[::-1], keys, keys[::-1]]))

    assert added == 200
    assert postgres_outbox.conservation().holds


def test_a_sweep_leaves_an_attachment_that_an_enqueue_holds(postgres_outbox: Outbox, clock: Clock) -> None:
    """The attachment is there, unused; somebody is about to use it again; a sweep comes by."""
    logo = Attachment("logo.png", b"logo")
    settle_one(postgres_outbox, logo)
    with postgres_outbox.transaction() as connection:
        postgres_outbox.enqueue(email(attachments=[logo]), connection=connection)
        swept = postgres_outbox.database.run(sweep(**NOTHING_KEPT.ends(clock.now), limit=10))

    assert swept == 0
    [claimed] = claim(postgres_outbox)
    assert list(claimed.attachments.values()) == [b"logo"]


def settle_one(outbox: Outbox, logo: Attachment) -> None:
    """An email that carried the attachment, and has gone."""
    outbox.enqueue(email(attachments=[logo]))
    settle(outbox, [sent(each) for each in claim(outbox)], keep_sent=False)


def test_an_enqueue_stores_again_what_a_sweep_takes_away_under_it(postgres_outbox: Outbox, clock: Clock) -> None:
    logo = Attachment("logo.png", b"logo")
    settle_one(postgres_outbox, logo)
    thread = ThreadPoolExecutor(1)
    with postgres_outbox.transaction() as connection:
        swept = postgres_outbox.database.run_on(connection, sweep(**NOTHING_KEPT.ends(clock.now), limit=10))
        entering = thread.submit(lambda: postgres_outbox.enqueue(email(attachments=[logo])))
        wait_until_somebody_waits(postgres_outbox)

    id = entering.result(30).id
    thread.shutdown()
    assert swept == 1
    assert [each.content for each in postgres_outbox.letter(id).attachments] == [b"logo"]


def test_a_sweep_looks_again_once_it_has_the_lock(postgres_outbox: Outbox, clock: Clock) -> None:
    """An enqueue commits after the sweep has seen the attachment unused, and before it is removed."""
    logo = Attachment("logo.png", b"logo")
    settle_one(postgres_outbox, logo)
    reached, proceed = Event(), Event()
    order = postgres_outbox.rules.order(Submission(email(attachments=[logo])))
    entering = paused_after(enqueue([order]), "hold_attachments", reached, proceed)
    with elsewhere(lambda: postgres_outbox.database.run(entering)) as receipt:
        assert reached.wait(30)
        swept = postgres_outbox.database.run(sweep(**NOTHING_KEPT.ends(clock.now), limit=10))
        proceed.set()
        receipt.result(30)

    assert swept == 0
    assert postgres_outbox.database.run(sweep(**NOTHING_KEPT.ends(clock.now), limit=10)) == 0
    assert [each.content for each in postgres_outbox.letter(order.id).attachments] == [b"logo"]


def test_an_attachment_that_came_into_use_meanwhile_is_not_removed(postgres_outbox: Outbox, clock: Clock) -> None:
    """Between the look and the removal of a sweep, as it would be without a second look."""
    logo = Attachment("logo.png", b"logo")
    postgres_outbox.enqueue(email(attachments=[logo]))

    def stale_sweep() -> Plan[int]:
        plan = sweep(**NOTHING_KEPT.ends(clock.now), limit=10)
        step = next(plan)
        yield step
        step = plan.send([(logo.digest,)])  # what a look a moment ago would have found
        try:
            while True:
                rows = yield step
                step = plan.send(rows)
        except StopIteration as finished:
            return int(finished.value)

    assert postgres_outbox.database.run(stale_sweep()) == 0
    assert len(claim(postgres_outbox)[0].attachments) == 1


def test_renewals_and_settles_of_the_same_emails_never_deadlock(postgres_outbox: Outbox) -> None:
    """Whatever order a worker gives them in, rows are locked in one order."""
    put(postgres_outbox, 60)
    held = claim(postgres_outbox)
    names = [each.claim for each in held]

    def renew_often() -> int:
        return sum(len(renew(postgres_outbox, names[::-1])) for _ in range(20))

    def note_often() -> int:
        return sum(len(postgres_outbox.database.run(claims.note_dots(names))) for _ in range(20))

    with ThreadPoolExecutor(2) as threads:
        renewed, noted = threads.submit(renew_often), threads.submit(note_often)
        assert (renewed.result(60), noted.result(60)) == (1_200, 1_200)
    assert release(postgres_outbox, names) == {each.id for each in held}


def test_a_reservation_does_not_wait_for_another(postgres_outbox: Outbox) -> None:
    """(D2) SKIP LOCKED: what another scheduler is taking just now is passed over."""
    ids = put(postgres_outbox, 10)
    seats = {Priority.NORMAL: 4}
    with postgres_outbox.transaction() as connection:
        first = postgres_outbox.database.run_on(connection, dispatch.reserve(worker="a", lease=LEASE, seats=seats))
        second = reserve(postgres_outbox, worker="b")

    assert [each.claim.id for each in first] == ids[:4]
    assert [each.claim.id for each in second] == ids[4:]


def test_a_sender_waits_for_the_scheduler_and_then_has_the_email(postgres_outbox: Outbox) -> None:
    """Were the locked row passed over, its message would look stale, and be thrown away."""
    [id] = put(postgres_outbox)
    [reserved] = reserve(postgres_outbox)
    thread = ThreadPoolExecutor(1)
    with postgres_outbox.transaction() as connection:
        postgres_outbox.database.run_on(connection, dispatch.confirm_queued([reserved.claim]))
        claiming = thread.submit(lambda: claim_queued(postgres_outbox, [named(reserved)]))
        wait_until_somebody_waits(postgres_outbox)

    assert [each.id for each in claiming.result(30)] == [id]
    thread.shutdown()


def test_a_scheduler_waits_for_a_sender_and_then_leaves_its_email_alone(postgres_outbox: Outbox) -> None:
    [id] = put(postgres_outbox)
    [reserved] = reserve(postgres_outbox)
    thread = ThreadPoolExecutor(1)
    with postgres_outbox.transaction() as connection:
        plan = dispatch.claim_queued([named(reserved)], worker="sender", lease=LEASE)
        postgres_outbox.database.run_on(connection, plan)
        confirming = thread.submit(lambda: postgres_outbox.database.run(dispatch.confirm_queued([reserved.claim])))
        wait_until_somebody_waits(postgres_outbox)

    confirming.result(30)
    thread.shutdown()
    assert postgres_outbox.get(id).status is Status.SENDING
    assert postgres_outbox.get(id).worker == "sender"


def test_schedulers_and_senders_with_the_same_emails_never_deadlock(postgres_outbox: Outbox) -> None:
    """Whatever order they come in, rows are locked in one order."""
    ids = put(postgres_outbox, 300)
    reserved = reserve(postgres_outbox, 300)
    held, messages = [each.claim for each in reserved], [named(each) for each in reserved]
    run_plan = postgres_outbox.database.run

    def confirm() -> None:
        for _ in range(20):
            run_plan(dispatch.confirm_queued(held[::-1]))

    def claim_all() -> int:
        return sum(len(claim_queued(postgres_outbox, messages[::-1])) for _ in range(20))

    def put_back() -> None:
        for _ in range(20):
            run_plan(dispatch.unqueue(messages))
            run_plan(dispatch.requeue(limit=300))
            run_plan(claims.release(held))

    with ThreadPoolExecutor(4) as threads:
        working = [threads.submit(each) for each in (confirm, claim_all, put_back, claim_all)]
        claimed = working[1].result(60) + working[3].result(60)
        for each in working:
            each.result(60)

    waiting = [id for id in ids if postgres_outbox.get(id).status is Status.PENDING]
    assert claimed + len(waiting) == 300


def test_a_settle_names_its_emails_in_the_order_of_their_ids(postgres_outbox: Outbox) -> None:
    put(postgres_outbox, 5)
    held = claim(postgres_outbox)
    asked: list[Any] = []
    plan = claims.settle([sent(each) for each in reversed(held)])

    def execute(step: Any) -> list[tuple[str]]:
        if isinstance(step, Statement):  # and not the news of it
            asked.append([row["id"] for row in step.parameters["outcomes"].each])
        return [(json.dumps(asked[-1]),)]

    drive(plan, execute)
    assert asked == [sorted(each.id for each in held)]
