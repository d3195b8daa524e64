"""Tells operators of emails that were given up: an event for each, on the queue of the dead.

The database remembers who was told of. A crash between the broker's confirmation and that note tells of an email twice,
under the same message id; none is forgotten, whoever declared it dead.
"""

from __future__ import annotations

from postroom.broker.amqp.wire import Posting
from postroom.broker.link import Session
from postroom.broker.message import obituary
from postroom.broker.meter import DispatchMeter, Fate
from postroom.claim.failpoint import reach
from postroom.logs import logger
from postroom.store import dispatch
from postroom.store.dispatch import Died
from postroom.store.open import AsyncDatabase

BATCH = 100


async def announce(database: AsyncDatabase, session: Session, meter: DispatchMeter) -> int:
    """Tell of everybody who has died; how many were told of."""
    told = 0
    while not session.closed.is_set():
        died = await database.run(dispatch.unannounced(limit=BATCH), writes=False, atomic=False)
        if not died:
            return told
        fates = await session.publish([_posting(each, session) for each in died])
        reach("announced")
        heard = [each for each, fate in zip(died, fates, strict=True) if fate is Fate.CONFIRMED]
        await database.run(dispatch.announced([each.claim for each in heard]), atomic=False)
        for each in heard:
            logger.warning("death announced", email_id=each.claim.id, reason=each.reason.value, attempts=each.attempts)
        meter.announced(len(heard))
        told += len(heard)
        if len(heard) < len(died):
            return told  # the rest a little later
    return told


def _posting(died: Died, session: Session) -> Posting:
    return Posting(session.broker.dead, f"{died.claim.id}:dead:{died.claim.token}", obituary(died))
