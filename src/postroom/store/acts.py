"""What a person does to emails: retry, cancel, dismiss, replay, move. Each act is recorded with who and when.

Every act locks its emails first, so that it sees a status no worker is changing, and then either applies or says why
it does not. Acts on many emails apply where they can and report the rest. What may be done to sensitive ones is said in
`sensitive.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.channels import channel_named
from postroom.channels.correcting import corrected
from postroom.compose import Frozen, Limits
from postroom.errors import EmailNotFound, NotApplicable, UnreadableEmail
from postroom.store.contents import read_letter
from postroom.store.contract import Filter, Page
from postroom.store.dismissals import set_aside
from postroom.store.erasing import erase
from postroom.store.fields import GIVEN_CONTENT, STATUSES, columns
from postroom.store.housekeeping import left
from postroom.store.order import terms
from postroom.store.plan import Course, News, Plan, Rows, ask
from postroom.store.questions import list_emails
from postroom.store.recipients import recipients_of
from postroom.store.sensitive import REPLAYED, check_replay, check_retry, note
from postroom.store.unreadable import DAMAGE
from postroom.vocabulary import DEFAULT_ROUTE, Change, EmailId, Status

WAITING = (Status.PENDING, Status.QUEUED, Status.RETRYING, Status.IN_DOUBT)

ABANDONED = (*WAITING, Status.SENDING)
"""What nobody works on any more once a copy of the database has been made: who sends there, sends the original."""

APPLIES_TO: dict[str, tuple[Status, ...]] = {
    "retry": (Status.DEAD, Status.IN_DOUBT),
    "dismiss": (Status.DEAD, Status.IN_DOUBT),
    "cancel": WAITING,
    "replay": (Status.DEAD, Status.IN_DOUBT, Status.CANCELLED),
}
"""Which statuses an act applies to. What is `sending` is a worker's; what is `sent` cannot be called back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Locked:
    id: EmailId
    status: Status
    attempts: int
    outcomes: str | None
    version: int
    route: str
    channel: str
    sensitive: bool
    kind: str
    erased: bool
    """What it said is gone for good."""


def retry(ids: Sequence[EmailId], *, actor: str | None, strict: bool = True) -> Plan[list[EmailId]]:
    """Start over: attempts 0, the whole budget, due now, last error cleared, history kept.

    Recipients who have accepted stay accepted; those who were refused are tried again.
    """
    emails = yield from _lock("retry", ids, strict=strict)
    if strict:
        for email in emails:
            check_retry(email)
    else:
        emails = [email for email in emails if _is_readable(email) and not email.erased]
    return (yield from _requeue(emails, what="retried", actor=actor))


def cancel(ids: Sequence[EmailId], *, actor: str | None, strict: bool = True) -> Plan[list[EmailId]]:
    """Never send these, unless somebody replays them. Nobody replays sensitive ones: what they say is erased."""
    emails = yield from _lock("cancel", ids, strict=strict)
    if not emails:
        return []
    yield ask("change", changes=[_change(email, Status.CANCELLED, due_now=False) for email in emails])
    yield ask("record", events=[_event(email, "cancelled", actor) for email in emails])
    yield ask("tally", changes=[{"name": "cancelled", "change": len(emails)}])
    if sensitive := _sensitive(emails):
        yield from erase(sensitive)
    return (yield from _told(emails, Change.CANCELLED))


def cancel_abandoned(
    status: Status, *, after: EmailId, limit: int, actor: str, adopted: dict[str, Any]
) -> Plan[tuple[int, EmailId | None]]:
    """Cancel the next emails of a status in a copy that is being adopted; how many, and the last if there may be more.

    Also those that are being sent: their owner works on the original. Nobody is told by webhook, for whoever would be
    belongs to the original too; the stream and the history have it.
    """
    emails = _read_locked((yield ask("lock_unfinished", status=status, after=after, limit=limit)))
    if not emails:
        return 0, None
    yield ask("change", changes=[_change(email, Status.CANCELLED, due_now=False) for email in emails])
    yield ask("record", events=[_event(email, "cancelled", actor, adopted=adopted) for email in emails])
    yield ask("tally", changes=[{"name": "cancelled", "change": len(emails)}])
    yield ask("note_changes", ids=[email.id for email in emails], what=Change.CANCELLED)
    if sensitive := _sensitive(emails):
        yield from erase(sensitive)
    return len(emails), emails[-1].id if len(emails) == limit else None


