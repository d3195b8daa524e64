"""What follows from what became of emails: the next step, the end of an enrolment, the quota given back.

A trigger notes the status of an email at its mail in the transaction that changes it, whoever changes it. Here the
conclusions are drawn, a little later and in one place, under the pace of the workspace:

    sent                  counts as accepted; the next step is due so many days later, or the enrolment is completed
    pending, retrying     given back or failed for now: the quota is released, and it asks for its turn again; where
                          the server does not take mail from its sender, that one is paused
    dead, cancelled, gone the quota is released, nothing follows
    refused for good      the same; where the server said that there is no such mailbox, all that follows from a bounce
    in_doubt              stays counted, and nothing follows until a person has decided

What was left in doubt may have arrived, so its place in the quota of its day stays taken whatever a person decides: a
mail that is sent again counts on the day on which it leaves again, beside that place.

Each conclusion is drawn once; drawn again after a crash, it is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import local_date, openings, window_day_at
from postroom.campaigns.books.counting import count_mail
from postroom.campaigns.books.mails import (
    CANCELLED,
    GONE,
    PAUSED,
    PREVIOUS,
    Mail,
    mails_of_enrolment,
    put_mail,
    read_mail,
    written_day,
)
from postroom.campaigns.drafts.campaigns import read_campaign
from postroom.campaigns.drafts.sequences import steps_of
from postroom.campaigns.sending.senders import heed_refusal
from postroom.campaigns.stopping.limits import count_mail_of
from postroom.campaigns.stopping.refusing import hear_refusal
from postroom.store import acts
from postroom.store.plan import Plan, ask
from postroom.vocabulary import CampaignStatus, DeadReason, EnrolmentStatus, MailState, Status

MOST = 100
"""Conclusions in one transaction."""

OPEN = (EnrolmentStatus.ACTIVE, EnrolmentStatus.PAUSED)
"""Enrolments that are still to get something."""
ENDED = (MailState.DEAD, MailState.STOPPED)
STOPPED_BY_SOMEBODY = (
    EnrolmentStatus.REPLIED,
    EnrolmentStatus.UNSUBSCRIBED,
    EnrolmentStatus.BOUNCED,
    EnrolmentStatus.COMPLAINED,
    EnrolmentStatus.STOPPED,
)
"""Enrolments that ended before their last mail: these know why."""


def reconcile(workspace: str, settings: SendingSettings, *, now: datetime) -> Plan[bool]:
    """Draw the conclusions of a workspace that the caller holds; whether there may be more."""
    rows = yield ask("moved_mails", workspace=workspace, limit=MOST)
    for *mail, dead_reason, asks_again in rows:
        yield from _conclude(workspace, read_mail(mail), dead_reason, bool(asks_again), _Present(settings, now))
    return len(rows) == MOST


@dataclass(frozen=True, slots=True)
class _Present:
    settings: SendingSettings
    now: datetime

    @property
    def day(self) -> date:
        """What a mail counts on that was sent without counting."""
        return window_day_at(self.settings, self.now) or local_date(self.settings, self.now)

    def forecast(self, due: date, planned: datetime | None) -> datetime | None:
        """When a mail that is due on this day is to leave: as was planned, if it still can; else when its window opens.

        In a window that has opened it waits for its turn, and when that comes only the whole plan could tell.
        """
        opening = next(openings(self.settings, due), None)
        if opening is None:
            return None
        if planned is not None and planned > max(opening.open, self.now):
            return planned
        return opening.open if opening.open > self.now else None


def _conclude(workspace: str, mail: Mail, dead_reason: str | None, asks_again: bool, present: _Present) -> Plan[None]:
    match mail.email_status:
        case Status.SENT:
            yield from _sent(workspace, mail, present)
        case Status.PENDING | Status.RETRYING:
            yield from _came_back(workspace, mail)
        case Status.IN_DOUBT if asks_again:  # a person has had it sent again, and that came back
            yield from _came_back(workspace, mail)
        case Status.DEAD if dead_reason == DeadReason.SUPPRESSED:
            yield from _stopped(workspace, mail, dead_reason)
        case Status.DEAD:
            yield from _dead(workspace, mail, dead_reason)
        case Status.CANCELLED:
            yield from _stopped(workspace, mail, Status.CANCELLED.value)
        case str() as status if status == GONE:
            yield from end_with(workspace, mail, MailState.STOPPED, GONE)
        case _:  # on its way, or held in doubt
            yield from put_mail(mail)


# ---------------------------------------------------------------- sent


def _sent(workspace: str, mail: Mail, present: _Present) -> Plan[None]:
    if mail.state is MailState.SENT:
        yield from put_mail(mail)
        return
    if mail.state in ENDED and (yield from _campaign_goes_on(workspace, mail)):
        yield from _revive(workspace, mail)
    day = mail.day or present.day
    yield from count_mail(workspace, mail.sender_id, day, used=0 if mail.day else 1, accepted=1)
    yield from put_mail(replace(mail, state=MailState.SENT, day=day, reason=None))
    yield from count_mail_of(workspace, mail.campaign_id, left_at=mail.left_at, sent=1)
    yield from _note_sent(workspace, mail, day)
    mails = yield from mails_of_enrolment(workspace, mail.campaign_id, mail.number)
    following = next((each for each in mails if each.step == mail.step + 1), None)
    if following is None:
        yield from _all_sent(workspace, mail)
        yield from _complete(workspace, mail)
    else:
        yield from _follow(workspace, mail, following, day, present)


def _follow(workspace: str, mail: Mail, following: Mail, day: date, present: _Present) -> Plan[None]:
    """The next step is due so many days after this one has really left."""
    status = yield from enrolment_status(workspace, mail)
    steps = yield from steps_of(workspace, mail.sequence_id, mail.sequence_version)
    due = day + timedelta(days=steps[following.step - 1].delay_days)
    # The plan holds for this step as long as the one before has left on the day that it was planned for.
    as_planned = mail.planned_at is not None and window_day_at(present.settings, mail.planned_at) == day
    planned_at = present.forecast(due, following.planned_at if as_planned else None)
    following = replace(following, due_day=due, planned_at=planned_at)
    if following.state is MailState.WAITING and status is EnrolmentStatus.ACTIVE:
        reason = following.reason if following.not_before else None  # whose person is away
        following = replace(following, state=MailState.READY, reason=reason)
    elif following.state is MailState.WAITING:
        following = replace(following, reason=PAUSED)
    yield from put_mail(following)


# ---------------------------------------------------------------- back


def _came_back(workspace: str, mail: Mail) -> Plan[None]:
    """It asks for its turn again; unless its prospect or campaign was stopped: then it is not to be tried again."""
    goes_on = yield from _campaign_goes_on(workspace, mail)
    if goes_on and mail.state in ENDED:
        yield from _revive(workspace, mail)
    mail = yield from _released(workspace, mail)
    yield from heed_refusal(workspace, mail)
    if goes_on and (yield from _prospect_goes_on(workspace, mail)):
        yield from put_mail(replace(mail, state=MailState.LEAVING, reason=None))
        return
    yield from acts.cancel([mail.id], actor=None, strict=False)
    ended = (yield from enrolment_status(workspace, mail)) if goes_on else CANCELLED
    reason = mail.reason or (yield from _came_of(workspace, mail)) or str(ended)
    mail = replace(mail, state=MailState.LEAVING, email_status=Status.CANCELLED)
    yield from end_with(workspace, mail, MailState.STOPPED, reason)


def _campaign_goes_on(workspace: str, mail: Mail) -> Plan[bool]:
    rows = yield ask("find_campaign", workspace=workspace, id=mail.campaign_id)
    return any(read_campaign(row).status is not CampaignStatus.CANCELLED for row in rows)


def _prospect_goes_on(workspace: str, mail: Mail) -> Plan[bool]:
    """Also one to whom it has not come yet that the campaign was launched again."""
    rows = yield ask("find_enrolment", workspace=workspace, campaign=mail.campaign_id, prospect=mail.prospect_id)
    [[status, _, reason]] = rows or [(EnrolmentStatus.STOPPED, 0, None)]
    if status in OPEN or reason != CANCELLED:
        return status in OPEN
    campaigns = yield ask("find_campaign", workspace=workspace, id=mail.campaign_id)
    behind = [read_campaign(row).carried_to for row in campaigns]
    return any(carried_to is not None and carried_to < mail.number for carried_to in behind)


def _revive(workspace: str, mail: Mail) -> Plan[None]:
    """A person has it sent after all, or it turns out that it was: what ended because of it goes on, and with it all
    that would have followed. Whom anything else has stopped, before or since, stays so."""
    ended_by_it = yield ask(
        "revive_enrolment",
        workspace=workspace,
        campaign=mail.campaign_id,
        prospect=mail.prospect_id,
        step=mail.step,
        reason=mail.reason,
    )
    for (number,) in ended_by_it:
        yield ask("reopen_campaign", workspace=workspace, campaign=mail.campaign_id)
        yield ask(
            "revive_mails_of_enrolment",
            workspace=workspace,
            campaign=mail.campaign_id,
            number=number,
            reason=PREVIOUS,
            paused=PAUSED,
        )


# ---------------------------------------------------------------- the end


def _dead(workspace: str, mail: Mail, reason: str | None) -> Plan[None]:
    """It was given up. One that somebody is changing just now stays moved, and is heard of the next time."""
    if reason != DeadReason.PERMANENT or (yield from hear_refusal(workspace, mail.id)):
        yield from end_with(workspace, mail, MailState.DEAD, reason or Status.DEAD.value)


def _stopped(workspace: str, mail: Mail, reason: str) -> Plan[None]:
    """Its email was kept from leaving; where that is because of what came back, the mail says what that was."""
    yield from end_with(workspace, mail, MailState.STOPPED, (yield from _came_of(workspace, mail)) or reason)


def _came_of(workspace: str, mail: Mail) -> Plan[str | None]:
    """What came back, or was said on the list or by hand, if the enrolment has ended by it."""
    rows = yield ask("find_enrolment", workspace=workspace, campaign=mail.campaign_id, prospect=mail.prospect_id)
    return next((reason or status for status, _, reason in rows if status in STOPPED_BY_SOMEBODY), None)


def end_with(workspace: str, mail: Mail, state: MailState, reason: str) -> Plan[None]:
    """This mail has come to its end without being sent: nothing follows it, and its quota is for others."""
    if mail.state in (*ENDED, MailState.SENT):
        yield from put_mail(mail)
        return
    mail = yield from _released(workspace, mail)
    yield from put_mail(replace(mail, state=state, reason=reason))
    yield ask(
        "stop_following",
        workspace=workspace,
        campaign=mail.campaign_id,
        number=mail.number,
        step=mail.step,
        reason=PREVIOUS,
    )
    yield ask(
        "end_enrolment_at_step",
        workspace=workspace,
        campaign=mail.campaign_id,
        prospect=mail.prospect_id,
        step=mail.step,
        reason=reason,
    )
    yield from _complete(workspace, mail)


def _released(workspace: str, mail: Mail) -> Plan[Mail]:
    """The mail without counting any more. Where it was left in doubt it may have arrived, and its place stays taken."""
    if mail.day is not None:
        stays = int(mail.doubted)
        yield from count_mail(workspace, mail.sender_id, mail.day, used=stays - 1, doubted=stays)
    return replace(mail, day=None, doubted=False)


def _complete(workspace: str, mail: Mail) -> Plan[None]:
    yield ask("complete_campaign", workspace=workspace, campaign=mail.campaign_id)


# ---------------------------------------------------------------- enrolments


def enrolment_status(workspace: str, mail: Mail) -> Plan[EnrolmentStatus]:
    rows = yield ask("find_enrolment", workspace=workspace, campaign=mail.campaign_id, prospect=mail.prospect_id)
    return EnrolmentStatus(rows[0][0]) if rows else EnrolmentStatus.STOPPED


def _note_sent(workspace: str, mail: Mail, day: date) -> Plan[None]:
    """How far its enrolment has come, also where that was stopped: launched again, it goes on from there."""
    yield ask(
        "note_sent_step",
        workspace=workspace,
        campaign=mail.campaign_id,
        prospect=mail.prospect_id,
        step=mail.step,
        day=written_day(day),
    )


def _all_sent(workspace: str, mail: Mail) -> Plan[None]:
    """An enrolment that is open is completed; one that was stopped stays so."""
    yield ask(
        "set_enrolment",
        workspace=workspace,
        campaign=mail.campaign_id,
        prospect=mail.prospect_id,
        status=EnrolmentStatus.COMPLETED,
        was=[each.value for each in OPEN],
    )
