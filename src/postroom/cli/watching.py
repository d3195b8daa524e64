"""`stats --watch`: how the outbox stands, live. A picture on a terminal, otherwise one line at a time.

While the database is away the picture says so and stays; it goes on when the database is back.
"""

from __future__ import annotations

import json as json_format
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from postroom.cli.picture import picture
from postroom.cli.screen import standard_error, standard_output
from postroom.cli.tables import state_of
from postroom.duration import parse_duration
from postroom.errors import ConfigurationError, StoreUnavailable
from postroom.operate import Operations, Standing
from postroom.operate.broker import SCHEDULER
from postroom.operate.records import standing_record

SHORTEST = 0.1
"""Seconds between two looks: more often would be work for the database and for nobody's eyes."""
AWAY = "the database is away; looking again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The outbox now, and how it was a moment ago."""

    now: Standing
    before: Standing | None = None

    def per_second(self, name: str) -> float | None:
        """How often something happened in a second since the look before; None when there was none."""
        if self.before is None or self.now.at <= self.before.at:
            return None
        seconds = (self.now.at - self.before.at).total_seconds()
        return (self.now.totals[name] - self.before.totals[name]) / seconds


def interval_in_seconds(text: str) -> float:
    """How often to look."""
    seconds = parse_duration(text).total_seconds()
    if seconds < SHORTEST:
        raise ConfigurationError(f"--interval {text}: at least {SHORTEST} s, so that looking does not slow sending")
    return seconds


def watch_standing(operations: Operations, *, seconds: float, json: bool) -> None:
    """Show it until somebody has seen enough."""
    output = standard_output()
    with suppress(KeyboardInterrupt):
        if output.is_terminal and not json:
            _draw(output, operations, seconds)
        else:
            _write_lines(operations, seconds, json=json)


def _draw(output: Console, operations: Operations, seconds: float) -> None:
    with _keys() as pressed, Live(console=output, screen=True, auto_refresh=False) as live:
        for look in _looks(operations):
            live.update(Text(AWAY, style="bold red") if look is None else _picture(look), refresh=True)
            if pressed(seconds):
                return


def _picture(look: Look) -> RenderableType:
    return picture(look.now, rates={name: look.per_second(name) for name in look.now.totals})


def _write_lines(operations: Operations, seconds: float, *, json: bool) -> None:
    for look in _looks(operations):
        if look is None:
            standard_error().print(Text(AWAY, style="red"))
        else:
            sys.stdout.write((json_format.dumps(standing_record(look.now)) if json else line(look)) + "\n")
            sys.stdout.flush()  # a reader who has gone is noticed here
        time.sleep(seconds)


def line(look: Look) -> str:
    """Everything that matters in one line."""
    now = look.now
    sent = look.per_second("sent")
    parts = [
        now.at.strftime("%H:%M:%SZ"),
        *(f"{status} {count}" for status, count in now.counts.items() if count),
        f"oldest due {now.oldest_due_seconds:.0f}s",
        f"workers {sum(each.seen.role != SCHEDULER for each in now.alive)}",
        *_broker(now),
        *([] if sent is None else [f"sent/s {sent:.1f}"]),
        *(f"{route.name} {state_of(route)}" for route in now.routes),
    ]
    return "  ".join(parts)


def _broker(now: Standing) -> list[str]:
    """`schedulers 2  broker connected  messages 12`, where there is a broker."""
    if (broker := now.broker) is None:
        return []
    away = f" ({broker.away} of {broker.at_work})" if broker.away else ""
    return [f"schedulers {broker.schedulers}", f"broker {broker.state}{away}", f"messages {broker.waiting}"]


def _looks(operations: Operations) -> Iterator[Look | None]:
    """One look after another; None while the database is away."""
    before: Standing | None = None
    while True:
        try:
            now = operations.standing()
        except StoreUnavailable:
            yield None
            continue
        yield Look(now=now, before=before)
        before = now


@contextmanager
def _keys() -> Iterator[Callable[[float], bool]]:
    """A function that waits so long for a key and tells whether it was `q`; without a keyboard it only waits."""
    if not sys.stdin.isatty():
        yield _sleep
        return
    import select
    import termios
    import tty

    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)

    def pressed(seconds: float) -> bool:
        ready, _, _ = select.select([keyboard], [], [], seconds)
        return bool(ready) and _asks_to_leave(os.read(keyboard, 64))

    tty.setcbreak(keyboard)
    try:
        yield pressed
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _asks_to_leave(keys: bytes) -> bool:
    """`q`; or nothing at all, when whoever sat there has gone."""
    return not keys or b"q" in keys.lower()


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False
