"""A network that fails when it is asked to: a TCP proxy between a client and any server.

    with FaultProxy(target_port=server.port, round_trip=0.020) as network:
        transport = SmtpTransport(f"smtp://127.0.0.1:{network.port}")
        network.cut()                          # reset what is connected now
        network.cut_after(server_bytes=100)    # the next connection ends in the middle of a reply
        network.refuse()                       # nobody listens any more …
        network.accept()                       # … and somebody does again, on the same port

It knows nothing of what passes through it, so it serves for SMTP, PostgreSQL and AMQP alike.
"""

from __future__ import annotations

import asyncio
from typing import Self

from postroom.testing.background import BackgroundLoop
from postroom.testing.pipe import Link


class FaultProxy:
    """Forwards 127.0.0.1:`port` to `target_host`:`target_port` from a thread of its own; a context manager."""

    def __init__(
        self, *, target_port: int, target_host: str = "127.0.0.1", round_trip: float = 0.0, port: int = 0
    ) -> None:
        """`round_trip` is in seconds; half of it is spent on each way."""
        self.target = (target_host, target_port)
        self.round_trip = round_trip
        """May be changed at any time; holds for what is forwarded from then on."""
        self.port = port
        """Where it listens; chosen freely when started with 0, and kept over `refuse` and `accept`."""
        self.connections = 0
        """How many were made so far."""
        self.stalled = False
        self._links: set[Link] = set()
        self._limits: list[tuple[int | None, int | None]] = []
        self._background: BackgroundLoop | None = None
        self._server: asyncio.Server | None = None

    def cut(self) -> None:
        """Reset every connection that exists now, on both sides."""
        self._loop().call(self._cut)

    def refuse(self) -> None:
        """Reset every connection and refuse new ones, as a machine whose server is down does."""
        self._loop().run(self._refuse())

    def accept(self) -> None:
        """Listen again after `refuse`."""
        self._loop().run(self._accept())

    def stall(self) -> None:
        """Forward nothing more, on old and new connections, and keep them open: packets vanish."""
        self._loop().call(lambda: self._set_stalled(True))

    def resume(self) -> None:
        """Forward again what was held up by `stall`."""
        self._loop().call(lambda: self._set_stalled(False))

    def cut_after(self, *, client_bytes: int | None = None, server_bytes: int | None = None, times: int = 1) -> None:
        """Reset each of the next `times` connections once this many bytes have passed from that side, no byte later."""
        self._loop().call(lambda: self._limits.extend([(client_bytes, server_bytes)] * times))

    def start(self) -> Self:
        """Begin to listen."""
        if self._background is not None:
            raise RuntimeError("the proxy is running already")
        self._background = BackgroundLoop("fault-proxy")
        try:
            self._background.run(self._accept())
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Reset everything and end the thread."""
        background, self._background = self._background, None
        if background is not None:
            background.run(self._refuse())
            background.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    # In the proxy's own thread

    def admit(self, link: Link) -> tuple[int | None, int | None]:
        """A connection was made; returns after how many bytes from the client and the server it is to be cut."""
        self.connections += 1
        self._links.add(link)
        return self._limits.pop(0) if self._limits else (None, None)

    def dismiss(self, link: Link) -> None:
        """A connection is over."""
        self._links.discard(link)

    def _loop(self) -> BackgroundLoop:
        if self._background is None:
            raise RuntimeError("the proxy is not running; use it in a with statement, or call start()")
        return self._background

    async def _accept(self) -> None:
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(lambda: Link(self).client, "127.0.0.1", self.port, backlog=1000)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self._cut()

    def _cut(self) -> None:
        for link in list(self._links):
            link.cut()

    def _set_stalled(self, stalled: bool) -> None:
        self.stalled = stalled
        for link in list(self._links):
            link.set_stalled(stalled)
