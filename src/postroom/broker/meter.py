"""What a scheduler or a sender tells about its dealings with the broker, for whoever measures."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class Fate(StrEnum):
    """What became of a message that was to be published."""

    CONFIRMED = "confirmed"
    """The broker has it."""
    RETURNED = "returned"
    """No queue takes it."""
    REFUSED = "refused"
    """The broker said no."""
    UNCONFIRMED = "unconfirmed"
    """The broker said nothing in time, or went away: it may have it."""


class DispatchMeter:
    """Counts nothing. Called in the event loop, so it must neither wait nor raise."""

    __slots__ = ()

    def published(self, fates: Sequence[Fate]) -> None:
        """So many messages were published, and this came of them."""

    def requeued(self, emails: int) -> None:
        """So many emails are due again because their message was not heard of."""

    def gave_up(self, emails: int) -> None:
        """So many due emails had no attempt left."""

    def stale(self, messages: int) -> None:
        """So many messages named an email that is not queued for that attempt; nothing was sent."""

    def poison(self) -> None:
        """A message that makes no sense was put aside."""

    def announced(self, emails: int) -> None:
        """So many deaths were announced."""

    def connected(self, connected: bool) -> None:
        """The broker was reached, or lost."""


UNMETERED_DISPATCH = DispatchMeter()
