"""What follows from what came back: pure (P12)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.store.consequences import Matched, stop_after
from postroom.store.ids import new_id
from postroom.vocabulary import BounceClass, Return, SuppressionReason, SuppressionScope

HARD = Matched(
    what=Return.BOUNCED,
    email_id=new_id(),
    workspace="hotel",
    address="ada@example.org",
    certain=True,
    bounce_class=BounceClass.PERMANENT,
    status="5.1.1",
    code=550,
)
SPAM = replace(HARD, what=Return.COMPLAINED, bounce_class=None, objected=True)


def test_a_hard_bounce_stops_mail_of_the_workspace_and_says_why() -> None:
    stop = stop_after(HARD)

    assert stop is not None
    assert (stop.reason, stop.scope, stop.workspace) == (
        SuppressionReason.HARD_BOUNCE, SuppressionScope.WORKSPACE, "hotel",
    )  # fmt: skip
    assert (stop.address, stop.email_id, stop.evidence) == (HARD.address, HARD.email_id, "bounced for good: 550 5.1.1")


def test_so_does_a_reader_who_calls_it_spam() -> None:
    stop = stop_after(SPAM)

    assert stop is not None
    assert (stop.reason, stop.evidence) == (SuppressionReason.COMPLAINT, "the reader has called it spam")


@pytest.mark.parametrize(
    "harmless",
    [
        replace(HARD, certain=False),
        replace(SPAM, certain=False),
        replace(HARD, address=""),
        replace(HARD, bounce_class=BounceClass.TRANSIENT),
        replace(HARD, bounce_class=BounceClass.UNDETERMINED),
        replace(HARD, bounce_class=None),
        replace(SPAM, objected=False),
        *(replace(HARD, what=what) for what in Return if what not in (Return.BOUNCED, Return.COMPLAINED)),
    ],
)
def test_nothing_else_stops_anybody(harmless: Matched) -> None:
    assert stop_after(harmless) is None


def test_an_address_that_no_list_can_hold_is_no_reason_to_fail() -> None:
    assert stop_after(replace(HARD, address='"a b"@example.org')) is None
