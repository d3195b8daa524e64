"""What people are told at the door, and how long they have to wait. Pure."""

from __future__ import annotations

from math import ceil

from postroom.accounts.answers import WrongCode
from postroom.operate.wording import count_of


def hint(name: str) -> str:
    """Enough of an address for its owner to know which mailbox to open."""
    local, _, domain = name.rpartition("@")
    return f"{local[:1]}…@{domain}"


def wrong(answer: WrongCode) -> str:
    """Of a code."""
    if answer.wait:
        return f"Too many codes were wrong. Six digits can be tried again in {span(answer.wait.total_seconds())}."
    if answer.tries_left:
        return f"That is not the code. The one in the mail can be tried {_times(answer.tries_left)} more."
    return "That is not the code, or it is good no more."


def too_many(wait: float) -> str:
    return f"Too many tries from here. Please wait {span(wait)}."


def not_yet(seconds: int) -> str:
    """Another code by email."""
    if seconds > 90:
        return f"No more codes can be mailed for {span(seconds)}."
    return f"A code was mailed moments ago. Another one can be asked for in {span(seconds)}."


def span(seconds: float) -> str:
    """How long somebody has to wait, rounded up: `30 s`, `12 minutes`."""
    return count_of(ceil(seconds / 60), "minute") if seconds > 90 else f"{max(1, ceil(seconds))} s"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
