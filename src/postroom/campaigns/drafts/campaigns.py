"""Campaigns and who is in them, as plans. A draft can be made and filled; nothing is sent from it."""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass
from datetime import date, datetime

from postroom.campaigns.books.mails import CANCELLED
from postroom.campaigns.checks import name_of
from postroom.campaigns.commands import command
from postroom.campaigns.drafts.prospects import read_prospect
from postroom.campaigns.drafts.workspace import get_sender, read_sender
from postroom.campaigns.values import LONGEST_NAME, Campaign, Enrolment, Sender
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.store.contract import instant, moment
from postroom.store.plan import Plan, Row, ask
from postroom.vocabulary import CampaignStatus, EnrolmentStatus

LONGEST_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How many of a campaign wait for the same step since the same day."""

    launched_at: datetime
    campaign_id: str
    sequence_id: str
    sequence_version: int | None
    """None of those whom its launch has still to reach."""
    next_step: int
    last_sent_on: date | None
    """None before the first step."""
    count: int


def add_campaign(workspace: str, campaign: Campaign, *, senders: Several[str]) -> Plan[None]:
    """A new draft; `InvalidCampaign` where the id is taken. Sequence and senders are known to be there."""
    name_of("campaign.name", campaign.name, longest=LONGEST_NAME)
    rows = yield ask(
        "add_campaign",
        workspace=workspace,
        id=campaign.id,
        name=campaign.name,
        sequence=campaign.sequence_id,
        status=CampaignStatus.DRAFT,
    )
    if not rows:
        raise InvalidCampaign("campaign.id", f"{campaign.id!r} is there already", "choose another id")
    yield ask("add_campaign_senders", workspace=workspace, campaign=campaign.id, senders=list(dict.fromkeys(senders)))


def get_campaign(workspace: str, id: str) -> Plan[Campaign]:
    """The campaign of an id; `NotInWorkspace` if the workspace has none."""
    rows = yield ask("find_campaign", workspace=workspace, id=id)
    return read_campaign(_there(rows, workspace, id))


def lock_draft(workspace: str, id: str) -> Plan[Campaign]:
    """The campaign of an id, held until the transaction ends; refused if it is no draft any more."""
    rows = yield ask("lock_campaign", workspace=workspace, id=id)
    campaign = read_campaign(_there(rows, workspace, id))
    if campaign.status is not CampaignStatus.DRAFT:
        remedy = "only a draft can be filled; make a new one"
        raise InvalidCampaign("status", f"the campaign {id!r} is {campaign.status}", remedy)
    return campaign


def campaigns_after(workspace: str, after: str = "", *, limit: int = LONGEST_PAGE) -> Plan[tuple[Campaign, ...]]:
    """The next campaigns behind an id, by id."""
    rows = yield ask("campaigns_after", workspace=workspace, after=after, limit=limit)
    return tuple(map(read_campaign, rows))


def senders_of(workspace: str, campaign_id: str) -> Plan[tuple[Sender, ...]]:
    """Who sends a campaign, as they were named."""
    rows = yield ask("senders_of_campaign", workspace=workspace, campaign=campaign_id)
    return tuple(map(read_sender, rows))


def choose_senders(
    workspace: str, id: str, *, only: Several[str] = (), add: Several[str] = (), remove: Several[str] = ()
) -> Plan[tuple[Sender, ...]]:
    """Have a draft sent by others: by `only` these or those there were, with some more, without some; who sends it now.

    Refused once it was launched: who is in it keeps one sender for the whole sequence.
    """
    campaign = read_campaign(_there((yield ask("lock_campaign", workspace=workspace, id=id)), workspace, id))
    if campaign.status is not CampaignStatus.DRAFT:
        remedy = "who is in it keeps their sender; change or pause that sender, or make a new campaign"
        raise InvalidCampaign("status", f"the campaign {id!r} is {campaign.status}", remedy)
    named = only or [each.id for each in (yield from senders_of(workspace, id))]
    for each in remove:
        if each not in named:
            raise InvalidCampaign("senders", f"{each!r} does not send it", f"those who do: {', '.join(named)}")
    chosen = [each for each in dict.fromkeys((*named, *add)) if each not in remove]
    if not chosen:
        raise InvalidCampaign("senders", "nobody is left", "name somebody in their place")
    for each in chosen:
        yield from get_sender(workspace, each)
    yield ask("drop_campaign_senders", workspace=workspace, campaign=id)
    yield ask("add_campaign_senders", workspace=workspace, campaign=id, senders=chosen)
    return (yield from senders_of(workspace, id))


def enrol(workspace: str, campaign_id: str, prospect_ids: Several[str]) -> Plan[frozenset[str]]:
    """Put prospects into a draft that the caller has locked, in their order; those that were not in it before.

    Ids that the workspace does not have are passed over. Numbers grow, and may leave some out.
    """
    rows = yield ask(
        "enrol",
        workspace=workspace,
        campaign=campaign_id,
        prospects=list(dict.fromkeys(prospect_ids)),
        status=EnrolmentStatus.ENROLLED,
    )
    return frozenset(id for (id,) in rows)


def enrolments_after(
    workspace: str, campaign_id: str, after: int = 0, *, limit: int = LONGEST_PAGE
) -> Plan[tuple[Enrolment, ...]]:
    """The next enrolments behind a number, in their order."""
    yield ask("plan_afresh")
    rows = yield ask("enrolments_after", workspace=workspace, campaign=campaign_id, after=after, limit=limit)
    return tuple(map(read_enrolment, rows))


def count_enrolments(workspace: str, campaign_id: str) -> Plan[dict[str, int]]:
    """How many of a campaign stand where; of a status that nobody has, nothing is said."""
    rows = yield ask("count_enrolments", workspace=workspace, campaign=campaign_id)
    return {status: int(count) for status, count in rows}


def waiting_in_running_campaigns(workspace: str) -> Plan[tuple[Waiting, ...]]:
    """Who waits for what in the campaigns that run, in the order of their launch."""
    rows = yield ask(
        "progress_of_campaigns",
        workspace=workspace,
        status=CampaignStatus.RUNNING,
        enrolled=EnrolmentStatus.ACTIVE,
    )
    return tuple(map(_read_waiting, rows))


def waiting_if_it_went_on(workspace: str, campaign_id: str) -> Plan[tuple[Waiting, ...]]:
    """Who would wait for what in a campaign that is paused, if it were resumed; or was cancelled, if it were launched
    again. Nobody in any other."""
    rows = yield ask("progress_if_it_went_on", workspace=workspace, campaign=campaign_id, reason=CANCELLED)
    return tuple(map(_read_waiting, rows))


def _read_waiting(row: Row) -> Waiting:
    launched_at, campaign, sequence, version, step, day, count = row
    return Waiting(
        launched_at=instant(launched_at),
        campaign_id=campaign,
        sequence_id=sequence,
        sequence_version=version,
        next_step=step,
        last_sent_on=day and date.fromisoformat(day),
        count=int(count),
    )


def read_campaign(row: Row) -> Campaign:
    (
        id, name, sequence_id, status, created_at, launched_at, paused_at, pause_reason, finished_at, launched_to,
        carried_to,
    ) = row  # fmt: skip
    return Campaign(
        id=id,
        name=name,
        sequence_id=sequence_id,
        status=CampaignStatus(status),
        created_at=instant(created_at),
        launched_at=moment(launched_at),
        paused_at=moment(paused_at),
        pause_reason=pause_reason,
        finished_at=moment(finished_at),
        launched_to=int(launched_to),
        carried_to=None if carried_to is None else int(carried_to),
    )


def _there(rows: Several[Row], workspace: str, id: str) -> Row:
    if not rows:
        raise NotInWorkspace("campaign", id, workspace, f"`{command('list', workspace)}` shows those there are")
    return rows[0]


def read_enrolment(row: Row) -> Enrolment:
    number, status, next_step, version, sender_id, last_sent_on, reason, *prospect = row
    return Enrolment(
        number=int(number),
        prospect=read_prospect(prospect),
        status=EnrolmentStatus(status),
        next_step=next_step,
        sequence_version=version,
        sender_id=sender_id,
        last_sent_on=last_sent_on and date.fromisoformat(last_sent_on),
        reason=reason,
    )
