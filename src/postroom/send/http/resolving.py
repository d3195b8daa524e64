"""Names become addresses, off the event loop and with an end."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a name, in the order to try them; raises `OSError` where it has none."""


async def resolve(host: str, port: int) -> list[str]:
    """Ask the system. Cancelled, nobody waits for it any more.

    In a thread of its own for each question: a resolver that hangs takes no place in a pool that others need, and
    keeps no process from ending.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            result: list[str] | OSError = list(dict.fromkeys(str(each[4][0]) for each in found))
        except (OSError, UnicodeError) as error:
            result = OSError(f"{host} has no address ({error})")
        try:
            loop.call_soon_threadsafe(_tell, answer, result)
        except RuntimeError:  # the loop has closed meanwhile: nobody waits
            return

    threading.Thread(target=ask, name="postroom-resolve", daemon=True).start()
    return await answer


def _tell(answer: asyncio.Future[list[str]], result: list[str] | OSError) -> None:
    if answer.done():
        return
    if isinstance(result, OSError):
        answer.set_exception(result)
    else:
        answer.set_result(result)
