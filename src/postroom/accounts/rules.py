"""The arithmetic of signing in. Time is an argument everywhere.

Nothing here closes a door. A try at a password is answered as long as three budgets allow it: that of its name and
address together, that of the address, and, from an address nobody has signed in from under this name, that of the name.
Where one is spent, the verdict on the password alone is withheld: who types password and code at once still gets in,
and who guesses learns nothing. What is counted is the failure, under the name that was typed, whether or not anybody
has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

CODE_LIFE = timedelta(minutes=10)
CODE_TRIES = 5
RESEND_AFTER = timedelta(seconds=30)
CODES_AN_HOUR = 5
HOUR = timedelta(hours=1)
HALF_LIFE = timedelta(minutes=20)
"""Of a sign-in whose code has not come yet."""
SESSION_LIFE = timedelta(hours=12)
OFFER_LIFE = timedelta(minutes=20)
"""Of an authenticator that was not confirmed."""
KNOWN_LIFE = timedelta(days=90)
"""An address that somebody has signed in from is known for so long, from the last time on."""
KNOWN_ADDRESSES = 20
"""Of one person, at most; the one not used for longest is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """So many at once, and one more each time after that. Kept as the instant at which it is whole again."""

    at_once: int
    every: timedelta

    def wait(self, spent_until: datetime | None, now: datetime) -> timedelta:
        """How long until there is room for one more; nothing when there is now."""
        spent = max(spent_until or now, now) - now
        return max(timedelta(0), spent - self.every * (self.at_once - 1))

    def spend(self, spent_until: datetime | None, now: datetime) -> datetime:
        """When it will be whole again after one more. What comes although there is no room costs nothing more."""
        if self.wait(spent_until, now):
            assert spent_until is not None
            return spent_until
        return max(spent_until or now, now) + self.every

    def most_in(self, period: timedelta) -> int:
        """How many there can be in any period of this length."""
        return self.at_once + period // self.every


OF_NAME = Budget(at_once=10, every=timedelta(minutes=30))
"""Wrong passwords under one name, from all addresses together that nobody has signed in from under it."""
OF_PAIR = Budget(at_once=10, every=timedelta(minutes=15))
"""Wrong passwords under one name from one address."""
OF_ADDRESS = Budget(at_once=30, every=timedelta(minutes=6))
"""Wrong passwords from one address, whatever the names: an office behind one address mistypes more often."""
OF_CODES = Budget(at_once=10, every=timedelta(hours=2))
"""Wrong codes after the right password, from all unknown addresses together, or from one that is known."""
OF_PROOFS = Budget(at_once=10, every=timedelta(minutes=15))
"""Wrong passwords and codes of somebody who is signed in and wants to change how they sign in."""
OF_NOTICES = Budget(at_once=1, every=timedelta(days=1))
"""Emails that tell somebody of guesses."""


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
