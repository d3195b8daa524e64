"""The stream of changes: what happened, all of it, in the order in which it was committed, and nothing else."""

from __future__ import annotations

import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from postroom import Outbox, Status
from postroom.errors import ConfigurationError
from postroom.store import acts, claims, dispatch
from postroom.store.changes import BEGINNING, Cursor, Event, Wanted, newest_events, read_events
from postroom.store.contract import Settlement
from postroom.store.housekeeping import compact
from postroom.store.plan import ask_sql
from postroom.store.recall import Accepted, recall
from postroom.vocabulary import Change
from tests.store.journey import (
    LEASE,
    Clock,
    bring_to,
    claim,
    claim_on,
    dead,
    email,
    enqueue,
    enqueue_on,
    in_doubt,
    reserve,
    retrying,
    sent,
    settle,
    take_over,
)
from tests.store.stream import read_until, settle_and_roll_back, told


def test_each_settled_email_is_told_of_once_with_what_became_of_it(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox, 4)
    a, b, c, d = claim(outbox)

    settle(outbox, [sent(a), retrying(b, clock.now), in_doubt(c, clock.now), dead(d)])

    assert told(outbox, 4) == [
        (a.id, "sent", 1),
        (b.id, "retrying", 1),
        (c.id, "in_doubt", 1),
        (d.id, "dead", 1),
    ]


def test_a_settle_of_many_emails_costs_one_row(outbox: Outbox) -> None:
    enqueue(outbox, 50)

    settle(outbox, map(sent, claim(outbox)))

    table = f"{outbox.database.dialect.tables}changes"
    assert outbox.database.run(_select(f"SELECT count(*) FROM {table}")) == [(1,)]
    assert len(read_until(outbox, 50)) == 50


def test_what_was_not_ours_to_settle_is_not_told(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox)
    [late] = claim(outbox)
    clock.advance(minutes=1)
    [taken] = take_over(outbox)

    settle(outbox, [dead(late)])
    settle(outbox, [sent(taken)])

    assert told(outbox, 1) == [(taken.id, "sent", 1)]


def test_a_settle_that_is_rolled_back_is_not_told(outbox: Outbox) -> None:
    enqueue(outbox, 2)
    first, second = claim(outbox)

    settle_and_roll_back(outbox, sent(first))
    settle(outbox, [sent(second)])

    assert told(outbox, 1) == [(second.id, "sent", 1)]


def test_what_people_do_is_told(outbox: Outbox) -> None:
    retried = bring_to(outbox, Status.DEAD)
    outbox.retry(retried)
    outbox.cancel(retried)
    outbox.replay(retried)
    dismissed = bring_to_dead_beside(outbox)
    outbox.dismiss(dismissed)

    assert told(outbox, 6) == [
        (retried, "dead", 1),
        (retried, "pending", 0),
        (retried, "cancelled", 0),
        (retried, "pending", 0),
        (dismissed, "dead", 1),
        (dismissed, "dismissed", 1),
    ]


def bring_to_dead_beside(outbox: Outbox) -> str:
    id = outbox.enqueue(email(), priority="urgent").id
    [claimed] = claim(outbox, 1)
    assert claimed.id == id
    settle(outbox, [dead(claimed)])
    return id


def test_an_email_that_is_deferred_rerouted_or_moved_is_told_of(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox, 1, kind="invoice", workspace="acme")
    [held] = claim(outbox)
    outbox.database.run(claims.defer([held.claim], until=clock.now, reason="later"))
    [away] = claim_on(outbox, "default", onto="backup", reason="down")
    settle(outbox, [retrying(away, clock.now)])
    outbox.database.run(acts.move_route(from_route="backup", to="default", actor=None, limit=10))

    events = read_until(outbox, 4)

    assert [event.change for event in events] == ["deferred", "rerouted", "retrying", "rerouted"]
    assert {(event.email_id, event.kind, event.workspace) for event in events} == {(held.id, "invoice", "acme")}


def test_a_scheduler_that_gives_up_and_a_journal_that_remembers_are_told_of(outbox: Outbox) -> None:
    given_up = enqueue(outbox)
    [reserved] = reserve(outbox)
    outbox.database.run(dispatch.give_up([reserved.claim]))
    enqueue(outbox)
    [claimed] = claim(outbox)
    outbox.database.run(claims.release([claimed.claim]))
    said = Settlement(claim=claimed.claim, status=Status.SENT, attempts=1, event="sent")
    outbox.database.run(recall([Accepted(settlement=said, version=1, worker="w")]))

    assert told(outbox, 2) == [(given_up[0], "dead", 0), (claimed.id, "sent", 1)]


def test_coming_in_being_claimed_and_given_back_are_not_in_it(outbox: Outbox) -> None:
    enqueue(outbox, 3)
    outbox.database.run(claims.release([each.claim for each in claim(outbox)]))

    assert told(outbox, 0) == []


