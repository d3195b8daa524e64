"""Any history of verbs leaves both stores as the model says, with nothing lost and nothing counted twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from postroom import DeadReason, EmailId, Outbox, Status
from postroom.compose import DEFAULT_LIMITS
from postroom.errors import EmailNotFound, NotApplicable
from postroom.outbox.submission import Submission
from postroom.store import acts, claims, dismissals, dispatch, housekeeping
from postroom.store.contract import Claim, Claimed, Settlement
from postroom.store.dispatch import Named
from postroom.store.enqueue import enqueue, enqueue_each
from postroom.store.plan import Plan
from postroom.vocabulary import Priority
from tests.store.journey import LEASE, Clock, email
from tests.store.model import Model

T = TypeVar("T")

OUTCOMES = [Status.SENT, Status.RETRYING, Status.DEAD, Status.IN_DOUBT, Status.PENDING]
KEYS = st.one_of(st.none(), st.sampled_from(["first", "second", "third"]))
ROUTES = st.sampled_from(["default", "backup"])
UNDO = timedelta(minutes=30)
TABLES = (
    *("emails", "contents", "terms", "keys", "events", "changes", "tallies"),
    *("attachment_uses", "attachments", "transports", "workers"),
)


class Histories(RuleBasedStateMachine):
    """Every verb in any order, on both stores at once, with a clock that only a rule moves."""

    ids = Bundle("ids")
    hands = Bundle("hands")
    """Claims that somebody was given at some time; most of them are worthless by now."""

    def __init__(self, outboxes: list[Outbox], clock: Clock) -> None:
        super().__init__()
        self.outboxes, self.clock, self.model = outboxes, clock, Model()

    @initialize()
    def begin(self) -> None:
        self.clock.now = datetime.now(UTC)
        for outbox in self.outboxes:
            empty(outbox)

    @rule(
        target=ids,
        key=KEYS,
        workspace=st.sampled_from(["", "acme"]),
        wait=st.sampled_from([0, 0, 60]),
        lane=st.sampled_from(["urgent", "normal", "bulk"]),
        route=ROUTES,
    )
    def enqueue_one(self, key: str | None, workspace: str, wait: int, lane: str, route: str) -> EmailId:
        not_before = self.clock.now + timedelta(seconds=wait) if wait else None
        submission = Submission.of(
            email(), key=key, workspace=workspace, not_before=not_before, priority=lane, route=route
        )
        order = self.outboxes[0].rules.order(submission, now=self.clock.now)
        [receipt] = self.on_both(lambda: enqueue([order]))

        assert receipt.id == self.model.enqueue(order, self.clock.now)
        assert receipt.duplicate == (receipt.id != order.id)
        return receipt.id

    @rule(target=ids, keys=st.lists(KEYS, min_size=1, max_size=4))
    def enqueue_many(self, keys: list[str | None]) -> Any:
        orders = [self.outboxes[0].rules.order(Submission(email(), key), now=self.clock.now) for key in keys]
        expected = [self.model.enqueue(order, self.clock.now) for order in orders]
        [added, again] = [
            outbox.database.run(enqueue_each(orders, copies=outbox.database.copies)) for outbox in self.outboxes
        ]

        assert added == again == sum(id == order.id for id, order in zip(expected, orders, strict=True))
        return multiple(*expected)

    @rule(target=hands, count=st.integers(1, 5), route=ROUTES)
    def claim(self, count: int, route: str) -> Any:
        shares = {"urgent": count, "normal": 0, "bulk": 0}
        taken = self.on_both(lambda: claims.claim(worker="w", lease=LEASE, route=route, **shares), known)

        assert [each.id for each in taken] == self.model.claim(count, self.clock.now, LEASE, route=route)
        return multiple(*(each.claim for each in taken))

    @rule(target=hands, count=st.integers(1, 5))
    def claim_onto_the_fallback(self, count: int) -> Any:
        shares = {"urgent": count, "normal": 0, "bulk": 0}
        taken = self.on_both(
            lambda: claims.claim(worker="w", lease=LEASE, route="default", onto="backup", reason="down", **shares),
            known,
        )

        assert [each.id for each in taken] == self.model.claim(
            count, self.clock.now, LEASE, route="default", onto="backup"
        )
        return multiple(*(each.claim for each in taken))

    @rule(claim=hands, seconds=st.sampled_from([0, 60]))
    def defer(self, claim: Claim, seconds: int) -> None:
        until = self.clock.now + timedelta(seconds=seconds)
        deferred = self.on_both(lambda: claims.defer([claim], until=until, reason="not now"))

        assert bool(deferred) == self.model.defer(claim, until)

    @rule(source=ROUTES, to=ROUTES, limit=st.integers(1, 3))
    def move_route(self, source: str, to: str, limit: int) -> None:
        moved = self.on_both(lambda: acts.move_route(from_route=source, to=to, actor="grace", limit=limit))

        assert moved == self.model.move_route(source, to, limit)

    @rule(target=hands, count=st.integers(1, 3))
    def reserve(self, count: int) -> Any:
        seats = dict.fromkeys(Priority, count)
        given = self.on_both(lambda: dispatch.reserve(worker="s", lease=LEASE, seats=seats))

        assert sorted(each.claim.id for each in given) == self.model.reserve(count, self.clock.now, LEASE)
        return multiple(*(each.claim for each in given))

    @rule(claim=hands)
    def confirm_queued(self, claim: Claim) -> None:
        self.on_both(lambda: dispatch.confirm_queued([claim]))

    @rule(target=hands, messages=st.lists(st.builds(Named, ids, st.integers(1, 3)), min_size=1, max_size=4))
    def claim_queued(self, messages: list[Named]) -> Any:
        taken = self.on_both(lambda: dispatch.claim_queued(messages, worker="w", lease=LEASE), known)

        assert [each.id for each in taken] == self.model.claim_queued(messages, self.clock.now, LEASE)
        return multiple(*(each.claim for each in taken))

    @rule(message=st.builds(Named, ids, st.integers(1, 3)))
    def unqueue(self, message: Named) -> None:
        self.on_both(lambda: dispatch.unqueue([message]))

        self.model.unqueue(message)

    @rule(limit=st.integers(1, 5))
    def requeue(self, limit: int) -> None:
        lost = self.on_both(lambda: dispatch.requeue(limit=limit), in_order)

        assert in_order(lost) == self.model.requeue(limit, self.clock.now)

    @rule(claim=hands)
    def give_up(self, claim: Claim) -> None:
        dead = self.on_both(lambda: dispatch.give_up([claim]))

        assert bool(dead) == self.model.give_up(claim, self.clock.now)

    @rule(target=hands, limit=st.integers(1, 5))
    def take_over(self, limit: int) -> Any:
        taken = self.on_both(lambda: claims.take_over(worker="v", lease=LEASE, limit=limit), known)

        assert [each.id for each in taken] == self.model.take_over(limit, self.clock.now, LEASE)
        return multiple(*(each.claim for each in taken))

    @rule(
        held=st.lists(hands, min_size=1, max_size=3, unique_by=lambda claim: claim.id),
        status=st.sampled_from(OUTCOMES),
        keep_sent=st.booleans(),
    )
    def settle(self, held: list[Claim], status: Status, keep_sent: bool) -> None:
        settlements = [self.settlement(claim, status) for claim in held]
        settled = self.on_both(lambda: claims.settle(settlements, keep_sent=keep_sent))

        assert settled == {
            each.claim.id for each in settlements if self.model.settle(each, self.clock.now, keep_sent=keep_sent)
        }

    @rule(claim=hands)
    def renew(self, claim: Claim) -> None:
        renewed = self.on_both(lambda: claims.renew([claim], lease=LEASE))

        assert bool(renewed) == self.model.renew(claim, self.clock.now, LEASE)

    @rule(claim=hands)
    def release(self, claim: Claim) -> None:
        released = self.on_both(lambda: claims.release([claim]))

        assert bool(released) == self.model.release(claim)

    @rule(claim=hands)
    def note_dot(self, claim: Claim) -> None:
        noted = self.on_both(lambda: claims.note_dots([claim]))

        assert bool(noted) == (self.model.owned(claim) is not None)

    @rule(id=ids, act=st.sampled_from(["retry", "dismiss", "cancel"]))
    def act(self, id: EmailId, act: str) -> None:
        self.try_act(act, id, lambda: acts.ACTS[act]([id], actor="grace"))

    @rule(id=ids)
    def reinstate(self, id: EmailId) -> None:
        def plan() -> Plan[Any]:
            return dismissals.reinstate([id], undo=UNDO, actor="grace")

        if self.model.reinstate(id, self.clock.now - UNDO):
            self.on_both(plan)
            return
        for outbox in self.outboxes:
            with pytest.raises(EmailNotFound):
                outbox.database.run(plan())

    @rule(id=ids, corrected=st.booleans())
    def replay(self, id: EmailId, corrected: bool) -> None:
        corrections = {"to": "right@example.org"} if corrected else {}
        self.try_act(
            "replay", id, lambda: acts.replay(id, corrections, actor=None, limits=DEFAULT_LIMITS), corrected=corrected
        )

    @rule(
        statuses=st.sampled_from([[Status.SENT, Status.CANCELLED], [Status.DEAD]]), minutes=st.sampled_from([0, 5, 60])
    )
    def prune(self, statuses: list[Status], minutes: int) -> None:
        before = self.clock.now - timedelta(minutes=minutes)
        removed = self.on_both(lambda: housekeeping.prune_batch(before=before, statuses=statuses, limit=1_000))

        assert removed == self.model.prune(statuses, before)

    @rule(limit=st.integers(1, 3))
    def sweep_and_compact(self, limit: int) -> None:
        long_ago = self.clock.now - timedelta(days=90)
        self.on_both(
            lambda: housekeeping.sweep(
                before=self.clock.now, keys_before=long_ago, changes_before=long_ago, undo=UNDO, limit=limit
            )
        )
        self.on_both(housekeeping.compact)

    @rule(seconds=st.sampled_from([1, 31, 61, 3_600]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @invariant()
    def both_are_as_the_model_says(self) -> None:
        expected = {
            each.id: (
                each.status,
                each.route,
                each.attempts,
                each.doubts,
                each.version,
                each.leased_until,
                self.due(each),
            )
            for each in self.model.emails.values()
        }
        for outbox in self.outboxes:
            found = {
                each.id: (
                    each.status,
                    each.route,
                    each.attempts,
                    each.doubts,
                    each.version,
                    each.leased_until,
                    each.next_attempt_at,
                )
                for each in outbox.list(limit=1_000).emails
            }
            assert found == expected

    @invariant()
    def nothing_is_lost(self) -> None:
        for outbox in self.outboxes:
            conservation = outbox.conservation()
            assert conservation.holds
            assert conservation.enqueued == self.model.enqueued
            assert outbox.counts() == conservation.counts == self.model.counts()

    def on_both(self, plan: Callable[[], Plan[T]], view: Callable[[T], Any] = lambda result: result) -> T:
        """The result of a verb, which has to be the same on both stores."""
        first, second = (outbox.database.run(plan()) for outbox in self.outboxes)
        assert view(first) == view(second)
        return first

    def try_act(self, act: str, id: EmailId, plan: Callable[[], Plan[Any]], *, corrected: bool = False) -> None:
        if self.model.applies(act, id):
            self.on_both(plan)
            self.model.act(act, id, self.clock.now, corrected=corrected)
            return
        refusal = NotApplicable if id in self.model.emails else EmailNotFound
        for outbox in self.outboxes:
            with pytest.raises(refusal):
                outbox.database.run(plan())

    def settlement(self, claim: Claim, status: Status) -> Settlement:
        email = self.model.emails.get(claim.id)
        attempts, doubts = (email.attempts, email.doubts) if email else (0, 0)
        waits = status in (Status.RETRYING, Status.PENDING, Status.IN_DOUBT)
        return Settlement(
            claim=claim,
            status=status,
            attempts=attempts + (status is not Status.PENDING),
            due_at=self.clock.now + timedelta(seconds=30) if waits else None,
            dead_reason=DeadReason.PERMANENT if status is Status.DEAD else None,
            doubts=doubts + (status is Status.IN_DOUBT),
            event="tried",
        )

    def due(self, email: Any) -> datetime | None:
        return email.due_at if email.status in (Status.PENDING, Status.RETRYING, Status.IN_DOUBT) else None


def in_order(messages: list[Named]) -> list[Named]:
    return sorted(messages, key=lambda message: message.id)


def known(taken: list[Claimed]) -> list[Any]:
    """What two stores have to agree on."""
    return [
        (each.claim, each.route, each.attempts, each.doubts, each.takeovers, each.dot_noted, each.due_at)
        for each in taken
    ]


def empty(outbox: Outbox) -> None:
    tables = outbox.database.dialect.tables
    with outbox.database.transaction() as connection:
        for name in TABLES:
            connection.execute(f"DELETE FROM {tables}{name}")


@pytest.fixture
def both(migrated_sqlite_url: str, migrated_postgres_url: str, clock: Clock) -> Iterator[list[Outbox]]:
    routes = {"default": "smtp://localhost:1", "backup": "smtp://localhost:2"}
    with (
        Outbox(migrated_sqlite_url, routes=routes, clock=clock) as sqlite,
        Outbox(migrated_postgres_url, routes=routes, clock=clock) as postgres,
    ):
        yield [sqlite, postgres]


@pytest.mark.timeout(600)
def test_any_history_leaves_both_stores_as_the_model_says(both: list[Outbox], clock: Clock) -> None:
    run_state_machine_as_test(lambda: Histories(both, clock), settings=settings(stateful_step_count=30))

    for outbox in both:
        assert outbox.conservation().holds
