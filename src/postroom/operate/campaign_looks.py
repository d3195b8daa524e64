"""What the pages of campaigns show beside what every surface asks: progress, days, people, and what is still to leave.

Everything is about one workspace, and `workspaces` is what the person who asks may see: another one is as if it were
not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from postroom.campaigns.arithmetic.gate import Permit, Wait, gate
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.turns import Planned
from postroom.campaigns.arithmetic.window import window_at
from postroom.campaigns.books.counting import NOTHING, WORKSPACE, counts_on
from postroom.campaigns.books.mails import Mail, beat_of, mails_of_enrolment
from postroom.campaigns.drafts.campaigns import campaigns_after, senders_of, waiting_in_running_campaigns
from postroom.campaigns.drafts.forecasting import beneath_senders, running_campaigns
from postroom.campaigns.drafts.prospects import find_prospect, get_prospect, read_prospect
from postroom.campaigns.drafts.readiness import insist_on_readiness
from postroom.campaigns.drafts.sequences import get_sequence, steps_of
from postroom.campaigns.drafts.whole import Draft, whole_draft
from postroom.campaigns.drafts.workspace import workspace_settings
from postroom.campaigns.looking.explaining import Explained, explain
from postroom.campaigns.looking.pages import (
    LONGEST_PAGE,
    FoundEnrolments,
    Progress,
    QuotaDay,
    campaign_workspaces,
    enrolment_of,
    find_enrolments,
    progress_by_step,
    progress_of,
    quota_by_day,
    sent_by_day,
)
from postroom.campaigns.looking.totals import Totals, totals_of
from postroom.campaigns.values import MOST_STEPS, Campaign, Enrolment, Prospect, Sender, Step
from postroom.errors import NotInWorkspace
from postroom.operate.campaign_recording import check_seen
from postroom.operate.values import Workspaces
from postroom.operate.verb import Awaiting, Shell, asks, asks_in_steps
from postroom.store.plan import Course, Plan, ask
from postroom.work.breakers import shut_routes

if TYPE_CHECKING:
    from postroom.templates.portal import Portal

LONGEST_LIST = 100
"""Campaigns on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCampaign:
    """A campaign in a list."""

    campaign: Campaign
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """One campaign in numbers."""

    progress: Progress
    steps: Mapping[int, Progress]
    sent: Mapping[date, int]
    """Its mails by window day."""
    days: tuple[QuotaDay, ...]
    """Those of the whole workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The campaigns that run, with all that says when their mail leaves."""

    settings: SendingSettings
    campaigns: tuple[Planned, ...]
    """To be gone through once."""
    mails: int
    """About how many are still to leave."""
    used: Mapping[date, int]
    accepted: tuple[date, ...]
    """Days on which mail was accepted."""
    last: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """A draft, and what runs before it."""

    draft: Draft
    running: Running


