"""On SQLite a claim lets go of the write lock before it reads: whoever enqueues meanwhile does not wait for that."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from postroom import Outbox
from postroom.errors import StoreUnavailable
from postroom.store import claims, dispatch
from postroom.store.plan import Plan, Rows
from postroom.store.questions import next_due
from postroom.store.sqlite import database
from postroom.vocabulary import EmailId, Priority
from tests.store.journey import email, enqueue

LEASE = timedelta(seconds=30)


def claim() -> Plan[list[Any]]:
    return claims.claim(worker="slow", lease=LEASE, urgent=0, normal=10, bulk=0)


def reserve() -> Plan[list[Any]]:
    return dispatch.reserve(worker="slow", lease=LEASE, seats={Priority.NORMAL: 10})


@pytest.fixture
def outbox(migrated_sqlite_url: str) -> Iterable[Outbox]:
    with Outbox(migrated_sqlite_url) as outbox:
        yield outbox


@pytest.fixture
def other(migrated_sqlite_url: str) -> Iterable[Outbox]:
    """Another process's, as far as SQLite can tell."""
    with Outbox(migrated_sqlite_url) as outbox:
        yield outbox


def before_reading(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen between the commit of a claim and the reading of what was claimed."""
    fetch = database._fetch

    def slow(connection: sqlite3.Connection, statements: Iterable[tuple[str, Any]]) -> Rows:
        asked = list(statements)
        if len(asked) == 1 and "postroom_picked" in asked[0][0]:
            monkeypatch.setattr(database, "_fetch", fetch)
            act()
        return fetch(connection, asked)

    monkeypatch.setattr(database, "_fetch", slow)


@pytest.mark.parametrize("plan", [claim, reserve])
def test_others_write_while_what_was_taken_is_read(
    outbox: Outbox, other: Outbox, monkeypatch: pytest.MonkeyPatch, plan: Callable[[], Plan[list[Any]]]
) -> None:
    ids = enqueue(outbox, 3)
    late: list[EmailId] = []
    before_reading(monkeypatch, lambda: late.append(other.enqueue(email()).id))

    taken = outbox.database.run(plan(), atomic=False)

    assert [each.claim.id for each in taken] == ids
    assert len(late) == 1
    assert other.get(late[0]).worker is None


def test_what_is_taken_over_before_it_was_read_is_not_ours(
    outbox: Outbox, other: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped for longer than the lease between the two, we would read the new owner's token and take it for ours."""
    enqueue(outbox, 3)
    found: list[Any] = []
    take_over = claims.take_over(worker="quick", lease=LEASE, limit=2, dead="slow")
    before_reading(monkeypatch, lambda: found.extend(other.database.run(take_over)))

    taken = outbox.database.run(claim(), atomic=False)

    assert len(found) == 2
    assert len(taken) == 1
    assert {each.claim for each in taken}.isdisjoint(each.claim for each in found)


def test_a_mere_question_waits_for_no_writer(migrated_sqlite_url: str, outbox: Outbox) -> None:
    impatient = database.SqliteDatabase(Path(migrated_sqlite_url.removeprefix("sqlite:///")), patience=0.05)
    with outbox.database.transaction():
        due = impatient.run(next_due(), atomic=False)
    impatient.close()

    assert due is None


@pytest.mark.parametrize(
    ("name", "waits"), [("SQLITE_BUSY", True), ("SQLITE_BUSY_RECOVERY", True), ("SQLITE_FULL", False)]
)
def test_a_writer_waits_while_another_writes_or_recovers(name: str, waits: bool) -> None:
    """A process that was killed leaves work behind, which the next one does before anybody may write."""
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorname = name

    class Busy:
        def fetch(self, sql: str) -> None:
            raise error

    begin = partial(database.SqliteDatabase._got_through, cast(Any, Busy()), "BEGIN IMMEDIATE")
    if waits:
        assert begin(last=False) is False
    for last in (True,) if waits else (True, False):
        with pytest.raises(sqlite3.OperationalError):
            begin(last=last)


def test_a_writer_waits_for_another_and_says_when_that_takes_too_long(migrated_sqlite_url: str, outbox: Outbox) -> None:
    path = Path(migrated_sqlite_url.removeprefix("sqlite:///"))
    impatient = database.SqliteDatabase(path, patience=0.05)
    with outbox.database.transaction(), pytest.raises(Exception, match="database is locked") as refused:
        impatient.run(claim(), atomic=False)
    afterwards = impatient.run(claim(), atomic=False)
    impatient.close()

    assert type(refused.value).__name__ == "StoreUnavailable"
    assert afterwards == []


def test_who_waits_for_long_leaves_the_processor_to_the_one_it_waits_for(
    migrated_sqlite_url: str, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crowd that looked every half millisecond kept a writer from finishing for as long as it waited."""

    class Hands:
        """A clock that goes on when somebody sleeps."""

        def __init__(self) -> None:
            self.passed = 0.0
            self.slept: list[float] = []

        def monotonic(self) -> float:
            return self.passed

        def sleep(self, seconds: float) -> None:
            self.slept.append(seconds)
            self.passed += seconds

    waiting = database.SqliteDatabase(Path(migrated_sqlite_url.removeprefix("sqlite:///")), patience=30)
    hands = Hands()
    with outbox.database.transaction(), monkeypatch.context() as patched:
        patched.setattr(database, "time", hands)
        with pytest.raises(StoreUnavailable):
            waiting.run(claim(), atomic=False)
    waiting.close()

    assert hands.slept[:40] == [database.LOOK] * 40
    assert len(hands.slept) < 8_000
    assert hands.slept == sorted(hands.slept)
