"""Who sends inline, inside the application's own process: a transport, a journal, and for blocking callers a loop.

A courier belongs to one process. After a fork it notices, and the child gets one of its own: neither connections nor
journals can be shared.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

from postroom.logs import logger
from postroom.send.contract import Fault, FaultKind, Phase, Report
from postroom.send.smtp.pool import SmtpTransport
from postroom.store.contract import Claim, Settlement
from postroom.work.journal import Journal, JournalFailed, worker_name
from postroom.work.parcel import Parcel


class Courier:
    """Attempts parcels, each dot noted in the journal before it leaves."""

    def __init__(self, transport: SmtpTransport, journals: Path, *, limit: float) -> None:
        """`limit`: seconds an inline send may take, and once more as long for the reply to its dot."""
        self.name = worker_name()
        self.transport = transport
        self._limit = limit
        self._dotted: set[Claim] = set()
        self._journal = Journal(journals, self.name)

    async def attempt(self, parcel: Parcel) -> Report:
        """Send a parcel unless its time runs out first. Shielded: what has begun is brought to its end."""
        return await asyncio.shield(asyncio.ensure_future(self._attempt(parcel)))

    async def _attempt(self, parcel: Parcel) -> Report:
        send = self.transport.send(parcel.envelope, before_dot=lambda: self._before_dot(parcel))
        task = asyncio.ensure_future(send)
        try:
            await asyncio.wait({task}, timeout=self._limit)
            if not task.done() and parcel.claim in self._dotted:
                await asyncio.wait({task}, timeout=self._limit)
            if task.done():
                return task.result()
            task.cancel()  # before the dot nothing was sent; after it nobody can know
            return _given_up(parcel, dot_left=parcel.claim in self._dotted)
        finally:
            self._dotted.discard(parcel.claim)

    def _before_dot(self, parcel: Parcel) -> bool:
        try:
            self._journal.note_dot(parcel.claim)
        except JournalFailed as error:
            logger.error("the journal failed: the email goes to the outbox", error=str(error))
            return False
        if parcel.deadline > time.monotonic():
            self._dotted.add(parcel.claim)
            return True
        self._journal.note_undone(parcel.claim)
        return False

    def note(self, concluded: Settlement) -> None:
        """What came of it, until the database knows."""
        self._journal.note_reply(concluded)

    def forget(self, claim: Claim) -> None:
        """The database knows what came of it."""
        self._journal.forget(claim)

    async def close(self) -> None:
        await self.transport.close()
        self._journal.close()


class BlockingCourier:
    """A courier with an event loop in a thread, for callers that block."""

    def __init__(self, url: str, journals: Path, *, limit: float) -> None:
        self._url = url
        self._journals = journals
        self._limit = limit
        self._lock = threading.Lock()
        self._process = 0

    @property
    def name(self) -> str:
        return self._started().name

    def attempt(self, parcel: Parcel) -> Report:
        """Send a parcel; returns when it is known what came of it."""
        courier = self._started()
        return asyncio.run_coroutine_threadsafe(courier.attempt(parcel), self._loop).result()

    def note(self, concluded: Settlement) -> None:
        """What came of it, until the database knows."""
        courier = self._started()
        self._loop.call_soon_threadsafe(courier.note, concluded)

    def forget(self, claim: Claim) -> None:
        """The database knows what came of it."""
        courier = self._started()
        self._loop.call_soon_threadsafe(courier.forget, claim)

    def close(self) -> None:
        """Take leave of the server and end the loop."""
        with self._lock:
            if self._process != os.getpid():
                return
            self._process = 0
            asyncio.run_coroutine_threadsafe(self._courier.close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _started(self) -> Courier:
        with self._lock:
            if self._process != os.getpid():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="postroom-courier", daemon=True)
                self._thread.start()
                self._courier = asyncio.run_coroutine_threadsafe(self._make(), self._loop).result()
                self._process = os.getpid()
            return self._courier

    async def _make(self) -> Courier:
        return Courier(SmtpTransport(self._url), self._journals, limit=self._limit)


def _given_up(parcel: Parcel, *, dot_left: bool) -> Report:
    if dot_left:
        fault = Fault(phase=Phase.DOT, kind=FaultKind.TIMEOUT, text="no reply within the time for inline sends")
    else:
        fault = Fault(phase=Phase.BODY, kind=FaultKind.ABANDONED, text="the time for inline sends was over")
    return Report(recipients=(None,) * len(parcel.envelope.recipients), fault=fault, dot_left=dot_left)
