"""What the transport of webhooks is given."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Delivery:
    """One webhook, ready to leave. Nobody changes one."""

    url: str
    id: str
    """What goes out as `webhook-id`: the same at every attempt, so that the receiver knows a second copy."""
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def recipients(self) -> tuple[str, ...]:
        return (self.url,)
