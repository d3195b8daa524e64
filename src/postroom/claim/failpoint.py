"""Places where a test may kill the process. In production every call is a look at an empty dictionary.

`POSTROOM_FAILPOINT=before_settle:3` kills this process, as `kill -9` would, the third time it reaches that place, and
`received@EMAIL` the first time that it does so with that email.
"""

from __future__ import annotations

import os
import signal

_deadly: dict[str, int] = {}


def arm(setting: str | None) -> None:
    """Read `place:count`; several are separated by commas."""
    for part in (setting or "").split(","):
        if part:
            place, _, count = part.partition(":")
            _deadly[place] = int(count or 1)


def reach(place: str, about: str = "") -> None:
    """The process has come to this place, with this email where it matters which."""
    if not _deadly:
        return
    place = place if place in _deadly else f"{place}@{about}"
    if place not in _deadly:
        return
    _deadly[place] -= 1
    if _deadly[place] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)


arm(os.environ.get("POSTROOM_FAILPOINT"))
