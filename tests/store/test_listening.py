"""Listeners: what a change causes elsewhere is part of its transaction, and never in its way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from postroom import AsyncOutbox, Outbox, Status
from postroom.errors import StoreUnavailable
from postroom.store import acts, claims, dispatch
from postroom.store.contract import Settlement
from postroom.store.listening import Changed, Hear, Listener
from postroom.store.plan import Plan, ask_sql
from postroom.store.recall import Accepted, recall
from postroom.vocabulary import Change, DeadReason
from tests.store.journey import (
    Clock,
    bring_to,
    claim,
    claim_on,
    dead,
    email,
    enqueue,
    in_doubt,
    reserve,
    retrying,
    sent,
    settle,
)
from tests.store.stream import settle_and_roll_back, told


@pytest.fixture
def notebook(outbox: Outbox) -> Callable[[], list[str]]:
    """A table of somebody else's in the outbox's database, and what stands in it."""
    _do(outbox, "CREATE TABLE notebook (line text)")
    return lambda: [line for (line,) in _do(outbox, "SELECT line FROM notebook ORDER BY line")]


def _do(outbox: Outbox, sql: str) -> list[Any]:
    def plan() -> Plan[Any]:
        return (yield ask_sql(sql))

    return list(outbox.database.run(plan()))


def note(changed: Sequence[Changed]) -> Plan[None]:
    for each in changed:
        yield ask_sql("INSERT INTO notebook (line) VALUES (:line)", line=f"{each.id} {each.change}")


def listen(outbox: Outbox, *hear: Hear) -> None:
    outbox.database.listeners = tuple(Listener(f"listener {n}", each) for n, each in enumerate(hear))


class Ear:
    """Remembers what it was told, and asks for nothing."""

    def __init__(self) -> None:
        self.heard: list[Changed] = []

    def __call__(self, changed: Sequence[Changed]) -> Plan[None]:
        self.heard += changed
        yield from ()

    @property
    def changes(self) -> list[tuple[str, str]]:
        return [(each.id, each.change.value) for each in self.heard]


def test_a_listener_is_told_everything_that_is_known_of_a_change(outbox: Outbox, clock: Clock) -> None:
    ear = Ear()
    listen(outbox, ear)
    outbox.enqueue(email(), kind="invoice", workspace="acme", key="a-7")
    [claimed] = claim(outbox)

    settle(outbox, [dead(claimed)])

    assert ear.heard == [
        Changed(
            id=claimed.id,
            change=Change.DEAD,
            status=Status.DEAD,
            attempts=1,
            kind="invoice",
            workspace="acme",
            route="default",
            channel="email",
            key="a-7",
            dead_reason=DeadReason.PERMANENT,
            last_error="550 no such user",
            message_id=claimed.message_id,
            at=clock.now,
        )
    ]


def test_whoever_changes_an_email_is_heard(outbox: Outbox, clock: Clock) -> None:
    """The same as in the stream: no verb forgets the one or the other."""
    ear = Ear()
    listen(outbox, ear)
    [id] = enqueue(outbox)
    outbox.database.run(claims.defer([claim(outbox)[0].claim], until=clock.now, reason="later"))
    settle(outbox, [retrying(each, clock.now) for each in claim_on(outbox, "default", onto="backup")])
    outbox.database.run(acts.move_route(from_route="backup", to="default", actor=None, limit=10))
    settle(outbox, [in_doubt(each, None) for each in claim(outbox)])
    outbox.retry(id)
    outbox.cancel(id)
    outbox.replay(id, to="right@example.org")
    settle(outbox, map(dead, claim(outbox)))
    outbox.dismiss(id)
    [given_up] = enqueue(outbox)
    outbox.database.run(dispatch.give_up([reserve(outbox)[0].claim]))
    enqueue(outbox)
    [forgotten] = claim(outbox)
    outbox.database.run(claims.release([forgotten.claim]))
    said = Settlement(claim=forgotten.claim, status=Status.SENT, attempts=1, event="sent")
    outbox.database.run(recall([Accepted(settlement=said, version=1, worker="w")], keep_sent=False))

    story = ["deferred", "rerouted", "retrying", "rerouted", "in_doubt"]
    story += ["pending", "cancelled", "pending", "dead", "dismissed"]
    assert ear.changes == [*((id, change) for change in story), (given_up, "dead"), (forgotten.id, "sent")]
    assert [(id, change) for id, change, _ in told(outbox, 12)] == ear.changes


def test_what_a_listener_writes_is_there_when_the_change_is(outbox: Outbox, notebook: Callable[[], list[str]]) -> None:
    listen(outbox, note)
    ids = enqueue(outbox, 3)

    settle(outbox, map(sent, claim(outbox)))

    assert notebook() == [f"{id} sent" for id in ids]


def test_and_never_was_when_the_change_is_rolled_back(outbox: Outbox, notebook: Callable[[], list[str]]) -> None:
    listen(outbox, note)
    enqueue(outbox)
    [claimed] = claim(outbox)

    settle_and_roll_back(outbox, sent(claimed))

    assert notebook() == []


def test_a_settle_that_is_repeated_is_heard_once(outbox: Outbox) -> None:
    """The first one had been committed, and only its answer was lost."""
    ear = Ear()
    listen(outbox, ear)
    enqueue(outbox)
    [claimed] = claim(outbox)

    settle(outbox, [sent(claimed)])
    settle(outbox, [sent(claimed)])

    assert ear.changes == [(claimed.id, "sent")]


def test_an_email_that_is_not_kept_is_heard_of_before_it_goes(outbox: Outbox) -> None:
    ear = Ear()
    listen(outbox, ear)
    [id] = enqueue(outbox, 1, kind="news")

    settle(outbox, map(sent, claim(outbox)), keep_sent=False)

    assert [(each.id, each.kind, each.message_id is None) for each in ear.heard] == [(id, "news", False)]


def raises_at_once(changed: Sequence[Changed]) -> Plan[None]:
    raise LookupError("no such campaign")


def raises_halfway(changed: Sequence[Changed]) -> Plan[None]:
    yield from note(changed)
    raise LookupError("no such campaign")


def asks_nonsense(changed: Sequence[Changed]) -> Plan[None]:
    yield from note(changed)
    yield ask_sql("SELECT nothing FROM nowhere")


@pytest.mark.parametrize("fails", [raises_at_once, raises_halfway, asks_nonsense])
def test_a_listener_that_fails_is_undone_and_neither_mail_nor_other_listeners_suffer(
    outbox: Outbox, notebook: Callable[[], list[str]], fails: Hear, caplog: pytest.LogCaptureFixture
) -> None:
    """Here the one that fails comes between two that do not."""
    ear = Ear()
    listen(outbox, ear, fails, note)
    ids = enqueue(outbox, 2)

    settle(outbox, map(sent, claim(outbox)))

    assert {outbox.get(id).status for id in ids} == {Status.SENT}
    assert notebook() == [f"{id} sent" for id in ids]
    assert ear.changes == [(id, "sent") for id in ids]
    [line] = caplog.records
    assert (line.levelname, "a listener failed" in line.getMessage()) == ("ERROR", True)
    assert ("listener 1" in str(vars(line)), "no such campaign" in str(vars(line))) == (True, False)


def test_a_database_that_is_away_is_nobodys_mistake(outbox: Outbox) -> None:
    """The whole settle fails, and can be repeated: nothing of it has happened."""
    enqueue(outbox)
    [claimed] = claim(outbox)
    ear = Ear()

    def is_away(changed: Sequence[Changed]) -> Plan[None]:
        yield from ()
        raise ConnectionResetError("the server closed the connection")

    listen(outbox, ear, is_away)
    with pytest.raises((StoreUnavailable, ConnectionResetError)):
        settle(outbox, [sent(claimed)])
    assert outbox.get(claimed.id).status is Status.SENDING

    listen(outbox, ear)
    settle(outbox, [sent(claimed)])
    assert outbox.get(claimed.id).status is Status.SENT


async def test_an_outbox_for_event_loops_is_listened_to_as_well(outbox: Outbox, store_url: str) -> None:
    ear = Ear()
    id = bring_to(outbox, Status.DEAD)
    async with AsyncOutbox(store_url) as awaiting:
        listeners = (Listener("ear", ear), Listener("broken", raises_at_once))
        inner = getattr(awaiting.database, "_database", awaiting.database)
        inner.listeners = listeners
        await awaiting.retry(id)

    assert ear.changes == [(id, "pending")]
    assert outbox.get(id).status is Status.PENDING
