"""The mail of a launched campaign, one row for each step to each prospect, as plans.

Whoever changes mail holds the pace of its workspace first (`ring`, or the feed's look for one): so launches, acts and
feeds of one workspace follow one another, and what they read of it stays true until they commit. Only the status of an
email changes beside them, by trigger; who wants to rely on that holds the mail itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from postroom.store.contract import instant, moment
from postroom.store.plan import Plan, Row, ask
from postroom.vocabulary import EmailId, MailState, Status

BELL = "campaigns:"
"""What workers are woken by, where routes are named to wake them; no route can be called so."""

GONE = "gone"
"""In the place of a status: the email went away and was not sent."""
PAUSED = "paused"
"""Why the mail of a paused prospect waits."""
PREVIOUS = "previous_step"
"""Why mails are stopped behind one that was given up."""
CANCELLED = "campaign_cancelled"
"""Why the mail of a cancelled campaign is stopped; a relaunch brings back what was stopped for this."""

FIRST_DAY = date.min
"""The due day of first steps, which wait for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """One step to one prospect."""

    id: EmailId
    """Of the email it is, or will be."""
    key: str
    campaign_id: str
    prospect_id: str
    sequence_id: str
    sequence_version: int
    step: int
    number: int
    """The order of enrolment."""
    sender_id: str
    state: MailState
    due_day: date | None
    """The window day from which on it may leave; None while the step before is not sent."""
    planned_at: datetime | None = None
    not_before: datetime | None = None
    day: date | None = None
    """The window day whose quota it counts against; None while it does not count."""
    left_at: datetime | None = None
    subject: str | None = None
    message_id: str | None = None
    email_status: Status | str | None = None
    """None before it has left for the first time."""
    doubted: bool = False
    """It was left in doubt since it was last handed to a worker, whatever its status says by now."""
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """The pace of a workspace."""

    workspace: str
    last: datetime | None
    """When the last mail left …"""
    gap: timedelta
    """… and what chance drew after it."""


def read_mail(row: Row) -> Mail:
    (
        id, key, campaign, prospect, sequence, version, step, number, sender, state, due_day, planned_at, not_before,
        day, left_at, subject, message_id, email_status, doubted, reason,
    ) = row  # fmt: skip
    return Mail(
        id=EmailId(id),
        key=key,
        campaign_id=campaign,
        prospect_id=prospect,
        sequence_id=sequence,
        sequence_version=version,
        step=step,
        number=int(number),
        sender_id=sender,
        state=MailState(state),
        due_day=due_day and date.fromisoformat(due_day),
        planned_at=moment(planned_at),
        not_before=moment(not_before),
        day=day and date.fromisoformat(day),
        left_at=moment(left_at),
        subject=subject,
        message_id=message_id,
        email_status=email_status,
        doubted=bool(doubted),
        reason=reason,
    )


def put_mail(mail: Mail) -> Plan[None]:
    """Have a mail stand so; nothing is left to be concluded of it."""
    yield ask(
        "put_mail",
        id=mail.id,
        state=mail.state,
        due_day=written_day(mail.due_day),
        planned_at=mail.planned_at,
        not_before=mail.not_before,
        day=written_day(mail.day),
        left_at=mail.left_at,
        subject=mail.subject,
        message_id=mail.message_id,
        email_status=mail.email_status,
        doubted=mail.doubted,
        reason=mail.reason,
    )


def mails_of_enrolment(workspace: str, campaign_id: str, number: int) -> Plan[list[Mail]]:
    """Step by step."""
    rows = yield ask("mails_of_enrolment", workspace=workspace, campaign=campaign_id, number=number)
    return [read_mail(row) for row in rows]


def ring(workspace: str) -> Plan[None]:
    """Have the workspace looked at now, and hold it until the transaction ends."""
    yield ask("ring", workspace=workspace)
    yield ask("wake_routes", routes=[BELL])


def due_beat(passed: Collection[str], unread: Collection[str]) -> Plan[Beat | None]:
    """A workspace whose time has come, or where something is to be concluded, held until the transaction ends.

    That is of mail that stands otherwise than before, or of people who were put on the list.
    None of those that were `passed` over, unless there is something to conclude; and of the `unread`, whose settings
    nobody can read here, nothing is concluded either.
    """
    rows = yield ask("due_pace", passed=sorted({*passed, *unread}))
    if not rows:
        rows = yield ask("moved_pace", unread=sorted(unread))
    return _beat(rows[0]) if rows else None


def beat_of(workspace: str) -> Plan[Beat]:
    """The pace of a workspace as it is, not held."""
    rows = yield ask("find_pace", workspace=workspace)
    return _beat(rows[0]) if rows else Beat(workspace=workspace, last=None, gap=timedelta(0))


def next_beat(passed: Collection[str]) -> Plan[datetime | None]:
    """When the next workspace has its turn; None if that is for others to say."""
    [[next_at]] = yield ask("next_pace", passed=sorted(passed))
    return moment(next_at)


def something_to_do() -> Plan[bool]:
    """Whether some workspace's time has come, or something is to be concluded."""
    [[found]] = yield ask("campaigns_due")
    return bool(found)


def store_clock() -> Plan[datetime]:
    [[now]] = yield ask("clock")
    return instant(now)


def written_day(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _beat(row: Row) -> Beat:
    workspace, last_at, gap_us = row
    return Beat(workspace=workspace, last=moment(last_at), gap=timedelta(microseconds=gap_us))
