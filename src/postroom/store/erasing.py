"""What sensitive emails say goes away once they are finished. Who they were for, and what became of them, stays.

It goes in the transaction that finishes them: when they are sent or cancelled, when they die of having expired, and
when the code of a sign-in dies of anything. What died of something else may still be retried by hand, and keeps its
content until it expires, is dismissed or is pruned. Workers of a release that erases nothing, and journals that do not
tell what was sensitive, leave some over; the workers sweep those up every minute.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from postroom.compose.frozen import APART, recipients_in
from postroom.sealing.content import is_apart, is_box
from postroom.store.plan import Plan, Rows, ask
from postroom.store.unreadable import DAMAGE
from postroom.vocabulary import SENSITIVE, EmailId

SWEPT = 500
"""Emails that one sweep erases at most."""


def erase(ids: Sequence[EmailId], *, anyway: bool = False) -> Plan[int]:
    """Erase what those of these emails say that are sensitive and over, or `anyway`; how many there were."""
    erased = [EmailId(row[0]) for row in (yield ask("erase", ids=list(ids), anyway=anyway))]
    if not erased:
        return 0
    if plain := _plain((yield ask("envelopes", ids=erased))):
        yield ask("blank", contents=plain)
    carried = yield ask("drop_uses", ids=erased)
    # What a release before stored plain may be shared with other emails: that goes when nobody uses it any more.
    if boxes := sorted(digest for (digest,) in carried if is_box(digest)):
        yield ask("sweep_attachments", digests=boxes)
    return len(erased)


def sweep_erasable(*, limit: int = SWEPT) -> Plan[int]:
    """Erase what was left over, also what duplicates said that were not taken in; how many contents that were."""
    rows = yield ask("to_erase", limit=limit)
    erased = (yield from erase([EmailId(row[0]) for row in rows])) if rows else 0
    unused = yield ask("unused_boxes", limit=limit)
    if unused:
        yield ask("sweep_attachments", digests=[digest for (digest,) in unused])
    return erased + len(unused)


def _plain(rows: Rows) -> list[dict[str, Any]]:
    """What is left of contents that were never in a box: whom they were for."""
    return [
        {"email_id": id, "version": version, "subject": SENSITIVE, "envelope": _outside(envelope)}
        for id, version, envelope in rows
        if not is_apart(envelope)
    ]


def _outside(envelope: str) -> str:
    try:
        recipients = recipients_in(envelope)
    except DAMAGE:
        recipients = ()
    return f"{APART}{json.dumps({'to': recipients})}"
