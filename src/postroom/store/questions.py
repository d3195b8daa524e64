"""What can be asked of the outbox. Nothing here changes anything."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from postroom.compose.edition import CHANGED, Edition
from postroom.compose.frozen import edition_in, recipients_in
from postroom.compose.late import is_late
from postroom.errors import EmailNotFound
from postroom.settle.fate import Fate
from postroom.store.contract import Conservation, Filter, HistoryEntry, Page, Recipient, StoredEmail, moment
from postroom.store.fields import STORED, Field, columns, document
from postroom.store.ids import FIRST, LAST, first_id_at
from postroom.store.order import recipient_term, tags_in
from postroom.store.plan import Plan, Row, Rows, Statement, ask
from postroom.store.recipients import REFUSED, recipients_of
from postroom.store.returns import fates_of
from postroom.store.suppressions import normal_address
from postroom.store.unreadable import DAMAGE, UNREADABLE, Reading, Words
from postroom.vocabulary import DEFAULT_ROUTE, NOT_RENDERED, SENSITIVE, EmailId, Status

ENVELOPE = columns(STORED).index("envelope")
"""The place of the envelope among the `stored` columns."""

GONE = ("dismissed", "moved", "pruned")
"""What becomes of emails that leave the outbox."""

MOVING = "moving"
"""On their way to another region, and not known to have arrived."""

COUNTED = (*Status, MOVING, *GONE)
"""Everything that has been enqueued is in exactly one of these."""

TALLIED = (Status.SENT, Status.CANCELLED, *GONE)
"""Counted along the way, so that nobody counts finished rows; the rest is counted in place."""


CLOCK_SLACK = timedelta(minutes=10)
"""How far the clock of a machine that enqueues may be from the database's."""


def get(id: EmailId) -> Plan[StoredEmail]:
    """One email with its history."""
    rows = yield ask("get", id=id)
    if not rows:
        raise EmailNotFound(id)
    events = yield from histories([id])
    email = stored(rows[0], history=events.get(id, ()))
    return with_fates(email, (yield from fates_of([id])).get(id, {}))


def with_fates(email: StoredEmail, fates: Mapping[str, Fate]) -> StoredEmail:
    """The email with what came back about its recipients."""
    if not fates:
        return email
    recipients = [replace(each, returned=fates.get(normal_address(each.address))) for each in email.recipients]
    return replace(email, recipients=tuple(recipients))


def histories(ids: Sequence[EmailId]) -> Plan[dict[EmailId, tuple[HistoryEntry, ...]]]:
    """The stories of these emails, oldest line first."""
    found: dict[EmailId, list[HistoryEntry]] = {}
    for row in (yield ask("history", ids=list(ids))):
        found.setdefault(EmailId(row[0]), []).append(_entry(row))
    return {id: tuple(entries) for id, entries in found.items()}


def list_emails(
    wanted: Filter, *, limit: int, before: EmailId | None = None, after: EmailId | None = None
) -> Plan[Page]:
    """A page of emails, newest first. A page never skips or repeats an email, whatever arrives meanwhile.

    With `after`, nothing older than that email is looked at.
    """
    if wanted.key is not None:
        return (yield from _list_by_key(wanted, before))
    rows = yield _choose(wanted, limit=limit + 1, before=before or LAST, after=after or FIRST)
    emails = tuple(stored(row) for row in rows[:limit])
    return Page(emails=emails, next=emails[-1].id if len(rows) > limit else None)


def count(wanted: Filter, *, at_most: int) -> Plan[int]:
    """How many emails match, counted up to `at_most`."""
    page = yield from list_emails(wanted, limit=at_most)
    return len(page.emails)


def counts() -> Plan[dict[str, int]]:
    """How many emails there are, by status, and how many have gone. Does not look at finished rows."""
    rows, tallies = _rows_and_tallies((yield ask("count_unfinished")))
    found = {str(name): (tallies if name in TALLIED else rows).get(name, 0) for name in COUNTED}
    return found | _of_newer_versions(rows)


def conservation() -> Plan[Conservation]:
    """Both sides of the sum: what was enqueued, and where all of it is now, counted row by row."""
    rows, tallies = _rows_and_tallies((yield ask("count_all")))
    found = {str(name): (tallies if name in GONE else rows).get(name, 0) for name in COUNTED} | _of_newer_versions(rows)
    return Conservation(enqueued=tallies.get("enqueued", 0), counts=found)


def _of_newer_versions(rows: dict[str, int]) -> dict[str, int]:
    """Emails in a status that this version does not know are there all the same."""
    return {name: count for name, count in rows.items() if name not in COUNTED}


def _rows_and_tallies(found: Rows) -> tuple[dict[str, int], dict[str, int]]:
    """What was counted now, and what was counted along the way."""
    counted: dict[str, dict[str, int]] = {"row": {}, "tally": {}}
    for source, name, count in found:
        counted[source][name] = int(count)
    return counted["row"], counted["tally"]


