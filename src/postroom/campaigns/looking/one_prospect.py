"""One prospect over all campaigns of a workspace: their mails, where they stand; and which mails some emails are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from postroom.campaigns.books.mails import Mail, read_mail
from postroom.store.contract import instant, moment
from postroom.store.plan import Plan, ask
from postroom.vocabulary import EmailId, EnrolmentStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedMail:
    """A mail, and since when it stands as it does."""

    mail: Mail
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where somebody stands in one campaign, and since when."""

    campaign_id: str
    campaign_name: str
    status: EnrolmentStatus
    reason: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedMail:
    """The mail of a campaign that an email is, as a list of what came back shows it."""

    id: EmailId
    workspace: str
    campaign_id: str
    prospect_id: str
    address: str
    """Of the prospect, as it is now."""
    step: int
    subject: str
    """Empty before it was written."""
    enrolment: EnrolmentStatus | None
    """Where they stand in that campaign now, …"""
    since: datetime | None
    """… and since when."""


def mails_of_prospect(workspace: str, prospect: str, *, limit: int) -> Plan[list[DatedMail]]:
    """The latest mails to somebody, of whatever campaign of the workspace."""
    rows = yield ask("mails_of_prospect", workspace=workspace, prospect=prospect, limit=limit)
    return [DatedMail(changed_at=instant(changed_at), mail=read_mail(row)) for changed_at, *row in rows]


def standings_of(workspace: str, prospect: str, *, limit: int) -> Plan[list[Standing]]:
    """Where somebody stands in each campaign of the workspace; what changed last comes first."""
    rows = yield ask("enrolments_of_prospect", workspace=workspace, prospect=prospect, limit=limit)
    return [
        Standing(
            campaign_id=campaign,
            campaign_name=name,
            status=EnrolmentStatus(status),
            reason=reason or "",
            updated_at=instant(updated_at),
        )
        for campaign, name, status, reason, updated_at in rows
    ]


def mails_returned(ids: Iterable[EmailId]) -> Plan[dict[EmailId, ReturnedMail]]:
    """Those of these emails that are mail of a campaign; they are known when the emails have long been deleted."""
    rows = yield ask("mails_returned", ids=sorted(ids))
    return {
        EmailId(id): ReturnedMail(
            id=EmailId(id),
            workspace=workspace,
            campaign_id=campaign,
            prospect_id=prospect,
            address=address,
            step=step,
            subject=subject or "",
            enrolment=EnrolmentStatus(status) if status else None,
            since=moment(since),
        )
        for id, workspace, campaign, prospect, address, step, subject, status, since in rows
    }
