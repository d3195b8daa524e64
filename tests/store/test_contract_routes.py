"""Routes: every email has one way out; claims, due times and wake-ups are each route's own; moves are on record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from postroom import EmailId, Filter, Outbox, Status
from postroom.outbox.submission import Submission
from postroom.store import acts, claims, dispatch, questions
from postroom.store.contract import Claim, HistoryEntry
from postroom.store.dispatch import Awaiting
from postroom.store.enqueue import enqueue_each
from postroom.vocabulary import LeaseToken, Priority
from tests.store.journey import (
    LEASE,
    Clock,
    bring_to,
    claim,
    claim_on,
    email,
    enqueue,
    enqueue_on,
    in_doubt,
    named,
    note_dots,
    release,
    reserve,
    retrying,
    sent,
    settle,
    take_over,
)


def move(outbox: Outbox, source: str, to: str, *, limit: int = 100) -> int:
    return outbox.database.run(acts.move_route(from_route=source, to=to, actor="eve", limit=limit))


def reserve_on(outbox: Outbox, seats: int, routes: list[str] | None) -> list[EmailId]:
    plan = dispatch.reserve(worker="s", lease=LEASE, seats={Priority.NORMAL: seats}, routes=routes)
    return [each.claim.id for each in outbox.database.run(plan)]


def last_entry(outbox: Outbox, id: EmailId) -> HistoryEntry:
    return outbox.get(id).history[-1]


def terms_of(outbox: Outbox, id: EmailId) -> set[str]:
    with outbox.transaction() as connection:
        place = "?" if outbox.database.dialect.name == "sqlite" else "%s"
        question = f"SELECT term FROM {outbox.database.dialect.tables}terms WHERE email_id = {place}"
        return {term for (term,) in connection.execute(question, (id,)).fetchall()}


# ---------------------------------------------------------------- claims


def test_an_email_leaves_by_the_default_route_unless_it_was_given_another(outbox: Outbox) -> None:
    [first], [second] = enqueue(outbox), enqueue_on(outbox, "bulk-mail")

    assert (outbox.get(first).route, outbox.get(second).route) == ("default", "bulk-mail")


def test_a_claim_takes_emails_of_its_own_route_only(outbox: Outbox) -> None:
    usual, other = enqueue(outbox, 3), enqueue_on(outbox, "other", 3)

    assert [(each.id, each.route) for each in claim_on(outbox, "other")] == [(id, "other") for id in other]
    assert claim_on(outbox, "nobody's") == []
    assert [(each.id, each.route) for each in claim(outbox)] == [(id, "default") for id in usual]


def test_lanes_are_each_routes_own(outbox: Outbox) -> None:
    enqueue_on(outbox, "other", 5, priority="urgent")
    usual = enqueue(outbox, 2, priority="bulk")
    plan = claims.claim(worker="w", lease=LEASE, urgent=2, normal=0, bulk=0)

    assert [each.id for each in outbox.database.run(plan)] == usual


def test_a_taken_over_email_says_its_route(outbox: Outbox, clock: Clock) -> None:
    enqueue_on(outbox, "other")
    claim_on(outbox, "other")
    clock.advance(seconds=31)

    assert [each.route for each in take_over(outbox)] == ["other"]


def test_a_queued_email_says_its_route_to_its_sender(outbox: Outbox) -> None:
    enqueue_on(outbox, "other")
    [reserved] = reserve(outbox)
    plan = dispatch.claim_queued([named(reserved)], worker="sender", lease=LEASE)

    assert [each.route for each in outbox.database.run(plan)] == ["other"]


# ---------------------------------------------------------------- fallback


def test_an_email_claimed_onto_another_route_is_there_from_now_on_and_says_so(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue_on(outbox, "main")
    [claimed] = claim_on(outbox, "main", onto="backup", reason="connection refused")

    stored, entry = outbox.get(id), last_entry(outbox, id)
    assert (claimed.route, stored.route, stored.status) == ("backup", "backup", Status.SENDING)
    assert (entry.what, entry.at, entry.actor, entry.attempt) == ("rerouted", clock.now, None, 0)
    assert entry.detail == {"from": "main", "to": "backup", "reason": "connection refused"}
    settle(outbox, [retrying(claimed, clock.now)])
    assert claim_on(outbox, "main") == []
    assert [each.id for each in claim_on(outbox, "backup")] == [id]


def test_an_email_that_was_ever_in_doubt_is_never_claimed_onto_another_route(outbox: Outbox, clock: Clock) -> None:
    """A doubt that was tried again and failed before the dot is still a doubt: a copy may be out there."""
    doubtful, failed_since, fresh = enqueue(outbox, 3)
    first, second, _ = claim(outbox)
    settle(outbox, [in_doubt(first, clock.now), in_doubt(second, clock.now)])
    [again] = [each for each in claim(outbox) if each.id == failed_since]
    settle(outbox, [retrying(again, clock.now)])
    clock.advance(minutes=1)
    take_over(outbox)
    release(outbox, [Claim(doubtful, LeaseToken(3)), Claim(fresh, LeaseToken(2))])

    assert [each.id for each in claim_on(outbox, "default", onto="backup")] == [fresh]
    assert {outbox.get(id).route for id in (doubtful, failed_since)} == {"default"}
    assert {each.id for each in claim_on(outbox, "default")} == {doubtful, failed_since}


def test_a_fallback_passes_those_in_doubt_and_fills_its_seats_with_others(outbox: Outbox, clock: Clock) -> None:
    ids = enqueue(outbox, 6)
    settle(outbox, [in_doubt(each, clock.now - timedelta(minutes=1)) for each in claim(outbox, 3)])

    assert [each.id for each in claim_on(outbox, "default", 3, onto="backup")] == ids[3:]


def test_a_claim_onto_another_route_carries_the_whole_email(outbox: Outbox) -> None:
    outbox.enqueue(email("Content", text="All of it."))
    [claimed] = claim_on(outbox, "default", onto="backup")

    assert (claimed.subject, claimed.text, claimed.claim.token) == ("Content", "All of it.", 1)


# ---------------------------------------------------------------- finding


def test_emails_are_found_by_their_route(outbox: Outbox) -> None:
    usual, other = enqueue(outbox, 2), enqueue_on(outbox, "other", 3)

    def found(**wanted: str) -> list[EmailId]:
        return [each.id for each in outbox.list(**wanted).emails]

    assert found(route="other") == other[::-1]
    assert found(route="default") == usual[::-1]
    assert found(route="other", status="pending") == other[::-1]
    assert found(route="other", status="sent") == found(route="oth") == []
    assert outbox.count(Filter(route="other", recipient="ada@example.org")) == 3


def test_an_email_under_a_key_is_held_to_the_route_that_is_asked_for(outbox: Outbox) -> None:
    [id] = enqueue_on(outbox, "other", key="k")

    assert [each.id for each in outbox.list(key="k", route="other").emails] == [id]
    assert outbox.list(key="k", route="default").emails == ()


def test_a_moved_email_is_found_by_the_route_it_is_on_and_no_other(outbox: Outbox) -> None:
    [id] = enqueue_on(outbox, "main")
    for source, to in (("main", "backup"), ("backup", "default"), ("default", "main"), ("main", "backup")):
        assert move(outbox, source, to) == 1
        assert [each.id for each in outbox.list(route=to).emails] == [id]
        assert outbox.list(route=source).emails == ()

    assert terms_of(outbox, id) == {"to:ada@example.org", "route:backup"}


def test_an_email_that_goes_takes_the_term_of_its_route_along(outbox: Outbox) -> None:
    [stayed], [moved] = enqueue_on(outbox, "main"), enqueue(outbox)
    move(outbox, "default", "backup")
    settle(outbox, [sent(each) for each in claim_on(outbox, "main") + claim_on(outbox, "backup")], keep_sent=False)

    assert terms_of(outbox, stayed) == terms_of(outbox, moved) == set()


# ---------------------------------------------------------------- due times


def test_the_next_due_time_is_asked_for_some_routes_or_all(outbox: Outbox, clock: Clock) -> None:
    for minutes, route in ((3, "c"), (1, "a"), (2, "b"), (4, "default")):
        enqueue_on(outbox, route, not_before=clock.now + timedelta(minutes=minutes), priority="bulk")

    def minutes_until(routes: list[str] | None) -> float | None:
        due = outbox.database.run(questions.next_due(routes))
        return None if due is None else (due - clock.now) / timedelta(minutes=1)

    assert minutes_until(None) == minutes_until(["a"]) == minutes_until(["default", "a"]) == 1
    assert (minutes_until(["b", "c"]), minutes_until(["default"])) == (2, 4)
    assert minutes_until(["nobody's"]) is minutes_until([]) is None
    clock.advance(minutes=2)
    assert outbox.database.run(questions.oldest_due(["c", "default"])) is None
    assert outbox.database.run(questions.oldest_due(["b", "c"])) == clock.now
    assert outbox.database.run(questions.oldest_due()) == clock.now - timedelta(minutes=1)


def test_what_waits_is_counted_by_route(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox, 2)
    enqueue_on(outbox, "other", 3)
    enqueue_on(outbox, "other", 1, not_before=clock.now + timedelta(days=1))
    enqueue_on(outbox, "busy", 2)
    claim_on(outbox, "busy")

    assert outbox.database.run(questions.waiting_by_route()) == {"default": 2, "other": 4}


# ---------------------------------------------------------------- broker


def test_a_scheduler_reserves_of_the_routes_it_asks_for(outbox: Outbox) -> None:
    usual, other = enqueue(outbox, 2), enqueue_on(outbox, "other", 2)

    assert reserve_on(outbox, 9, ["nobody's"]) == []
    assert reserve_on(outbox, 9, ["other"]) == other
    assert reserve_on(outbox, 9, None) == usual


def test_routes_take_turns_for_the_seats_of_a_lane(outbox: Outbox, clock: Clock) -> None:
    """A route with a long backlog leaves the others their part, and takes what they leave."""
    enqueue_on(outbox, "long", 20)
    clock.advance(seconds=1)
    few, some = enqueue_on(outbox, "few", 1), enqueue_on(outbox, "some", 5)

    taken = reserve_on(outbox, 9, None)
    assert Counter(outbox.get(id).route for id in taken) == {"long": 4, "some": 4, "few": 1}
    assert {*few, *some[:4]} <= set(taken)
    assert len(reserve_on(outbox, 9, None)) == 9


def test_with_fewer_seats_than_routes_the_oldest_of_all_goes_first(outbox: Outbox, clock: Clock) -> None:
    ids = {}
    for route in ("c", "a", "b"):
        [ids[route]] = enqueue_on(outbox, route)
        clock.advance(seconds=1)

    assert [reserve_on(outbox, 1, None) for _ in range(4)] == [[ids["c"]], [ids["a"]], [ids["b"]], []]


def test_whether_a_broker_has_anything_to_carry_is_asked_for_some_routes_or_all(outbox: Outbox) -> None:
    def awaiting(routes: list[str] | None) -> Awaiting:
        return outbox.database.run(dispatch.awaiting(routes))

    enqueue_on(outbox, "due", priority="bulk")
    enqueue_on(outbox, "queued")
    reserve_on(outbox, 1, ["queued"])

    assert awaiting(None) == awaiting(["due", "queued"]) == Awaiting(due=True, queued=True)
    assert awaiting(["due"]) == Awaiting(due=True, queued=False)
    assert awaiting(["queued"]) == Awaiting(due=False, queued=True)
    assert awaiting(["default"]) == Awaiting(due=False, queued=False)


# ---------------------------------------------------------------- moving


def test_waiting_emails_are_moved_by_a_person_who_is_on_record(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue_on(outbox, "old", not_before=clock.now + timedelta(hours=1))

    assert move(outbox, "old", "new") == 1
    stored, entry = outbox.get(id), last_entry(outbox, id)
    assert (stored.route, stored.status, stored.next_attempt_at) == (
        "new", Status.PENDING, clock.now + timedelta(hours=1)
    )  # fmt: skip
    assert (entry.what, entry.actor, entry.detail) == ("rerouted", "eve", {"from": "old", "to": "new"})
    assert move(outbox, "old", "new") == move(outbox, "new", "new") == 0


def test_emails_are_moved_in_bounded_batches_until_none_is_left(outbox: Outbox) -> None:
    enqueue_on(outbox, "old", 5)
    enqueue(outbox, 2)

    assert [move(outbox, "old", "new", limit=2) for _ in range(4)] == [2, 2, 1, 0]
    assert outbox.database.run(questions.waiting_by_route()) == {"new": 5, "default": 2}


@pytest.mark.parametrize("status", Status)
def test_only_what_waits_for_its_time_is_moved(outbox: Outbox, status: Status) -> None:
    """What somebody has in hand, and what is held or finished, stays where it is."""
    id = bring_to(outbox, status)

    moved = status in (Status.PENDING, Status.RETRYING)
    assert move(outbox, "default", "new") == moved
    assert (outbox.get(id).route, outbox.get(id).status) == ("new" if moved else "default", status)


def test_a_doubt_with_a_due_time_is_moved_and_stays_a_doubt(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    settle(outbox, [in_doubt(each, clock.now) for each in claim(outbox)])

    assert move(outbox, "default", "new") == 1
    assert (outbox.get(id).status, outbox.get(id).doubts) == (Status.IN_DOUBT, 1)


def test_after_a_move_the_late_word_of_the_last_owner_still_ends_a_doubt(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [lost] = claim(outbox)
    clock.advance(seconds=31)
    settle(outbox, [in_doubt(each, clock.now + timedelta(hours=1)) for each in take_over(outbox)])
    move(outbox, "default", "new")

    assert settle(outbox, [sent(lost)]) == {id}
    assert (outbox.get(id).status, outbox.get(id).route) == (Status.SENT, "new")


# ---------------------------------------------------------------- deferring


def test_a_deferred_email_is_due_then_and_says_why(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    until = clock.now + timedelta(hours=2)

    assert outbox.database.run(claims.defer([claimed.claim], until=until, reason="the window is shut")) == {id}
    stored, entry = outbox.get(id), last_entry(outbox, id)
    assert (stored.status, stored.attempts, stored.next_attempt_at) == (Status.PENDING, 0, until)
    assert (stored.worker, stored.leased_until, stored.last_error) == (None, None, None)
    assert (entry.what, entry.at, entry.detail) == (
        "deferred", clock.now, {"until": until.isoformat(), "reason": "the window is shut"}
    )  # fmt: skip
    assert claim(outbox) == []
    clock.now = until
    assert [each.id for each in claim(outbox)] == [id]


def test_a_deferred_email_that_had_failed_or_was_in_doubt_stays_so(outbox: Outbox, clock: Clock) -> None:
    failed, doubtful = enqueue(outbox, 2)
    first, second = claim(outbox)
    settle(outbox, [retrying(first, clock.now), in_doubt(second, clock.now)])
    again = claim(outbox)
    note_dots(outbox, [each.claim for each in again])
    outbox.database.run(claims.defer([each.claim for each in again], until=clock.now, reason="later"))

    assert [outbox.get(id).status for id in (failed, doubtful)] == [Status.RETRYING, Status.IN_DOUBT]
    assert [outbox.get(id).attempts for id in (failed, doubtful)] == [1, 1]
    assert [each.dot_noted for each in claim(outbox)] == [False, False]


def test_only_the_newest_claim_defers(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [lost] = claim(outbox)
    clock.advance(seconds=31)
    [taken] = take_over(outbox)

    assert outbox.database.run(claims.defer([lost.claim], until=clock.now, reason="later")) == set()
    assert (outbox.get(id).status, outbox.get(id).history) == (Status.SENDING, ())
    assert outbox.database.run(claims.defer([], until=clock.now, reason="later")) == set()
    assert settle(outbox, [sent(taken)]) == {id}


def test_a_reserved_email_can_be_deferred(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [reserved] = reserve(outbox)
    outbox.database.run(claims.defer([reserved.claim], until=clock.now + timedelta(hours=1), reason="quota"))

    assert (outbox.get(id).status, claim(outbox)) == (Status.PENDING, [])


# ---------------------------------------------------------------- wake-ups


@contextmanager
def listening(outbox: Outbox) -> Iterator[list[str]]:
    """What was called out in the block, when it has ended."""
    heard: list[str] = []
    with psycopg.connect(outbox.database_url, autocommit=True) as connection:
        connection.execute("LISTEN postroom")
        yield heard
        connection.execute("SELECT")  # whatever was committed before this has arrived with its answer
        heard += [each.payload for each in connection.notifies(timeout=0)]


def test_a_wake_up_names_the_route_that_has_something_new(postgres_outbox: Outbox, clock: Clock) -> None:
    outbox = postgres_outbox
    rules = outbox.rules
    orders = [replace(rules.order(Submission(email()), now=clock.now), route=route) for route in ("a", "b", "a")]
    with listening(outbox) as one:
        enqueue_on(outbox, "a")
    with listening(outbox) as keyed:
        enqueue_on(outbox, "b", key="k")
    with listening(outbox) as copied:
        outbox.database.run(enqueue_each(orders, copies=True))
    with listening(outbox) as moved:
        move(outbox, "a", "c")
    with listening(outbox) as scheduled:
        enqueue_on(outbox, "a", not_before=clock.now + timedelta(hours=1))

    assert (one, keyed, moved, scheduled) == (["a"], ["b"], ["c"], [])
    assert sorted(copied) == ["a", "b"]


def test_an_act_and_a_lost_message_wake_the_route_of_the_email(postgres_outbox: Outbox, clock: Clock) -> None:
    outbox = postgres_outbox
    ids = [*enqueue_on(outbox, "a"), *enqueue_on(outbox, "b", 2)]
    settle(outbox, [in_doubt(each, None) for route in "ab" for each in claim_on(outbox, route)])
    with listening(outbox) as retried:
        outbox.database.run(acts.retry(ids, actor=None))
    reserved = reserve(outbox)
    with listening(outbox) as unqueued:
        outbox.database.run(dispatch.unqueue([named(each) for each in reserved if each.claim.id == ids[0]]))
    clock.advance(seconds=31)
    with listening(outbox) as requeued:
        outbox.database.run(dispatch.requeue(limit=100))

    assert (sorted(retried), unqueued, requeued) == (["a", "b"], ["a"], ["b"])
