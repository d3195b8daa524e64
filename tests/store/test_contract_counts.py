"""Counts and the conservation sum: everything that was ever enqueued is in exactly one place."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from postroom import Outbox, Status
from postroom.store import questions
from postroom.store.housekeeping import compact
from postroom.store.plan import Plan, Rows
from tests.store.journey import Clock, bring_to, claim, email, enqueue, sent, settle

PLACES = [*map(str, Status), "moving", "dismissed", "moved", "pruned"]
"""Where an email can be."""


def test_an_empty_outbox_counts_nothing_in_every_place(outbox: Outbox) -> None:
    assert outbox.counts() == dict.fromkeys(
        [*(str(status) for status in Status), "moving", "dismissed", "moved", "pruned"], 0
    )
    assert outbox.conservation().holds


def test_every_place_is_counted(outbox: Outbox, clock: Clock) -> None:
    bring_to(outbox, Status.SENT)
    clock.advance(days=31)
    outbox.prune()
    outbox.dismiss(bring_to(outbox, Status.DEAD))
    for status in (Status.DEAD, Status.SENT, Status.CANCELLED, Status.IN_DOUBT, Status.RETRYING, Status.SENDING):
        bring_to(outbox, status)
    enqueue(outbox, 2)

    expected = dict.fromkeys(PLACES, 1)
    assert outbox.counts() == expected | {"queued": 0, "pending": 2, "moving": 0, "moved": 0}
    assert outbox.conservation().counts == outbox.counts()
    assert (outbox.conservation().enqueued, outbox.conservation().holds) == (10, True)


def test_a_lost_row_breaks_the_sum(outbox: Outbox) -> None:
    """What the sum is worth: a row that vanishes without a trace is noticed."""
    first, _ = enqueue(outbox, 2)
    with outbox.transaction() as connection:
        connection.execute(f"DELETE FROM {outbox.database.dialect.tables}emails WHERE id = '{first}'")

    conservation = outbox.conservation()
    assert (conservation.enqueued, conservation.accounted, conservation.holds) == (2, 1, False)


def test_what_moves_while_somebody_counts_is_counted_once(outbox: Outbox) -> None:
    """Between any two statements of a count another connection enqueues, sends and cancels."""
    enqueue(outbox, 6)

    def disturb() -> None:
        settle(outbox, [sent(each) for each in claim(outbox, 1)])
        outbox.cancel(enqueue(outbox)[0])

    assert carried_with(disturb, outbox, questions.conservation()).holds
    counts = carried_with(disturb, outbox, questions.counts())
    assert sum(counts.values()) in {6, 7, 8}
    assert sum(outbox.counts().values()) == outbox.conservation().enqueued


def carried_with(disturb: Any, outbox: Outbox, plan: Plan[Any]) -> Any:
    """Carry a plan out while somebody else commits something before and after each of its statements."""

    def disturbed() -> Plan[Any]:
        rows: Rows = []
        try:
            step = next(plan)
            while True:
                rows = yield step
                disturb_elsewhere(disturb)
                step = plan.send(rows)
        except StopIteration as finished:
            return finished.value

    return outbox.database.run(disturbed(), writes=False)


def disturb_elsewhere(disturb: Any) -> None:
    """In another thread, for a thread has one transaction at a time."""
    with ThreadPoolExecutor(1) as elsewhere:
        elsewhere.submit(disturb).result()


def test_compaction_changes_no_sum(outbox: Outbox, clock: Clock) -> None:
    for minutes in (0, 1, 90, 60 * 24 * 3, 60 * 24 * 50):
        bring_to(outbox, Status.SENT)
        outbox.replay(bring_to(outbox, Status.CANCELLED))
        settle(outbox, [sent(each) for each in claim(outbox)])
        clock.advance(minutes=minutes)
    before, rows_before = outbox.counts(), tallies(outbox)
    outbox.database.run(compact())
    once = tallies(outbox)
    outbox.database.run(compact())

    assert outbox.counts() == before
    assert outbox.conservation().holds
    assert tallies(outbox) == once < rows_before


def tallies(outbox: Outbox) -> int:
    with outbox.transaction() as connection:
        found = connection.execute(f"SELECT count(*) FROM {outbox.database.dialect.tables}tallies").fetchone()
    return int(found[0])


def test_what_happened_is_told_by_the_minute(outbox: Outbox, clock: Clock) -> None:
    start = clock.now.replace(second=0, microsecond=0)
    enqueue(outbox, 2)
    clock.advance(minutes=2)
    settle(outbox, [sent(each) for each in claim(outbox)])
    found = outbox.database.run(questions.tallies_since(start))

    assert [(minute - start, name, count) for minute, name, count in found] == [
        (timedelta(0), "enqueued", 2),
        (timedelta(minutes=2), "sent", 2),
    ]


def test_counting_within_a_transaction_sees_the_transactions_own_emails_only_after_commit(outbox: Outbox) -> None:
    with outbox.transaction() as connection:
        outbox.enqueue(email(), connection=connection)
        seen: list[int] = []
        disturb_elsewhere(lambda: seen.append(outbox.counts()["pending"]))

    assert seen == [0]
    assert outbox.counts()["pending"] == 1