def oldest_due(routes: Collection[str] | None = None) -> Plan[datetime | None]:
    """Since when the oldest due email of these routes, or of all, waits; None when nothing is due."""
    [[due_at]] = yield ask("oldest_due", routes=asked_routes(routes))
    return moment(due_at)


def due() -> Plan[int]:
    """How many emails are due."""
    [[count]] = yield ask("due")
    return int(count)


def next_due(routes: Collection[str] | None = None) -> Plan[datetime | None]:
    """When the next email of these routes, or of all, comes due, or came due; None when nothing waits."""
    [[due_at]] = yield ask("next_due", routes=asked_routes(routes))
    return moment(due_at)


def something_due(routes: Collection[str], *, covered: Collection[str] = ()) -> Plan[bool]:
    """Whether an email of these routes is due; of those that are covered by a fallback, one that was never in doubt."""
    [[due]] = yield ask("something_due", routes=sorted(routes), covered=sorted(covered))
    return bool(due)


def waiting_by_route() -> Plan[dict[str, int]]:
    """How many emails wait on each route, due now or later; of a route on which nothing waits nothing is said."""
    rows = yield ask("waiting_by_route")
    return {route: int(count) for route, count in rows}


def waiting_routes() -> Plan[list[str]]:
    """The routes on which something waits, by name."""
    rows = yield ask("waiting_routes", routes=None)
    return [name for (name,) in rows]


def asked_routes(routes: Collection[str] | None) -> list[str] | None:
    """Routes as the queries take them; None means every one."""
    return None if routes is None else sorted(routes)


def tallies_since(since: datetime) -> Plan[list[tuple[datetime, str, int]]]:
    """What happened, per minute: `enqueued`, `sent`, `retried`, `died`, `doubted`."""
    rows = yield ask("tallies_since", since=since)
    return [(_instant(minute), name, int(total)) for minute, name, total in rows]


def _list_by_key(wanted: Filter, before: EmailId | None) -> Plan[Page]:
    rows = yield ask("first_under_key", keys=[{"workspace": wanted.workspace or "", "key": wanted.key}])
    if not rows or (before and rows[0][2] >= before):
        return Page(emails=(), next=None)
    found = yield ask("get", id=rows[0][2])
    return Page(emails=tuple(email for email in map(stored, found) if matches(email, wanted)), next=None)


def matches(email: StoredEmail, wanted: Filter) -> bool:
    """Whether one email is what a filter asks for: what the queries say in SQL, for an email found by its key."""
    addresses = {recipient.address.lower() for recipient in email.recipients}
    return (
        wanted.status in (None, email.status)
        and wanted.kind in (None, email.kind)
        and wanted.route in (None, email.route)
        and (wanted.workspaces is None or email.workspace in wanted.workspaces)
        and wanted.reply_code in (None, email.reply_code)
        and (wanted.recipient is None or wanted.recipient.lower() in addresses)
        and (wanted.tag is None or wanted.tag in email.tags)
        and set(_edition_terms(wanted)).issubset(email.edition.terms() if email.edition else ())
        and (wanted.subject is None or (not email.sensitive and wanted.subject.lower() in email.subject.lower()))
        and (wanted.since is None or email.created_at >= wanted.since)
        and (wanted.until is None or email.created_at < wanted.until)
    )


def driver(wanted: Filter) -> tuple[str, str | None]:
    """The index that a list walks along: the end of its query's name, and the value it starts from.

    An exact address or tag is rarer than a status, a status rarer than a template, kind, workspace or route that all
    emails may share, and those rarer than everything.
    """
    rare, common = _rare_terms(wanted), _common_terms(wanted)
    if rare:
        return "by_term", rare[0]
    match wanted.status:
        case None:
            return ("by_term", common[0]) if common else ("newest", None)
        case Status.SENT:
            return ("by_term", common[0]) if common else ("sent", None)
        case Status.CANCELLED:
            return "cancelled", None
        case status:
            return "by_status", status


def _choose(wanted: Filter, *, limit: int, before: EmailId, after: EmailId) -> Statement:
    """The query along the driver, with everything else that a filter asks for."""
    name, driving = driver(wanted)
    parameters: dict[str, Any] = {
        "status": wanted.status,
        "kind": wanted.kind,
        "workspace": wanted.workspace,
        "route": wanted.route,
        "workspaces": None if wanted.workspaces is None else sorted(wanted.workspaces),
        "since": wanted.since,
        "until": wanted.until,
        "reply_code": wanted.reply_code,
        "subject": wanted.subject,
        # Kind, workspace and route stand in the row itself, which the list reads anyway.
        "terms": [term for term in _rare_terms(wanted) + _edition_terms(wanted) if term != driving],
        "limit": limit,
        "before": latest(wanted, before),
        "after": max(earliest(wanted), after),
    }
    if driving is not None:
        parameters["driving"] = driving
    return ask(f"list_{name}", **parameters)


