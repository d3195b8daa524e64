"""Those who listen: what changes of state cause elsewhere, in the transaction of the change itself.

Whoever changes the state of emails ends with `News`. The database that carries the plan out then has each of its
listeners make a plan of its own, within the same transaction: what it writes is there when the change is, and never was
when that is rolled back. A settle that is repeated changes nothing, and so tells nobody.

A listener is somebody else's code, and must not stop the mail. It runs under a savepoint: should it raise, what it did
is undone and a line of the log says so, and the change stands. A database that is away is nobody's mistake: then the
whole transaction fails, and is tried again by whoever tries such things again.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from postroom.logs import logger
from postroom.store.contract import instant
from postroom.store.failures import unavailable
from postroom.store.fields import DEAD_REASONS, STATUSES
from postroom.store.plan import News, Plan, Rows, ask
from postroom.vocabulary import Change, DeadReason, EmailId, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One email that was changed, as it is now. It says nothing of addresses, and nothing of its content."""

    id: EmailId
    change: Change
    status: Status
    """Where it stands; of one that was dismissed, where it stood."""
    attempts: int
    kind: str
    workspace: str
    route: str
    channel: str
    key: str | None
    dead_reason: DeadReason | None
    last_error: str | None
    """What the last attempt was told; may quote a server that quotes an address."""
    message_id: str | None
    """None when its content is gone."""
    at: datetime


Hear = Callable[[Sequence[Changed]], Plan[None]]
"""Makes of changes a plan that belongs into their transaction."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Somebody who hears of every change, and by which name to speak of them."""

    name: str
    hear: Hear


def tell(news: News, listeners: Iterable[Listener]) -> Plan[Rows]:
    """Let every listener do what it wants done, in this transaction. Nobody there, nothing is asked."""
    changed: list[Changed] | None = None
    for listener in listeners:
        if changed is None:
            changed = yield from _read(news)
        if changed:
            yield from _tell(listener, changed)
    return []


def _tell(listener: Listener, changed: Sequence[Changed]) -> Plan[None]:
    yield ask("begin_listening")
    try:
        yield from listener.hear(changed)
    except Exception as error:
        if unavailable(error) is not None:
            raise
        yield ask("undo_listening")
        logger.error(
            "a listener failed",
            listener=listener.name,
            emails=len(changed),
            error=type(error).__name__,  # its words may be about anybody
            where=_where(error),
        )
    yield ask("end_listening")


def _where(error: BaseException) -> str:
    """The line that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}:{frame.lineno}"


def _read(news: News) -> Plan[list[Changed]]:
    if not news.ids:
        return []
    rows = yield ask("changed_emails", ids=sorted(news.ids))
    return [
        Changed(
            id=EmailId(id),
            change=news.change or Change(status),
            status=STATUSES[status],
            attempts=attempts,
            kind=kind,
            workspace=workspace,
            route=route,
            channel=channel,
            key=key,
            dead_reason=DEAD_REASONS[reason] if reason else None,
            last_error=last_error,
            message_id=message_id,
            at=instant(at),
        )
        for id, status, attempts, kind, workspace, route, channel, key, reason, last_error, message_id, at in rows
    ]
