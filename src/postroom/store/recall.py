"""Emails that were sent, and that the database has forgotten: a failover may lose the last commits.

Whoever sent them still knows, and says it again. That nobody wants them sent once more, tokens tell: they grow with
every claim and with every act of a person, so a row whose token is not past the one under which the email was sent is a
row from before. Where so much was lost that a person's act may have used such a token anew, the version of the content
tells a corrected email from the one that was sent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from postroom.store.contract import Settlement
from postroom.store.erasing import erase
from postroom.store.housekeeping import forget
from postroom.store.plan import Documents, News, Plan, ask
from postroom.vocabulary import EmailId, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What somebody knows that the server took."""

    settlement: Settlement
    version: int
    """Of the content that was sent."""
    worker: str
    """Who sent it."""


def recall(known: Sequence[Accepted], *, keep_sent: bool = True) -> Plan[set[EmailId]]:
    """Record again that these were sent, where the database does not know it; those that it had forgotten.

    They are `sent`, with an entry in their history. What is dead, cancelled or gone is left alone, and so is what has
    been claimed, retried or replayed since it was sent. One that somebody else is sending under such an old token may
    have left a second time: that is written down as a doubt, and the other's word comes too late.
    """
    newest = {each.settlement.claim.id: each for each in sorted(known, key=lambda each: each.settlement.claim)}
    rows = [_row(each) for each in newest.values()]
    [[ids]] = yield ask("recall", accepted=Documents(rows))
    recalled = set[EmailId](json.loads(ids))
    yield News(recalled)
    if recalled:
        yield from erase(sorted(recalled))
    if not keep_sent:
        yield from forget(sorted(recalled), was=Status.SENT)
    return recalled


def _row(known: Accepted) -> dict[str, Any]:
    said = known.settlement
    return {
        "id": said.claim.id,
        "token": said.claim.token,
        "worker": known.worker,
        "version": known.version,
        "attempts": said.attempts,
        "last_error": said.last_error,
        "reply_code": said.reply_code,
        "reply": said.reply,
        "outcomes": said.outcomes,
        "detail": said.detail,
        "second_copy": json.dumps(json.loads(said.detail) | {"possible_second_copy": True}, ensure_ascii=False),
    }
