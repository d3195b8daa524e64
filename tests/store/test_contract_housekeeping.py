"""Prune: finished emails go when their time is up, in bounded batches, archived first; what they leave is swept."""

from __future__ import annotations

import json
import stat
from base64 import b64decode
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from postroom import Attachment, Outbox, Status
from postroom.errors import ConfigurationError
from postroom.store.housekeeping import Keep, prune_batch, sweep
from tests.store.journey import Clock, bring_to, claim, dead, email, enqueue, sent, settle

LONG = {"days": 31}
NOTHING_KEPT = Keep(emails=timedelta(0), keys=timedelta(0), undo=timedelta(0))


def rows(outbox: Outbox, table: str) -> int:
    with outbox.transaction() as connection:
        found = connection.execute(f"SELECT count(*) FROM {outbox.database.dialect.tables}{table}").fetchone()
    return int(found[0])


def test_only_finished_emails_past_retention_go(outbox: Outbox, clock: Clock) -> None:
    """(B7)"""
    for status in (Status.SENT, Status.CANCELLED, Status.DEAD, Status.IN_DOUBT, Status.RETRYING, Status.SENDING):
        bring_to(outbox, status)
    clock.advance(**LONG)
    old_and_waiting = {each.id for each in outbox.list().emails if each.status not in (Status.SENT, Status.CANCELLED)}
    [taken] = claim(outbox)  # the one that was retrying
    settle(outbox, [sent(taken)])

    pruned = outbox.prune()
    assert pruned.removed == 2
    assert {each.id for each in outbox.list().emails} == old_and_waiting
    assert outbox.conservation().holds
    assert outbox.counts()["pruned"] == 2


def test_the_dead_go_only_when_they_are_named(outbox: Outbox, clock: Clock) -> None:
    bring_to(outbox, Status.DEAD)
    clock.advance(**LONG)

    assert outbox.prune().removed == 0
    assert outbox.prune(statuses=[Status.DEAD]).removed == 1
    assert outbox.conservation().holds


def test_what_is_not_finished_cannot_be_pruned(outbox: Outbox) -> None:
    enqueue(outbox)

    with pytest.raises(ConfigurationError, match="pending emails are not finished"):
        outbox.prune(statuses=[Status.PENDING], older_than="0s")
    assert outbox.counts()["pending"] == 1


def test_a_prune_goes_by_the_time_it_is_given(outbox: Outbox, clock: Clock) -> None:
    bring_to(outbox, Status.SENT)
    clock.advance(hours=2)
    bring_to(outbox, Status.SENT)
    clock.advance(minutes=1)

    assert outbox.prune(older_than="3h").removed == 0
    assert outbox.prune(older_than="1h").removed == 1
    assert outbox.prune(older_than=0).removed == 1


def test_batches_are_bounded_and_told_as_they_go(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox, 7)
    settle(outbox, [sent(each) for each in claim(outbox)])
    clock.advance(**LONG)
    told: list[int] = []

    assert outbox.prune(batch=3, progress=told.append).removed == 7
    assert told == [3, 6, 7]


def test_the_oldest_go_first(outbox: Outbox, clock: Clock) -> None:
    ids = enqueue(outbox, 5)
    settle(outbox, [sent(each) for each in claim(outbox)])
    clock.advance(**LONG)
    before = clock.now - timedelta(days=30)
    outbox.database.run(prune_batch(before=before, statuses=[Status.SENT], limit=2))

    assert [each.id for each in outbox.list().emails] == ids[:1:-1]


def test_a_pruned_email_leaves_only_its_key(outbox: Outbox, clock: Clock) -> None:
    outbox.enqueue(email(attachments=[Attachment("a.txt", b"a")], tags=["t"]), key="k", kind="k")
    [claimed] = claim(outbox)
    settle(outbox, [sent(claimed, event="sent")])
    clock.advance(**LONG)
    outbox.prune()

    tables = ("emails", "contents", "terms", "attachment_uses", "attachments", "events", "keys")
    assert {table: rows(outbox, table) for table in tables} == dict.fromkeys(tables, 0) | {"keys": 1}


