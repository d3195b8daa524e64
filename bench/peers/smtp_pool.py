"""What a careful user writes around a task queue: a pool of aiosmtplib connections that are kept open."""

from __future__ import annotations

import asyncio

import aiosmtplib

from bench import message


class SmtpPool:
    """So many connections, opened when first needed, replaced when they fail."""

    def __init__(self, port: int, *, connections: int) -> None:
        self._port = port
        self._free: asyncio.Queue[aiosmtplib.SMTP | None] = asyncio.Queue()
        for _ in range(connections):
            self._free.put_nowait(None)

    async def send(self, to: str, body: bytes) -> None:
        client = await self._free.get()
        try:
            if client is None:
                client = aiosmtplib.SMTP(hostname="127.0.0.1", port=self._port, start_tls=False)
                await client.connect()
            await client.sendmail(message.SENDER, [to], body)
        except BaseException:
            client = None
            raise
        finally:
            self._free.put_nowait(client)
