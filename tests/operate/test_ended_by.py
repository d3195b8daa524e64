"""By which of what came back a campaign has ended for its prospect, on both stores."""

from __future__ import annotations

from postroom.operate.came_back import CameBack
from postroom.operate.verb import Blocking
from postroom.vocabulary import BounceClass, Return
from tests.campaigns.sending.stage import Stage
from tests.operate.test_prospect_story import came_back, stage

__all__ = ["stage"]

GONE = {"bounce_class": BounceClass.PERMANENT, "status": "5.1.1"}
FULL = {"bounce_class": BounceClass.TRANSIENT, "status": "4.2.2"}


class Desk(Blocking, CameBack):
    """For this thread."""


def ended(stage: Stage) -> list[bool]:
    """Of what came back, the earliest first: whether the campaign has ended by it."""
    found = Desk(stage.outbox).returns().returns
    return [view.ended for view in sorted(found, key=lambda view: view.kept.id)]


def test_a_campaign_has_ended_by_the_bounce_that_ended_it_and_by_no_other(stage: Stage) -> None:
    """Those about a full mailbox and about somebody else say `bounced`, too; and what comes later ends nothing."""
    came_back(stage, Return.BOUNCED, **FULL)
    came_back(stage, Return.BOUNCED, address="victim@example.org", **GONE)
    came_back(stage, Return.BOUNCED, **GONE)
    came_back(stage, Return.BOUNCED, **GONE)
    came_back(stage, Return.BOUNCED, address="victim@example.org", **GONE)

    assert ended(stage) == [False, False, True, False, False]


def test_a_campaign_has_ended_by_the_first_answer(stage: Stage) -> None:
    came_back(stage, Return.REPLIED)
    came_back(stage, Return.REPLIED)

    assert ended(stage) == [True, False]
