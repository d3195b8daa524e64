"""A named way out, as whoever sends sees it: every email has exactly one."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.channels import Channel, channel_named
from postroom.claim.rate import Rate, parse_rate
from postroom.send.contract import Transport
from postroom.vocabulary import DEFAULT_ROUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where the emails of one route leave, and what is to be heeded there."""

    name: str
    channel: Channel
    transport: Transport
    fallback: str | None = None
    """The route that takes its due emails while this one is in trouble."""
    unasked: bool = False
    """No setting names it: people are shown it once something has left by it."""

    @classmethod
    def over(cls, transport: Transport, *, name: str = DEFAULT_ROUTE, channel: str = "email") -> Route:
        """A route over this transport alone."""
        return cls(name=name, channel=channel_named(channel), transport=transport)

    @property
    def server(self) -> str:
        """The other end, as people know it."""
        return self.transport.name

    @property
    def rate(self) -> Rate | None:
        """How many may leave, over all workers."""
        return parse_rate(self.transport.rate) if self.transport.rate else None
