"""Where a whole campaign stands, and how that comes to each of its people.

A campaign is cancelled, or launched again, by its status alone, in one short transaction: from its commit on nothing of
it has a turn, or what waits in it has. What follows for each enrolment and its mails is carried through after that,
along their numbers, some at a time, each batch in a transaction of its own under the pace of the workspace; so others
wait for a batch at most, and nobody has a million rows in hand. With its rows a batch leaves behind how far this has
come, and whoever comes next goes on from there: who did it, the same act again, or a worker at its next look.

Cut short, it sends nothing wrong. Of a campaign that is cancelled nothing leaves, whoever is still open in it. Of one
that runs again, they have their turns who were brought back already; the others have ended, and it is not completed
before it has come to them. Cancelled once more in the middle, or launched again, it begins with the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from postroom.campaigns.books.mails import CANCELLED, PAUSED, PREVIOUS, ring
from postroom.campaigns.drafts.campaigns import read_campaign
from postroom.campaigns.values import Campaign
from postroom.claim.failpoint import reach
from postroom.errors import NotInWorkspace
from postroom.store import acts
from postroom.store.plan import Course, Plan, ask
from postroom.vocabulary import CampaignStatus, EmailId, EnrolmentStatus

BATCH = 1_000
"""Prospects in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """To what it has come."""

    mails: int = 0
    """That will not leave, or that will after all."""
    people: int = 0
    """Who have such mails, of those that were brought back."""


def held_campaign(workspace: str, id: str) -> Plan[Campaign]:
    """A campaign, held until the transaction ends."""
    rows = yield ask("lock_campaign", workspace=workspace, id=id)
    if not rows:
        raise NotInWorkspace("campaign", id, workspace, "`postroom campaign list` shows those there are")
    return read_campaign(rows[0])


def set_campaign(workspace: str, id: str, status: CampaignStatus, *, reason: str | None = None) -> Plan[None]:
    yield ask("set_campaign", workspace=workspace, campaign=id, status=status, reason=reason)


def turn_campaign(workspace: str, id: str, status: CampaignStatus) -> Plan[None]:
    """Have a launched campaign stand there; what follows for its people is still to be carried through."""
    yield from set_campaign(workspace, id, status)
    yield ask("carry_from_the_beginning", workspace=workspace, campaign=id)


def carried_through(workspace: str, id: str, *, batch: int = BATCH) -> Course[Carried]:
    """Carry through what was done to a campaign; what that has come to, whoever did a part of it."""
    while (yield _next_batch(workspace, id, batch)):
        pass
    done: Carried = yield _carried(workspace, id)
    return done


def carry_on_in(workspace: str) -> Plan[bool]:
    """Go on with what somebody has begun in a workspace and who may be gone; whether there is more.

    The caller holds the workspace.
    """
    rows = yield ask("campaign_to_carry", workspace=workspace)
    for row in rows:
        yield from _carry_on(workspace, read_campaign(row), BATCH)
    return bool(rows)


def _next_batch(workspace: str, id: str, size: int) -> Plan[bool]:
    yield from ring(workspace)
    return (yield from _carry_on(workspace, (yield from held_campaign(workspace, id)), size))


def _carry_on(workspace: str, campaign: Campaign, size: int) -> Plan[bool]:
    """The next of its people; whether there may be more."""
    if campaign.carried_to is None:
        return False
    whose = {"workspace": workspace, "campaign": campaign.id}
    [[upto]] = yield ask("end_of_batch", **whose, after=campaign.carried_to, limit=size)
    done = Carried()
    if upto is not None:
        carry = _ended if campaign.status is CampaignStatus.CANCELLED else _brought_back
        done = yield from carry({**whose, "after": campaign.carried_to, "upto": upto})
    yield ask("carried_to", **whose, number=upto, mails=done.mails, people=done.people)
    reach("campaign_carrying")
    if upto is None:
        yield ask("complete_campaign", **whose)
    return upto is not None


def _ended(some: Mapping[str, Any]) -> Plan[Carried]:
    """Those who are open end; what waits of their mails is stopped, what waits for another attempt cancelled."""
    yield ask("end_enrolments_of_campaign", **some, status=EnrolmentStatus.STOPPED, reason=CANCELLED)
    stopped = yield ask("stop_mails_of_campaign", **some, reason=CANCELLED)
    emails = yield ask("emails_of_campaign", **some)
    cancelled = yield from acts.cancel([EmailId(id) for (id,) in emails], actor=None, strict=False)
    return Carried(mails=len(stopped) + len(cancelled))


def _brought_back(some: Mapping[str, Any]) -> Plan[Carried]:
    """What had not left waits again.

    An email that was cancelled stays so, and what would have followed it waits for somebody to have it sent after all.
    Who was paused is so again, and who had got everything has completed the campaign.
    """
    cancelled = {**some, "reason": CANCELLED}
    yield ask("complete_cancelled", **cancelled)
    yield ask("revive_enrolments", **cancelled)
    rows = yield ask("revive_mails", **cancelled, paused=PAUSED)
    yield ask("end_stranded", **cancelled)
    yield ask("leave_stranded_mails", **cancelled, previous=PREVIOUS)
    if rows:  # a worker of an earlier release may have taken it for completed
        yield ask("reopen_campaign", workspace=some["workspace"], campaign=some["campaign"])
    return Carried(mails=len(rows), people=len({number for (number,) in rows}))


def _carried(workspace: str, id: str) -> Plan[Carried]:
    [[mails, people]] = yield ask("carried", workspace=workspace, campaign=id)
    return Carried(mails=int(mails), people=int(people))