@dataclass(frozen=True, slots=True, kw_only=True)
class InCampaign:
    """One prospect in one campaign."""

    campaign: Campaign
    enrolment: Enrolment
    steps: tuple[Step, ...]
    """Of the version that they are pinned to; of the newest one before the launch."""
    mails: tuple[Mail, ...]
    waits: Mapping[int, Explained]
    """Why those wait that have not left, by step."""
    settings: SendingSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Mails that have not left."""

    mails: tuple[Explained, ...]
    more: bool
    """There are others behind them."""
    people: Mapping[str, Prospect]
    """Whom they are for, by id."""
    totals: Totals
    settings: SendingSettings


class CampaignLookVerbs(Shell):
    """Questions of the campaign pages."""

    @asks
    def workspaces(self, *, workspaces: Workspaces = None) -> Plan[tuple[str, ...]]:
        """Those that may be chosen from: a person's own, or all that have to do with campaigns."""
        if workspaces is not None:
            return tuple(sorted(workspaces))
        return (yield from campaign_workspaces())

    @asks
    def campaigns(
        self, workspace: str, *, after: str = "", workspaces: Workspaces = None
    ) -> Plan[tuple[ListedCampaign, ...]]:
        """The next campaigns behind an id, by id, with how far they have come."""
        check_seen(workspace, workspaces)
        found = yield from campaigns_after(workspace, after, limit=LONGEST_LIST)
        progress = yield from progress_of(workspace, [each.id for each in found])
        return tuple(ListedCampaign(campaign=each, progress=progress[each.id]) for each in found)

    @asks
    def numbers(self, workspace: str, id: str, *, workspaces: Workspaces = None) -> Plan[Numbers]:
        """One campaign in numbers; nothing but zeros of one that is not there."""
        check_seen(workspace, workspaces)
        progress = yield from progress_of(workspace, [id])
        return Numbers(
            progress=progress[id],
            steps=(yield from progress_by_step(workspace, id)),
            sent=(yield from sent_by_day(workspace, id)),
            days=(yield from quota_by_day(workspace)),
        )

    @asks
    def gate(self, workspace: str, *, workspaces: Workspaces = None) -> Plan[tuple[SendingSettings, Permit | Wait]]:
        """Whether a mail of the workspace might leave now, by its settings."""
        check_seen(workspace, workspaces)
        settings, now = (yield from workspace_settings(workspace)).sending, self.now()
        opening, beat = window_at(settings, now), (yield from beat_of(workspace))
        counts = (yield from counts_on(workspace, opening.day)) if opening else {}
        count = counts.get(WORKSPACE, NOTHING)
        answer = gate(settings, now=now, used=count.used, sent_days=count.sent_days, last=beat.last, gap=beat.gap)
        return settings, answer

    @asks
    def running(self, workspace: str, *, workspaces: Workspaces = None) -> Plan[Running]:
        """The campaigns that run, to look ahead with."""
        check_seen(workspace, workspaces)
        return (yield from _running(workspace))

    @asks
    def drafted(self, workspace: str, id: str, *, workspaces: Workspaces = None) -> Plan[Drafted]:
        """A draft, and what runs before it; `NotInWorkspace` where there is none."""
        check_seen(workspace, workspaces)
        draft = yield from whole_draft(workspace, id)
        return Drafted(draft=draft, running=(yield from _running(workspace)))

    @asks
    def people(
        self,
        workspace: str,
        id: str,
        *,
        part: str = "",
        status: str = "",
        after: int = 0,
        limit: int = LONGEST_PAGE,
        workspaces: Workspaces = None,
    ) -> Plan[FoundEnrolments]:
        """Those in a campaign, by any part of an address or a name."""
        check_seen(workspace, workspaces)
        return (yield from find_enrolments(workspace, id, part=part, status=status, after=after, limit=limit))

    @asks
    def waiting(
        self,
        workspace: str,
        id: str,
        *,
        after: tuple[int, int] = (0, 0),
        limit: int = 20,
        workspaces: Workspaces = None,
    ) -> Plan[Waiting]:
        """The next mails that have not left, with whom they are for and why each waits."""
        check_seen(workspace, workspaces)
        found = yield from explain(workspace, id, after=after, limit=limit + 1, shut=(yield from shut_routes()))
        ids = list(dict.fromkeys(each.mail.prospect_id for each in found[:limit]))
        rows = (yield ask("prospects_by_id", workspace=workspace, ids=ids)) if ids else []
        return Waiting(
            mails=tuple(found[:limit]),
            more=len(found) > limit,
            people={row[1]: read_prospect(row[1:]) for row in rows},
            totals=(yield from totals_of(workspace, id)),
            settings=(yield from workspace_settings(workspace)).sending,
        )

    @asks_in_steps
    def insist(
        self, workspace: str, id: str, portals: Mapping[str, Portal], *, workspaces: Workspaces = None
    ) -> Course[None]:
        """Refuse a draft that could not be launched, as its launch would; nothing is written."""
        check_seen(workspace, workspaces)
        yield from insist_on_readiness(workspace, id, now=self.now(), rules=self.rules, portals=portals)

    @asks
    def prospect_named(self, workspace: str, named: str, *, workspaces: Workspaces = None) -> Plan[Prospect | None]:
        """Whoever has this id, or this address; None if the workspace has nobody."""
        check_seen(workspace, workspaces)
        try:
            return (yield from get_prospect(workspace, named))
        except NotInWorkspace:
            return (yield from find_prospect(workspace, named))

    @asks
    def quota(self, workspace: str, *, workspaces: Workspaces = None) -> Plan[tuple[QuotaDay, ...]]:
        """What has counted against the quota, the earliest day first."""
        check_seen(workspace, workspaces)
        return (yield from quota_by_day(workspace))

    @asks
    def person(self, workspace: str, id: str, prospect: str, *, workspaces: Workspaces = None) -> Plan[InCampaign]:
        """One prospect in a campaign, with their mails; `NotInWorkspace` where there is none."""
        check_seen(workspace, workspaces)
        draft = yield from whole_draft(workspace, id)
        enrolment = yield from enrolment_of(workspace, id, prospect)
        sequence = draft.campaign.sequence_id
        version = enrolment.sequence_version or (yield from get_sequence(workspace, sequence)).version
        waits = yield from explain(
            workspace, id, after=(enrolment.number, 0), limit=MOST_STEPS, shut=(yield from shut_routes())
        )
        return InCampaign(
            campaign=draft.campaign,
            enrolment=enrolment,
            steps=(yield from steps_of(workspace, sequence, version)),
            mails=tuple((yield from mails_of_enrolment(workspace, id, enrolment.number))),
            waits={each.mail.step: each for each in waits if each.mail.number == enrolment.number},
            settings=draft.settings.sending,
        )


class AsyncCampaignLooks(Awaiting, CampaignLookVerbs):
    """Questions of the campaign pages, for event loops."""


def _running(workspace: str) -> Plan[Running]:
    settings = (yield from workspace_settings(workspace)).sending
    campaigns = yield from running_campaigns(workspace)
    steps = {each.id: len(each.delay_days) for each in campaigns}
    senders: list[Sender] = []
    for id in steps:
        senders += yield from senders_of(workspace, id)
    mails = 0
    for each in (yield from waiting_in_running_campaigns(workspace)):
        mails += each.count * (1 + steps.get(each.campaign_id, each.next_step) - each.next_step)
    days = yield from quota_by_day(workspace)
    return Running(
        settings=beneath_senders(settings, list({each.id: each for each in senders}.values())),
        campaigns=tuple(campaigns),
        mails=mails,
        used={each.day: each.used for each in days},
        accepted=tuple(each.day for each in days if each.accepted),
        last=(yield from beat_of(workspace)).last,
    )
