"""The launch of a campaign: a row for each step of each prospect, from then on it runs. Launch and schedule are one.

It goes through the enrolments in their order, some at a time, each batch in a transaction of its own under the pace of
the workspace. With its rows a batch leaves behind how far the launch has come, so that one that was killed goes on from
there, and two at once share the work: each enrolment is gone through once. The key of a step, unique in the workspace,
stands behind that.

All prospects of a launch get the same words: the version of the sequence that its first batch was pinned to, however
often somebody edits it meanwhile. Each batch looks again at all else: a campaign that was paused or cancelled meanwhile
is launched no further, and a prospect who was stopped gets no row. First steps are ready at once, and may leave while
later batches are still being written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from postroom.campaigns.arithmetic.keys import StepKey
from postroom.campaigns.books.mails import FIRST_DAY, PAUSED, ring, store_clock
from postroom.campaigns.drafts.campaigns import enrolments_after, senders_of
from postroom.campaigns.drafts.passing import ALREADY, SUPPRESSED
from postroom.campaigns.drafts.sequences import sequence_in_launch
from postroom.campaigns.drafts.workspace import workspace_settings
from postroom.campaigns.sending.carrying import Carried, carried_through, held_campaign, set_campaign, turn_campaign
from postroom.campaigns.sending.reconciling import reconcile
from postroom.campaigns.sending.replanning import replan
from postroom.campaigns.stopping.stops import ends_by
from postroom.campaigns.stopping.suppressing import covering
from postroom.campaigns.values import Campaign, Enrolment, Sender, Sequence
from postroom.claim.failpoint import reach
from postroom.errors import InvalidCampaign
from postroom.logs import logger
from postroom.store.ids import new_id
from postroom.store.plan import Copy, Course, Plan, Row, ask
from postroom.store.suppressions import Suppression, suppressions_of
from postroom.vocabulary import CampaignStatus, EnrolmentStatus, LaunchStage, MailState

BATCH = 1_000
"""Prospects in one transaction."""

ON_PURPOSE = 'launch it again on purpose: --again on the command line, {"again": true} by HTTP'
"""What can still be done to a cancelled campaign."""

Progress = Callable[[LaunchStage, int], None]
"""Told at each stage of so many more: prospects, and when it is worked out when they leave, mails."""

COLUMNS = (
    "email_id", "workspace", "key", "campaign_id", "prospect_id", "sequence_id", "sequence_version", "step", "number",
    "sender_id", "follow_up", "state", "due_day", "reason", "changed_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What a launch has come to; the numbers are mails for what is to leave, prospects for what is not."""

    scheduled: int = 0
    revived: int = 0
    """Mails of a cancelled launch that wait again."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many prospects were passed over, by reason."""
    errors: tuple[str, ...] = ()
    """Why the launch came to no end, if it did not."""
    status: CampaignStatus = CampaignStatus.RUNNING
    """Where the campaign stands now."""


@dataclass(slots=True)
class _Tally:
    scheduled: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


def launch(
    workspace: str,
    id: str,
    *,
    again: bool = False,
    batch: int = BATCH,
    progress: Progress = lambda stage, count: None,
) -> Course[Launched]:
    """Launch a campaign that was checked, or go on with its launch; done twice, the second time schedules nothing.

    A campaign that was cancelled is launched only with `again`: what had not left then waits again, what had stays as
    it is. `progress` is told how far it has come.
    """
    tally = _Tally()
    while again and (yield _concluded(workspace, id)):
        pass
    campaign = yield _begin(workspace, id, again=again)
    back = Carried() if campaign.carried_to is None else (yield from carried_through(workspace, id, batch=batch))
    if campaign.status is CampaignStatus.RUNNING:
        if campaign.launched_to:
            tally.skipped.update((yield gone_through(workspace, campaign)))
            tally.skipped[ALREADY] -= back.people
        while True:
            campaign, seen = yield _batch(workspace, id, batch, tally)
            progress(LaunchStage.LAUNCHING, seen)
            if not seen or campaign.status is not CampaignStatus.RUNNING:
                break
        if tally.scheduled or again or (yield _without_times(workspace, id)):
            yield from replan(workspace, progress=partial(progress, LaunchStage.PLANNING))
    skipped = dict(+tally.skipped)
    if skipped:  # a result and no error, as a duplicate of any other email
        logger.info("a launch has passed over prospects", workspace=workspace, campaign=id, skipped=skipped)
    return Launched(
        scheduled=tally.scheduled,
        revived=back.mails,
        skipped=skipped,
        errors=_errors(campaign),
        status=campaign.status,
    )


