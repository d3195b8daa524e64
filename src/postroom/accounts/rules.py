"""The arithmetic of signing in. Time is an argument everywhere.

Failures are counted by the name that was typed, whether or not anybody has it, so that a locked name tells nobody who
exists. Wrong passwords and wrong codes count together, and only a complete sign-in, or a lock-out that is over, sets
the count back: neither a right password nor a new code does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

CODE_LIFE = timedelta(minutes=10)
CODE_TRIES = 5
RESEND_AFTER = timedelta(seconds=30)
CODES_AN_HOUR = 5
HOUR = timedelta(hours=1)
HALF_LIFE = timedelta(minutes=20)
"""Of a sign-in whose code has not come yet."""
SESSION_LIFE = timedelta(hours=12)
FAILURES = 10
"""So many in a row lock a name out."""
FIRST_LOCK = timedelta(minutes=15)
LONGEST_LOCK = timedelta(hours=24)
FORGET_AFTER = timedelta(days=2)
"""Without a failure for so long, a name starts over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What is remembered of a name that was typed."""

    failures: int = 0
    locks: int = 0
    """Lock-outs in a row; each is twice as long as the one before."""
    failed_at: datetime | None = None
    locked_until: datetime | None = None

    def locked(self, now: datetime) -> bool:
        return self.locked_until is not None and now < self.locked_until


def after_failure(door: Door, now: datetime) -> Door:
    """The door after one more failure. It is locked when there were too many."""
    if door.failed_at is not None and now - door.failed_at >= FORGET_AFTER:
        door = Door()
    failures = door.failures + 1
    if failures < FAILURES:
        return replace(door, failures=failures, failed_at=now)
    return Door(locks=door.locks + 1, failed_at=now, locked_until=now + lock_time(door.locks))


def lock_time(locks: int) -> timedelta:
    """How long a lock-out lasts after so many before it."""
    doubled: timedelta = FIRST_LOCK * 2 ** min(locks, 10)
    return min(LONGEST_LOCK, doubled)


def wait_for_code(sent: Sequence[datetime], now: datetime) -> timedelta:
    """How long until another code may be mailed, after those at these times; nothing when it may be now.

    At most one in 30 seconds, and at most five in any hour.
    """
    recent = sorted(at for at in sent if now - at < HOUR)
    waits = [timedelta(0)]
    if recent:
        waits.append(recent[-1] + RESEND_AFTER - now)
    if len(recent) >= CODES_AN_HOUR:
        waits.append(recent[-CODES_AN_HOUR] + HOUR - now)
    return max(waits)
