"""One look at one workspace: what has become of its mail, whether another may leave now, and whose turn it is.

All of it is one short transaction under the pace of the workspace. The email is taken in under the lease of the worker
that asks, so it is `sending` and owned from the first moment; what it counts against the quota, the gap that follows it
and the row itself are there together or not at all. Killed before the commit, nothing has happened. Killed after it,
the email is taken over as every other: not sent, it comes back and asks for its turn again; perhaps sent, it is held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

from postroom.campaigns.arithmetic.gate import Permit, Wait, gate
from postroom.campaigns.arithmetic.pace import draw_gap, later
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import Opening, next_open, openings, window_at
from postroom.campaigns.books.counting import NOTHING, WORKSPACE, count_mail, counts_on, with_allowance
from postroom.campaigns.books.mails import (
    Beat,
    Mail,
    due_beat,
    mails_of_enrolment,
    next_beat,
    put_mail,
    read_mail,
    store_clock,
    written_day,
)
from postroom.campaigns.drafts.composing import order_of
from postroom.campaigns.drafts.prospects import get_prospect
from postroom.campaigns.drafts.rendering import TooSlow, Wording
from postroom.campaigns.drafts.sequences import steps_of
from postroom.campaigns.drafts.workspace import senders as senders_in
from postroom.campaigns.drafts.workspace import workspace_settings
from postroom.campaigns.sending.carrying import carry_on_in
from postroom.campaigns.sending.reconciling import end_with, reconcile
from postroom.campaigns.stopping.stops import stop_for
from postroom.campaigns.stopping.suppressing import covering, stop_covered
from postroom.campaigns.values import Prospect, Sender, Step, WorkspaceSettings
from postroom.claim.failpoint import reach
from postroom.errors import ConfigurationError, InvalidCampaign, InvalidEmail
from postroom.logs import logger
from postroom.outbox.outcome import as_claimed
from postroom.outbox.submission import HouseRules
from postroom.store.claims import WHOLE, claimed_emails
from postroom.store.contract import Claimed, moment
from postroom.store.enqueue import enqueue
from postroom.store.order import Lease
from postroom.store.plan import Plan, ask, ask_binary
from postroom.store.suppressions import Suppression, suppressions_of
from postroom.vocabulary import MailState, Status, WaitReason

if TYPE_CHECKING:
    from postroom.templates.portal import Portal

LATER = timedelta(minutes=1)
"""Until a workspace is looked at again whose mail cannot leave for a reason that nobody will ring for."""
LOOKS = 20
"""Mails that may turn out not to be able to leave before another transaction goes on."""
OUR_FAULT = ("unsubscribable", "route")
"""What this process was not set up for is no fault of a mail."""
REMEMBERED = 200
"""Versions of sequences that are kept compiled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What one look has come to."""

    worked: bool = False
    """There was a workspace to look at."""
    claimed: Claimed | None = None
    """An email to send, under the lease of whoever asked."""
    passed: str | None = None
    """A workspace with mail that only somebody else can send just now …"""
    trouble: bool = False
    """… because of the way this process is set up."""
    unread: bool = False
    """… because its settings cannot be read here, so that nothing can be concluded of it either."""
    next_at: datetime | None = None
    """Where there was none, when there will be one; None if nobody can say."""


@dataclass(slots=True, kw_only=True)
class Clerk:
    """Who looks, and what is at hand for that."""

    lease: Lease
    rules: HouseRules
    random: Random
    portals: Callable[[], Mapping[str, Portal]] = dict
    """Whose templates steps may name; asked for when a sequence is first read."""
    words: dict[tuple[str, str, int], tuple[tuple[Step, ...], Wording]] = field(default_factory=dict)
    """Steps that were read and compiled; versions never change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What holds during one look."""

    beat: Beat
    settings: WorkspaceSettings
    now: datetime
    opening: Opening
    clerk: Clerk
    senders: Mapping[str, Sender]

    @property
    def workspace(self) -> str:
        return self.beat.workspace

    @property
    def day(self) -> date:
        return self.opening.day

    @property
    def sending(self) -> SendingSettings:
        return self.settings.sending


def tick(
    clerk: Clerk, *, routes: Collection[str], passed: Collection[str] = (), unread: Collection[str] = ()
) -> Plan[Tick]:
    """Look at one workspace whose time has come. `routes` are those by which an email can leave here and now."""
    beat = yield from due_beat(passed, unread)
    if beat is None:
        return Tick(next_at=(yield from next_beat({*passed, *unread})))
    now = yield from store_clock()
    try:
        settings = yield from workspace_settings(beat.workspace)
    except InvalidCampaign as error:  # written by a newer release, or for a clock that this machine does not know
        return replace(_left_to_others(beat, error), unread=True)
    more = yield from reconcile(beat.workspace, settings.sending, now=now)
    more = (yield from stop_covered(beat.workspace, now=now)) or more
    carrying = yield from carry_on_in(beat.workspace)
    reach("campaign_reconciled")
    opening = window_at(settings.sending, now)
    answer = yield from _asked(beat, settings.sending, now, opening)
    if more or isinstance(answer, Wait) or opening is None:
        until = now if more or carrying else answer.until if isinstance(answer, Wait) else None
        yield from _rest(beat, until)
        return Tick(worked=True)
    senders = yield from senders_in(beat.workspace)
    look = _Look(
        beat=beat, settings=settings, now=now, opening=opening, clerk=clerk, senders={each.id: each for each in senders}
    )
    try:
        found = yield from _whose_turn(look, routes)
    except ConfigurationError as error:
        return _left_to_others(beat, error)
    if carrying:  # there may be more of it to do at once; mail keeps its gap all the same
        yield from _rest(beat, now)
    return found


def _left_to_others(beat: Beat, error: Exception) -> Tick:
    """This workspace is for somebody who is set up for it; the others are not to wait for that."""
    logger.error("campaigns cannot be sent as this worker is set up", workspace=beat.workspace, error=str(error))
    return Tick(worked=True, passed=beat.workspace, trouble=True)


def _asked(beat: Beat, sending: SendingSettings, now: datetime, opening: Opening | None) -> Plan[Permit | Wait]:
    """The gate, with what counts on the day."""
    counts = (yield from counts_on(beat.workspace, opening.day)) if opening else {}
    whole = counts.get(WORKSPACE, NOTHING)
    return gate(sending, now=now, used=whole.used, sent_days=whole.sent_days, last=beat.last, gap=beat.gap)


# ---------------------------------------------------------------- whose turn


def _whose_turn(look: _Look, routes: Collection[str]) -> Plan[Tick]:
    """Retries, then due follow-ups, then new prospects; who cannot go now keeps nobody from going."""
    counts = yield from counts_on(look.workspace, look.day)
    at_work = [each for each in look.senders.values() if each.paused_at is None]
    here = [each for each in at_work if each.route in routes]
    able, used_up = with_allowance(here, look.sending, counts)
    # What was tried before leaves by the route it was tried by, whatever its sender's is by now.
    claimed = yield from _retry(look, with_allowance(at_work, look.sending, counts)[0], routes)
    for _ in range(LOOKS if claimed is None else 0):
        mail = yield from _next_mail(look, able)
        if mail is None:
            return (yield from _nobody(look, [each for each in at_work if each not in here], bool(used_up)))
        try:
            claimed = yield from _begun(look, mail)
        except TooSlow as error:
            yield from _set_aside(look, mail, error)
            break  # the others have waited long enough for this transaction
        if claimed is not None:
            break
    if claimed is None:
        yield from _rest(look.beat, look.now)
    return Tick(worked=True, claimed=claimed)


def _next_mail(look: _Look, senders: Iterable[Sender]) -> Plan[Mail | None]:
    ids = [each.id for each in senders]
    if not ids:
        return None
    day = written_day(look.day)
    rows = yield ask("next_mail", workspace=look.workspace, day=day, senders=ids, now=look.now)
    return read_mail(rows[0]) if rows else None


def _next_retry(look: _Look, senders: Iterable[Sender], routes: Collection[str]) -> Plan[Mail | None]:
    rows = yield ask(
        "next_retry",
        workspace=look.workspace,
        routes=sorted(routes),
        senders=[each.id for each in senders],
        now=look.now,
    )
    return read_mail(rows[0]) if rows else None


def _nobody(look: _Look, elsewhere: Sequence[Sender], some_used_up: bool) -> Plan[Tick]:
    """Nobody has a turn here now. What other workers can send is theirs; else rest until something is due."""
    others = {each.route for each in elsewhere}
    if (yield from _next_mail(look, elsewhere)) or (others and (yield from _next_retry(look, elsewhere, others))):
        return Tick(worked=True, passed=look.workspace)
    day = written_day(look.day)
    [[due_day, not_before, retry]] = yield ask("next_turns", workspace=look.workspace, day=day, now=look.now)
    times = [moment(not_before), _retried_at(look, moment(retry))]
    if due_day is not None:
        opening = next(openings(look.sending, date.fromisoformat(due_day)), None)
        times.append(opening.open if opening else None)
    if some_used_up:
        times.append(next_open(look.sending, look.opening.close))
    yield from _rest(look.beat, min((each for each in times if each is not None), default=None))
    return Tick(worked=True)


def _retried_at(look: _Look, due: datetime | None) -> datetime | None:
    """When to look for retries again. One that is due and that nobody took waits for a route: somebody may move it."""
    return due if due is None or due > look.now else look.now + LATER


def _rest(beat: Beat, until: datetime | None) -> Plan[None]:
    yield ask("rest_pace", workspace=beat.workspace, next_at=until)


# ---------------------------------------------------------------- one mail


def _begun(look: _Look, mail: Mail) -> Plan[Claimed | None]:
    """The mail's email, in the outbox and ours; None if it cannot leave now, or never will."""
    prospect = yield from get_prospect(look.workspace, mail.prospect_id)
    if (entry := (yield from _suppressed(look, prospect))) is not None:
        yield from stop_for(look.workspace, prospect.id, entry)
        return None
    if (yield from _left_alone(look, mail)):
        return None
    try:
        return (yield from _taken_in(look, mail, prospect))
    except TooSlow:
        raise
    except (InvalidCampaign, InvalidEmail) as error:
        if error.field in OUR_FAULT or error.field.endswith(".template"):
            raise ConfigurationError(str(error)) from error
        logger.error("a mail of a campaign cannot be written", campaign=mail.campaign_id, field=error.field)
        yield from end_with(look.workspace, mail, MailState.DEAD, f"{error.field}: {error.problem}")
        return None


