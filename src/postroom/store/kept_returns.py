"""What came back, as it is kept: lists of it, one of it, and the message that it was read from.

Every list is a walk along one index, the latest first, however much came back; it is read on from the last one's id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date

from postroom.store.contract import instant
from postroom.store.ids import LAST
from postroom.store.notes import UNREADABLE, Raw, ReturnedEmail, StoredReturn
from postroom.store.plan import Plan, Row, ask
from postroom.store.suppressions import normal_address
from postroom.vocabulary import SENSITIVE, BounceClass, EmailId


def returns(
    *,
    limit: int,
    before: str = LAST,
    what: str | None = None,
    unclear: bool = False,
    workspaces: Collection[str] | None = None,
) -> Plan[list[StoredReturn]]:
    """One page of what came back, the latest first; with `unclear`, only what a person should look at.

    Read on with the last one's id as `before`. With `workspaces`, only what is about emails of these.
    """
    if what is not None or workspaces is not None:
        # A plan for all values is one for common kinds: it reads past all of those to find a rare one.
        yield ask("plan_afresh")
    if workspaces is not None:
        if unclear and what not in (None, UNREADABLE):
            return []  # of what is about a known email, only that is unclear which nobody can read
        return (yield from _of_workspaces(workspaces, UNREADABLE if unclear else what, limit=limit, before=before))
    if what is None:
        rows = yield ask("unclear_returns" if unclear else "returns", limit=limit, before=before)
    else:
        name = "unclear_returns_of_kind" if unclear else "returns_of_kind"
        rows = yield ask(name, what=what, limit=limit, before=before)
    return [_read(row) for row in rows]


def returns_at_address(
    address: str, *, limit: int, before: str = LAST, workspaces: Collection[str] | None = None
) -> Plan[list[StoredReturn]]:
    """The same of what one address has said, or what was said about it."""
    asked = {"address": normal_address(address), "limit": limit, "before": before}
    yield ask("plan_afresh")  # for this address, from which there may be a flood
    if workspaces is None:
        return [_read(row) for row in (yield ask("returns_at_address", **asked))]
    rows = yield ask("returns_of_workspaces_at_address", workspaces=sorted(workspaces), **asked)
    return [_read(row) for row in rows]


def returns_of_email(id: EmailId, *, limit: int, before: str = LAST) -> Plan[list[StoredReturn]]:
    """What came back about one email, the latest first."""
    return [_read(row) for row in (yield ask("returns_of_email", email_id=id, limit=limit, before=before))]


def returns_of_emails(ids: Iterable[EmailId], *, limit: int) -> Plan[list[StoredReturn]]:
    """The latest that came back about each of these emails, the latest first."""
    return [_read(row) for row in (yield ask("returns_of_emails", ids=sorted(ids), limit=limit, before=LAST))]


def parts_of_return(kept: StoredReturn, *, limit: int) -> Plan[list[StoredReturn]]:
    """What was read out of one message, part by part."""
    rows = yield ask("parts_of_return", source=kept.source, source_id=kept.source_id, part=0, limit=limit)
    return [_read(row) for row in rows]


def emails_returned(ids: Iterable[EmailId]) -> Plan[dict[EmailId, ReturnedEmail]]:
    """Those of these emails that are there, as far as a list of what came back shows them."""
    rows = yield ask("emails_returned", ids=sorted(ids))
    return {
        EmailId(id): ReturnedEmail(
            id=EmailId(id), subject=SENSITIVE if sensitive else subject or "", sensitive=bool(sensitive)
        )
        for id, sensitive, subject in rows
    }


def read_return(id: str) -> Plan[tuple[StoredReturn, Raw | None] | None]:
    """One return and its message, as far as that is still kept; None where there is no such return."""
    rows = yield ask("return_message", id=id)
    if not rows:
        return None
    *found, content, size = rows[0]
    return _read(found), None if content is None else Raw(content=bytes(content), size=size)


def _of_workspaces(
    workspaces: Collection[str], what: str | None, *, limit: int, before: str
) -> Plan[list[StoredReturn]]:
    asked = {"workspaces": sorted(workspaces), "limit": limit, "before": before}
    if what is None:
        return [_read(row) for row in (yield ask("returns_of_workspaces", **asked))]
    return [_read(row) for row in (yield ask("returns_of_workspaces_of_kind", what=what, **asked))]


def _read(row: Row) -> StoredReturn:
    names = (
        "id", "source", "source_id", "part", "received_at", "what", "bounce_class", "status", "code", "text", "address",
        "email_id", "message_id", "reader", "problem", "until", "feedback", "unclear", "workspace",
    )  # fmt: skip
    found = dict(zip(names, row, strict=True))
    found["received_at"] = instant(found["received_at"])
    found["unclear"] = bool(found["unclear"])
    found["bounce_class"] = _bounce_class(found["bounce_class"])
    found["until"] = date.fromisoformat(found["until"]) if found["until"] else None
    return StoredReturn(**found)


def _bounce_class(word: str | None) -> BounceClass | None:
    return BounceClass(word) if word else None
