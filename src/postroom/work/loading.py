"""Large emails made ready: the content is fetched when a line takes one up, and gone when the attempt is over.

One at a time, because making an email ready takes more memory than anything else that is done with it; waiting for
that holds no connection. In a thread, because encoding many megabytes would hold up every other line; always in the
same one, because each thread that has had a lot of memory keeps some of it.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from postroom.channels import Channel
from postroom.errors import StoreUnavailable, UnreadableEmail
from postroom.sealing import NO_KEYS, Keyring
from postroom.store.contents import Content, read_content
from postroom.store.contract import Claimed
from postroom.store.failures import damaged
from postroom.store.open import AsyncDatabase
from postroom.work.parcel import Parcel, pack

AWAY = 0.5
"""Seconds until a content is asked for again that the database could not give."""


class Loading:
    """Makes emails ready that were claimed without their content."""

    def __init__(self, database: AsyncDatabase, keyring: Keyring = NO_KEYS) -> None:
        self._database = database
        self.keyring = keyring
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="postroom-loading")

    async def pack(self, email: Claimed, channel: Channel) -> Parcel:
        """Make an email ready. Raises `StoreUnavailable`, or whatever is wrong with this email."""
        async with self._turn:
            content = await self.read(email)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, pack, email, channel, content, self.keyring)

    async def read(self, email: Claimed) -> Content:
        """The content of an email that was claimed without. Raises as `pack` does."""
        try:
            plan = read_content(email.id, email.version, email.envelope)
            return await self._database.run(plan, writes=False, atomic=False)
        except Exception as error:
            if isinstance(error, StoreUnavailable | UnreadableEmail) or damaged(error):
                raise
            # Whatever else a database says, a right that is missing for one, is not this email's fault.
            raise StoreUnavailable(f"a large email cannot be read just now: {type(error).__name__}") from error

    def close(self) -> None:
        self._thread.shutdown(wait=False)
