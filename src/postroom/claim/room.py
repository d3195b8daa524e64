"""How many octets of emails a worker has in its memory, whatever their number and size.

A claim brings small emails with their content, so many octets in all (`whole_up_to`). A large one comes without, and
its content is fetched when a line takes it up; the room bounds how many octets of those are in hand at once. While an
email is made ready it is there up to four times: as the driver and the store have it, encoded, and as one message. Only
one is made ready at a time, so room for two of the usual largest size keeps a worker well below 300 MB.
"""

from __future__ import annotations

from collections.abc import Callable

from postroom.store.claims import WHOLE
from postroom.store.contract import Claim, Claimed

AHEAD = 32 * 1024 * 1024
"""Octets of small emails to have claimed ahead."""
ROOM = 50_000_000
"""Octets of large emails to have in hand at once."""


def whole_up_to(emails: int) -> int:
    """Up to which size an email is claimed with its content, where so many may wait."""
    return min(WHOLE, AHEAD // max(emails, 1))


class Room:
    """So many octets at a time. One that is larger than the whole room has it for itself."""

    def __init__(self, octets: int = ROOM) -> None:
        self.octets = octets
        self.open = True
        """Closed, it lets nobody in."""
        self.freed: list[Callable[[], None]] = []
        """Called when there may be room again."""
        self._inside: dict[Claim, int] = {}

    def enter(self, email: Claimed) -> bool:
        """Take room for an email, if there is enough."""
        if not self.open or (self._inside and sum(self._inside.values()) + email.unloaded > self.octets):
            return False
        self._inside[email.claim] = email.unloaded
        return True

    def leave(self, claim: Claim) -> None:
        """Give the room back that an email had, if it had any."""
        if self._inside.pop(claim, None) is not None:
            self._tell()

    def reopen(self) -> None:
        """Let emails in again."""
        self.open = True
        self._tell()

    def _tell(self) -> None:
        for freed in self.freed:
            freed()