def dismiss(
    ids: Sequence[EmailId], *, actor: str | None, strict: bool = True, act: str | None = None
) -> Plan[list[EmailId]]:
    """Delete emails that were given up. The key stays taken; who dismissed it stays on record for a while.

    For a while, too, that can be undone: see `dismissals.py`. Not for sensitive ones: what they say is erased at once.
    """
    emails = yield from _lock("dismiss", ids, strict=strict)
    if not emails:
        return []
    yield ask("record", events=[_event(email, "dismissed", actor) for email in emails])
    yield from _told(emails, Change.DISMISSED)
    if sensitive := _sensitive(emails):
        yield from erase(sensitive, anyway=True)
        yield ask("forget", ids=sensitive, events=False)
    if others := [email.id for email in emails if not email.sensitive]:
        yield from set_aside(others, actor=actor, act=act)
    yield ask("tally", changes=left(Status.DEAD, len(emails), to="dismissed"))
    return [email.id for email in emails]


def replay(
    id: EmailId, corrections: dict[str, Any], *, actor: str | None, limits: Limits, admin: bool = True
) -> Plan[EmailId]:
    """Send again, corrected: a new version of the content beside the old one; key, Message-ID and history stay.

    The corrected email is held to the outbox's limits like a new one; one that is not corrected has been already.
    Recipients of the new version who had accepted the old one are not sent it again.
    A sensitive email goes again as it was or not at all, and only if an `admin` asks for it.
    """
    [email] = yield from _lock("replay", [id], strict=True)
    check_replay(email, corrected=bool(corrections), admin=admin)
    if email.sensitive:
        yield from note(REPLAYED, id, actor=actor)
    yield from _replay(email, corrections, actor, limits)
    return id


def _replay(email: _Locked, corrections: dict[str, Any], actor: str | None, limits: Limits) -> Plan[None]:
    version = email.version
    if corrections:
        letter = yield from read_letter(email.id, email.version)
        frozen = corrected(channel_named(email.channel), letter, corrections, id=email.id, limits=limits)
        version = email.version + 1
        yield from _add_version(email.id, version, frozen)
        outcomes = _read(email, lambda: carry_over(email.outcomes, letter.recipients, frozen.recipients))
    else:
        outcomes = _read(email, lambda: reopen(email.outcomes))
    if email.status is Status.CANCELLED:
        yield ask("tally", changes=[{"name": "cancelled", "change": -1}])
    change = _change(email, Status.PENDING, due_now=True) | {"version": version, "outcomes": outcomes}
    yield ask("change", changes=[change])
    yield ask("record", events=[_event(email, "replayed", actor, corrected=sorted(corrections), version=version)])
    yield from _told([email], Change.PENDING)
    yield ask("wake_routes", routes=[email.route])


def _add_version(id: EmailId, version: int, frozen: Frozen) -> Plan[None]:
    yield ask(
        "add_version",
        content={
            "email_id": id,
            "version": version,
            **{name: getattr(frozen, name) for name in columns(GIVEN_CONTENT)},
            "terms": terms(frozen, kind="", workspace="", route=DEFAULT_ROUTE),
        },
    )


def reopen(outcomes: str | None) -> str | None:
    """Forget refusals and keep acceptances: who has the email is not sent it again."""
    if outcomes is None:
        return None
    kept = [each if each[0] == "sent" else ["open", None, None] for each in json.loads(outcomes)]
    return json.dumps(kept) if any(each[0] == "sent" for each in kept) else None


def _reopened(email: _Locked) -> str | None:
    return _read(email, lambda: reopen(email.outcomes))


def _read(email: _Locked, read: Callable[[], str | None]) -> str | None:
    """Outcomes, or an error: who has accepted an email must be known before it is sent to anybody again."""
    try:
        return read()
    except DAMAGE as error:
        problem = "where its recipients stand is damaged; restore it from a backup, or dismiss the email"
        raise UnreadableEmail(email.id, problem) from error


def _sensitive(emails: list[_Locked]) -> list[EmailId]:
    return [email.id for email in emails if email.sensitive]


def _is_readable(email: _Locked) -> bool:
    try:
        _reopened(email)
    except UnreadableEmail:
        return False
    return True


def carry_over(outcomes: str | None, before: Sequence[str], after: Sequence[str]) -> str | None:
    """The states of a corrected list of recipients: those who had accepted stay so, everybody else is open."""
    accepted = {
        r.address: r for r in recipients_of(tuple(before), outcomes, status=Status.RETRYING) if r.status == "sent"
    }
    states = [["sent", accepted[a].code, accepted[a].text] if a in accepted else ["open", None, None] for a in after]
    return json.dumps(states) if any(state[0] == "sent" for state in states) else None


