"""Emails whose owner is gone: what became of them, as exactly as anybody can tell.

Two signs say that an owner is gone: its lease has run out, or its journal on this machine is no longer locked. Then
its emails are taken over under a new token. What its journal says decides; where there is none within reach, only an
email with `on_doubt=hold` has its dot noted in the database, and any other may have left: it is in doubt.

At the start, and after every outage of the database, it is also told again what journals know to have been accepted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from postroom.claim.failpoint import reach
from postroom.compose.frozen import recipients_in
from postroom.logs import logger
from postroom.settle.takeover import settle_takeover
from postroom.store import claims, dispatch
from postroom.store.contract import Claim, Claimed, Settlement
from postroom.store.open import AsyncDatabase
from postroom.store.plan import Plan, ask
from postroom.vocabulary import LeaseToken, OnDoubt
from postroom.work.journal import KEEP_SECONDS, LastWords, Memory, has_journal, last_words, read_memory
from postroom.work.lost_commits import remind
from postroom.work.parcel import attempted, insist_on_content, invalid, recipient_states, settlement

BATCH = 200


class Recovery:
    """Takes over what dead or lost workers left behind."""

    def __init__(self, database: AsyncDatabase, *, worker: str, lease: timedelta, journals: Path) -> None:
        self._database = database
        self._worker = worker
        self._lease = lease
        self._journals = journals
        self.believed: Callable[[], datetime | None] = lambda: None
        """The time to judge leases by, should the database's clock have been set ahead."""
        self.taken_over = 0
        self._heard: set[str] = set()
        """Dead workers whose late truths have been told."""
        self._outages_when_reminded = -1

    @property
    def behind(self) -> bool:
        """The database may have forgotten what journals know: better claim nothing before the next sweep."""
        return self._outages_when_reminded != self._outages

    @property
    def _outages(self) -> int:
        return getattr(self._database, "outages", 0)

    async def sweep(self, *, keep_sent: bool) -> int:
        """Settle what dead workers on this machine left, then whatever has an expired lease; how many there were."""
        found = 0
        await self._remind(keep_sent=keep_sent)
        for words in last_words(self._journals):
            try:
                if words.worker == self._worker:
                    continue
                if not self._leases_are_over(words):
                    found += await self._take_over(dead=words.worker, keep_sent=keep_sent)
                    await self._late_truths(words, keep_sent=keep_sent)
                self._put_away(words)
            finally:
                words.release()
        await self._requeue_lost()
        return found + await self._take_over(dead=None, keep_sent=keep_sent)

    async def _requeue_lost(self) -> None:
        """Emails that a scheduler handed to a broker, and nobody has heard of since, are due again."""
        lost = await self._database.run(dispatch.requeue(limit=BATCH))
        for each in lost:
            logger.warning("email due again", email_id=each.id, attempt=each.attempt, why="its message was lost")

    async def _remind(self, *, keep_sent: bool) -> None:
        """Once at the start and after every outage: a database that was away may be another one now."""
        if self.behind:
            outages = self._outages
            await remind(self._database, self._journals, keep_sent=keep_sent)
            self._outages_when_reminded = outages

    def _leases_are_over(self, words: LastWords) -> bool:
        """Whether every lease its worker may have had is over.

        Not at once: the database may still be busy with the dead worker's last statement, and keep some of its emails
        from being taken over today.
        """
        return words.gone_for() > 2 * self._lease.total_seconds()

    def _put_away(self, words: LastWords) -> None:
        """Remove a journal that nobody will ask any more."""
        if self._leases_are_over(words) and words.gone_for() > KEEP_SECONDS:
            words.remove()
            self._heard.discard(words.worker)

    async def _take_over(self, *, dead: str | None, keep_sent: bool) -> int:
        found = 0
        while True:
            taken_over = await self._database.run(self._take_over_and_settle(dead=dead, keep_sent=keep_sent))
            if not taken_over:
                return found
            found += taken_over
            self.taken_over += taken_over

    def _take_over_and_settle(self, *, dead: str | None, keep_sent: bool) -> Plan[int]:
        """Both in one transaction: whoever died between the two would leave an email behind as its own, untouched.

        It also keeps the journal still: its owner forgets what the database has recorded, and until we have committed
        it cannot record anything about these emails.
        """
        emails = yield from claims.take_over(
            worker=self._worker, lease=self._lease, limit=BATCH, dead=dead, believed=self.believed()
        )
        if emails:
            reach("taken_over")
            yield from claims.settle(list(self._judged(emails)), keep_sent=keep_sent)
            yield ask("tally", changes=[{"name": "taken_over", "change": len(emails)}])
        return len(emails)

    async def _late_truths(self, words: LastWords, *, keep_sent: bool) -> None:
        """What a journal knows was sent, and somebody without it has put in doubt since."""
        if words.worker in self._heard:
            return
        if words.memory.replies:
            await self._database.run(claims.settle(list(words.memory.replies.values()), keep_sent=keep_sent))
        self._heard.add(words.worker)

    def _judged(self, emails: Iterable[Claimed]) -> Iterable[Settlement]:
        memories: dict[str, Memory | None] = {}
        for email in emails:
            owner = email.previous_owner or ""
            if owner not in memories:
                memories[owner] = read_memory(self._journals, owner) if has_journal(self._journals, owner) else None
            yield self._judge(email, memories[owner])

    def _judge(self, email: Claimed, memory: Memory | None) -> Settlement:
        before = Claim(id=email.id, token=LeaseToken(email.claim.token - 1))
        if memory is not None and before in memory.replies:
            return replace(memory.replies[before], claim=email.claim, sensitive=email.sensitive)
        try:
            return _decide(email, _dot_left(email, before, memory))
        except Exception as error:  # noqa: BLE001  whatever it is, it is about this email alone
            logger.error("email cannot be read", email_id=email.id, error=type(error).__name__)
            return invalid(email, error)


def _decide(email: Claimed, dot_left: bool | None) -> Settlement:
    insist_on_content(email)
    states = recipient_states(email, recipients_in(email.envelope))
    outcome = settle_takeover(attempted(email, states), dot_left=dot_left, now=email.claimed_at, jitter=random.random())
    logger.warning(
        "email taken over",
        email_id=email.id,
        previous_owner=email.previous_owner,
        dot_left=dot_left,
        status=outcome.status.value,
    )
    return settlement(email, outcome, doubt=dot_left is not False, event="taken_over")


def _dot_left(email: Claimed, before: Claim, memory: Memory | None) -> bool | None:
    """Whether the dot of the previous claim left: its journal knows; a hold is noted in the database; else nobody."""
    if memory is not None and before in memory.dots:
        return True
    if memory is not None and memory.complete:
        return False
    if email.on_doubt is OnDoubt.HOLD:
        return email.dot_noted
    return None
