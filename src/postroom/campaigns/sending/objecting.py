"""What is asked about a mail of a campaign just before it leaves: whether all that let it go still holds.

Between its turn and its dot a campaign may have been paused, a person stopped, a window closed, a quota lowered; and a
server may have been so slow that another mail has had its turn since. Whatever speaks against it, the mail only waits:
given back, it counts no longer, and the next look at its workspace draws the conclusions.

All of it is asked once, with the workspace held, in the transaction in which the mail takes its place. So whatever is
done to campaigns, senders or settings comes before that, and is heard, or after it, and finds that the mail has left.
Only who is put on the list of those not to be mailed waits for nobody: that is asked last.
"""

from __future__ import annotations

from datetime import date, datetime

from postroom.campaigns.arithmetic.gate import Wait, gate
from postroom.campaigns.arithmetic.pace import later, least_gap
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import next_open, window_at
from postroom.campaigns.books.counting import NOTHING, WORKSPACE, allowance_of, counts_on
from postroom.campaigns.books.mails import store_clock
from postroom.campaigns.drafts.workspace import senders, workspace_settings
from postroom.errors import InvalidCampaign
from postroom.store.contract import moment
from postroom.store.plan import Plan, ask
from postroom.vocabulary import CampaignStatus, EmailId, EnrolmentStatus, WaitReason
from postroom.work.objections import NotNow, Objection

AT_ONCE = 1.0
"""Seconds: due again as soon as its turn comes, and its history says why it waited."""


def leave(id: EmailId, others: Plan[Objection | None]) -> Plan[Objection | None]:
    """Have a mail take its place at this instant, and the next keep its distance from that; unless these rules or the
    `others` speak against it.

    A turn may lie a while before the dot: where the server was slow, the mails after it would follow at once.
    """
    yield ask("hold_paces", workspaces=[], emails=[id])  # first: much may be committed while this waits
    objection = (yield from _objection_to(id)) or (yield from others)
    if objection is None:
        yield ask("take_place", id=id)
        yield ask("leaves_now", id=id)
    return objection


def _objection_to(id: EmailId) -> Plan[NotNow | None]:
    """What speaks against the mail now; None if nothing does."""
    rows = yield ask("standing_of_mail", id=id)
    if not rows:
        return NotNow(reason="it belongs to no campaign that is known here", seconds=3600.0)
    [[workspace, sender_id, day, left_at, *standing, last_at]] = rows
    if (halted := _halted(*standing)) is not None:
        return halted
    try:
        settings = yield from workspace_settings(workspace)
    except InvalidCampaign:
        return NotNow(reason="the sending settings of its workspace cannot be read here", seconds=60.0)
    now = yield from store_clock()
    return (
        _closed(settings.sending, now, day and date.fromisoformat(day))
        or _overtaken(settings.sending, now, left_at=moment(left_at), last_at=moment(last_at))
        or (yield from _too_many(workspace, sender_id, settings.sending, now, date.fromisoformat(day)))
    )


def _halted(campaign: str, enrolment: str, sender_paused_at: str | None) -> NotNow | None:
    """Whether somebody has stopped it, or whatever it depends on."""
    if campaign != CampaignStatus.RUNNING:
        return NotNow(reason=f"its campaign is {campaign}", seconds=AT_ONCE)
    if enrolment != EnrolmentStatus.ACTIVE:
        return NotNow(reason=f"its prospect is {enrolment}", seconds=AT_ONCE)
    if sender_paused_at is not None:
        return NotNow(reason="its sender is paused", seconds=AT_ONCE)
    return None


def _closed(settings: SendingSettings, now: datetime, day: date | None) -> NotNow | None:
    """Whether the window is not open any more that it was to leave in."""
    opening = window_at(settings, now)
    if opening is not None and opening.day == day:
        return None
    if opening is not None:
        return NotNow(reason="another window is open than the one it was to leave in", seconds=AT_ONCE)
    closed = gate(settings, now=now, used=0, sent_days=0)
    until = next_open(settings, now)
    reason = str(closed.reason) if isinstance(closed, Wait) else "window_closed"
    return NotNow(reason=reason, seconds=AT_ONCE if until is None else max(AT_ONCE, (until - now).total_seconds()))


def _overtaken(
    settings: SendingSettings, now: datetime, *, left_at: datetime | None, last_at: datetime | None
) -> NotNow | None:
    """Whether another mail has had its turn since, so lately that this one would leave within the gap after it."""
    if not settings.gap_seconds[0] or left_at is None or last_at is None or last_at <= left_at:
        return None
    rest = (later(last_at, least_gap(settings)) - now).total_seconds()
    return NotNow(reason=str(WaitReason.GAP), seconds=max(AT_ONCE, rest)) if rest > 0 else None


def _too_many(
    workspace: str, sender_id: str, settings: SendingSettings, now: datetime, day: date
) -> Plan[NotNow | None]:
    """Whether its day has no place for it any more. It is among what is counted there already.

    Due again at once, and not in the next window: whoever raises the quota again does not have to wait for that.
    """
    counts = yield from counts_on(workspace, day)
    whole = counts.get(WORKSPACE, NOTHING)
    answer = gate(settings, now=now, used=max(0, whole.used - 1), sent_days=whole.sent_days)
    if isinstance(answer, Wait):
        return NotNow(reason=str(answer), seconds=AT_ONCE)
    own = counts.get(sender_id, NOTHING)
    [sender] = [each for each in (yield from senders(workspace)) if each.id == sender_id]
    allowed = allowance_of(settings, sender, own)
    if allowed is not None and own.used > allowed:
        return NotNow(reason=f"its sender may send {allowed:,} on this day", seconds=AT_ONCE)
    return None
