"""Whether a draft can be launched: all that a check finds, and whether its mails could be taken in here as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from postroom.campaigns.books.mails import FIRST_DAY, Mail
from postroom.campaigns.drafts.campaigns import enrolments_after
from postroom.campaigns.drafts.checking import Checked, Problem, Severity, check_draft
from postroom.campaigns.drafts.composing import order_of
from postroom.campaigns.drafts.rendering import Wording
from postroom.campaigns.drafts.whole import Draft, whole_draft
from postroom.campaigns.values import Enrolment
from postroom.errors import InvalidCampaign, InvalidEmail
from postroom.outbox.submission import HouseRules
from postroom.store.ids import new_id
from postroom.store.order import Lease
from postroom.store.plan import Course
from postroom.vocabulary import MailState

if TYPE_CHECKING:
    from postroom.templates.portal import Portal

NOBODY = Lease(worker="", seconds=1.0)


def check_readiness(
    workspace: str,
    id: str,
    *,
    now: datetime,
    rules: HouseRules,
    portals: Mapping[str, Portal],
    sample: int | None = None,
    progress: Callable[[int], None] = lambda prospects: None,
) -> Course[Checked]:
    """What keeps a campaign from being launched; of its prospects the first `sample` are looked at, or all.

    Where all else is well with a draft, its first mail is tried out: whether it could be taken in here, by its route
    and with the link to unsubscribe.
    """
    checked = yield from check_draft(
        workspace, id, now=now, routes=rules.routes, portals=portals, sample=sample, progress=progress
    )
    if not checked.campaign.unlaunched or not checked.ok:
        return checked
    draft = yield whole_draft(workspace, id)
    first = yield enrolments_after(workspace, id, limit=1)
    tried = _tried_out(workspace, draft, first, rules=rules, portals=portals, now=now)
    return replace(checked, problems=(*checked.problems, *tried))


def insist_on_readiness(
    workspace: str,
    id: str,
    *,
    now: datetime,
    rules: HouseRules,
    portals: Mapping[str, Portal],
    progress: Callable[[int], None] = lambda prospects: None,
) -> Course[None]:
    """Refuse a draft that could not be sent, before anything of it is written; `InvalidCampaign` names what is wrong.

    A campaign that was launched before has passed already, and so has one that somebody else launches meanwhile; a
    draft that was cancelled has not.
    """
    draft = yield whole_draft(workspace, id)
    if not draft.campaign.unlaunched:
        return
    checked = yield from check_readiness(workspace, id, now=now, rules=rules, portals=portals, progress=progress)
    if not checked.campaign.unlaunched:
        return
    for problem in checked.problems:
        if problem.severity is Severity.ERROR:
            raise InvalidCampaign(problem.field, problem.problem + _whom(problem), problem.remedy)


def _whom(problem: Problem) -> str:
    """`1 prospect: 7`, or the first of several."""
    if not problem.prospects:
        return ""
    if problem.count == 1:
        return f" (1 prospect: {problem.prospects[0]})"
    return f" ({problem.count:,} prospects, such as {problem.prospects[0]})"


def _tried_out(
    workspace: str,
    draft: Draft,
    enrolments: Sequence[Enrolment],
    *,
    rules: HouseRules,
    portals: Mapping[str, Portal],
    now: datetime,
) -> Iterator[Problem]:
    """What speaks against the first step to the first prospect, from each sender; told once where it is the same."""
    wording = Wording(draft.sequence.steps, portals)
    found: dict[str, InvalidEmail] = {}
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
                found.setdefault(str(error), error)
    for each in found.values():
        yield Problem(severity=Severity.ERROR, field=each.field, problem=each.problem, remedy=each.remedy)


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
