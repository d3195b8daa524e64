"""What the transport of text messages is given."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Message:
    """One text message, ready to leave. Nobody changes one."""

    to: str
    text: str

    @property
    def recipients(self) -> tuple[str, ...]:
        return (self.to,)
