"""A message that is replayed differently, as far as its channel allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.channels.contract import Channel
from postroom.compose import Frozen, Letter, Limits
from postroom.errors import InvalidEmail
from postroom.vocabulary import EmailId


def corrected(
    channel: Channel, letter: Letter, corrections: Mapping[str, Any], *, id: EmailId, limits: Limits
) -> Frozen:
    """What is to be stored in place of what was; `InvalidEmail` for what cannot be corrected."""
    if channel.correct is None:
        problem = f"what leaves by {channel.name} cannot be corrected"
        raise InvalidEmail(min(corrections), problem, "replay it as it is, or enqueue it anew")
    return channel.correct(letter, corrections, id=id, limits=limits)


def refuse_others(channel: str, corrections: Mapping[str, Any], *known: str) -> None:
    """Only these can be corrected."""
    for name in corrections:
        if name not in known:
            raise InvalidEmail(
                name, f"cannot be corrected in what leaves by {channel}", f"correct {' or '.join(known)}"
            )


def only_recipient(to: Any) -> str:
    """The one recipient, whether it was given alone or as a list of one."""
    found = [to] if isinstance(to, str) else list(to)
    if len(found) != 1 or not isinstance(found[0], str):
        raise InvalidEmail("to", f"has {len(found)} recipients", "give one")
    return found[0]
