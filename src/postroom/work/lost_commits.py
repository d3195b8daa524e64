"""Emails that were sent, and that the database has forgotten.

A failover to a replica that had not heard of the last commits, or a backup put back, makes emails due that the server
has taken. Journals keep what was accepted for a while, so it can be said again: by the worker that is given such an
email anew (`came_back`), and to the database before anybody is given it (`remind`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store.contract import Claimed, Settlement
from postroom.store.open import AsyncDatabase
from postroom.store.recall import Accepted, recall
from postroom.vocabulary import Status
from postroom.work.journal import accepted_in, workers_in

BATCH = 500


def came_back(email: Claimed, known: Accepted) -> Settlement | None:
    """An email that was given out again although the server took it: sent, on record, without sending it again.

    None when it is not for want of memory: it was claimed under a later token, after a doubt or by a person's wish, or
    its content is another by now. Tokens grow with every claim, so one that comes again is a database that forgot.
    """
    said = known.settlement
    if email.claim.token > said.claim.token or email.version != known.version:
        return None
    logger.warning(
        "email settled from the journal", email_id=email.id, why="the database had forgotten that it was sent"
    )
    return replace(
        said,
        claim=email.claim,
        doubts=email.doubts,
        takeovers=email.takeovers,
        event="sent",
        detail=_detail(said),
        sensitive=email.sensitive,
    )


async def remind(database: AsyncDatabase, journals: Path, *, keep_sent: bool) -> int:
    """Tell the database what every journal within reach knows to have been accepted; how many it had forgotten.

    Those of the living count too. What is told twice changes nothing.
    """
    forgotten = 0
    for worker in workers_in(journals):
        segments = accepted_in(journals, worker)
        # Reading and understanding thousands of records takes long enough to be noticed by whoever is sending.
        while (known := await asyncio.to_thread(next, segments, None)) is not None:
            forgotten += await _tell(database, known, keep_sent=keep_sent)
    if forgotten:
        logger.warning("the database had forgotten emails that were sent", emails=forgotten)
    return forgotten


async def _tell(database: AsyncDatabase, known: Sequence[Accepted], *, keep_sent: bool) -> int:
    told = [replace(each, settlement=_on_record(each.settlement)) for each in known if _is_id(each.settlement.claim.id)]
    forgotten = 0
    for start in range(0, len(told), BATCH):
        try:
            forgotten += len(await database.run(recall(told[start : start + BATCH], keep_sent=keep_sent)))
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  nothing in a journal ends a worker
            logger.error("a journal says what the database does not take", error=type(error).__name__)
    return forgotten


def _on_record(said: Settlement) -> Settlement:
    return replace(said, status=Status.SENT, event="sent", detail=_detail(said))


def _detail(said: Settlement) -> str:
    """The attempt as it was, and how it came to be known."""
    entry: dict[str, Any] = {"outcome": Status.SENT.value, "attempt": said.attempts}
    with suppress(ValueError, TypeError):  # the reply is for people to read; without it, it was sent all the same
        entry |= json.loads(said.reply or "{}")
    return json.dumps(entry | {"settled_from": "journal"}, ensure_ascii=False)


def _is_id(id: str) -> bool:
    try:
        return str(UUID(id)) == id
    except ValueError:
        return False
