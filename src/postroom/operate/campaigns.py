"""What can be asked of the campaigns of a workspace, and done to them while they are drafts.

Everything is about one workspace, and `workspaces` is what the person who asks may see: another one is as if it were
not there. Acts are in the audit log, and so are refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from postroom.campaigns.arithmetic.impasse import Impasse
from postroom.campaigns.books.mails import ring
from postroom.campaigns.drafts.campaigns import (
    LONGEST_PAGE,
    add_campaign,
    campaigns_after,
    choose_senders,
    count_enrolments,
)
from postroom.campaigns.drafts.checking import Checked
from postroom.campaigns.drafts.describing import Description
from postroom.campaigns.drafts.forecasting import Forecast, forecast_of
from postroom.campaigns.drafts.readiness import check_readiness
from postroom.campaigns.drafts.sequences import SequenceOutline, add_sequence, edit_sequence, get_sequence, sequences
from postroom.campaigns.drafts.whole import Draft, whole_draft
from postroom.campaigns.drafts.workspace import (
    add_sender,
    change_sender,
    get_sender,
    put_sender,
    put_workspace_settings,
    senders,
    workspace_settings,
)
from postroom.campaigns.importing.batches import Imported, RowReport, import_table
from postroom.campaigns.importing.table import Table
from postroom.campaigns.looking.impasses import impasses_of
from postroom.campaigns.records import changed_settings
from postroom.campaigns.sending.replanning import replan
from postroom.campaigns.sending.senders import pause_sender, resume_sender
from postroom.campaigns.values import Campaign, Sender, Sequence, WorkspaceSettings
from postroom.operate.campaign_acts import CampaignActs
from postroom.operate.campaign_recording import check_seen, on_record
from postroom.operate.recording import By, line, new_tie, refused_on_record
from postroom.operate.values import Workspaces
from postroom.operate.verb import Awaiting, Blocking, Shell, asks, asks_in_steps, does_in_steps
from postroom.store.plan import Course, Plan
from postroom.vocabulary import CampaignStatus

if TYPE_CHECKING:
    from postroom.templates.portal import Portal

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignView:
    """A campaign in a list, or looked at alone."""

    campaign: Campaign
    enrolments: Mapping[str, int]
    """How many prospects stand where."""

    @property
    def prospects(self) -> int:
        return sum(self.enrolments.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeCampaign(CampaignView):
    """A campaign with what it is made of."""

    draft: Draft


class CampaignVerbs(Shell):
    """Questions about campaigns, and acts on drafts."""

    @asks
    def list(self, workspace: str, *, after: str = "", workspaces: Workspaces = None) -> Plan[tuple[CampaignView, ...]]:
        """The next campaigns behind an id, by id, as many as a page has."""
        check_seen(workspace, workspaces)
        found = []
        for campaign in (yield from campaigns_after(workspace, after, limit=LONGEST_PAGE)):
            counts = yield from count_enrolments(workspace, campaign.id)
            found.append(CampaignView(campaign=campaign, enrolments=counts))
        return tuple(found)

    @asks
    def status(self, workspace: str, id: str, *, workspaces: Workspaces = None) -> Plan[WholeCampaign]:
        """One campaign with what it is made of; `NotInWorkspace` where there is none."""
        check_seen(workspace, workspaces)
        draft = yield from whole_draft(workspace, id)
        counts = yield from count_enrolments(workspace, id)
        return WholeCampaign(campaign=draft.campaign, enrolments=counts, draft=draft)

    @does_in_steps
    def new(
        self, workspace: str, description: Description, *, by: By, workspaces: Workspaces = None
    ) -> Course[Campaign]:
        """Make a draft of a description, with its sequence, senders and settings: all of it, or nothing."""
        check_seen(workspace, workspaces)
        id = description.campaign.id
        return (yield from on_record(_new(workspace, description), by, "campaign_new", workspace, campaign=id))

    @asks
    def settings_of(self, workspace: str, *, workspaces: Workspaces = None) -> Plan[WorkspaceSettings]:
        """When and how much a workspace sends."""
        check_seen(workspace, workspaces)
        return (yield from workspace_settings(workspace))

    @does_in_steps
    def change_settings(
        self, workspace: str, changes: Mapping[str, Any], *, by: By, workspaces: Workspaces = None
    ) -> Course[WorkspaceSettings]:
        """Change what is named, leave the rest; all of it is checked before anything is written."""
        check_seen(workspace, workspaces)
        doing = _change_settings(workspace, changes)
        changed = yield from on_record(doing, by, "campaign_settings", workspace, changed=sorted(changes))
        yield from replan(workspace)
        return changed

    @asks
    def impasses(
        self, workspace: str, senders: Several[Sender] = (), *, workspaces: Workspaces = None
    ) -> Plan[tuple[Impasse, ...]]:
        """Why nothing will ever leave: of the whole workspace, or of some of these senders; nothing, if all is well."""
        check_seen(workspace, workspaces)
        return (yield from impasses_of(workspace, senders, now=self.now()))

    @asks
    def impasses_of_campaign(
        self, workspace: str, whole: WholeCampaign, *, workspaces: Workspaces = None
    ) -> Plan[tuple[Impasse, ...]]:
        """Why nothing of a campaign will ever leave; of one that has come to its end, nothing is to leave."""
        check_seen(workspace, workspaces)
        if whole.campaign.status in (CampaignStatus.COMPLETED, CampaignStatus.CANCELLED):
            return ()
        return (yield from impasses_of(workspace, whole.draft.senders, now=self.now()))

    @asks
    def senders(self, workspace: str, *, workspaces: Workspaces = None) -> Plan[tuple[Sender, ...]]:
        """Who sends campaigns, by id."""
        check_seen(workspace, workspaces)
        return (yield from senders(workspace))

    @asks
    def sender(self, workspace: str, id: str, *, workspaces: Workspaces = None) -> Plan[Sender]:
        """One sender; `NotInWorkspace` where there is none."""
        check_seen(workspace, workspaces)
        return (yield from get_sender(workspace, id))

    @does_in_steps
    def put_sender(self, workspace: str, sender: Sender, *, by: By, workspaces: Workspaces = None) -> Course[None]:
        """Have a sender be as this says, whether there was one of that id or not."""
        check_seen(workspace, workspaces)
        doing = _ringing(workspace, put_sender(workspace, sender))
        yield from on_record(doing, by, "campaign_sender", workspace, sender=sender.id)
        yield from replan(workspace)  # what a sender may is part of the plan

    @does_in_steps
    def add_sender(self, workspace: str, sender: Sender, *, by: By, workspaces: Workspaces = None) -> Course[None]:
        """Add a sender; where there is one of that id, they stay as they are, and it is refused."""
        check_seen(workspace, workspaces)
        doing = _ringing(workspace, add_sender(workspace, sender))
        yield from on_record(doing, by, "campaign_sender", workspace, sender=sender.id)
        yield from replan(workspace)

    @does_in_steps
    def change_sender(
        self,
        workspace: str,
        id: str,
        changes: Mapping[str, Any],
        *,
        by: By,
        add: bool = True,
        workspaces: Workspaces = None,
    ) -> Course[Sender]:
        """Change what is named of a sender, and leave the rest; who is not there is added, unless that is not meant."""
        check_seen(workspace, workspaces)
        doing = _ringing(workspace, _change_sender(workspace, id, changes, add=add))
        changed = yield from on_record(doing, by, "campaign_sender", workspace, sender=id)
        yield from replan(workspace)
        return changed

    @does_in_steps
    def pause_sender(
        self, workspace: str, id: str, *, by: By, reason: str | None = None, workspaces: Workspaces = None
    ) -> Course[Sender]:
        """Let nothing leave from a sender until they are resumed; their mail is kept."""
        check_seen(workspace, workspaces)
        doing = pause_sender(workspace, id, reason=reason)
        return (yield from on_record(doing, by, "campaign_pause_sender", workspace, sender=id, reason=reason))

    @does_in_steps
    def resume_sender(self, workspace: str, id: str, *, by: By, workspaces: Workspaces = None) -> Course[Sender]:
        """Let mail leave from a sender again."""
        check_seen(workspace, workspaces)
        doing = resume_sender(workspace, id)
        resumed = yield from on_record(doing, by, "campaign_resume_sender", workspace, sender=id)
        yield from replan(workspace)  # what would have left meanwhile is still to leave
        return resumed

    @does_in_steps
    def choose_senders(
        self,
        workspace: str,
        id: str,
        *,
        by: By,
        only: Several[str] = (),
        add: Several[str] = (),
        remove: Several[str] = (),
        workspaces: Workspaces = None,
    ) -> Course[tuple[Sender, ...]]:
        """Have a draft sent by others than it was made with; refused once it was launched."""
        check_seen(workspace, workspaces)
        doing = choose_senders(workspace, id, only=only, add=add, remove=remove)
        told = {"only": list(only), "add": list(add), "remove": list(remove)}
        return (yield from on_record(doing, by, "campaign_senders", workspace, campaign=id, **told))

    @asks
    def sequences(self, workspace: str, *, workspaces: Workspaces = None) -> Plan[tuple[SequenceOutline, ...]]:
        """All sequences, by id."""
        check_seen(workspace, workspaces)
        return (yield from sequences(workspace))

    @asks
    def sequence(self, workspace: str, id: str, *, workspaces: Workspaces = None) -> Plan[Sequence]:
        """The newest version of a sequence; `NotInWorkspace` where there is none."""
        check_seen(workspace, workspaces)
        return (yield from get_sequence(workspace, id))

    @does_in_steps
    def edit_sequence(
        self, workspace: str, sequence: Sequence, *, by: By, workspaces: Workspaces = None
    ) -> Course[Sequence]:
        """Give a sequence other steps, as its next version; the same steps make none."""
        check_seen(workspace, workspaces)
        doing = edit_sequence(workspace, sequence)
        return (yield from on_record(doing, by, "campaign_sequence", workspace, sequence=sequence.id))

    @does_in_steps
    def import_prospects(
        self,
        workspace: str,
        table: Table,
        *,
        by: By,
        campaign: str | None = None,
        update: bool = False,
        report: Callable[[RowReport], None] = lambda _: None,
        workspaces: Workspaces = None,
    ) -> Course[Imported]:
        """Take the prospects of a file in, batch by batch, and into a draft where one is named.

        `report` hears of every row. Stopped in the middle, the same file again does the rest.
        """
        check_seen(workspace, workspaces)
        asked = {"workspace": workspace, "campaign": campaign, "update": update or None, "act": new_tie()}
        doing = import_table(workspace, table, campaign=campaign, update=update, report=report)
        yield line(by, "campaign_import", state="begun", **asked)
        done = yield from refused_on_record(doing, by, "campaign_import", state="stopped", **asked)
        yield line(by, "campaign_import", state="done", **asked, rows=done.counts, enrolled=done.enrolled)
        return done

    @asks_in_steps
    def check(
        self,
        workspace: str,
        id: str,
        *,
        portals: Mapping[str, Portal] | None = None,
        sample: int | None = None,
        progress: Callable[[int], None] = lambda prospects: None,
        workspaces: Workspaces = None,
    ) -> Course[Checked]:
        """What is wrong with a campaign; its steps are rendered for everybody, or for the first `sample`.

        `progress` is told of prospects as they are looked at.
        """
        check_seen(workspace, workspaces)
        checking = check_readiness(
            workspace,
            id,
            now=self.now(),
            rules=self.rules,
            portals=portals or {},
            sample=sample,
            progress=progress,
        )
        return (yield from checking)

    @asks
    def forecast(self, workspace: str, id: str, *, workspaces: Workspaces = None) -> Plan[Forecast]:
        """When a campaign would begin and end, day by day, if it were launched now; or resumed, or launched again."""
        check_seen(workspace, workspaces)
        return (yield from forecast_of(workspace, id, now=self.now()))


class CampaignOperations(Blocking, CampaignActs, CampaignVerbs):
    """Questions and acts about campaigns, for threads."""


class AsyncCampaignOperations(Awaiting, CampaignActs, CampaignVerbs):
    """Questions and acts about campaigns, for event loops."""


def _new(workspace: str, description: Description) -> Plan[Campaign]:
    if description.settings:
        yield from _change_settings(workspace, description.settings)
    for said in description.senders:
        yield from change_sender(workspace, said)
    for id in description.sender_ids:
        yield from get_sender(workspace, id)
    if description.sequence is not None:
        yield from add_sequence(workspace, description.sequence, field=description.sequence_field)
    yield from get_sequence(workspace, description.campaign.sequence_id)
    yield from add_campaign(workspace, description.campaign, senders=description.sender_ids)
    return description.campaign


def _change_sender(workspace: str, id: str, changes: Mapping[str, Any], *, add: bool) -> Plan[Sender]:
    if not add:
        yield from get_sender(workspace, id)
    return (yield from change_sender(workspace, {**changes, "id": id}))


def _ringing(workspace: str, doing: Plan[T]) -> Plan[T]:
    yield from ring(workspace)  # their mail may leave sooner now
    return (yield from doing)


def _change_settings(workspace: str, changes: Mapping[str, Any]) -> Plan[WorkspaceSettings]:
    yield from ring(workspace)  # what holds from now on is looked at at once
    before = yield from workspace_settings(workspace)
    yield from put_workspace_settings(workspace, changed_settings(before, changes))
    return (yield from workspace_settings(workspace))