def _without_times(workspace: str, id: str) -> Plan[bool]:
    """Whether a launch was cut short when all was written but when it leaves: the last mail has no time yet."""
    rows = yield ask("last_planned", workspace=workspace, campaign=id)
    return any(planned_at is None for (planned_at,) in rows)


def gone_through(workspace: str, campaign: Campaign) -> Plan[Mapping[str, int]]:
    """What became of those whom launches have gone through before, in the words for whom a launch passes over."""
    rows = yield ask("gone_through", workspace=workspace, campaign=campaign.id, number=campaign.launched_to)
    return {reason: int(count) for reason, count in rows}


def _errors(campaign: Campaign) -> tuple[str, ...]:
    match campaign.status:
        case CampaignStatus.PAUSED:
            return ("the campaign is paused, and so no more of it is scheduled; resume it to go on",)
        case CampaignStatus.CANCELLED:
            return ("the campaign was cancelled, and so no more of it is scheduled",)
        case _:
            return ()


# ---------------------------------------------------------------- the beginning


def _concluded(workspace: str, id: str) -> Plan[bool]:
    """Draw the conclusions of what became of mails meanwhile, so that only what can leave comes back; whether there may
    be more. An email that was cancelled a moment ago is still on its way until then."""
    yield from ring(workspace)
    yield from held_campaign(workspace, id)
    settings = (yield from workspace_settings(workspace)).sending
    return (yield from reconcile(workspace, settings, now=(yield from store_clock())))


def _begin(workspace: str, id: str, *, again: bool) -> Plan[Campaign]:
    """Have the campaign run, and what was cancelled of it wait again from then on."""
    yield from ring(workspace)
    campaign = yield from held_campaign(workspace, id)
    match campaign.status:
        case CampaignStatus.CANCELLED if not again:
            raise InvalidCampaign("status", f"the campaign {id!r} was cancelled", ON_PURPOSE)
        case CampaignStatus.CANCELLED:
            yield from turn_campaign(workspace, id, CampaignStatus.RUNNING)
        case CampaignStatus.DRAFT:
            yield from set_campaign(workspace, id, CampaignStatus.RUNNING)
        case _:
            pass
    return (yield from held_campaign(workspace, id))


# ---------------------------------------------------------------- some of them


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """What the rows of some enrolments are made of."""

    workspace: str
    campaign: Campaign
    sequence: Sequence
    senders: tuple[Sender, ...]
    now: datetime

    def sender_for(self, enrolment: Enrolment) -> Sender:
        """In turn, and for the whole sequence."""
        return self.senders[(enrolment.number - 1) % len(self.senders)]

    def rows(self, enrolments: Iterable[Enrolment]) -> Iterator[Row]:
        for enrolment in enrolments:
            paused = enrolment.status is EnrolmentStatus.PAUSED
            for step in self.sequence.steps:
                first = step.number == 1
                yield (
                    new_id(),
                    self.workspace,
                    self._key(enrolment, step.number),
                    self.campaign.id,
                    enrolment.prospect.id,
                    self.sequence.id,
                    self.sequence.version,
                    step.number,
                    enrolment.number,
                    self.sender_for(enrolment).id,
                    not first,
                    (MailState.READY if first and not paused else MailState.WAITING).value,
                    FIRST_DAY.isoformat() if first else None,
                    PAUSED if first and paused else None,
                    self.now,
                )

    def _key(self, enrolment: Enrolment, step: int) -> str:
        return str(StepKey(prospect_id=enrolment.prospect.id, sequence_id=self.sequence.id, step_number=step))

    def pinned(self, enrolment: Enrolment) -> dict[str, Any]:
        paused = enrolment.status is EnrolmentStatus.PAUSED
        return {
            "prospect": enrolment.prospect.id,
            "status": EnrolmentStatus.PAUSED if paused else EnrolmentStatus.ACTIVE,
            "version": self.sequence.version,
            "sender": self.sender_for(enrolment).id,
            "reason": enrolment.reason,
        }


