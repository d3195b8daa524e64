"""What sending needs of a machine, and enqueueing does not.

A worker notes in journals, under locks that the system gives back when it dies, what it is about to send: without them
nobody could tell after a crash whether an email has left. Those are locks of POSIX. On Windows an application enqueues
all the same, and a worker elsewhere sends what it has enqueued.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from postroom.errors import ConfigurationError


def can_send() -> bool:
    """Whether emails can be sent from this machine, and not only put into the outbox."""
    return find_spec("fcntl") is not None


def check_can_send(who: str) -> None:
    """Refuse to become one who sends where that cannot be done."""
    if not can_send():
        raise ConfigurationError(
            f"{who} needs POSIX, and this machine offers none of its file locks: run it on Linux or macOS, in a "
            "container or in WSL, with the same database; enqueueing and looking work here too"
        )


def user_name(number: int) -> str:
    """A user of this machine as people call them; their number where there is no name for it."""
    try:
        import pwd  # not on Windows

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError):
        return f"user {number}"


def owner_of(place: Path) -> str | None:
    """Who owns a file or folder; None where that cannot be seen."""
    try:
        return user_name(place.stat().st_uid)
    except OSError:
        return None


def this_user() -> str:
    """Who runs this process."""
    return user_name(os.geteuid()) if hasattr(os, "geteuid") else "this user"
