"""What a sensitive email says goes when the email is finished, and stays as long as somebody may still need it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from postroom import DeadReason, EmailId, Filter, Outbox, Status
from postroom.errors import SensitiveEmail
from postroom.outbox.submission import Submission
from postroom.store.contract import Settlement
from postroom.store.enqueue import enqueue
from postroom.store.erasing import sweep_erasable
from postroom.store.recall import Accepted, recall
from postroom.vocabulary import SIGN_IN_CODE
from tests.sealing.everything import everything_in
from tests.store.journey import Clock, claim, dead, email, in_doubt, retrying, sent, settle

CODE = "493817"


def sensitive(outbox: Outbox, **wishes: Any) -> EmailId:
    return outbox.enqueue(email("Code", text=CODE), sensitive=True, **wishes).id


def outcome(outbox: Outbox, made: Any, **fields: Any) -> EmailId:
    """A sensitive email, attempted, with this outcome."""
    id = sensitive(outbox, kind=fields.pop("kind", ""), expires_at=fields.pop("expires_at", None))
    [claimed] = claim(outbox)
    settle(outbox, [made(claimed, sensitive=True, **fields)])
    return id


def readable(outbox: Outbox) -> bool:
    """Whether the code stands anywhere in the database, which has no secret here."""
    return CODE in everything_in(outbox)


def test_a_sent_one_is_erased_with_the_settle(outbox: Outbox, clock: Clock) -> None:
    id = outcome(outbox, sent)
    stored = outbox.get(id)

    assert (stored.status, stored.erased_at, readable(outbox)) == (Status.SENT, clock.now, False)
    assert [(each.address, each.status, each.code) for each in stored.recipients] == [("ada@example.org", "sent", 250)]


@pytest.mark.parametrize("reason", [DeadReason.PERMANENT, DeadReason.MAX_ATTEMPTS, DeadReason.INVALID])
def test_a_dead_one_can_still_be_retried(outbox: Outbox, reason: DeadReason) -> None:
    id = outcome(outbox, dead, dead_reason=reason)

    assert readable(outbox)

    outbox.retry(id)
    [claimed] = claim(outbox)
    assert claimed.attachments


def test_one_that_waits_keeps_what_it_says(outbox: Outbox, clock: Clock) -> None:
    outcome(outbox, retrying, due_at=clock.now + timedelta(minutes=1))
    outcome(outbox, in_doubt, due_at=None)
    outbox.database.run(sweep_erasable())

    assert readable(outbox)


def test_an_expired_one_is_erased_and_cannot_be_retried(outbox: Outbox) -> None:
    id = outcome(outbox, dead, dead_reason=DeadReason.EXPIRED)

    assert not readable(outbox)
    with pytest.raises(SensitiveEmail, match=r"what it said was erased .* send a new one"):
        outbox.retry(id)
    assert outbox.act("retry", Filter()) == 0


def test_the_code_of_a_sign_in_is_erased_whatever_it_died_of(outbox: Outbox) -> None:
    id = outcome(outbox, dead, kind=SIGN_IN_CODE)

    assert not readable(outbox)
    with pytest.raises(SensitiveEmail, match="ask for another code"):
        outbox.retry(id)


def test_a_dead_one_is_erased_by_a_sweep_when_it_expires(outbox: Outbox, clock: Clock) -> None:
    outcome(outbox, dead, expires_at=clock.now + timedelta(hours=1))
    outbox.database.run(sweep_erasable())
    assert readable(outbox)

    clock.advance(hours=2)
    outbox.database.run(sweep_erasable())
    assert not readable(outbox)


def test_what_others_settled_without_erasing_is_swept_up(outbox: Outbox) -> None:
    """A worker of the release before, or a journal that does not tell that the email was sensitive."""
    id = sensitive(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [sent(claimed)])
    assert readable(outbox)

    assert outbox.database.run(sweep_erasable()) == 1
    assert outbox.database.run(sweep_erasable()) == 0
    assert (readable(outbox), outbox.get(id).erased) == (False, True)


def test_one_that_is_recalled_as_sent_is_erased(outbox: Outbox) -> None:
    sensitive(outbox)
    [claimed] = claim(outbox, worker="forgotten")
    known = Settlement(claim=claimed.claim, status=Status.SENT, attempts=1)
    outbox.database.run(recall([Accepted(settlement=known, version=1, worker="who sent it")]))

    assert not readable(outbox)


def test_a_cancelled_one_is_erased(outbox: Outbox) -> None:
    id = sensitive(outbox)
    outbox.cancel(id)

    assert not readable(outbox)
    with pytest.raises(SensitiveEmail, match="what it said was erased"):
        outbox.replay(id)


def test_a_dismissed_one_leaves_nothing_behind(outbox: Outbox) -> None:
    id = outcome(outbox, dead)
    outbox.dismiss(id)

    assert not readable(outbox)


def test_a_pruned_one_leaves_nothing_behind_and_no_archive_holds_it(
    outbox: Outbox, clock: Clock, tmp_path: Path
) -> None:
    """Also one that a release before has stored in plain words."""
    order = replace(outbox.rules.order(Submission(email("Subject", text=CODE)), now=clock.now), sensitive=True)
    outbox.database.run(enqueue([order]))
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed)])
    outcome(outbox, dead)
    clock.advance(days=100)
    outbox.prune(statuses=[Status.DEAD], archive=tmp_path / "archive.jsonl")
    archive = (tmp_path / "archive.jsonl").read_text()

    assert not readable(outbox)
    assert CODE not in archive
    assert "Subject" not in archive
    assert [json.loads(line)["recipients"][0]["address"] for line in archive.splitlines()] == ["ada@example.org"] * 2


def test_without_a_keep_nothing_is_left_at_all(outbox: Outbox) -> None:
    sensitive(outbox)
    [claimed] = claim(outbox)
    settle(outbox, [sent(claimed, sensitive=True)], keep_sent=False)

    assert not readable(outbox)
    assert outbox.conservation().holds


def test_what_a_duplicate_said_is_swept_up(outbox: Outbox) -> None:
    outbox.enqueue(email(text="first"), key="k", sensitive=True)
    assert outbox.enqueue(email(text=CODE), key="k", sensitive=True).duplicate
    assert outbox.database.run(sweep_erasable()) == 1

    assert not readable(outbox)
    [claimed] = claim(outbox)
    assert claimed.attachments


def test_the_subject_is_shown_and_found_nowhere(outbox: Outbox, clock: Clock) -> None:
    """Of one that a release before has stored in plain words, either: a search would give it away letter by letter."""
    order = outbox.rules.order(Submission(email("Your code is 1"), "k"), now=clock.now)
    outbox.database.run(enqueue([replace(order, sensitive=True)]))
    sensitive(outbox)

    assert [each.subject for each in outbox.list().emails] == ["(sensitive)", "(sensitive)"]
    assert outbox.list(subject="code").emails == outbox.list(subject="sensitive").emails == ()
    assert outbox.list(key="k", subject="code").emails == ()
    assert len(outbox.list(recipient="ada@example.org").emails) == 2


def test_no_verb_of_the_library_tells_what_it_says(outbox: Outbox) -> None:
    id = sensitive(outbox)

    assert CODE not in repr(outbox.get(id))
    with pytest.raises(SensitiveEmail, match="shown nowhere"):
        outbox.letter(id)
    with pytest.raises(SensitiveEmail):
        outbox.letter(id, version=1)
