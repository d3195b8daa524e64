"""Handing emails to workers, and hearing what became of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from postroom.store.contents import carries, digests_in, read_attachments
from postroom.store.contract import Claim, Claimed, Settlement, instant
from postroom.store.enqueue import enqueue
from postroom.store.erasing import erase
from postroom.store.fields import CLAIMED, columns, readers, written_out
from postroom.store.housekeeping import forget
from postroom.store.plan import Documents, News, Plan, Rows, ask, ask_binary
from postroom.vocabulary import DEFAULT_ROUTE, Change, EmailId, OnDoubt, Priority, Status

_CAREFUL = {
    "read_on_doubt": defaultdict(lambda: OnDoubt.HOLD, {each.value: each for each in OnDoubt}),
    "read_priority": defaultdict(lambda: Priority.BULK, {each.value: each for each in Priority}),
}
"""A word of a newer version is taken for the most careful one that is known: it is one email's matter, and must not
fail the others of its batch."""


WHOLE = 256 * 1024
"""Octets of an email up to which it comes with its content, unless less is asked for."""

MANY = 32_767
"""More often than that no email has been in doubt."""


def claim(
    *,
    worker: str,
    lease: timedelta,
    urgent: int,
    normal: int,
    bulk: int,
    closed: Collection[Priority] = (),
    whole: int = WHOLE,
    route: str = DEFAULT_ROUTE,
    onto: str | None = None,
    reason: str = "",
) -> Plan[list[Claimed]]:
    """Take due emails of one route, oldest first within each lane, each lane up to its share and what others left.

    Each is `sending`, owned by `worker` until the lease ends. No two callers get the same email. Of one that is larger
    than `whole` the content is left in the store, for `contents.read_content`. From `closed` lanes nothing is taken.

    With `onto` they leave by that route from now on, which their history says with the `reason`. No email goes that way
    that was ever in doubt: a second copy by another way out is one that nobody could recognise.
    """
    away: dict[str, Any] = {}
    if onto is not None:
        detail = json.dumps({"from": route, "to": onto, "reason": reason}, ensure_ascii=False)
        away = {"onto": onto, "actor": None, "detail": detail}
    rows = yield ask_binary(
        "claim_onto" if away else "claim",
        route=route,
        doubts=0 if away else MANY,
        **away,
        worker=worker,
        lease=lease.total_seconds(),
        urgent=urgent,
        normal=normal,
        bulk=bulk,
        urgent_open=int(Priority.URGENT not in closed),
        normal_open=int(Priority.NORMAL not in closed),
        bulk_open=int(Priority.BULK not in closed),
        whole=whole,
    )
    emails = yield from claimed_emails(rows)
    if away:
        yield News([email.id for email in emails], Change.REROUTED)
    return emails


def take_over(
    *, worker: str, lease: timedelta, limit: int, dead: str | None = None, believed: datetime | None = None
) -> Plan[list[Claimed]]:
    """Take emails whose owner let the lease run out, or is known to be `dead`, under a new token.

    `believed` is the time by a clock that only goes forward: should the database's have been set ahead, leases are
    judged by that.

    The old owner can no longer settle them, except that a lasting doubt yields to its word that it sent them.

    What became of them is unknown, unless a journal tells: the caller must settle each one. They come without content.
    """
    rows = yield ask(
        "take_over",
        worker=worker,
        lease=lease.total_seconds(),
        limit=limit,
        dead=dead or "",
        believed=believed,
        whole=-1,
    )
    return [_claimed(*row) for row in rows]


def renew(claims: Collection[Claim], *, lease: timedelta) -> Plan[dict[EmailId, datetime]]:
    """Lengthen leases; the new ends of those that are still ours. Whoever is missing was lost to another owner."""
    rows = yield ask("renew", claims=names(claims), lease=lease.total_seconds())
    return {EmailId(id): instant(until) for id, until in rows}


def note_dots(claims: Collection[Claim]) -> Plan[set[EmailId]]:
    """Note that the final dot of these may leave from now on; those that are still ours."""
    rows = yield ask("note_dots", claims=names(claims))
    return {EmailId(row[0]) for row in rows}


def release(claims: Collection[Claim]) -> Plan[set[EmailId]]:
    """Give emails back untried: due as they were, no attempt counted."""
    if not claims:
        return set()
    rows = yield ask("release", claims=names(claims))
    return {EmailId(row[0]) for row in rows}


def defer(claims: Collection[Claim], *, until: datetime, reason: str) -> Plan[set[EmailId]]:
    """Put emails back until then, untried; those that were still ours. No attempt counts; their history says why."""
    if not claims:
        return set()
    detail = json.dumps({"until": until.isoformat(), "reason": reason}, ensure_ascii=False)
    rows = yield ask("defer", claims=names(claims), until=until, detail=detail)
    deferred = {EmailId(row[0]) for row in rows}
    yield News(deferred, Change.DEFERRED)
    return deferred


def settle(settlements: Sequence[Settlement], *, keep_sent: bool = True) -> Plan[set[EmailId]]:
    """Record what attempts meant; those that were ours to settle. The others are left as their new owner has them.

    An email that comes with its order and has no row is taken in first, unless it was sent. What sensitive ones say is
    erased in the same transaction, if that was the end of them.
    Without `keep_sent`, an email that was sent is removed in the same transaction; its key stays.
    """
    settled = yield from _settle(settlements)
    if new := [s for s in settlements if s.order and s.status is not Status.SENT and s.claim.id not in settled]:
        settled |= yield from _take_in_and_settle(new)
    yield News(settled)
    if sensitive := [s.claim.id for s in settlements if s.sensitive and s.claim.id in settled]:
        yield from erase(sensitive)
    if not keep_sent:
        sent = [s.claim.id for s in settlements if s.status is Status.SENT and s.claim.id in settled]
        yield from forget(sent, was=Status.SENT)
    return settled


def _settle(settlements: Sequence[Settlement]) -> Plan[set[EmailId]]:
    in_order = sorted(settlements, key=lambda settlement: settlement.claim.id)  # see `names`
    [[ids]] = yield ask("settle", outcomes=Documents([each.written or each.as_row() for each in in_order]))
    return set[EmailId](json.loads(ids))


def _take_in_and_settle(settlements: Sequence[Settlement]) -> Plan[set[EmailId]]:
    """Those that have a row after all, here or in another region, are somebody else's by now."""
    ids = [settlement.claim.id for settlement in settlements]
    there = {row[0] for row in (yield ask("placed", ids=ids))} | {row[0] for row in (yield ask("departed", ids=ids))}
    new = [settlement for settlement in settlements if settlement.claim.id not in there]
    if not new:
        return set()
    yield from enqueue([settlement.order for settlement in new if settlement.order])
    return (yield from _settle(new))


