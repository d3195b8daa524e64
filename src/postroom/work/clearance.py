"""Whether an email may leave: asked when it was claimed, and once more before its dot.

At the claim it is one question about a whole batch, and none where the claim has told that nobody at all is stopped:
emails that nobody is to get are settled, and recipients who are not to be mailed are taken off the others. Before the
dot of an ordinary email, what this process has heard lately is enough (see `stops.py`); where that gives cause, the
email is not sent, and the database says what becomes of it. For an email that can be unsubscribed from the database is
always asked, as late as can be: the server waits for the message then.

Some emails go by further rules, such as those of campaigns: what is found has to hold until it is written down that the
email leaves. So whoever knows the rules asks everything about such an email in one transaction, under what it holds for
that; what is asked about every other email is asked there, too. The first objection counts. On SQLite this is carried
out in another thread, so it looks at what is here and changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from postroom.claim.meter import UNMETERED, Meter
from postroom.compose.frozen import recipients_in
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.send.contract import BeforeDot, LastLook
from postroom.settle.stopped import Stopping, settle_stopped, stop_recipients
from postroom.store.contract import Claimed, Settlement
from postroom.store.open import AsyncDatabase
from postroom.store.plan import Plan
from postroom.store.suppressions import Suppression, suppressions_of
from postroom.work.lost_commits import came_back
from postroom.work.objections import UNSURE, Never, NotNow, Objection
from postroom.work.parcel import Parcel, attempted, recipient_states, settlement, written_states
from postroom.work.records import Records
from postroom.work.stops import Known, Stops

PATIENCE = 2.0
"""Seconds within which the database has to answer while a server waits: others wait behind this email."""
AWAY = 5.0
"""Seconds for which an email is put off that nobody could be asked about."""

Leaving = Callable[[Parcel, Plan[Objection | None]], Plan[Objection | None] | None]
"""What lets an email leave that goes by further rules, given what is asked about every other; see `beside.py`."""


class Clearance:
    """Lets emails leave, or says why not."""

    def __init__(self, database: AsyncDatabase, *, records: Records, stops: Stops, meter: Meter = UNMETERED) -> None:
        self._database = database
        self._records = records
        self._held = records.held
        self._stops = stops
        self._meter = meter
        self._leaving: Leaving = _by_no_rules

    def go_by(self, leaving: Leaving) -> None:
        """Have emails leave by these rules that go by them."""
        self._leaving = leaving

    # ---------------------------------------------------------------- at the claim

    async def sift(self, emails: Sequence[Claimed]) -> Sequence[Claimed]:
        """Those of these emails that may be attempted, each for the recipients who may have it.

        The others are settled. Where the database cannot be asked, they are given back, but for what its sender sends
        at once without a row: that does not need the database, unless it can be unsubscribed from.
        """
        if not any(email.somebody_stopped for email in emails):
            return emails
        addresses = [_addresses(email) for email in emails]
        try:
            plan = suppressions_of(address for some in addresses for address in some)
            known = await self._database.run(plan, writes=False, atomic=False)
        except StoreUnavailable as error:
            return await self._unasked(emails, error)
        if not known:
            return emails
        sifted = (self._sifted(email, some, known) for email, some in zip(emails, addresses, strict=True))
        return [email for email in sifted if email is not None]

    def _sifted(self, email: Claimed, addresses: tuple[str, ...], known: Known) -> Claimed | None:
        stopping = self._stops.stopping(email, addresses, known)
        if not stopping or self._was_accepted(email):
            return email
        try:
            found = _without(email, addresses, stopping)
        except Exception:  # noqa: BLE001  what is damaged about it is found out when it is packed
            return email
        if isinstance(found, Claimed):
            return found
        self._settle(found)
        return None

    async def _unasked(self, emails: Sequence[Claimed], error: StoreUnavailable) -> Sequence[Claimed]:
        logger.warning("who is not to be mailed cannot be asked for", emails=len(emails), error=str(error))
        free = [email for email in emails if email.order is not None and not email.unsubscribable]
        kept = {email.claim for email in free}
        await self._held.give_back(email.claim for email in emails if email.claim not in kept)
        return free

    def _was_accepted(self, email: Claimed) -> bool:
        """Whether it was sent, and the database has forgotten that: packing finds out, and settles it so."""
        known = self._records.journal.accepted(email.id)
        return known is not None and came_back(email, known) is not None

    # ---------------------------------------------------------------- before the dot

    def question(self, parcel: Parcel) -> BeforeDot:
        """What is asked before the dot of a parcel."""
        email = parcel.claimed
        if email.unsubscribable or (self._stops.alert and self._stops.is_crowded(email.claim)):
            return _Look(self, parcel)
        return partial(self.may_leave, parcel)

    def may_leave(self, parcel: Parcel) -> bool:
        """By all that is known here: nothing was heard that concerns it, it is noted, and it is still ours."""
        if self._stops.alert and self._stops.may_stop(parcel.claimed, parcel.payload.recipients):
            parcel.objection = UNSURE
            return False
        return self._records.may_leave(parcel.claim)

    def may_leave_after_look(self, parcel: Parcel) -> bool:
        """The same, where the database was asked a moment ago."""
        return parcel.objection is None and self._records.may_leave(parcel.claim)

    async def look(self, parcel: Parcel) -> Objection | None:
        """Ask the database whether anything speaks against a parcel now. What cannot be asked has to wait."""
        asked = self._suppressed(parcel)
        try:
            async with asyncio.timeout(PATIENCE):
                if (leaving := self._leaving(parcel, asked)) is not None:
                    objection = await self._database.run(leaving)
                else:
                    objection = await self._database.run(asked, writes=False, atomic=False)
        except (StoreUnavailable, TimeoutError) as error:
            logger.warning("whether an email may leave cannot be asked", email_id=parcel.claim.id, error=str(error))
            return NotNow(reason="the database could not be asked whether it may leave", seconds=AWAY)
        if objection is None and self._stops.alert:
            self._stops.forget(parcel.claimed, parcel.payload.recipients)
        return objection

    async def set_aside(self, parcel: Parcel) -> None:
        """Do with a parcel that did not leave what spoke against it. Where its lease was lost, giving it back does
        nothing."""
        objection, parcel.objection = parcel.objection, None
        if objection is UNSURE:
            objection = await self.look(parcel)
        if isinstance(objection, Never):
            self._settle(objection.settlement)
        elif objection is not None and objection.seconds:
            await self._held.put_off([parcel.claim], seconds=objection.seconds, reason=objection.reason)
        else:
            await self._held.give_back([parcel.claim])

    def _suppressed(self, parcel: Parcel) -> Plan[Objection | None]:
        """Whether its recipients may be mailed. Of several the others get it when it is claimed anew."""
        addresses = parcel.payload.recipients
        known = yield from suppressions_of(addresses)
        stopping = self._stops.stopping(parcel.claimed, addresses, known)
        if not stopping:
            return None
        found = _without(parcel.claimed, parcel.recipients, stopping)
        return (
            NotNow(reason="some of its recipients were stopped")
            if isinstance(found, Claimed)
            else Never(settlement=found)
        )

    def _settle(self, settled: Settlement) -> None:
        logger.info("email not sent", email_id=settled.claim.id, why=settled.last_error)
        self._records.hand_on(settled)
        self._meter.suppressed()


def _by_no_rules(parcel: Parcel, others: Plan[Objection | None]) -> None:
    """Most emails leave without regard to others."""


class _Look(LastLook):
    """The question about a parcel for which the database is asked."""

    __slots__ = ("_clearance", "_looked", "_parcel")

    def __init__(self, clearance: Clearance, parcel: Parcel) -> None:
        self._clearance = clearance
        self._parcel = parcel
        self._looked = False

    async def look(self) -> None:
        self._parcel.objection = await self._clearance.look(self._parcel)
        self._looked = True

    def __call__(self) -> bool:
        if self._looked:
            return self._clearance.may_leave_after_look(self._parcel)
        return self._clearance.may_leave(self._parcel)


def _addresses(email: Claimed) -> tuple[str, ...]:
    """Whom an email is for; nobody, where it cannot be read: that it is damaged is found out when it is packed."""
    try:
        return recipients_in(email.envelope)
    except Exception:  # noqa: BLE001  as `pack` has it
        return ()


def _without(email: Claimed, addresses: tuple[str, ...], stopping: dict[str, Suppression]) -> Claimed | Settlement:
    """The email for those who are left; or, where nobody is, how it ends."""
    before = attempted(email, recipient_states(email, addresses))
    stopped = {
        state.address: Stopping(entry=stopping[state.address].id, words=str(stopping[state.address]))
        for state in before.waiting
        if state.address in stopping
    }
    if not stopped:
        return email
    after = stop_recipients(before, stopped)
    if after.open_recipients:
        return replace(email, outcomes=written_states(after.recipients))
    return settlement(email, settle_stopped(before, stopped), doubt=False, event="suppressed")