def _rare_terms(wanted: Filter) -> list[str]:
    """The exact terms that few emails share."""
    recipient = [recipient_term(wanted.recipient)] if wanted.recipient else []
    return recipient + ([f"tag:{wanted.tag}"] if wanted.tag else [])


def _common_terms(wanted: Filter) -> list[str]:
    """The exact terms that many emails share, the rarest first. An empty kind or workspace has no term, nor has the
    default route; the row itself tells."""
    edition = _edition_terms(wanted)
    kind = [f"kind:{wanted.kind}"] if wanted.kind else []
    workspace = [f"workspace:{wanted.workspace}"] if wanted.workspace else []
    route = [f"route:{wanted.route}"] if wanted.route not in (None, DEFAULT_ROUTE) else []
    return edition + kind + workspace + route


def _edition_terms(wanted: Filter) -> list[str]:
    """The exact terms of templates, the rarest first: a version is of one template, and that of one portal."""
    asked = [(name, getattr(wanted, name)) for name in ("version", "template", "portal", "language")]
    return [f"{name}:{value.removesuffix(CHANGED)}" for name, value in asked if value is not None]


def latest(wanted: Filter, before: EmailId) -> EmailId:
    """No email that a filter asks for has this id or a greater one."""
    return before if wanted.until is None else min(before, first_id_at(wanted.until, slack=-CLOCK_SLACK))


def earliest(wanted: Filter) -> EmailId:
    """No email that a filter asks for has a smaller id."""
    return FIRST if wanted.since is None else first_id_at(wanted.since, slack=CLOCK_SLACK)


def stored(row: Row, *, history: tuple[HistoryEntry, ...] = ()) -> StoredEmail:
    """A row that begins with the `stored` columns, as a value. What cannot be read of it is said, and hides nothing."""
    reading = Reading()
    email = {field.name: _read(field, found, reading) for field, found in zip(STORED, row, strict=False)}
    envelope, outcomes, terms, due_at = [email.pop(name) for name in ("envelope", "outcomes", "terms", "due_at")]
    reading.gone = envelope is None
    if email["policy"].startswith("{"):
        reading.piece("retry policy", lambda: json.loads(email["policy"]), None)
    state = email["status"]
    recipients = _recipients(envelope, outcomes, email, reading)
    return StoredEmail(
        **email | _standing_in(email, envelope),
        recipients=recipients,
        refused_recipients=sum(recipient.status == REFUSED for recipient in recipients),
        next_attempt_at=due_at if state in (Status.PENDING, Status.RETRYING, Status.IN_DOUBT) else None,
        tags=reading.piece("tags", lambda: tags_in(terms or "[]"), ()),
        edition=_edition(envelope, reading),
        late=is_late(envelope or ""),
        history=history,
        unreadable=reading.trouble,
    )


_IN_WORDS = {"dead_reason": "reason of death"}
"""What a column is called where people are told that it cannot be read."""


def _read(field: Field, found: Any, reading: Reading) -> Any:
    if isinstance(field.read, Words):
        return reading.word(field.read, found, _IN_WORDS.get(field.name, field.name))
    if field.read is document:
        return reading.piece(f"last {field.name}", lambda: document(found), None)
    return field.value(found)


def _standing_in(email: Mapping[str, Any], envelope: str | None) -> dict[str, Any]:
    """What is shown in the place of a content that is gone or not there yet, and of a subject that is nobody's
    business."""
    if email["subject"] is None:
        return {"subject": UNREADABLE, "message_id": "", "size": 0}
    if email["sensitive"]:
        return {"subject": SENSITIVE}
    return {"subject": NOT_RENDERED} if is_late(envelope or "") else {}


def _edition(envelope: str | None, reading: Reading) -> Edition | None:
    nothing: Edition | None = None
    return reading.piece("edition", lambda: edition_in(envelope or ""), nothing)


def _recipients(
    envelope: str | None, outcomes: str | None, email: Mapping[str, Any], reading: Reading
) -> tuple[Recipient, ...]:
    """Where each recipient stands; without the outcomes, where that cannot be read."""
    nobody: tuple[str, ...] = ()
    addresses = reading.piece("envelope", lambda: recipients_in(envelope) if envelope else nobody, nobody)
    known = {name: email[name] for name in ("status", "reply_code", "reply", "doubts")}
    shared = recipients_of(addresses, None, **known)
    if outcomes is None or not addresses:
        return shared
    return reading.piece("recipients' outcomes", lambda: recipients_of(addresses, outcomes, **known), shared)


def _entry(row: Row) -> HistoryEntry:
    _id, at, what, attempt, actor, detail = row
    return HistoryEntry(at=_instant(at), what=what, attempt=attempt, actor=actor, detail=_detail(detail))


def _detail(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except DAMAGE:
        return {"unreadable": text}


def _instant(value: Any) -> datetime:
    instant = moment(value)
    assert instant is not None
    return instant
