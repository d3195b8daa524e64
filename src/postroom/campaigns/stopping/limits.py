"""When a campaign pauses itself: too much of what it sent bounced for good, or was complained about.

What counts are the mails that have left since the count began: at the launch, or when a person resumed the campaign
although it was over a limit. So it does not pause again at once for what that person has seen; for anything new it
does. `limit_exceeded` decides; the rest keeps the count, in the transaction in which it changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from postroom.campaigns.drafts.workspace import workspace_settings
from postroom.campaigns.values import WorkspaceSettings
from postroom.store.plan import Plan, Row, ask
from postroom.vocabulary import Return


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What became of the mails of a campaign, as far as it is judged by them."""

    sent: int = 0
    """With those that were refused in the session because there is no such mailbox."""
    bounced: int = 0
    """For good."""
    complained: int = 0


def limit_exceeded(tally: Tally, settings: WorkspaceSettings) -> str | None:
    """Why a campaign has to pause, in numbers; None if it may go on."""
    if tally.sent < settings.limit_after:
        return None
    for count, limit, what in (
        (tally.bounced, settings.bounce_limit, Return.BOUNCED),
        (tally.complained, settings.complaint_limit, Return.COMPLAINED),
    ):
        if limit is not None and count >= Fraction(str(limit)) * tally.sent:
            return f"{count:,} of {tally.sent:,} {what}, the limit is {limit * 100:g} %"
    return None


def count_mail_of(
    workspace: str,
    campaign_id: str,
    *,
    left_at: datetime | None,
    sent: int = 0,
    bounced: int = 0,
    complained: int = 0,
) -> Plan[None]:
    """Count one mail, which left then, and have the campaign pause itself by that. The caller holds the workspace."""
    rows = yield ask(
        "count_campaign",
        workspace=workspace,
        campaign=campaign_id,
        left_at=left_at,
        sent=sent,
        bounced=bounced,
        complained=complained,
    )
    for tally in map(_tally, rows):
        if (reason := (yield from _judged(workspace, tally))) is not None:
            yield ask("pause_itself", workspace=workspace, campaign=campaign_id, reason=reason)


def count_anew_if_over(workspace: str, campaign_id: str) -> Plan[None]:
    """A person resumes a campaign: if what is counted would pause it again at once, only what follows is counted."""
    rows = yield ask("campaign_count", workspace=workspace, campaign=campaign_id)
    for tally in map(_tally, rows):
        if (yield from _judged(workspace, tally)) is not None:
            yield ask("count_anew", workspace=workspace, campaign=campaign_id)


def _judged(workspace: str, tally: Tally) -> Plan[str | None]:
    if not (tally.bounced or tally.complained):  # as nearly always, and then nobody need know the limits
        return None
    return limit_exceeded(tally, (yield from workspace_settings(workspace)))


def _tally(row: Row) -> Tally:
    sent, bounced, complained = map(int, row)
    return Tally(sent=sent, bounced=bounced, complained=complained)
