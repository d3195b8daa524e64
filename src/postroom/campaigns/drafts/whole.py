"""A campaign with what it is made of, read in one transaction, so that it fits together."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.campaigns.drafts.campaigns import count_enrolments, get_campaign, senders_of
from postroom.campaigns.drafts.sequences import get_sequence
from postroom.campaigns.drafts.workspace import workspace_settings
from postroom.campaigns.values import Campaign, Sender, Sequence, WorkspaceSettings
from postroom.store.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Everything of a campaign but who is in it."""

    campaign: Campaign
    sequence: Sequence
    settings: WorkspaceSettings
    senders: tuple[Sender, ...]
    prospects: int


def whole_draft(workspace: str, id: str) -> Plan[Draft]:
    """A campaign with what it is made of; `NotInWorkspace` if the workspace has none of this id."""
    campaign = yield from get_campaign(workspace, id)
    counts = yield from count_enrolments(workspace, id)
    return Draft(
        campaign=campaign,
        sequence=(yield from get_sequence(workspace, campaign.sequence_id)),
        settings=(yield from workspace_settings(workspace)),
        senders=(yield from senders_of(workspace, id)),
        prospects=sum(counts.values()),
    )
