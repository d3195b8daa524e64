"""A sensitive email reaches those it was written for, in the words it was written in, or nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from postroom import EmailId, Outbox, Status
from postroom.accounts.audit import read_audit
from postroom.errors import SensitiveEmail
from postroom.outbox.submission import Submission
from postroom.store.acts import move_route
from postroom.store.enqueue import enqueue
from postroom.vocabulary import SIGN_IN_CODE
from tests.store.journey import bring_to, email, enqueue_on

CORRECTIONS = [
    {"to": "eve@example.org"},
    {"cc": "eve@example.org"},
    {"bcc": "eve@example.org"},
    {"subject": "Other"},
    {"text": "Other"},
    {"html": "<p>Other"},
]


def audited(outbox: Outbox) -> list[tuple[str, str, Any]]:
    """Who did what, and of which act it was refused, oldest first."""
    entries = outbox.database.run(read_audit(), writes=False).entries
    return [(entry.actor, entry.what, entry.detail.get("act")) for entry in reversed(entries)]


@pytest.mark.parametrize("corrections", CORRECTIONS, ids=lambda given: next(iter(given)))
def test_nobody_changes_its_recipients_or_its_words(outbox: Outbox, corrections: dict[str, str]) -> None:
    id = bring_to(outbox, Status.DEAD, sensitive=True)
    before = outbox.get(id)

    with pytest.raises(SensitiveEmail, match=r"neither its recipients nor what it says .* replay it as it is"):
        outbox.replay(id, **corrections, by="olga")  # type: ignore[arg-type]
    assert outbox.get(id) == before
    assert audited(outbox) == [("olga", "sensitive_refused", "replay")]


def test_one_that_a_release_before_stored_in_plain_words_is_guarded_too(outbox: Outbox) -> None:
    order = replace(outbox.rules.order(Submission(email())), sensitive=True)
    outbox.database.run(enqueue([order]))
    outbox.cancel(order.id)

    with pytest.raises(SensitiveEmail):
        outbox.replay(order.id, to="eve@example.org")


def test_it_is_replayed_as_it_was(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD, sensitive=True)
    outbox.replay(id, by="anna")
    stored = outbox.get(id)

    assert (stored.status, stored.version) == (Status.PENDING, 1)
    assert (stored.history[-1].what, stored.history[-1].actor) == ("replayed", "anna")
    assert audited(outbox) == [("anna", "sensitive_replay", None)]


@pytest.mark.parametrize("status", [Status.DEAD, Status.IN_DOUBT, Status.CANCELLED])
def test_the_code_of_a_sign_in_is_never_sent_again(outbox: Outbox, status: Status) -> None:
    id = bring_to(outbox, status, sensitive=True, kind=SIGN_IN_CODE)

    for corrections in ({}, {"to": "eve@example.org"}):
        with pytest.raises(SensitiveEmail, match="no code is sent twice; ask for another code"):
            outbox.replay(id, **corrections)  # type: ignore[arg-type]
    assert outbox.get(id).status is status


def test_a_move_leaves_sensitive_ones_where_they_are_unless_they_are_asked_for(outbox: Outbox) -> None:
    [ordinary] = enqueue_on(outbox, "main")
    [sensitive] = enqueue_on(outbox, "main", sensitive=True)
    [code] = enqueue_on(outbox, "main", sensitive=True, kind=SIGN_IN_CODE)

    def move(**asked: bool) -> int:
        return outbox.database.run(move_route(from_route="main", to="inbox", actor="olga", limit=10, **asked))

    def routes() -> list[str]:
        return [outbox.get(EmailId(id)).route for id in (ordinary, sensitive, code)]

    assert (move(), routes()) == (1, ["inbox", "main", "main"])
    assert (move(sensitive=True), routes()) == (1, ["inbox", "inbox", "main"])
