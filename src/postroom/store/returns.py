"""What came back, taken down once: the return itself, the recipient's fate, the history, the stream, what follows.

`note_returns` does all of it in one transaction. A return is known by its source, its id there, and its part; noted
again, by another program at the same moment or after a crash, it is what it was, and nothing follows a second time.

Which email a return is about is decided by `matching.py`, under the lock of the email. What is about none is kept too.
What is kept is read by `kept_returns.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from postroom.compose.frozen import recipients_in
from postroom.settle.fate import Fate, stronger
from postroom.store.consequences import Matched, stop_after
from postroom.store.contract import instant
from postroom.store.kept_returns import (
    emails_returned,
    parts_of_return,
    read_return,
    returns,
    returns_at_address,
    returns_of_email,
    returns_of_emails,
)
from postroom.store.matching import Arrival, Mentioned, Remembered, matched, same_message_id
from postroom.store.notes import (
    KEPT,
    KEPT_UNCLEAR,
    RETURNS,
    Mention,
    Note,
    Noted,
    Raw,
    ReturnedEmail,
    StoredReturn,
)
from postroom.store.plan import News, Plan, Rows, ask
from postroom.store.suppressions import normal_address, suppress
from postroom.store.unreadable import DAMAGE
from postroom.vocabulary import BounceClass, Change, EmailId, Return

__all__ = [
    "Mention", "Note", "Noted", "Raw", "ReturnedEmail", "StoredReturn", "emails_returned", "fates_of", "note_returns",
    "parts_of_return", "read_return", "returns", "returns_at_address", "returns_of_email", "returns_of_emails",
]  # fmt: skip


def note_returns(notes: Sequence[Note], *, raw: Raw | None = None) -> Plan[list[Noted]]:
    """Note what came back, each once, with all that follows from it. In the order of the notes.

    `raw` is the message they were read from; it is kept beside the first of them, unless they are about a sensitive
    email, which it may quote.
    """
    mentioned = {mention.id for note in notes for mention in note.mentions}
    emails = yield from _emails(mentioned)
    mails = yield from _mails(mentioned - emails.keys())
    returns = [matched(note, emails, mails) for note in notes]
    yield from _write(returns, raw)
    if news := list(_news(returns)):
        yield from _put_fates(news)
        yield from _tell(news)
        yield from _stop(news)
    return [_noted(each) for each in returns]


def fates_of(ids: Iterable[EmailId]) -> Plan[dict[EmailId, dict[str, Fate]]]:
    """What came back about the recipients of these emails, by `normal_address`."""
    found: dict[EmailId, dict[str, Fate]] = {}
    for id, address, what, bounce_class, status, code, at, return_id in (yield ask("fates", ids=sorted(ids))):
        if what in RETURNS:
            found.setdefault(EmailId(id), {})[address] = Fate(
                what=Return(what),
                bounce_class=BounceClass(bounce_class) if bounce_class else None,
                status=status,
                code=code,
                at=instant(at),
                return_id=return_id,
            )
    return found


def _emails(ids: Iterable[EmailId]) -> Plan[dict[EmailId, Mentioned]]:
    wanted = sorted(ids)
    rows: Rows = (yield ask("returned_emails", ids=wanted)) if wanted else []
    found: dict[EmailId, Mentioned] = {}
    for id, workspace, attempts, sensitive, message_id, envelope in rows:
        known = found.get(id)
        found[id] = Mentioned(
            id=id,
            workspace=workspace,
            attempts=attempts,
            sensitive=bool(sensitive),
            message_ids=(known.message_ids if known else frozenset()) | {same_message_id(message_id or "")},
            recipients=tuple(dict.fromkeys((*(known.recipients if known else ()), *_recipients(envelope)))),
        )
    return found


def _mails(ids: Iterable[EmailId]) -> Plan[dict[EmailId, Remembered]]:
    wanted = sorted(ids)
    rows: Rows = (yield ask("returned_mails", ids=wanted)) if wanted else []
    return {
        EmailId(id): Remembered(workspace=workspace, message_id=same_message_id(message_id or ""))
        for id, workspace, message_id in rows
    }


def _recipients(envelope: str | None) -> tuple[str, ...]:
    """Nobody, where it cannot be read: then nobody is known to be meant."""
    try:
        return tuple(normal_address(each) for each in recipients_in(envelope)) if envelope else ()
    except DAMAGE:
        return ()


# ---------------------------------------------------------------- into the database


def _write(returns: Sequence[Arrival], raw: Raw | None) -> Plan[None]:
    by_id = {each.id: each for each in returns}
    for id, at in (yield ask("note_returns", returns=[_as_row(each) for each in returns])):
        by_id[id].at = instant(at)
    first = next((each for each in returns if each.new and each.note.part == 0), None)
    if raw is not None and first is not None and not any(each.quotes_a_secret for each in returns):
        raw = raw.cut(KEPT if first.email is not None and first.said is not None else KEPT_UNCLEAR)
        yield ask("keep_return", id=first.id, content=raw.content, size=raw.size)


def _as_row(each: Arrival) -> dict[str, Any]:
    note = each.note
    return {
        "id": each.id,
        "source": note.source,
        "source_id": note.source_id,
        "part": note.part,
        "what": note.what,
        "bounce_class": note.bounce_class,
        "status": note.status,
        "code": note.code,
        "text": note.text,
        "address": note.address,
        "email_id": each.email_id,
        "message_id": note.message_id,
        "reader": note.reader,
        "problem": note.problem,
        "until": note.until.isoformat() if note.until else None,
        "feedback": note.feedback,
        "unclear": each.unclear,
        "workspace": each.workspace,
    }


def _news(returns: Sequence[Arrival]) -> Iterator[Arrival]:
    """What is new about an email. A message that names many strangers says no more of its recipient than one."""
    guessed: set[tuple[EmailId | None, str]] = set()
    for each in returns:
        if not each.new or each.email is None or each.said is None:
            continue
        if not each.certain:
            if (each.email_id, each.recipient) in guessed:
                continue
            guessed.add((each.email_id, each.recipient))
        yield each


def _put_fates(news: Sequence[Arrival]) -> Plan[None]:
    known = yield from fates_of({each.email_id for each in news if each.email_id})
    changed: dict[tuple[EmailId, str], Fate] = {}
    for each in news:
        if each.email_id is None or not each.recipient:
            continue
        place = (each.email_id, each.recipient)
        before = changed.get(place) or known.get(each.email_id, {}).get(each.recipient)
        if (after := stronger(before, _fate(each))) is not before:
            changed[place] = after
    if changed:
        yield ask("put_fates", fates=[_fate_row(*place, fate) for place, fate in sorted(changed.items(), key=_place)])


def _place(item: tuple[tuple[EmailId, str], Fate]) -> tuple[EmailId, str]:
    return item[0]


def _fate(each: Arrival) -> Fate:
    assert each.said is not None
    assert each.at is not None
    note = each.note
    return Fate(
        what=each.said,
        bounce_class=note.bounce_class,
        status=note.status,
        code=note.code,
        at=each.at,
        return_id=each.id,
    )


def _fate_row(email_id: EmailId, address: str, fate: Fate) -> dict[str, Any]:
    return {
        "email_id": email_id,
        "address": address,
        "what": fate.what,
        "bounce_class": fate.bounce_class,
        "status": fate.status,
        "code": fate.code,
        "at": fate.at,
        "return_id": fate.return_id,
    }


def _tell(news: Sequence[Arrival]) -> Plan[None]:
    """The history of each email, the stream, and those who listen: once for each thing a message says of an email."""
    yield ask("record", events=[_event(each) for each in news])
    for said in dict.fromkeys(each.said for each in news):
        ids = sorted({each.email_id for each in news if each.said is said and each.email_id})
        change = Change(str(said))
        yield ask("note_changes", ids=ids, what=change)
        yield News(ids, change)


def _event(each: Arrival) -> dict[str, Any]:
    """A line of the history: no address, for that stands with the return."""
    assert each.email is not None
    note, recipients = each.note, each.email.recipients
    detail = {
        "return": each.id,
        "class": note.bounce_class,
        "status": note.status,
        "code": note.code,
        "until": note.until.isoformat() if note.until else None,
        "recipient": recipients.index(each.recipient) + 1 if each.recipient and len(recipients) > 1 else None,
    }
    told = {name: value for name, value in detail.items() if value}
    return {
        "email_id": each.email_id,
        "what": note.what,
        "attempt": each.email.attempts,
        "actor": None,
        "detail": json.dumps(told),
    }


def _stop(news: Sequence[Arrival]) -> Plan[None]:
    stops = []
    for each in news:
        if (stop := stop_after(_consequential(each))) is not None:
            each.suppressed = True
            stops.append(stop)
    if stops:
        yield from suppress(stops)


def _consequential(each: Arrival) -> Matched:
    assert each.email is not None
    assert each.said is not None
    note = each.note
    return Matched(
        what=each.said,
        email_id=each.email.id,
        workspace=each.email.workspace,
        address=each.recipient,
        # Of several recipients each knows what the email is known by: what one says of another is believed by nobody.
        certain=each.certain and len(each.email.recipients) == 1,
        objected=note.objected,
        bounce_class=note.bounce_class,
        status=note.status,
        code=note.code,
    )


def _noted(each: Arrival) -> Noted:
    return Noted(
        id=each.id if each.new else None,
        note=each.note,
        email_id=each.email_id,
        duplicate=not each.new,
        suppressed=each.suppressed,
        workspace=each.email.workspace if each.email else None,
        certain=each.certain,
    )