def test_an_event_says_where_the_email_stands_for_as_long_as_it_is_there(outbox: Outbox) -> None:
    [kept] = enqueue_on(outbox, "backup", kind="invoice", workspace="acme", key="a-7")
    settle(outbox, map(sent, claim_on(outbox, "backup")))
    [gone] = enqueue(outbox, 1, kind="news", workspace="acme")
    settle(outbox, map(sent, claim(outbox)), keep_sent=False)

    first, second = read_until(outbox, 2)

    assert (first.email_id, first.route, first.channel, first.key) == (kept, "backup", "email", "a-7")
    assert (second.email_id, second.route, second.channel, second.key) == (gone, None, None, None)
    assert (second.kind, second.workspace, second.attempts) == ("news", "acme", 1)


def test_the_stream_is_read_on_behind_any_of_its_events(outbox: Outbox) -> None:
    enqueue(outbox, 7)
    for batch in (3, 1, 3):
        settle(outbox, map(sent, claim(outbox, batch)))
    everything = read_until(outbox, 7)

    for place, event in enumerate(everything, 1):
        assert read_until(outbox, 7 - place, after=Cursor.parse(str(event.id)), page=2) == everything[place:]


def test_events_can_be_chosen_by_change_kind_and_workspace(outbox: Outbox) -> None:
    for kind, workspace in (("invoice", "acme"), ("news", "acme"), ("invoice", "other")):
        enqueue(outbox, 1, kind=kind, workspace=workspace)
    first, *others = claim(outbox)
    settle(outbox, [dead(first), *map(sent, others)])
    assert len(read_until(outbox, 3)) == 3

    def chosen(**wanted: Any) -> list[tuple[str, str, str]]:
        piece = outbox.database.run(read_events(limit=10, wanted=Wanted(**wanted)), writes=False)
        return [(event.change.value, event.kind, event.workspace) for event in piece.events]

    assert chosen(of=frozenset({Change.DEAD})) == [("dead", "invoice", "acme")]
    assert chosen(kind="invoice") == [("dead", "invoice", "acme"), ("sent", "invoice", "other")]
    assert chosen(workspaces=frozenset({"other"})) == [("sent", "invoice", "other")]
    assert chosen(workspaces=frozenset()) == []


def test_a_page_without_a_wanted_event_still_leads_on(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """However rare what somebody wants is, each answer is bounded, and the next one goes on from there."""
    monkeypatch.setattr("postroom.store.changes.LOOKED_AT", 8)
    enqueue(outbox, 21)
    *many, last = claim(outbox)
    for each in many:
        settle(outbox, [sent(each)])
    settle(outbox, [dead(last)])
    assert len(read_until(outbox, 21)) == 21
    wanted = Wanted(of=frozenset({Change.DEAD}))

    first = outbox.database.run(read_events(limit=5, wanted=wanted), writes=False)

    assert (first.events, first.more, first.next > BEGINNING) == ((), True, True)
    assert [event.email_id for event in read_until(outbox, 1, wanted=wanted)] == [last.id]


def test_the_newest_events_can_be_asked_for(outbox: Outbox) -> None:
    assert outbox.database.run(newest_events(3), writes=False).next == BEGINNING
    enqueue(outbox, 5)
    for each in claim(outbox):
        settle(outbox, [sent(each)])
    everything = read_until(outbox, 5)

    newest = outbox.database.run(newest_events(2), writes=False)

    assert list(newest.events) == everything[-2:]
    assert newest.next == everything[-1].id
    assert outbox.database.run(newest_events(0), writes=False).events == ()


@pytest.mark.parametrize("text", ["", "1", "1.2", "1.2.3.4", "a.b.c", "-1.2.3", "1.2.3\n", "٣.1.1", "9" * 25 + ".1.1"])
def test_what_is_no_id_of_an_event_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="no event's id"):
        Cursor.parse(text)


def test_a_place_that_the_database_does_not_know_is_read_as_the_beginning(outbox: Outbox) -> None:
    """An older backup was put back, or the outbox moved: what comes again is recognised, what is left out is lost."""
    enqueue(outbox, 2)
    settle(outbox, map(sent, claim(outbox)))
    everything = read_until(outbox, 2)

    assert read_until(outbox, 2, after=Cursor(2**60, 2**50, 1)) == everything


def test_the_stream_is_swept_by_age_and_kept_for_a_week_at_least(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox, 2)
    first, second = claim(outbox)
    settle(outbox, [sent(first)])
    clock.advance(days=8)
    settle(outbox, [in_doubt(second, None)])
    assert len(read_until(outbox, 2)) == 2

    outbox.prune(older_than="9d", batch=1)
    assert len(read_until(outbox, 2)) == 2
    outbox.prune(older_than="0s", batch=1)
    assert [event.email_id for event in read_until(outbox, 1)] == [second.id]

    clock.advance(days=8)
    outbox.prune(older_than="0s", batch=1)
    assert read_until(outbox, 0) == []


