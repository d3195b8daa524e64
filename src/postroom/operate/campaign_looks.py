"""What the pages of campaigns show beside what every surface asks: progress, days, people, and what is still to leave.

Everything is about one workspace, and `workspaces` is what the person who asks may see: another one is as if it were
not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from postroom.campaigns.arithmetic.gate import Permit, Wait, gate
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import window_at
from postroom.campaigns.books.counting import NOTHING, WORKSPACE, CountedDay, counts_on, days_counted
from postroom.campaigns.books.mails import Mail, beat_of, mails_of_enrolment
from postroom.campaigns.drafts.agenda import Agenda, agenda_of
from postroom.campaigns.drafts.campaigns import campaigns_after
from postroom.campaigns.drafts.forecasting import Outset, outset_of
from postroom.campaigns.drafts.prospects import find_prospect, get_prospect, read_prospect
from postroom.campaigns.drafts.readiness import insist_on_readiness
from postroom.campaigns.drafts.sequences import get_sequence, steps_of
from postroom.campaigns.drafts.whole import whole_draft
from postroom.campaigns.drafts.workspace import workspace_settings
from postroom.campaigns.looking.explaining import Explained, explain
from postroom.campaigns.looking.pages import (
    LONGEST_PAGE,
    ByStep,
    FoundEnrolments,
    Progress,
    campaign_workspaces,
    enrolment_of,
    find_enrolments,
    progress_by_step,
    progress_of,
    sent_by_day,
)
from postroom.campaigns.looking.totals import Totals, totals_of
from postroom.campaigns.values import MOST_STEPS, Campaign, Enrolment, Prospect, Step
from postroom.errors import NotInWorkspace
from postroom.operate.campaign_recording import check_seen
from postroom.operate.prospect_story import ProspectStory, story_of
from postroom.operate.values import Workspaces
from postroom.operate.verb import Awaiting, Blocking, Shell, asks, asks_in_steps
from postroom.store.plan import Course, Plan, ask
from postroom.vocabulary import WaitReason
from postroom.work.breakers import shut_routes

if TYPE_CHECKING:
    from postroom.templates.portal import Portal

LONGEST_LIST = 100
"""Campaigns on a page."""
COUNTED = 1_000
"""Waiting mails whose reasons are counted: each is looked at by itself, and a page asks every few seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCampaign:
    """A campaign in a list."""

    campaign: Campaign
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """One campaign in numbers."""

    progress: Progress
    by_step: ByStep
    sent: Mapping[date, int]
    """Its mails by window day."""
    days: tuple[CountedDay, ...]
    """Those of the whole workspace."""


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
    story: ProspectStory


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Mails that have not left."""

    mails: tuple[Explained, ...]
    more: bool
    """There are others behind them."""
    reasons: Mapping[WaitReason | None, int]
    """Why they wait, of the first `COUNTED` of the campaign; None: it is their turn, or they leave."""
    all_counted: bool
    """Whether no others wait than those."""
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
            by_step=(yield from progress_by_step(workspace, id)),
            sent=(yield from sent_by_day(workspace, id)),
            days=(yield from days_counted(workspace)),
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
    def agenda(self, workspace: str, *, workspaces: Workspaces = None) -> Plan[Agenda]:
        """The campaigns that run, to look ahead with."""
        check_seen(workspace, workspaces)
        return (yield from agenda_of(workspace))

    @asks
    def outset(self, workspace: str, id: str, *, workspaces: Workspaces = None) -> Plan[Outset]:
        """What a forecast goes by; `NotInWorkspace` where there is no such campaign."""
        check_seen(workspace, workspaces)
        return (yield from outset_of(workspace, id))

    @asks
    def people(
        self,
        workspace: str,
        id: str,
        *,
        part: str = "",
        status: str = "",
        mail: str = "",
        after: int = 0,
        limit: int = LONGEST_PAGE,
        workspaces: Workspaces = None,
    ) -> Plan[FoundEnrolments]:
        """Those in a campaign, by any part of an address or a name."""
        check_seen(workspace, workspaces)
        return (
            yield from find_enrolments(workspace, id, part=part, status=status, mail=mail, after=after, limit=limit)
        )

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
        shut = yield from shut_routes()
        first = yield from explain(workspace, id, limit=COUNTED + 1, shut=shut)
        found = first
        if after > (0, 0):
            found = yield from explain(workspace, id, after=after, limit=limit + 1, shut=shut)
        ids = list(dict.fromkeys(each.mail.prospect_id for each in found[:limit]))
        rows = (yield ask("prospects_by_id", workspace=workspace, ids=ids)) if ids else []
        return Waiting(
            mails=tuple(found[:limit]),
            more=len(found) > limit,
            reasons=Counter(each.wait.reason if each.wait else None for each in first[:COUNTED]),
            all_counted=len(first) <= COUNTED,
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
    def addresses(self, workspace: str, ids: Sequence[str], *, workspaces: Workspaces = None) -> Plan[dict[str, str]]:
        """The addresses of some prospects, by id; those who are not there are left out."""
        check_seen(workspace, workspaces)
        rows = (yield ask("prospects_by_id", workspace=workspace, ids=list(ids))) if ids else []
        return {prospect.id: prospect.address for prospect in (read_prospect(row[1:]) for row in rows)}

    @asks
    def quota(self, workspace: str, *, workspaces: Workspaces = None) -> Plan[tuple[CountedDay, ...]]:
        """What has counted against the quota, the earliest day first."""
        check_seen(workspace, workspaces)
        return (yield from days_counted(workspace))

    @asks
    def person(self, workspace: str, id: str, prospect: str, *, workspaces: Workspaces = None) -> Plan[InCampaign]:
        """One prospect in a campaign, with their mails and their story; `NotInWorkspace` where there is none."""
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
            story=(yield from story_of(workspace, enrolment.prospect, workspaces=workspaces)),
        )


class CampaignLooks(Blocking, CampaignLookVerbs):
    """Questions of the campaign pages, for threads."""


class AsyncCampaignLooks(Awaiting, CampaignLookVerbs):
    """Questions of the campaign pages, for event loops."""