def _batch(workspace: str, id: str, size: int, tally: _Tally) -> Plan[tuple[Campaign, int]]:
    """Launch the next prospects; the campaign as it stands, and how many there were."""
    yield from ring(workspace)
    campaign = yield from held_campaign(workspace, id)
    if campaign.status is not CampaignStatus.RUNNING or campaign.carried_to is not None:  # somebody launches it again
        return campaign, 0
    enrolments = yield from enrolments_after(workspace, id, campaign.launched_to, limit=size)
    if not enrolments:
        yield ask("complete_campaign", workspace=workspace, campaign=id)
        return (yield from held_campaign(workspace, id)), 0
    batch = _Batch(
        workspace=workspace,
        campaign=campaign,
        sequence=(yield from sequence_in_launch(workspace, id, campaign.sequence_id)),
        senders=(yield from senders_of(workspace, id)),
        now=(yield from store_clock()),
    )
    wanted, passed_over = yield from _sorted_out(batch, enrolments)
    yield Copy("campaign_mails", COLUMNS, batch.rows(wanted))
    pinned = [*map(batch.pinned, wanted), *(each.pinned() for each in passed_over if each.ends)]
    yield ask("pin_enrolments", workspace=workspace, campaign=id, enrolments=pinned)
    yield ask("launched_to", workspace=workspace, campaign=id, number=enrolments[-1].number)
    reach("campaign_launching")
    tally.scheduled += len(wanted) * len(batch.sequence.steps)
    tally.skipped.update(each.why for each in passed_over)
    return campaign, len(enrolments)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PassedOver:
    """An enrolment that gets no mail, and why."""

    enrolment: Enrolment
    why: str
    """In a word, to be counted."""
    ends: EnrolmentStatus | None = None
    """How it ends by that; None where it had ended before."""
    reason: str = ""

    def pinned(self) -> dict[str, Any]:
        prospect = self.enrolment.prospect.id
        return {"prospect": prospect, "status": self.ends, "version": None, "sender": None, "reason": self.reason}


def _sorted_out(batch: _Batch, enrolments: Several[Enrolment]) -> Plan[tuple[list[Enrolment], list[_PassedOver]]]:
    """Those who get mail, and those who do not."""
    known = yield from suppressions_of(each.prospect.address for each in enrolments)
    rows = yield ask(
        "scheduled_already",
        workspace=batch.workspace,
        sequence=batch.sequence.id,
        prospects=[each.prospect.id for each in enrolments],
    )
    scheduled = {prospect for (prospect,) in rows}
    wanted: list[Enrolment] = []
    passed_over: list[_PassedOver] = []
    for each in enrolments:
        refusal = _refusal(each, known.get(each.prospect.normal_address, ()), scheduled, batch)
        if refusal is None:
            wanted.append(each)
        else:
            passed_over.append(refusal)
    return wanted, passed_over


def _refusal(
    enrolment: Enrolment, entries: Iterable[Suppression], scheduled: Container[str], batch: _Batch
) -> _PassedOver | None:
    if enrolment.status not in (EnrolmentStatus.ENROLLED, EnrolmentStatus.PAUSED):
        was_suppressed = (enrolment.reason or "").startswith(SUPPRESSED)
        return _PassedOver(enrolment=enrolment, why=SUPPRESSED if was_suppressed else enrolment.status.value)
    if (entry := covering(batch.workspace, entries, now=batch.now)) is not None:
        reason = f"suppressed: {entry}"
        return _PassedOver(enrolment=enrolment, why=SUPPRESSED, ends=ends_by(entry), reason=reason)
    if enrolment.prospect.id in scheduled:
        return _PassedOver(enrolment=enrolment, why=ALREADY, ends=EnrolmentStatus.STOPPED, reason=ALREADY)
    return None
