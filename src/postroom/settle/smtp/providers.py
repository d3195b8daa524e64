"""What is known of the replies of well-known providers: `providers.toml`, read once.

A known text outranks the first digit of the code: a spent daily quota is no reason to give an email up, even when the
provider answers it with 550. The entries are tried in the order of the file; the first whose pattern is found decides.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from postroom.duration import parse_duration
from postroom.send.contract import Reply


class Effect(StrEnum):
    """What follows from a known reply."""

    THROTTLE = "throttle"
    """The transport is left alone for a while."""
    PAUSE = "pause"
    """The transport is paused until a probe, or a person, finds it well again."""
    WAIT = "wait"
    """Only this recipient, or this email, waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownReply:
    """One entry of the file."""

    provider: str
    meaning: str
    """In our words; shown as the reason why a transport rests."""
    pattern: re.Pattern[str]
    """Looked for in `code enhanced text`, whatever the case."""
    effect: Effect
    wait: timedelta | None
    """How long, unless the reply itself names a time."""
    examples: tuple[str, ...]
    """Replies that this entry, and no earlier one, recognises."""


def recognise(reply: Reply) -> KnownReply | None:
    """The first entry that knows this reply."""
    said = str(reply)
    return next((known for known in known_replies() if known.pattern.search(said)), None)


@cache
def known_replies() -> tuple[KnownReply, ...]:
    text = (files("postroom.settle.smtp") / "providers.toml").read_text("utf-8")
    return tuple(_entry(row) for row in tomllib.loads(text)["reply"])


def _entry(row: dict[str, Any]) -> KnownReply:
    return KnownReply(
        provider=row["provider"],
        meaning=row["meaning"],
        pattern=re.compile(row["pattern"], re.IGNORECASE),
        effect=Effect(row["effect"]),
        wait=parse_duration(row["wait"]) if "wait" in row else None,
        examples=tuple(row["examples"]),
    )
