"""What `operate` asks of the store beyond single emails and lists: causes, versions, counts per workspace.

Every question here costs about the same however many emails have been sent: it walks an index of the unfinished, or
the newest entries of another, up to a limit that the caller names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postroom.compose.frozen import recipients_in
from postroom.compose.late import is_late
from postroom.store.contract import Filter, moment
from postroom.store.fields import DEAD_REASONS, STATUSES
from postroom.store.ids import LAST
from postroom.store.plan import Plan, Rows, ask
from postroom.store.questions import driver, earliest, latest
from postroom.store.unreadable import Reading
from postroom.vocabulary import NOT_RENDERED, DeadReason, EmailId, Status

_UNFINISHED = tuple(status for status in Status if status not in (Status.SENT, Status.CANCELLED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of an email's content, in short."""

    number: int
    subject: str
    recipients: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Dead emails whose last error begins with the same letters."""

    reason: DeadReason
    reply_code: int | None
    error: str
    """The beginning of the last error."""
    count: int
    newest: EmailId


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where one email belongs and stands."""

    id: EmailId
    workspace: str
    status: Status


def clock() -> Plan[datetime]:
    """The time that due dates are compared with."""
    [[now]] = yield ask("clock")
    return _instant(now)


def versions(id: EmailId) -> Plan[tuple[Version, ...]]:
    """The versions of an email's content, the first one first."""
    rows = yield ask("versions", id=id)
    return tuple(
        Version(
            number=number,
            subject=NOT_RENDERED if is_late(envelope) else subject,
            recipients=_recipients(envelope),
            size=size,
        )
        for number, subject, envelope, size in rows
    )


def _recipients(envelope: str) -> tuple[str, ...]:
    return Reading().piece("envelope", lambda: recipients_in(envelope), ())


def failures(*, at_most: int, workspaces: Sequence[str] | None = None) -> Plan[list[Failure]]:
    """What the newest dead emails died of, counted by cause; of some workspaces only, or of all."""
    rows = yield ask("failures", limit=at_most, workspaces=_list_or_null(workspaces))
    return [
        Failure(
            reason=DEAD_REASONS[reason],
            reply_code=reply_code,
            error=error or "",
            count=int(count),
            newest=EmailId(newest),
        )
        for reason, reply_code, error, count, newest in rows
    ]


def counts_within(workspaces: Sequence[str], *, at_most: int) -> Plan[dict[str, tuple[int, bool]]]:
    """How many emails these workspaces have, by status, and whether there may be more.

    No index tells workspaces apart within a status, so only the newest `at_most` of each status are looked at.
    """
    found: dict[str, tuple[int, bool]] = {}
    for status in _UNFINISHED:
        rows = yield ask("count_unfinished_within", status=status, workspaces=list(workspaces), limit=at_most)
        found[status] = _within(rows, at_most)
    rows = yield ask("count_cancelled_within", workspaces=list(workspaces), limit=at_most)
    found[Status.CANCELLED] = _within(rows, at_most)
    sent = []
    for workspace in workspaces:
        name = "count_sent_within" if workspace else "count_sent_without_workspace"
        sent += [_within((yield ask(name, term=f"workspace:{workspace}", limit=at_most)), at_most)]
    found[Status.SENT] = sum(count for count, _ in sent), any(more for _, more in sent)
    return {str(status): found[status] for status in Status}


def _within(rows: Rows, window: int) -> tuple[int, bool]:
    [[looked_at, count]] = rows
    return int(count), looked_at >= window


def oldest_due_within(workspaces: Sequence[str], *, at_most: int = 2_000) -> Plan[datetime | None]:
    """Since when the oldest due email of these workspaces waits; None if none is among the first in a lane."""
    [[due_at]] = yield ask("oldest_due_within", routes=None, workspaces=list(workspaces), limit=at_most)
    return moment(due_at)


def placed(ids: Sequence[EmailId]) -> Plan[list[Placed]]:
    """Where these emails belong and stand; those that are not there are left out."""
    rows = yield ask("placed", ids=list(ids))
    return [Placed(id=EmailId(id), workspace=workspace, status=STATUSES[status]) for id, workspace, status in rows]


def under_key(key: str) -> Plan[list[tuple[str, EmailId]]]:
    """The emails under a key, in whichever workspace: workspace and id."""
    rows = yield ask("under_key_anywhere", key=key)
    return [(workspace, EmailId(id)) for workspace, id in rows]


def tallies_by_hour(since: datetime) -> Plan[list[tuple[datetime, str, int]]]:
    """What happened, per hour: `enqueued`, `sent`, `retried`, `died`, `doubted`."""
    rows = yield ask("tallies_by_hour", since=since)
    return [(_instant(hour), name, int(total)) for hour, name, total in rows]


def edge(wanted: Filter, *, before: EmailId | None, window: int) -> Plan[EmailId | None]:
    """The last of the `window` emails that a list would look at first; None when it would look at no more than that.

    A list that starts at its index and drops what else does not match might read everything ever sent to fill one
    page. Bounded by this edge, it reads so many and no more.
    """
    name, driving = driver(wanted)
    parameters: Mapping[str, Any] = {} if driving is None else {"driving": driving}
    rows = yield ask(f"edge_{name}", before=latest(wanted, before or LAST), offset=window - 1, **parameters)
    return EmailId(rows[0][0]) if rows and rows[0][0] > earliest(wanted) else None


def _list_or_null(workspaces: Sequence[str] | None) -> list[str] | None:
    return None if workspaces is None else list(workspaces)


def _instant(value: Any) -> datetime:
    instant = moment(value)
    assert instant is not None
    return instant
