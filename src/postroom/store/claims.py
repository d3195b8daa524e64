"""Handing emails to workers, and hearing what became of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from postroom.store.contents import carries, digests_in, read_attachments
from postroom.store.contract import Claim, Claimed, Settlement, instant, moment
from postroom.store.housekeeping import forget
from postroom.store.plan import Documents, Plan, Row, Rows, ask
from postroom.vocabulary import EmailId, OnDoubt, Priority, Status

# Looking them up takes a tenth of the time that calling an enum takes.
_ON_DOUBT = {each.value: each for each in OnDoubt}
_PRIORITY = {each.value: each for each in Priority}


WHOLE = 256 * 1024
"""Octets of an email up to which it comes with its content, unless less is asked for."""


def claim(
    *,
    worker: str,
    lease: timedelta,
    urgent: int,
    normal: int,
    bulk: int,
    closed: Collection[Priority] = (),
    whole: int = WHOLE,
) -> Plan[list[Claimed]]:
    """Take due emails, oldest first within each lane, each lane up to its share and what the lanes before it left.

    Each is `sending`, owned by `worker` until the lease ends. No two callers get the same email. Of one that is larger
    than `whole` the content is left in the store, for `contents.read_bodies`. From `closed` lanes nothing is taken.
    """
    rows = yield ask(
        "claim",
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
    return (yield from claimed_emails(rows))


def take_over(*, worker: str, lease: timedelta, limit: int, dead: str | None = None) -> Plan[list[Claimed]]:
    """Take emails whose owner let the lease run out, or is known to be `dead`, under a new token.

    The old owner can no longer settle them, except that a lasting doubt yields to its word that it sent them.

    What became of them is unknown, unless a journal tells: the caller must settle each one. They come without content.
    """
    rows = yield ask("take_over", worker=worker, lease=lease.total_seconds(), limit=limit, dead=dead or "", whole=-1)
    return [_claimed(row) for row in rows]


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


def settle(settlements: Sequence[Settlement], *, keep_sent: bool = True) -> Plan[set[EmailId]]:
    """Record what attempts meant; those that were ours to settle. The others are left as their new owner has them.

    Without `keep_sent`, an email that was sent is removed in the same transaction; its key stays.
    """
    in_order = sorted(settlements, key=lambda settlement: settlement.claim.id)  # see `names`
    [[ids]] = yield ask("settle", outcomes=Documents([each.written or each.as_row() for each in in_order]))
    settled = set[EmailId](json.loads(ids))
    if not keep_sent:
        sent = [s.claim.id for s in settlements if s.status is Status.SENT and s.claim.id in settled]
        yield from forget(sent, was=Status.SENT)
    return settled


def claimed_emails(rows: Rows) -> Plan[list[Claimed]]:
    """The emails that a claim returned, with what they carry."""
    return (yield from _with_attachments([_claimed(row) for row in rows]))


def _claimed(row: Row) -> Claimed:
    (
        id,
        token,
        attempts,
        max_attempts,
        policy,
        on_doubt,
        doubts,
        takeovers,
        priority,
        kind,
        workspace,
        channel,
        sensitive,
        outcomes,
        expires_at,
        due_at,
        created_at,
        leased_until,
        dot_noted_at,
        version,
        subject,
        message_id,
        envelope,
        text,
        html,
        now,
        unloaded,
        previous_owner,
    ) = row
    return Claimed(
        Claim(id, token),
        attempts,
        max_attempts,
        policy,
        _ON_DOUBT[on_doubt],
        doubts,
        takeovers,
        _PRIORITY[priority],
        kind,
        workspace,
        channel,
        bool(sensitive),
        outcomes,
        moment(expires_at),
        moment(due_at),
        instant(created_at),
        instant(leased_until),
        dot_noted_at is not None,
        version,
        subject,
        message_id,
        envelope,
        text,
        html,
        instant(now),
        unloaded,
        previous_owner,
    )


def _with_attachments(emails: list[Claimed]) -> Plan[list[Claimed]]:
    """Fetch what the emails carry; most carry nothing, and then nothing is asked."""
    whole = [email for email in emails if not email.unloaded]
    carried = {email.id: digests_in(email.envelope) for email in whole if carries(email.envelope)}
    if not carried:
        return emails
    wanted = sorted({digest for each in carried.values() for digest in each})
    contents = yield from read_attachments(wanted)
    return [
        replace(email, attachments={digest: contents[digest] for digest in carried[email.id]})
        if email.id in carried
        else email
        for email in emails
    ]


def names(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """In the order of their ids, so that a renewal and a settle of the same emails never wait for each other."""
    return [{"id": claim.id, "token": claim.token} for claim in sorted(claims, key=lambda claim: claim.id)]
