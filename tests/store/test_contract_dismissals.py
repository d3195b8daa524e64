"""A dismissal can be undone for a while: until then the email is out of sight, and comes back as it was."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from postroom import Attachment, EmailId, Outbox, Status
from postroom.errors import EmailNotFound
from postroom.store import acts
from postroom.store.dismissals import dismissed, reinstate, reinstate_act, sweep_dismissed
from postroom.store.fields import STATE, columns
from postroom.store.plan import drive
from postroom.store.recall import Accepted, recall
from tests.store.journey import Clock, bring_to, claim, dead, email, enqueue, in_doubt, sent, settle
from tests.store.stream import read_until

DAY = timedelta(days=1)


def listed(outbox: Outbox, **narrowing: frozenset[str]) -> list[EmailId]:
    found = outbox.database.run(dismissed(undo=DAY, limit=100, **narrowing))
    return [each.email.id for each in found]


def test_a_dismissed_email_comes_back_as_it_was(outbox: Outbox, clock: Clock) -> None:
    letter = email(tags=["t"], attachments=[Attachment("a.txt", b"a")])
    id = outbox.enqueue(letter, key="k", kind="news", workspace="w").id
    settle(outbox, [dead(each) for each in claim(outbox)])
    before = outbox.get(id)
    outbox.dismiss(id, by="grace")
    clock.advance(hours=23)
    outbox.reinstate(id, by="ada")

    after = outbox.get(id)
    assert [(each.what, each.actor) for each in after.history[-2:]] == [("dismissed", "grace"), ("reinstated", "ada")]
    assert replace(after, history=()) == replace(before, history=())
    assert outbox.letter(id).attachments[0].content == b"a"
    assert [each.id for each in outbox.list(tag="t").emails] == [id]
    assert (outbox.counts()["dead"], outbox.counts()["dismissed"]) == (1, 0)
    assert outbox.conservation().holds


def test_until_then_it_is_out_of_sight_and_its_key_stays_taken(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD, key="k", kind="news")
    outbox.dismiss(id)

    with pytest.raises(EmailNotFound):
        outbox.get(id)
    assert outbox.list().emails == ()
    assert outbox.list(kind="news").emails == ()
    assert outbox.enqueue(email(), key="k").duplicate
    assert (outbox.counts()["dead"], outbox.counts()["dismissed"]) == (0, 1)
    assert outbox.conservation().holds


def test_a_reinstated_email_is_retried_like_any_other(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)
    outbox.dismiss(id)
    outbox.reinstate(id)
    outbox.retry(id)
    [claimed] = claim(outbox)

    assert settle(outbox, [sent(claimed)]) == {id}
    assert outbox.get(id).status is Status.SENT


def test_what_was_in_doubt_comes_back_held_for_a_person(outbox: Outbox, clock: Clock) -> None:
    """Nobody can tell what became known of it meanwhile, so nothing is sent again until somebody says so."""
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [in_doubt(claimed, clock.now)])  # due for another attempt
    outbox.dismiss(id)
    outbox.reinstate(id)
    clock.advance(hours=1)

    assert (outbox.get(id).status, outbox.get(id).next_attempt_at) == (Status.IN_DOUBT, None)
    assert claim(outbox) == []


def test_a_journal_that_knows_better_settles_a_reinstated_doubt(outbox: Outbox) -> None:
    [id] = enqueue(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [in_doubt(claimed, None)])
    outbox.dismiss(id)
    outbox.reinstate(id)
    outbox.database.run(recall([Accepted(settlement=sent(claimed, event="sent"), version=1, worker="w")]))

    assert outbox.get(id).status is Status.SENT


def test_a_dismissal_is_undone_once_and_within_its_time(outbox: Outbox, clock: Clock) -> None:
    early, late = bring_to(outbox, Status.DEAD), bring_to(outbox, Status.DEAD)
    outbox.dismiss(early)
    outbox.dismiss(late)
    outbox.reinstate(early)

    with pytest.raises(EmailNotFound, match=early):
        outbox.reinstate(early)
    clock.advance(days=1, seconds=1)
    with pytest.raises(EmailNotFound, match=late):
        outbox.reinstate(late)
    assert listed(outbox) == []


def test_a_list_is_reinstated_whole_or_not_at_all(outbox: Outbox) -> None:
    gone, there = bring_to(outbox, Status.DEAD), bring_to(outbox, Status.DEAD)
    outbox.dismiss(gone)

    with pytest.raises(EmailNotFound, match=there):
        outbox.database.run(reinstate([gone, there], undo=DAY, actor=None))
    assert listed(outbox) == [gone]


def test_emails_of_one_press_come_back_together_in_batches(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.store.dismissals.BATCH", 3)
    enqueue(outbox, 7)
    ids = [each.id for each in settled_dead(outbox)]
    other = bring_to(outbox, Status.DEAD)
    outbox.database.run(acts.dismiss(ids, actor="grace", act="one-press"))
    outbox.dismiss(other)

    assert drive(reinstate_act("one-press", undo=DAY, actor="grace"), outbox.database.run) == 7
    assert listed(outbox) == [other]
    assert drive(reinstate_act(other, undo=DAY, actor="grace"), outbox.database.run) == 1  # alone, it is its own act
    assert outbox.counts()["dead"] == 8


def test_only_what_may_be_seen_is_listed_and_comes_back(outbox: Outbox) -> None:
    ours = bring_to(outbox, Status.DEAD, workspace="ours")
    theirs = bring_to(outbox, Status.DEAD, workspace="theirs")
    outbox.database.run(acts.dismiss([ours, theirs], actor="grace", act="both"))
    mine = frozenset({"ours"})

    assert listed(outbox, workspaces=mine) == [ours]
    with pytest.raises(EmailNotFound):
        outbox.database.run(reinstate([theirs], undo=DAY, actor=None, workspaces=mine))
    assert drive(reinstate_act("both", undo=DAY, actor=None, workspaces=mine), outbox.database.run) == 1
    assert listed(outbox) == [theirs]


def test_the_latest_is_listed_first_with_who_and_until_when(outbox: Outbox, clock: Clock) -> None:
    first, second = bring_to(outbox, Status.DEAD), bring_to(outbox, Status.IN_DOUBT)
    outbox.dismiss(first, by="ada")
    clock.advance(minutes=1)
    outbox.dismiss(second, by="grace")
    found = outbox.database.run(dismissed(undo=DAY, limit=100))

    assert [(each.email.id, each.email.status, each.by) for each in found] == [
        (second, Status.IN_DOUBT, "grace"),
        (first, Status.DEAD, "ada"),
    ]
    assert (found[0].at, found[0].until) == (clock.now, clock.now + DAY)
    assert [each.email.id for each in outbox.database.run(dismissed(undo=DAY, limit=1))] == [second]


def test_a_sweep_takes_those_whose_time_is_over_and_no_others(outbox: Outbox, clock: Clock) -> None:
    old, new = bring_to(outbox, Status.DEAD), bring_to(outbox, Status.DEAD)
    tables = outbox.database.dialect.tables
    with outbox.transaction() as connection:  # as one that was moved before it died
        connection.execute(f"UPDATE {tables}emails SET route = 'backup' WHERE id = '{old}'")
        connection.execute(f"INSERT INTO {tables}terms (term, email_id) VALUES ('route:backup', '{old}')")
    outbox.dismiss(old)
    clock.advance(hours=23)
    outbox.dismiss(new)
    clock.advance(hours=2)

    assert outbox.database.run(sweep_dismissed(undo=DAY)) == 1
    assert outbox.database.run(sweep_dismissed(undo=DAY)) == 0
    assert listed(outbox) == [new]
    with outbox.transaction() as connection:
        assert connection.execute(f"SELECT * FROM {tables}terms WHERE term = 'route:backup'").fetchall() == []
    assert outbox.conservation().holds


def test_a_prune_sweeps_too_and_leaves_what_can_still_come_back_whole(outbox: Outbox, clock: Clock) -> None:
    """A key and a history that are older than their keep stay for as long as the email may come back."""
    id = bring_to(outbox, Status.DEAD, key="k")
    clock.advance(days=200)
    outbox.dismiss(id)
    outbox.prune(older_than="0s")
    outbox.reinstate(id)

    assert [each.what for each in outbox.get(id).history] == ["failed", "dismissed", "reinstated"]
    assert outbox.enqueue(email(), key="k").duplicate
    outbox.dismiss(id)
    clock.advance(days=2)
    assert outbox.prune(older_than="0s").swept > 0
    assert not outbox.enqueue(email(), key="k").duplicate


def test_a_sensitive_email_is_gone_at_once(outbox: Outbox) -> None:
    """What it says is erased when it is dismissed; there is nothing to bring back."""
    id = bring_to(outbox, Status.DEAD, sensitive=True)
    outbox.dismiss(id)

    assert listed(outbox) == []
    with pytest.raises(EmailNotFound):
        outbox.reinstate(id)
    assert outbox.counts()["dismissed"] == 1


def test_the_stream_tells_of_both(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)
    outbox.dismiss(id)
    outbox.reinstate(id)

    assert [(event.email_id, event.change) for event in read_until(outbox, 3)][-2:] == [
        (id, "dismissed"),
        (id, "reinstated"),
    ]


def test_every_column_of_an_email_is_kept(outbox: Outbox) -> None:
    """What a migration adds to `emails` and forgets here would be lost by a dismissal."""
    tables = outbox.database.dialect.tables
    with outbox.transaction() as connection:
        kept, known = (
            [each[0] for each in connection.execute(f"SELECT * FROM {tables}{table}").description]
            for table in ("dismissed", "emails")
        )

    assert set(known) == set(columns(STATE))
    assert set(kept) - set(known) == {"dismissed_at", "dismissed_by", "act"}
    assert set(known) <= set(kept)


def settled_dead(outbox: Outbox) -> list:
    claimed = claim(outbox)
    settle(outbox, [dead(each) for each in claimed])
    return claimed
