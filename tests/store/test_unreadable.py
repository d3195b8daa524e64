"""One row that cannot be read hides no other, and nothing else about itself."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from postroom import Attachment, Filter, Outbox, Status
from postroom.errors import UnreadableEmail
from postroom.store.records import as_record
from postroom.vocabulary import OnDoubt, Priority
from tests.store.damage import DAMAGES, damage
from tests.store.journey import Clock, bring_to, claim, claim_queued, email, named, reserve, take_over

each_damage = pytest.mark.parametrize("what", DAMAGES)


@each_damage
def test_an_unreadable_email_is_listed_and_shown_beside_the_others(outbox: Outbox, what: str) -> None:
    well = [outbox.enqueue(email("before"), kind="k").id, outbox.enqueue(email("after"), kind="k").id]
    bad = outbox.enqueue(email("unlucky", to=["a@example.org", "b@example.org"], tags=["t"]), kind="k").id
    damage(outbox, bad, what)
    listed = {each.id: each for each in outbox.list(kind="k").emails}

    assert set(listed) == {*well, bad}
    assert [listed[id].unreadable for id in well] == [None, None]
    assert DAMAGES[what][1] in (listed[bad].unreadable or "")
    assert outbox.get(bad).unreadable == listed[bad].unreadable
    assert listed[bad].subject == ("(unreadable)" if what == "content" else "unlucky")
    assert json.loads(json.dumps(as_record(listed[bad])))["unreadable"] == listed[bad].unreadable
    assert sum(outbox.counts().values()) == 3
    assert outbox.conservation().holds


def test_what_can_be_read_of_an_email_is_shown(outbox: Outbox) -> None:
    bad = bring_to(outbox, Status.DEAD)
    damage(outbox, bad, "outcomes")
    shown = outbox.get(bad)

    assert [(each.address, each.status) for each in shown.recipients] == [("ada@example.org", "dead")]
    assert shown.last_error == "550 no such user"
    assert [entry.what for entry in shown.history] == ["failed"]


def test_a_word_of_a_newer_version_is_shown_as_it_is(outbox: Outbox) -> None:
    bad = outbox.enqueue(email()).id
    for what in ("status", "priority", "on_doubt"):
        damage(outbox, bad, what)
    record = as_record(outbox.get(bad))

    assert (record["status"], record["priority"], record["on_doubt"]) == ("frozen", "7", "ask")
    assert outbox.counts()["frozen"] == 1


def test_a_line_of_history_that_cannot_be_read_hides_no_other(outbox: Outbox) -> None:
    bad = bring_to(outbox, Status.DEAD)
    outbox.retry(bad)
    table = "postroom_events" if outbox.database.dialect.name == "sqlite" else "postroom.events"
    with outbox.transaction() as connection:
        connection.execute(f"UPDATE {table} SET detail = '{{oh' WHERE what = 'failed'")
    history = outbox.get(bad).history

    assert [entry.what for entry in history] == ["failed", "retried"]
    assert history[0].detail == {"unreadable": "{oh"}


@pytest.mark.parametrize("what", ["content", "envelope", "envelope of another shape", "terms"])
def test_content_that_cannot_be_read_is_an_error_with_words(outbox: Outbox, what: str) -> None:
    bad = bring_to(outbox, Status.DEAD)
    damage(outbox, bad, what)
    with pytest.raises(UnreadableEmail, match="restore") as raised:
        outbox.letter(bad)
    with pytest.raises(UnreadableEmail):
        outbox.replay(bad, subject="Better")

    assert raised.value.id == bad
    assert outbox.get(bad).status is Status.DEAD


def test_an_attachment_that_is_gone_is_an_error_with_words(outbox: Outbox) -> None:
    bad = outbox.enqueue(email(attachments=[Attachment(filename="a.txt", content=b"a")])).id
    _forget_attachments(outbox)
    with pytest.raises(UnreadableEmail):
        outbox.letter(bad)

    assert outbox.get(bad).unreadable is None


def test_an_email_is_not_sent_again_while_nobody_knows_who_has_it(outbox: Outbox) -> None:
    bad, well = bring_to(outbox, Status.DEAD), bring_to(outbox, Status.DEAD)
    damage(outbox, bad, "outcomes")
    with pytest.raises(UnreadableEmail, match="recipients stand"):
        outbox.retry(bad)
    retried = outbox.act("retry", Filter(status=Status.DEAD))

    assert retried == 1
    assert (outbox.get(bad).status, outbox.get(well).status) == (Status.DEAD, Status.PENDING)


@pytest.mark.parametrize("what", [each for each in DAMAGES if each != "status"])
def test_an_unreadable_email_can_be_dismissed(outbox: Outbox, what: str) -> None:
    """Unless nobody knows what may be done to it."""
    bad = bring_to(outbox, Status.DEAD)
    damage(outbox, bad, what)
    outbox.dismiss(bad)

    assert outbox.list().emails == ()
    assert outbox.conservation().holds


@pytest.mark.parametrize("what", [each for each in DAMAGES if each not in ("status", "dead_reason")])
def test_unreadable_emails_are_pruned_and_archived_with_the_others(
    outbox: Outbox, clock: Clock, tmp_path: Path, what: str
) -> None:
    ids = [bring_to(outbox, Status.SENT) for _ in range(3)]
    damage(outbox, ids[1], what)
    clock.advance(days=200)
    pruned = outbox.prune(older_than=timedelta(days=1), archive=tmp_path / "archive.jsonl")
    archived = [json.loads(line) for line in (tmp_path / "archive.jsonl").read_text().splitlines()]

    assert pruned.removed == 3
    assert {each["id"] for each in archived} == set(ids)
    assert outbox.conservation().holds


@pytest.mark.parametrize("what", ["envelope cut off amid its attachments", "content", "outcomes", "policy"])
def test_an_unreadable_email_fails_no_other_of_its_batch(outbox: Outbox, what: str) -> None:
    well = outbox.enqueue(email(attachments=[Attachment(filename="a.txt", content=b"a")])).id
    bad = outbox.enqueue(email(attachments=[Attachment(filename="a.txt", content=b"a")])).id
    damage(outbox, bad, what)
    claimed = {each.id: each for each in claim(outbox)}

    assert set(claimed) == {well, bad}
    assert list(claimed[well].attachments.values()) == [b"a"]


def test_an_attachment_that_is_gone_fails_no_other_email_of_the_batch(outbox: Outbox) -> None:
    bad = outbox.enqueue(email(attachments=[Attachment(filename="a.txt", content=b"a")])).id
    _forget_attachments(outbox)
    well = outbox.enqueue(email(attachments=[Attachment(filename="b.txt", content=b"b")])).id
    claimed = {each.id: each for each in claim(outbox)}

    assert (dict(claimed[bad].attachments), list(claimed[well].attachments.values())) == ({}, [b"b"])


def test_a_doubt_that_this_version_cannot_judge_is_left_to_a_person(outbox: Outbox) -> None:
    """The most careful of what is known: never a second copy."""
    bad, well = outbox.enqueue(email()).id, outbox.enqueue(email()).id
    damage(outbox, bad, "on_doubt")
    claimed = {each.id: each.on_doubt for each in claim(outbox)}

    assert claimed == {bad: OnDoubt.HOLD, well: OnDoubt.RESEND}


def test_a_message_for_an_email_in_a_lane_of_a_newer_version_is_served_last(outbox: Outbox) -> None:
    bad = outbox.enqueue(email()).id
    [reserved] = reserve(outbox)
    damage(outbox, bad, "priority")
    [claimed] = claim_queued(outbox, [named(reserved)])

    assert (claimed.id, claimed.priority) == (bad, Priority.BULK)


def test_an_email_whose_content_is_gone_is_claimed_and_taken_over(outbox: Outbox, clock: Clock) -> None:
    bad = outbox.enqueue(email()).id
    damage(outbox, bad, "content")
    [claimed] = claim(outbox)
    clock.advance(minutes=1)
    [taken] = take_over(outbox)

    assert [(each.id, each.envelope) for each in (claimed, taken)] == [(bad, ""), (bad, "")]


def test_a_message_for_an_email_whose_content_is_gone_is_served(outbox: Outbox) -> None:
    bad = outbox.enqueue(email()).id
    damage(outbox, bad, "content")
    [reserved] = reserve(outbox)
    [claimed] = claim_queued(outbox, [named(reserved)])

    assert (claimed.id, claimed.envelope) == (bad, "")


def _forget_attachments(outbox: Outbox) -> None:
    prefix = "postroom_" if outbox.database.dialect.name == "sqlite" else "postroom."
    with outbox.transaction() as connection:
        connection.execute(f"DELETE FROM {prefix}attachment_uses")
        connection.execute(f"DELETE FROM {prefix}attachments")
