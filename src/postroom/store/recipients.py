"""Where each recipient of a stored email stands.

An email that was taken for everybody records no more than the reply to it, because every email would pay for more. What
each recipient was told is found here, when somebody looks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from postroom.store.contract import Recipient
from postroom.vocabulary import Status

OPEN, IN_DOUBT, REFUSED = "open", "in_doubt", "dead"

_SHARED = {Status.SENT: "sent", Status.DEAD: REFUSED}
_UNDECIDED = (Status.IN_DOUBT, Status.SENDING)


def recipients_of(
    addresses: tuple[str, ...],
    outcomes: str | None,
    *,
    status: Status,
    reply_code: int | None = None,
    reply: Mapping[str, Any] | None = None,
    doubts: int = 0,
) -> tuple[Recipient, ...]:
    """Where each recipient stands. Without outcomes of their own they all share the email's fate, and its reply."""
    if outcomes is None:
        shared = _SHARED.get(status, OPEN)
        states: list[Any] = [[shared, reply_code, _said_to_all(reply, reply_code)]] * len(addresses)
    else:
        states = json.loads(outcomes)
    doubtful = status in _UNDECIDED and doubts > 0
    spared = doubtful and doubts == 1 and _is_the_doubt(reply)
    return tuple(
        Recipient(
            address=address,
            # Of the attempt that left the doubt, those who were put off at RCPT were in no message.
            status=IN_DOUBT if doubtful and state == OPEN and not (spared and code) else state,
            code=code,
            text=text,
        )
        for address, (state, code, text) in zip(addresses, states, strict=True)
    )


def _said_to_all(reply: Mapping[str, Any] | None, code: int | None) -> str | None:
    """What everybody was told, where they were all told the same: enhanced code and text, as outcomes have them.

    Where the server said nothing, only an enhanced code of our own is worth telling each of them.
    """
    if not isinstance(reply, Mapping) or reply.get("code") != code:
        return None
    enhanced, text = reply.get("enhanced"), reply.get("text")
    if code is None and not enhanced:
        return None
    return " ".join(str(part) for part in (enhanced, text) if part) or None


def _is_the_doubt(reply: Mapping[str, Any] | None) -> bool:
    """Whether the last conversation is the one that left the doubt, and not a later one."""
    fates = reply.get("recipients") if isinstance(reply, Mapping) else None
    return isinstance(fates, Mapping) and "unknown" in fates