def _requeue(emails: list[_Locked], *, what: str, actor: str | None) -> Plan[list[EmailId]]:
    if not emails:
        return []
    changes = [_change(email, Status.PENDING, due_now=True) | {"outcomes": _reopened(email)} for email in emails]
    yield ask("change", changes=changes)
    yield ask("record", events=[_event(email, what, actor) for email in emails])
    yield ask("wake_routes", routes=sorted({email.route for email in emails}))
    return (yield from _told(emails, Change.PENDING))


def _told(emails: list[_Locked], change: Change) -> Plan[list[EmailId]]:
    """Tell the stream, and those who listen, what was done to emails that are still there; their ids."""
    ids = [email.id for email in emails]
    yield ask("note_changes", ids=ids, what=change)
    yield News(ids, change)
    return ids


def move_route(*, from_route: str, to: str, actor: str | None, limit: int, sensitive: bool = False) -> Plan[int]:
    """Let emails that wait on one route leave by another, those whose turn comes first; how many were moved.

    `sensitive` ones go only if that is asked for, for who is at the other end may read them; the codes of sign-ins stay
    whatever is asked. What a worker or a broker has in hand stays where it is. Tokens stay too: a move does not want
    anything sent anew, so the word of whoever sent such an email before a failover still counts.
    """
    if to == from_route:
        return 0
    detail = json.dumps({"from": from_route, "to": to}, ensure_ascii=False)
    rows = yield ask(
        "move_route", route=from_route, onto=to, limit=limit, sensitive=sensitive, actor=actor, detail=detail
    )
    moved = [EmailId(row[0]) for row in rows]
    if moved:
        yield News(moved, Change.REROUTED)
        yield ask("wake_routes", routes=[to])
    return len(moved)


def act_on_all(
    act: str, wanted: Filter, *, actor: str | None, limit: int | None = None, batch: int = 500
) -> Course[int]:
    """`retry`, `dismiss` or `cancel` every email that matches and that the act applies to; how many there were.

    Goes through them newest first, each batch in a transaction of its own: stopped in the middle, what was done is
    done and the rest is as it was.
    """
    done, before = 0, None
    while limit is None or done < limit:
        page: Page = yield list_emails(wanted, limit=batch, before=before)
        ids = [email.id for email in page.emails if email.status in APPLIES_TO[act]]
        ids = ids if limit is None else ids[: limit - done]
        if ids:
            done += len((yield ACTS[act](ids, actor=actor, strict=False)))
        if page.next is None:
            break
        before = page.next
    return done


def _lock(act: str, ids: Sequence[EmailId], *, strict: bool) -> Plan[list[_Locked]]:
    """The emails the act applies to, locked. Strictly, all of them; otherwise, those it does apply to."""
    allowed = APPLIES_TO[act]
    found = _read_locked((yield ask("lock", ids=list(ids))))
    if strict:
        _insist(act, ids, found, allowed)
    return [email for email in found if email.status in allowed]


def _read_locked(rows: Rows) -> list[_Locked]:
    return [_locked(*row) for row in rows]


def _locked(id: str, status: str, *rest: Any) -> _Locked:
    attempts, outcomes, version, route, channel, sensitive, kind, erased_at = rest
    return _Locked(
        id=EmailId(id),
        status=STATUSES[status],
        attempts=attempts,
        outcomes=outcomes,
        version=version,
        route=route,
        channel=channel,
        sensitive=bool(sensitive),
        kind=kind,
        erased=erased_at is not None,
    )


def _insist(act: str, ids: Sequence[EmailId], found: list[_Locked], allowed: tuple[Status, ...]) -> None:
    present = {email.id for email in found}
    for id in ids:
        if id not in present:
            raise EmailNotFound(id)
    for email in found:
        if email.status not in allowed:
            raise NotApplicable(act, email.id, email.status, allowed)


def _change(email: _Locked, status: Status, *, due_now: bool) -> dict[str, Any]:
    return {
        "id": email.id,
        "status": status,
        "due_now": due_now,
        "attempts": 0 if due_now else email.attempts,
        "last_error": None,
        "outcomes": email.outcomes,
        "version": email.version,
    }


def _event(email: _Locked, what: str, actor: str | None, **detail: Any) -> dict[str, Any]:
    detail = {"was": email.status, **detail}
    return {
        "email_id": email.id,
        "what": what,
        "attempt": email.attempts,
        "actor": actor,
        "detail": json.dumps(detail),
    }


class _Act(Protocol):
    def __call__(self, ids: Sequence[EmailId], *, actor: str | None, strict: bool = True) -> Plan[list[EmailId]]: ...


ACTS: dict[str, _Act] = {"retry": retry, "dismiss": dismiss, "cancel": cancel}
"""The acts that can be asked of many emails at once."""
