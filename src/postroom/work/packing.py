"""Emails of the buffer made ready to leave. One that cannot be made ready is settled here, and hurts nobody else."""

from __future__ import annotations

from postroom.channels import Channel
from postroom.claim.buffer import Buffer
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.settle.outcome import expired, settle_expired
from postroom.store.contract import Claimed
from postroom.vocabulary import OnDoubt
from postroom.work.loading import AWAY, Loading
from postroom.work.lost_commits import came_back
from postroom.work.parcel import Parcel, invalid, pack, settlement
from postroom.work.records import Records

_HOLD = OnDoubt.HOLD  # on Python 3.11 a member of an enum costs a call each time


class Packing:
    """What the lines take their parcels from."""

    def __init__(self, channel: Channel, *, buffer: Buffer, records: Records, loading: Loading) -> None:
        self._channel = channel
        self._buffer = buffer
        self._records = records
        self._held = records.held
        self._loading = loading

    async def next(self, *, warm: bool) -> Parcel | None:
        """The next email, ready to leave; None when the worker stops. `warm`: for a line that has been in use."""
        while True:
            email = await self._buffer.next(warm=warm)
            if email is None:
                return None
            parcel = await self._load(email) if email.unloaded else self._pack(email)
            if parcel is not None and (email.on_doubt is not _HOLD or await self._held.note_dot(email.claim)):
                return parcel
            del parcel
            self._buffer.done(email)

    def follower(self) -> Parcel | None:
        """An email to ride behind another one's dot, if one is waiting that may."""
        email = self._buffer.take(large=False)
        if email is None:
            return None
        if email.on_doubt is _HOLD:
            self._buffer.give_back(email)
            return None
        return self._pack(email)

    def _pack(self, email: Claimed) -> Parcel | None:
        if self._was_accepted(email):
            return None
        try:
            parcel = pack(email, self._channel, keyring=self._loading.keyring)
        except Exception as error:  # noqa: BLE001  whatever it is, it is about this email alone
            self._refuse(email, error)
            return None
        return self._unless_expired(parcel)

    async def _load(self, email: Claimed) -> Parcel | None:
        """The same for a large email; while the database is away, it waits, and so do all large ones."""
        if self._was_accepted(email):
            return None
        try:
            parcel = await self._loading.pack(email, self._channel)
        except StoreUnavailable as error:
            logger.warning("a large email waits for the database", email_id=email.id, error=str(error))
            self._buffer.postpone(email, AWAY)
            return None
        except Exception as error:  # noqa: BLE001  as above
            self._refuse(email, error)
            return None
        return self._unless_expired(parcel)

    def _was_accepted(self, email: Claimed) -> bool:
        """Whether the journal knows of an acceptance that the database has forgotten: then it is settled here."""
        known = self._records.journal.accepted(email.id)
        if known is None or (settled := came_back(email, known)) is None:
            return False
        self._records.hand_on(settled)
        return True

    def _refuse(self, email: Claimed, error: Exception) -> None:
        logger.error("email cannot be built", email_id=email.id, error=type(error).__name__)
        self._records.hand_on(invalid(email, error))

    def _unless_expired(self, parcel: Parcel) -> Parcel | None:
        email = parcel.claimed
        if email.expires_at is not None and expired(self._held.now_for(email), email.expires_at):
            self._records.hand_on(settlement(email, settle_expired(parcel.attempted), doubt=False))
            return None
        return parcel