def _set_aside(look: _Look, mail: Mail, error: TooSlow) -> Plan[None]:
    """It is written another time; the others go on."""
    logger.warning("a mail of a campaign took too long to write", campaign=mail.campaign_id, field=error.field)
    reason = f"{WaitReason.RENDERING}: {error.field}: {error.problem}"
    yield from put_mail(replace(mail, not_before=look.now + LATER, reason=reason))


def _taken_in(look: _Look, mail: Mail, prospect: Prospect) -> Plan[Claimed | None]:
    steps, wording = yield from _words(look, mail)
    mails = yield from mails_of_enrolment(look.workspace, mail.campaign_id, mail.number)
    order = order_of(
        mail,
        workspace=look.workspace,
        prospect=prospect,
        sender=look.senders[mail.sender_id],
        wording=wording,
        steps=steps,
        mails=mails,
        rules=look.clerk.rules,
        lease=look.clerk.lease,
        now=look.now,
    )
    [receipt] = yield from enqueue([order])
    if receipt.duplicate:
        yield from end_with(look.workspace, mail, MailState.DEAD, f"its key was used before, by the email {receipt.id}")
        return None
    letter = order.letter
    yield from _leaves(look, replace(mail, subject=letter.subject, message_id=letter.message_id))
    return replace(as_claimed(order, now=look.now), inline=False)


