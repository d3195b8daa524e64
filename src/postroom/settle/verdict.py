"""The words in which an attempt is judged: whom a reply concerns, and what it says about each of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class About(StrEnum):
    """What a reply or a fault is about."""

    TRANSPORT = "transport"
    SENDER = "sender"
    """The account or address we send as; the transport carries the consequence."""
    RECIPIENT = "recipient"
    EMAIL = "email"


class Fate(StrEnum):
    """What one attempt meant for one recipient."""

    ACCEPTED = "accepted"
    DEFERRED = "deferred"
    """Not now: stays open."""
    REFUSED = "refused"
    """Never: is not tried again."""
    UNKNOWN = "unknown"
    """The dot left and nobody knows what became of it."""


class Health(StrEnum):
    """What one attempt says about the transport it used."""

    OK = "ok"
    """It takes mail."""
    SUSPECT = "suspect"
    """It may be down; a few of these in a row are an outage."""
    THROTTLE = "throttle"
    """It wants less, or later."""
    PAUSE = "pause"
    """It will not take anything until something is put right: login, certificate, settings, account."""


SEVERITY = (Health.OK, Health.SUSPECT, Health.THROTTLE, Health.PAUSE)
"""From harmless to grave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportVerdict:
    """What the circuit breaker of the transport is told."""

    health: Health
    reason: str = ""
    """For people, without addresses: shown on the dashboard."""
    wait: timedelta | None = None
    """How long to leave it alone, where the reply or what is known of the provider says so."""


OK = TransportVerdict(health=Health.OK)


def gravest(verdicts: list[TransportVerdict]) -> TransportVerdict | None:
    """The verdict that decides; of equally grave ones the one that waits longest."""
    return max(verdicts, key=lambda one: (SEVERITY.index(one.health), one.wait or timedelta(0)), default=None)