def test_positions_are_not_given_out_again_after_a_sweep(outbox: Outbox, clock: Clock) -> None:
    """Whoever has read to the end before it would miss what came after."""
    enqueue(outbox, 2)
    first, second = claim(outbox)
    settle(outbox, [sent(first)])
    [read] = read_until(outbox, 1)
    clock.advance(days=40)
    outbox.prune(older_than="0s")

    settle(outbox, [sent(second)])

    assert [event.email_id for event in read_until(outbox, 1, after=read.id)] == [second.id]


def test_nothing_is_missed_when_transactions_commit_in_the_other_order(postgres_outbox: Outbox) -> None:
    """The one that wrote first commits last: a reader by position would have gone past it."""
    outbox = postgres_outbox
    enqueue(outbox, 2)
    slow, quick = claim(outbox)
    with outbox.database.transaction() as connection:
        outbox.database.run_on(connection, claims.settle([sent(slow)]))
        settle(outbox, [sent(quick)])

        assert _naively(outbox) == [quick.id]
        early = outbox.database.run(read_events(limit=10), writes=False)

    events = read_until(outbox, 2 - len(early.events), after=early.next)
    assert [event.email_id for event in (*early.events, *events)] == [slow.id, quick.id]
    assert early.events == ()


def test_nor_when_the_one_that_began_first_wrote_last(postgres_outbox: Outbox) -> None:
    outbox = postgres_outbox
    enqueue(outbox, 2)
    old, young = claim(outbox)
    with outbox.database.transaction() as connection:
        connection.execute("SELECT pg_current_xact_id()")
        settle(outbox, [sent(young)])
        early = outbox.database.run(read_events(limit=10), writes=False)
        outbox.database.run_on(connection, claims.settle([sent(old)]))

    events = read_until(outbox, 2 - len(early.events), after=early.next)
    assert sorted(event.email_id for event in (*early.events, *events)) == sorted([old.id, young.id])


def test_a_dump_that_is_put_into_another_server_keeps_its_stream(postgres_outbox: Outbox) -> None:
    """There the numbers of transactions begin anew: what happened before comes before what happens then."""
    outbox = postgres_outbox
    enqueue(outbox, 3)
    first, second, third = claim(outbox)
    settle(outbox, [sent(first)])
    settle(outbox, [sent(second)])
    assert len(read_until(outbox, 2)) == 2
    with psycopg.connect(outbox.database_url) as connection:
        connection.execute("UPDATE postroom.changes SET txid = (txid::text::bigint + 1000000000)::text::xid8")
    settle(outbox, [sent(third)])

    before = read_until(outbox, 3)
    with psycopg.connect(outbox.database_url) as connection:
        connection.execute("SELECT pg_current_xact_id()")
    outbox.database.run(compact())

    assert [event.email_id for event in before] == [first.id, second.id, third.id]
    assert read_until(outbox, 3) == before


def test_nothing_is_missed_and_nothing_told_twice_while_four_settle_at_once(outbox: Outbox) -> None:
    """Read in small pages all the while; each email fails once, and is then sent: in that order, also in the stream."""
    count, done = 120, threading.Event()
    enqueue(outbox, count)

    def work(worker: int) -> None:
        while held := claim(outbox, 5, worker=f"worker {worker}"):
            now = outbox.database.dialect.clock()
            settle(outbox, [sent(each) if each.attempts else retrying(each, now or each.claimed_at) for each in held])

    def read() -> list[Event]:
        found, after = list[Event](), BEGINNING
        while not done.is_set():
            piece = outbox.database.run(read_events(after, limit=7), writes=False)
            found += piece.events
            after = piece.next
        return [*found, *read_until(outbox, 2 * count - len(found), after=after, page=7)]

    with ThreadPoolExecutor(5) as threads:
        reading = threads.submit(read)
        for working in [threads.submit(work, worker) for worker in range(4)]:
            working.result()
        while outbox.counts()["sent"] < count:  # what one gave up as nothing was due, another had made due
            work(9)
        done.set()
        events = reading.result()

    stories = defaultdict(list)
    for event in events:
        stories[event.email_id].append((event.change.value, event.attempts))
    assert len(stories) == count
    assert set(map(tuple, stories.values())) == {(("retrying", 1), ("sent", 2))}
    assert len({event.id for event in events}) == len(events)


def test_taking_over_is_told_in_the_words_of_what_it_came_to(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox)
    claim(outbox)
    clock.advance(seconds=LEASE.total_seconds() + 1)
    [taken] = take_over(outbox)
    settle(outbox, [in_doubt(taken, clock.now + timedelta(minutes=1), event="taken_over")])

    assert told(outbox, 1) == [(taken.id, "in_doubt", 1)]


def _select(sql: str) -> Any:
    rows = yield ask_sql(sql)
    return [tuple(row) for row in rows]


def _naively(outbox: Outbox) -> list[str]:
    """By position, as far as can be seen: what the stream must not do."""
    with psycopg.connect(outbox.database_url) as connection:
        rows = connection.execute("SELECT changes::json->0->>0 FROM postroom.changes ORDER BY position")
        return [id for (id,) in rows]