def claimed_emails(rows: Rows) -> Plan[list[Claimed]]:
    """The emails that a claim returned, with what they carry, in the order of their turns.

    Sorted here, because a database would carry all they say along while it sorts.
    """
    return (yield from _with_attachments([_claimed(*row) for row in sorted(rows, key=_turn)]))


_turn = itemgetter(*(columns(CLAIMED).index(name) for name in ("priority", "due_at", "id")))


def _expressions() -> dict[str, str]:
    """How the fields of `Claimed` are made from the columns of a claim, by name."""
    columns = {field.name: field.reading() for field in CLAIMED}
    return columns | {
        "claim": "Claim(id, lease_token)",
        "dot_noted": "dot_noted_at is not None",
        "claimed_at": "instant(now)",
        "envelope": 'envelope or ""',  # nothing when the content is gone
        "text": "text",
        "html": "html",
        "unloaded": "unloaded",
        "previous_owner": "previous_owner",
        "somebody_stopped": "somebody_stopped",
    }


def _reader() -> Callable[..., Claimed]:
    """Makes a `Claimed` of the `claimed_columns` and who had it before: one call, with everything in its place."""
    expressions = _expressions()
    values = [expressions[field.name] for field in fields(Claimed) if field.name in expressions]
    return written_out(
        ", ".join([*columns(CLAIMED), "text", "html", "now", "unloaded", "somebody_stopped", "previous_owner"]),
        f"Claimed({', '.join(values)})",
        Claim=Claim,
        Claimed=Claimed,
        instant=instant,
        **readers(CLAIMED) | _CAREFUL,
    )


_claimed = _reader()


def _with_attachments(emails: list[Claimed]) -> Plan[list[Claimed]]:
    """Fetch what the emails carry; most carry nothing, and then nothing is asked."""
    whole = [email for email in emails if not email.unloaded]
    carried = {email.id: digests_in(email.envelope) for email in whole if carries(email.envelope)}
    if not carried:
        return emails
    wanted = sorted({digest for each in carried.values() for digest in each})
    contents = yield from read_attachments(wanted)
    return [
        replace(email, attachments={digest: contents[digest] for digest in carried[email.id] if digest in contents})
        if email.id in carried
        else email
        for email in emails
    ]


def names(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """In the order of their ids, so that a renewal and a settle of the same emails never wait for each other."""
    return [{"id": claim.id, "token": claim.token} for claim in sorted(claims, key=lambda claim: claim.id)]
