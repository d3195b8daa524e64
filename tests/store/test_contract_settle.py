"""Settle: what an attempt meant is recorded together or not at all, each email on its own merits."""

from __future__ import annotations

import json
from datetime import UTC, timedelta

import pytest

from postroom import Attachment, DeadReason, Outbox, Status
from postroom.errors import EmailNotFound
from tests.store.journey import Clock, bring_to, claim, dead, email, enqueue, in_doubt, retrying, sent, settle


def test_a_sent_email_says_when(outbox: Outbox, clock: Clock) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    clock.advance(seconds=2)
    settle(outbox, [sent(claimed, reply=json.dumps({"text": "queued as 7"}))])

    stored = outbox.get(id)
    assert (stored.status, stored.attempts, stored.reply_code) == (Status.SENT, 1, 250)
    assert stored.sent_at == stored.finished_at == clock.now
    assert (stored.worker, stored.leased_until, stored.next_attempt_at) == (None, None, None)
    assert [recipient.status for recipient in stored.recipients] == ["sent"]
    assert stored.reply == {"text": "queued as 7"}


def test_a_failed_email_says_why_and_when_it_is_tried_again(outbox: Outbox, clock: Clock) -> None:
    """(B4)"""
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    due_at = clock.now + timedelta(minutes=1)
    settle(outbox, [retrying(claimed, due_at)])

    stored = outbox.get(id)
    assert (stored.status, stored.attempts, stored.next_attempt_at) == (Status.RETRYING, 1, due_at)
    assert (stored.last_error, stored.sent_at, stored.finished_at) == ("451 try later", None, None)
    assert stored.last_attempt_at == clock.now


def test_a_dead_email_says_why(outbox: Outbox, clock: Clock) -> None:
    id = bring_to(outbox, Status.DEAD)

    stored = outbox.get(id)
    assert (stored.dead_reason, stored.last_error) == (DeadReason.PERMANENT, "550 no such user")
    assert (stored.finished_at, stored.sent_at, stored.next_attempt_at) == (clock.now, None, None)
    assert [(recipient.status, recipient.code) for recipient in stored.recipients] == [("dead", 550)]


def test_the_history_tells_every_failed_attempt_oldest_first(outbox: Outbox, clock: Clock) -> None:
    """(B4)"""
    [id] = enqueue(outbox)
    for attempt in range(1, 4):
        [claimed] = claim(outbox)
        detail = json.dumps({"said": f"no, {attempt} times no"})
        settle(outbox, [retrying(claimed, clock.now, detail=detail)])
        clock.advance(minutes=1)
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed)])

    history = outbox.get(id).history
    assert [(entry.what, entry.attempt) for entry in history] == [("failed", attempt) for attempt in range(1, 5)]
    assert history[1].detail == {"said": "no, 2 times no"}
    assert [entry.at for entry in history] == sorted(entry.at for entry in history)
    assert {entry.at.tzinfo for entry in history} == {UTC}


def test_each_recipient_keeps_their_own_state(outbox: Outbox, clock: Clock) -> None:
    id = outbox.enqueue(email(to=["ada@example.org", "bob@example.org"])).id
    [claimed] = claim(outbox)
    outcomes = '[["sent",250,"ok"],["open",451,"later"]]'
    settle(outbox, [retrying(claimed, clock.now, outcomes=outcomes)])

    found = [(each.address, each.status, each.code, each.text) for each in outbox.get(id).recipients]
    assert found == [("ada@example.org", "sent", 250, "ok"), ("bob@example.org", "open", 451, "later")]
    [again] = claim(outbox)
    assert again.outcomes is not None
    assert json.loads(again.outcomes) == json.loads(outcomes)


def test_one_group_settles_every_email_on_its_own_merits(outbox: Outbox, clock: Clock) -> None:
    ids = enqueue(outbox, 5)
    first, second, third, fourth, fifth = claim(outbox)
    clock.advance(minutes=1)
    stale = claim(outbox)
    settlements = [fifth and sent(fifth), dead(first), retrying(second, clock.now), in_doubt(third, None), sent(fourth)]

    assert stale == []
    assert settle(outbox, settlements) == set(ids)
    statuses = [outbox.get(id).status for id in ids]
    assert statuses == [Status.DEAD, Status.RETRYING, Status.IN_DOUBT, Status.SENT, Status.SENT]
    assert outbox.conservation().holds


def test_a_lost_claim_in_a_group_does_not_hold_up_the_others(outbox: Outbox) -> None:
    ids = enqueue(outbox, 3)
    first, second, third = claim(outbox)
    settle(outbox, [sent(second)])

    assert settle(outbox, [sent(first), dead(second), sent(third)]) == {ids[0], ids[2]}
    assert outbox.get(ids[1]).status is Status.SENT
    assert outbox.get(ids[1]).history == ()
    assert outbox.counts()["sent"] == 3


def test_a_doubt_is_counted_and_recorded(outbox: Outbox, clock: Clock) -> None:
    id = bring_to(outbox, Status.IN_DOUBT)

    stored = outbox.get(id)
    assert (stored.doubts, stored.next_attempt_at, stored.finished_at) == (1, None, None)
    assert [entry.what for entry in stored.history] == ["in_doubt"]
    assert outbox.counts()["in_doubt"] == 1


def test_with_nothing_to_keep_a_sent_email_leaves_only_its_key(outbox: Outbox) -> None:
    """(A5) Retention 0 deletes on success."""
    report = Attachment("report.pdf", b"%PDF")
    receipt = outbox.enqueue(email(attachments=[report], tags=["t"]), key="memo-7", kind="k", workspace="w")
    outbox.enqueue(email("Refused"))
    first, second = claim(outbox)
    settle(outbox, [sent(first, event="sent"), dead(second)], keep_sent=False)

    with pytest.raises(EmailNotFound, match=receipt.id):
        outbox.get(receipt.id)
    assert [each.subject for each in outbox.list().emails] == ["Refused"]
    assert _rows(outbox) == {"emails": 1, "contents": 1, "terms": 1, "attachment_uses": 0, "keys": 1, "events": 1}
    assert outbox.enqueue(email(attachments=[report]), key="memo-7", workspace="w").id == receipt.id
    assert (outbox.counts()["sent"], outbox.counts()["pruned"]) == (0, 1)
    assert outbox.conservation().holds


def _rows(outbox: Outbox) -> dict[str, int]:
    names = ("emails", "contents", "terms", "attachment_uses", "keys", "events")
    tables = outbox.database.dialect.tables
    with outbox.transaction() as connection:
        return {name: connection.execute(f"SELECT count(*) FROM {tables}{name}").fetchone()[0] for name in names}


def test_any_text_a_server_may_say_is_kept(outbox: Outbox, clock: Clock) -> None:
    said = "550 «nein» 🚫 \\ \" ' \t\n {} %s :now $1"
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed, last_error=said, detail=json.dumps({"said": said}))])

    assert outbox.get(id).last_error == said
    assert outbox.get(id).history[0].detail == {"said": said}