def _retry(look: _Look, senders: Sequence[Sender], routes: Collection[str]) -> Plan[Claimed | None]:
    """A mail that came back and is due again goes before all others."""
    mail = (yield from _next_retry(look, senders, routes)) if senders else None
    if mail is None or (yield from _left_alone(look, mail)):
        return None
    lease = look.clerk.lease
    rows = yield ask_binary("claim_mail", id=mail.id, worker=lease.worker, lease=lease.seconds, whole=WHOLE)
    emails = yield from claimed_emails(rows)
    if not emails:
        return None
    yield from _leaves(look, mail)
    return emails[0]


def _leaves(look: _Look, mail: Mail) -> Plan[None]:
    """It counts from now on, and the next one has to keep its distance."""
    yield from put_mail(
        replace(
            mail,
            state=MailState.LEAVING,
            planned_at=mail.planned_at or look.now,  # it may leave before its launch has worked out any time
            day=look.day,
            left_at=look.now,
            not_before=None,
            email_status=Status.SENDING,
            doubted=False,
            reason=None,
        )
    )
    yield from count_mail(look.workspace, mail.sender_id, look.day, used=1)
    gap = draw_gap(look.sending, look.clerk.random)
    yield ask(
        "move_pace",
        workspace=look.workspace,
        last_at=look.now,
        gap_us=gap // timedelta(microseconds=1),
        next_at=later(look.now, gap),
    )
    reach("campaign_before_commit")


def _suppressed(look: _Look, prospect: Prospect) -> Plan[Suppression | None]:
    known = yield from suppressions_of([prospect.address])
    return covering(look.workspace, known.get(prospect.normal_address, ()), now=look.now)


def _left_alone(look: _Look, mail: Mail) -> Plan[bool]:
    """Whether its person had another mail of some campaign just before; then it is set aside for as long as is said."""
    if not look.settings.person_hours:
        return False
    [[last]] = yield ask("last_mail_to", workspace=look.workspace, prospect=mail.prospect_id, beside=mail.id)
    if last is None:
        return False
    until = later(moment(last) or look.now, timedelta(hours=look.settings.person_hours))
    if until <= look.now:
        return False
    yield from put_mail(replace(mail, not_before=until))
    return True


def _words(look: _Look, mail: Mail) -> Plan[tuple[tuple[Step, ...], Wording]]:
    """The steps that the mail's prospect was pinned to, compiled."""
    words, name = look.clerk.words, (look.workspace, mail.sequence_id, mail.sequence_version)
    if name not in words:
        if len(words) >= REMEMBERED:
            words.clear()
        steps = yield from steps_of(look.workspace, mail.sequence_id, mail.sequence_version)
        words[name] = steps, Wording(steps, look.clerk.portals())
    return words[name]
