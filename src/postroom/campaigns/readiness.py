"""Whether a draft can be launched: all that a check finds, and whether its mails could be taken in here as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from postroom.campaigns.checking import Checked, Severity, check_draft
from postroom.campaigns.composing import order_of
from postroom.campaigns.drafts import enrolments_after
from postroom.campaigns.mails import FIRST_DAY, Mail
from postroom.campaigns.rendering import Wording
from postroom.campaigns.values import Enrolment
from postroom.campaigns.whole import Draft, whole_draft
from postroom.errors import InvalidCampaign, InvalidEmail
from postroom.outbox.submission import HouseRules
from postroom.store.ids import new_id
from postroom.store.order import Lease
from postroom.store.plan import Course
from postroom.vocabulary import CampaignStatus, MailState

if TYPE_CHECKING:
    from postroom.templates.portal import Portal

NOBODY = Lease(worker="", seconds=1.0)


def insist_on_readiness(
    workspace: str, id: str, *, now: datetime, rules: HouseRules, portals: Mapping[str, Portal]
) -> Course[None]:
    """Refuse a draft that could not be sent, before anything of it is written; `InvalidCampaign` names what is wrong.

    A campaign that was launched before has passed already.
    """
    draft = yield whole_draft(workspace, id)
    if draft.campaign.status is not CampaignStatus.DRAFT:
        return
    checked = yield from check_draft(workspace, id, now=now, routes=rules.routes, portals=portals)
    _refuse_problems(checked)
    first = yield enrolments_after(workspace, id, limit=1)
    _try_out(workspace, draft, first, rules=rules, portals=portals, now=now)


def _refuse_problems(checked: Checked) -> None:
    for problem in checked.problems:
        if problem.severity is Severity.ERROR:
            told = f" ({problem.count} prospects, such as {problem.prospects[0]})" if problem.prospects else ""
            raise InvalidCampaign(problem.field, problem.problem + told, problem.remedy)


def _try_out(
    workspace: str,
    draft: Draft,
    enrolments: Sequence[Enrolment],
    *,
    rules: HouseRules,
    portals: Mapping[str, Portal],
    now: datetime,
) -> None:
    """Whether the first step to the first prospect could be taken in: with the link to unsubscribe, by its route."""
    wording = Wording(draft.sequence.steps, portals)
    for enrolment in enrolments:
        for sender in draft.senders:
            try:
                order_of(
                    _first_mail(draft, enrolment),
                    workspace=workspace,
                    prospect=enrolment.prospect,
                    sender=sender,
                    wording=wording,
                    steps=draft.sequence.steps,
                    mails=(),
                    rules=rules,
                    lease=NOBODY,
                    now=now,
                )
            except InvalidEmail as error:
                raise InvalidCampaign(error.field, error.problem, error.remedy) from error


def _first_mail(draft: Draft, enrolment: Enrolment) -> Mail:
    return Mail(
        id=new_id(),
        key="tried:out:1",
        campaign_id=draft.campaign.id,
        prospect_id=enrolment.prospect.id,
        sequence_id=draft.sequence.id,
        sequence_version=draft.sequence.version,
        step=1,
        number=enrolment.number,
        sender_id="",
        state=MailState.READY,
        due_day=FIRST_DAY,
    )