def test_a_key_past_its_keep_is_free_again(outbox: Outbox, clock: Clock) -> None:
    first = outbox.enqueue(email(), key="k").id
    settle(outbox, [sent(each) for each in claim(outbox)])
    clock.advance(days=91)
    waiting = outbox.enqueue(email(), key="still there").id
    outbox.prune()

    second = outbox.enqueue(email(), key="k")
    assert (second.duplicate, second.id != first) == (False, True)
    clock.advance(days=91)
    outbox.prune()
    assert outbox.enqueue(email(), key="still there").id == waiting


def test_an_attachment_stays_as_long_as_somebody_carries_it(outbox: Outbox, clock: Clock) -> None:
    shared, alone = Attachment("s", b"shared"), Attachment("a", b"alone")
    outbox.enqueue(email(attachments=[shared, alone]))
    settle(outbox, [sent(each) for each in claim(outbox)])
    outbox.enqueue(email(attachments=[shared]))
    clock.advance(**LONG)
    outbox.prune()

    assert rows(outbox, "attachments") == 1
    assert [list(each.attachments.values()) for each in claim(outbox)] == [[b"shared"]]


def test_the_record_of_a_dismissal_is_swept_when_its_time_is_up(outbox: Outbox, clock: Clock) -> None:
    outbox.dismiss(bring_to(outbox, Status.DEAD))
    outbox.prune()
    kept = rows(outbox, "events")
    clock.advance(**LONG)
    outbox.prune()

    assert (kept, rows(outbox, "events")) == (2, 0)


def test_a_sweep_stops_at_its_limit(outbox: Outbox, clock: Clock) -> None:
    for number in range(5):
        outbox.enqueue(email(attachments=[Attachment("a", b"%d" % number)]))
    settle(outbox, [sent(each) for each in claim(outbox)], keep_sent=False)
    swept = outbox.database.run(sweep(**NOTHING_KEPT.ends(clock.now), limit=3))

    assert (swept, rows(outbox, "attachments")) == (3, 2)


def test_an_archive_holds_everything_before_it_goes(outbox: Outbox, clock: Clock, tmp_path: Path) -> None:
    archive = tmp_path / "archive.jsonl"
    id = outbox.enqueue(
        email("Grüße", html="<p>Hi", attachments=[Attachment("a.bin", bytes(range(256)))], tags=["t"]),
        key="k",
        kind="welcome",
    ).id
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed)])
    clock.advance(**LONG)
    outbox.prune(statuses=["dead"], archive=archive)

    [line] = archive.read_text("utf-8").splitlines()
    record = json.loads(line)
    assert (record["id"], record["status"], record["key"], record["kind"]) == (id, "dead", "k", "welcome")
    assert (record["subject"], record["html"], record["priority"], record["tags"]) == (
        "Grüße",
        "<p>Hi",
        "normal",
        ["t"],
    )
    assert [entry["what"] for entry in record["history"]] == ["failed"]
    assert [b64decode(content) for content in record["attachments"].values()] == [bytes(range(256))]
    assert json.loads(record["envelope"])["to"] == ["ada@example.org"]
    assert datetime.fromisoformat(record["created_at"]) == clock.now - timedelta(**LONG)
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600


def test_an_archive_that_cannot_be_written_keeps_the_emails(outbox: Outbox, clock: Clock) -> None:
    bring_to(outbox, Status.SENT)
    clock.advance(**LONG)

    def full(records: list[dict[str, object]]) -> None:
        raise OSError("no space left")

    plan = prune_batch(before=clock.now, statuses=[Status.SENT], limit=10, archive=full)
    with pytest.raises(OSError, match="no space"):
        outbox.database.run(plan)
    assert outbox.counts()["sent"] == 1


def test_an_archive_is_added_to(outbox: Outbox, clock: Clock, tmp_path: Path) -> None:
    for _ in range(2):
        bring_to(outbox, Status.SENT)
        clock.advance(**LONG)
        outbox.prune(archive=tmp_path / "archive.jsonl")

    assert len((tmp_path / "archive.jsonl").read_text().splitlines()) == 2
