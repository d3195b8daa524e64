"""Whom a launch passes over, and why: asked before it by whoever foresees it, and decided by it batch by batch."""

from __future__ import annotations

from collections.abc import Mapping

from postroom.campaigns.drafts.composing import KIND
from postroom.campaigns.values import Campaign
from postroom.store.plan import Plan, ask

ALREADY = "already_scheduled"
"""They have mail of this sequence."""
SUPPRESSED = "suppressed"
"""They are on the list of those not to be mailed; how others ended is told by the word for that."""
_IN_WORDS = {ALREADY: "have this sequence already", SUPPRESSED: "not to be mailed"}


def passed_in_words(reason: str) -> str:
    """Why a launch passes over somebody, as people read it behind how many they are."""
    return _IN_WORDS.get(reason, reason)


def passed_over(workspace: str, campaign: Campaign) -> Plan[Mapping[str, int]]:
    """How many of those in a campaign a launch would pass over now, by reason."""
    yield ask("plan_afresh")  # campaigns are of every size
    rows = yield ask("passed_over", workspace=workspace, campaign=campaign.id, sequence=campaign.sequence_id, kind=KIND)
    return {reason: int(count) for reason, count in rows}
