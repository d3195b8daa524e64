"""Handing emails to workers, and hearing what became of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from postroom.store.contents import carries, digests_in, read_attachments
from postroom.store.contract import Claim, Claimed, Settlement, moment
from postroom.store.housekeeping import forget
from postroom.store.plan import Plan, Row, ask
from postroom.vocabulary import EmailId, LeaseToken, OnDoubt, Priority, Status


def claim(*, worker: str, lease: timedelta, urgent: int, normal: int, bulk: int) -> Plan[list[Claimed]]:
    """Take due emails, oldest first within each lane, each lane up to its share and what the lanes before it left.

    Each is `sending`, owned by `worker` until the lease ends. No two callers get the same email.
    """
    rows = yield ask("claim", worker=worker, lease=lease.total_seconds(), urgent=urgent, normal=normal, bulk=bulk)
    return (yield from _with_attachments([_claimed(row) for row in rows]))


def take_over(*, worker: str, lease: timedelta, limit: int, dead: str | None = None) -> Plan[list[Claimed]]:
    """Take emails whose owner let the lease run out, or is known to be `dead`, under a new token.

    The old owner can no longer settle them, except that a lasting doubt yields to its word that it sent them.

    What became of them is unknown, unless a journal tells: the caller must settle each one.
    """
    rows = yield ask("take_over", worker=worker, lease=lease.total_seconds(), limit=limit, dead=dead or "")
    return [_claimed(row) for row in rows]


def renew(claims: Collection[Claim], *, lease: timedelta) -> Plan[dict[EmailId, datetime]]:
    """Lengthen leases; the new ends of those that are still ours. Whoever is missing was lost to another owner."""
    rows = yield ask("renew", claims=_names(claims), lease=lease.total_seconds())
    return {EmailId(id): _instant(until) for id, until in rows}


def note_dots(claims: Collection[Claim]) -> Plan[set[EmailId]]:
    """Note that the final dot of these may leave from now on; those that are still ours."""
    rows = yield ask("note_dots", claims=_names(claims))
    return {EmailId(row[0]) for row in rows}


def release(claims: Collection[Claim]) -> Plan[set[EmailId]]:
    """Give emails back untried: due as they were, no attempt counted."""
    if not claims:
        return set()
    rows = yield ask("release", claims=_names(claims))
    return {EmailId(row[0]) for row in rows}


def settle(settlements: Sequence[Settlement], *, keep_sent: bool = True) -> Plan[set[EmailId]]:
    """Record what attempts meant; those that were ours to settle. The others are left as their new owner has them.

    Without `keep_sent`, an email that was sent is removed in the same transaction; its key stays.
    """
    in_order = sorted(settlements, key=lambda settlement: settlement.claim.id)  # see `_names`
    rows = yield ask("settle", outcomes=[settlement.as_row() for settlement in in_order])
    settled = {EmailId(row[0]) for row in rows}
    if not keep_sent:
        sent = [s.claim.id for s in settlements if s.status is Status.SENT and s.claim.id in settled]
        yield from forget(sent, was=Status.SENT)
    return settled


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
        previous_owner,
    ) = row
    return Claimed(
        claim=Claim(id=EmailId(id), token=LeaseToken(token)),
        attempts=attempts,
        max_attempts=max_attempts,
        policy=policy,
        on_doubt=OnDoubt(on_doubt),
        doubts=doubts,
        takeovers=takeovers,
        priority=Priority(priority),
        kind=kind,
        workspace=workspace,
        channel=channel,
        sensitive=bool(sensitive),
        outcomes=outcomes,
        expires_at=moment(expires_at),
        due_at=moment(due_at),
        created_at=_instant(created_at),
        leased_until=_instant(leased_until),
        dot_noted=dot_noted_at is not None,
        version=version,
        subject=subject,
        message_id=message_id,
        envelope=envelope,
        text=text,
        html=html,
        claimed_at=_instant(now),
        previous_owner=previous_owner,
    )


def _instant(value: Any) -> datetime:
    instant = moment(value)
    assert instant is not None
    return instant


def _with_attachments(emails: list[Claimed]) -> Plan[list[Claimed]]:
    """Fetch what the emails carry; most carry nothing, and then nothing is asked."""
    carried = {email.id: digests_in(email.envelope) for email in emails if carries(email.envelope)}
    wanted = sorted({digest for each in carried.values() for digest in each})
    contents = yield from read_attachments(wanted)
    return [
        replace(email, attachments={digest: contents[digest] for digest in carried[email.id]})
        if email.id in carried
        else email
        for email in emails
    ]


def _names(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """In the order of their ids, so that a renewal and a settle of the same emails never wait for each other."""
    return [{"id": claim.id, "token": claim.token} for claim in sorted(claims, key=lambda claim: claim.id)]
