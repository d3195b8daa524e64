"""The time a reply names: «try again in 300 seconds», «retry in 00:05:00», «wait 5 minutes»."""

from __future__ import annotations

import re
from datetime import timedelta

LONGEST_WAIT = timedelta(days=1)
"""A server may ask for more; after a day we look again, so that no reply can park an email or a transport for good."""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_CUE = (
    r"(?:try|retry|again|wait|later|resend|come back|re-?connect|gr[ea]y-?list\w*|deferred|delayed|blocked|throttled)"
)
_BETWEEN = r"(?:(?!\d)[^.;]){0,40}?"
_CLOCK = r"(?P<hours>\d{1,2}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d)"
_AMOUNT = r"(?P<number>\d{1,9})\s*(?P<unit>seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)"
_NAMED = re.compile(rf"\b{_CUE}\b{_BETWEEN}\b(?:{_CLOCK}|{_AMOUNT})\b", re.ASCII | re.IGNORECASE)


def named_wait(text: str) -> timedelta | None:
    """How long the reply asks us to wait, at most a day; None when it names no time.

    A number counts only after a word that asks for a later attempt: «100 messages in 1 hour» is a limit, not a wait.
    """
    found = _NAMED.search(text)
    if found is None:
        return None
    if found["unit"]:
        seconds = int(found["number"]) * _SECONDS[found["unit"][0].lower()]
    else:
        seconds = int(found["hours"]) * 3600 + int(found["minutes"]) * 60 + int(found["seconds"])
    return timedelta(seconds=min(seconds, LONGEST_WAIT // timedelta(seconds=1)))
