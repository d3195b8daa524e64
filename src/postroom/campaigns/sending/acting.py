"""What a person does to a campaign that was launched, and to one prospect of it. Each act holds from its commit on."""

from __future__ import annotations

from postroom.campaigns.books.mails import PAUSED, ring
from postroom.campaigns.sending.carrying import BATCH, carried_through, held_campaign, set_campaign, turn_campaign
from postroom.campaigns.sending.launching import ON_PURPOSE, Launched, launch
from postroom.campaigns.sending.replanning import replan
from postroom.campaigns.stopping.limits import count_anew_if_over
from postroom.campaigns.stopping.stops import Stopped, stop_enrolments
from postroom.campaigns.values import Campaign
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.store.plan import Course, Plan, ask
from postroom.vocabulary import CampaignStatus, EnrolmentStatus


def pause_campaign(workspace: str, id: str, *, reason: str | None = None) -> Plan[Campaign]:
    """Nothing of it leaves any more, but what is being handed over this moment; the waits of steps go on."""
    campaign = yield from _held_in(workspace, id, CampaignStatus.RUNNING, CampaignStatus.PAUSED)
    if campaign.status is CampaignStatus.RUNNING:
        yield from set_campaign(workspace, id, CampaignStatus.PAUSED, reason=reason)
    return (yield from held_campaign(workspace, id))


def resume_campaign(workspace: str, id: str) -> Course[Launched]:
    """Let it run again. What became due meanwhile leaves within windows, quota and gap; a launch that the pause had
    cut short goes on. One that is over a limit is judged from now on by what leaves from now on."""
    yield _resumed(workspace, id)
    launched = yield from launch(workspace, id)
    if not launched.scheduled:  # else the launch has done so
        yield from replan(workspace)
    return launched


def _resumed(workspace: str, id: str) -> Plan[None]:
    campaign = yield from _held_in(workspace, id, CampaignStatus.RUNNING, CampaignStatus.PAUSED)
    if campaign.status is CampaignStatus.PAUSED:
        yield from count_anew_if_over(workspace, id)
        yield from set_campaign(workspace, id, CampaignStatus.RUNNING)


def cancel_campaign(workspace: str, id: str) -> Plan[bool]:
    """Nothing of it leaves ever again, unless it is launched again on purpose; whether that is still to come to its
    people, with `cancelled_through`: they and their mails say so then."""
    campaign = yield from _held_in(
        workspace, id, CampaignStatus.DRAFT, CampaignStatus.RUNNING, CampaignStatus.PAUSED, CampaignStatus.CANCELLED
    )
    if campaign.status is CampaignStatus.DRAFT:  # nobody has a version or a sender yet, and a launch gives them theirs
        yield from set_campaign(workspace, id, CampaignStatus.CANCELLED)
    elif campaign.status is not CampaignStatus.CANCELLED:
        yield from turn_campaign(workspace, id, CampaignStatus.CANCELLED)
    return (yield from held_campaign(workspace, id)).carried_to is not None


def cancelled_through(workspace: str, id: str, *, batch: int = BATCH) -> Course[Stopped]:
    """Stop what a cancelled campaign still has; what the cancellation has stopped, whoever did a part of it."""
    done = yield from carried_through(workspace, id, batch=batch)
    return Stopped(campaigns=(id,), mails=done.mails)


def pause_prospect(workspace: str, campaign_id: str, prospect_id: str) -> Plan[None]:
    """Leave one prospect of a campaign alone for a while; whom a launch has still to reach, it leaves alone as well."""
    yield from _turn_prospect(workspace, campaign_id, prospect_id, paused=True)
    yield ask("hold_mails", workspace=workspace, campaign=campaign_id, prospect=prospect_id, reason=PAUSED)


def resume_prospect(workspace: str, campaign_id: str, prospect_id: str) -> Plan[None]:
    """Go on with one, where they stand: with their mail, or with waiting for the launch."""
    yield from _turn_prospect(workspace, campaign_id, prospect_id, paused=False)
    yield ask("unhold_mails", workspace=workspace, campaign=campaign_id, prospect=prospect_id)


def stop_in_campaign(workspace: str, campaign_id: str, prospect_id: str, *, reason: str) -> Plan[Stopped]:
    """Send one prospect nothing more of a campaign."""
    yield from ring(workspace)
    yield from _enrolled(workspace, campaign_id, prospect_id)
    ends = EnrolmentStatus.STOPPED
    return (yield from stop_enrolments(workspace, reason, prospect=prospect_id, campaign=campaign_id, ends=ends))


def _held_in(workspace: str, id: str, *statuses: CampaignStatus) -> Plan[Campaign]:
    """The campaign, held, and its workspace too; refused if it stands elsewhere."""
    yield from ring(workspace)
    campaign = yield from held_campaign(workspace, id)
    if campaign.status not in statuses:
        raise _stands_elsewhere(campaign)
    return campaign


def _stands_elsewhere(campaign: Campaign) -> InvalidCampaign:
    match campaign.status:
        case CampaignStatus.DRAFT:
            return InvalidCampaign("status", f"the campaign {campaign.id!r} is a draft", "launch it first")
        case CampaignStatus.CANCELLED:
            return InvalidCampaign("status", f"the campaign {campaign.id!r} was cancelled", ON_PURPOSE)
        case status:
            remedy = "nothing is left to be done to it"
            return InvalidCampaign("status", f"the campaign {campaign.id!r} is {status}", remedy)


def _turn_prospect(workspace: str, campaign_id: str, prospect_id: str, *, paused: bool) -> Plan[None]:
    yield from ring(workspace)
    now, launched = yield from _enrolled(workspace, campaign_id, prospect_id)
    going_on = EnrolmentStatus.ACTIVE if launched else EnrolmentStatus.ENROLLED
    if now not in (going_on, EnrolmentStatus.PAUSED):
        problem = f"the prospect {prospect_id!r} is {now} in this campaign"
        raise InvalidCampaign("prospect", problem, "only who is still to get something can be paused and resumed")
    yield ask(
        "set_enrolment",
        workspace=workspace,
        campaign=campaign_id,
        prospect=prospect_id,
        status=EnrolmentStatus.PAUSED if paused else going_on,
        was=[now.value],
    )


def _enrolled(workspace: str, campaign_id: str, prospect_id: str) -> Plan[tuple[EnrolmentStatus, bool]]:
    """Where somebody stands, and whether a launch has reached them: from then on they have a version and mails."""
    rows = yield ask("find_enrolment", workspace=workspace, campaign=campaign_id, prospect=prospect_id)
    if not rows:
        raise NotInWorkspace("prospect", prospect_id, workspace, f"the campaign {campaign_id!r} has none of this id")
    [[status, version, _]] = rows
    return EnrolmentStatus(status), version is not None
