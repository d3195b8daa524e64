"""Which event loop the commands run under: uvloop's where it is installed (`postroom[fast]`), asyncio's elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine to its end, in a loop of its own. Nothing behaves differently under the quicker one."""
    with asyncio.Runner(loop_factory=_quickest()) as runner:
        return runner.run(main)


def _quickest() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
