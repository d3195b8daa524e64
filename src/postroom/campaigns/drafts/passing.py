"""Whom a launch passes over, and why: asked before it by whoever foresees it, and decided by it batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from postroom.campaigns.drafts.composing import KIND
from postroom.campaigns.values import Campaign
from postroom.store.plan import Plan, ask
from postroom.vocabulary import EnrolmentStatus

ALREADY = "already_scheduled"
"""They have mail of this sequence."""
SUPPRESSED = "suppressed"
"""They are on the list of those not to be mailed; how others ended is told by the word for that."""
_IN_WORDS = {ALREADY: "have this sequence already", SUPPRESSED: "not to be mailed"}


def passed_in_words(reason: str) -> str:
    """Why a launch passes over somebody, as people read it behind how many they are."""
    return _IN_WORDS.get(reason, reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Who would get nothing of a launch."""

    passed_over: Mapping[str, int] = field(default_factory=dict)
    """Prospects by reason: it writes no mail for them."""
    paused: int = 0
    """Their mail would wait until somebody resumes them."""


def left_out(workspace: str, campaign: Campaign) -> Plan[LeftOut]:
    """How many of those in a campaign would get nothing of a launch now, and why."""
    yield ask("plan_afresh")  # campaigns are of every size
    rows = yield ask("left_out", workspace=workspace, campaign=campaign.id, sequence=campaign.sequence_id, kind=KIND)
    counts = {reason: int(count) for reason, count in rows}
    paused = counts.pop(EnrolmentStatus.PAUSED, 0)
    return LeftOut(passed_over=counts, paused=paused)


def passed_over(workspace: str, campaign: Campaign) -> Plan[Mapping[str, int]]:
    """How many of those in a campaign a launch would pass over now, by reason."""
    return (yield from left_out(workspace, campaign)).passed_over
