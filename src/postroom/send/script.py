"""What a stand-in for a mail server is to say and do, rule by rule.

Shared by `MemoryTransport` and `postroom.testing.ScriptedSmtp`, so that a test reads the same on both.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

At = Literal["connect", "greeting", "ehlo", "starttls", "tls", "auth", "mail", "rcpt", "data", "body", "dot", "rset"]
"""The moments of a conversation. `connect` is before the greeting, `tls` before a handshake, `body` while the message
arrives, `dot` after it has arrived whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where a conversation stands when a rule is looked for."""

    at: At
    argument: str = ""
    """The recipient's address at `rcpt`, the sender's at `mail`, the Message-ID at `dot`, what was said elsewhere."""
    connection: int = 0
    """Which connection it is, counted from 1."""
    parameters: str = ""
    """What stands behind the address at `mail` and `rcpt`, such as `SIZE=1204 RET=HDRS`."""


class Hold:
    """Keeps conversations waiting where a rule names it, until it is released; from then on it keeps nobody.

    A slowness that lasts as long as a test wants, and no second longer. Released from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._released = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    @property
    def waiting(self) -> int:
        """How many conversations it keeps; one whose client has gone is over."""
        with self._lock:
            return len(self._waiting)

    def release(self) -> None:
        """Let everybody go on."""
        with self._lock:
            self._released = True
            for loop, go_on in self._waiting:
                loop.call_soon_threadsafe(go_on.set)

    async def wait(self, gone: asyncio.Event) -> None:
        """Until it is released, or until the client has gone."""
        kept = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            if self._released:
                return
            self._waiting.append(kept)
        either = [asyncio.ensure_future(each.wait()) for each in (kept[1], gone)]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in either:
                each.cancel()
            with self._lock:
                self._waiting.remove(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing to do at one moment."""

    at: At
    reply: str | bytes | None = None
    """Instead of the usual reply. Text gets its line end; bytes go out exactly as they are."""
    delay: float = 0.0
    """Seconds to wait first."""
    hold: Hold | None = None
    """To be waited for first, until somebody releases it."""
    stall: bool = False
    """Say nothing, or nothing more than `reply`, and read nothing more, but keep the connection open."""
    cut: bool | Literal["after"] = False
    """Close the connection in place of the reply, or with `after` behind it."""
    reset: bool = False
    """Cut with a TCP reset instead of an orderly close."""
    drip: float | None = None
    """Send the reply byte by byte, this many seconds apart."""
    endless: bool = False
    """Repeat the reply until the client goes away."""
    accept: bool | None = None
    """At `dot`: whether the message counts as received; by default, unless the reply refuses it."""
    when: Callable[[Moment], bool] | None = None
    """Asked whether this is the moment."""
    argument: str | None = None
    """Only for this recipient, sender or Message-ID (see `Moment.argument`)."""


class Script:
    """Rules in the order of their making; the newest that fits is used. Safe to change from another thread."""

    def __init__(self) -> None:
        self._rules: list[tuple[Rule, list[int]]] = []
        self._lock = threading.Lock()

    def add(self, rule: Rule, *, times: int | None = None) -> None:
        """Use the rule from now on, or for the next `times` moments that fit."""
        if rule.at not in get_args(At):
            raise ValueError(f"no moment is called {rule.at!r}; they are {', '.join(get_args(At))}")
        with self._lock:
            self._rules.append((rule, [-1 if times is None else times]))

    def clear(self) -> None:
        """Forget every rule."""
        with self._lock:
            self._rules.clear()

    def rule_for(self, moment: Moment) -> Rule | None:
        """The rule to follow now; it is used up by one."""
        with self._lock:
            for rule, left in reversed(self._rules):
                if left[0] and _fits(rule, moment):
                    left[0] -= left[0] > 0
                    return rule
        return None


def _fits(rule: Rule, moment: Moment) -> bool:
    if rule.at != moment.at or rule.argument not in (None, moment.argument):
        return False
    return rule.when is None or rule.when(moment)
