"""What makes a channel: payload + prepare + transport + classify. Everything else is the same for all of them.

A channel is a value, found through the entry point group `postroom.channels` under its own name. Stores, leases,
retries, journal, history, desk and metrics treat what it sends as they treat email; "email" in their words and names
means a message of any channel.

What holds for the JSON that `freeze` leaves in `Frozen.envelope`: it begins with `{"date":MICROSECONDS,`, and its
member `to` is a list with every recipient as a string. The rest of it is the channel's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from postroom.compose import Address, Frozen, Letter, Limits
from postroom.send.contract import Payload, Transport
from postroom.settle.classification import Classify
from postroom.vocabulary import EmailId


class Freeze(Protocol):
    """Gives what somebody enqueues its final form; refuses with `InvalidEmail` what cannot be sent."""

    def __call__(
        self, payload: Any, /, *, id: EmailId, date: datetime, default_sender: Address, limits: Limits
    ) -> Frozen: ...


class Prepare(Protocol):
    """Makes a stored message ready for the transport: the same octets at every attempt.

    `only`: the recipients who still wait for it; None for all. A large text comes as its UTF-8.
    """

    def __call__(
        self,
        *,
        id: EmailId,
        subject: str,
        message_id: str,
        envelope: str,
        text: str | bytes | None,
        html: str | bytes | None,
        attachments: Mapping[str, bytes],
        only: tuple[str, ...] | None,
    ) -> Payload: ...


class Correct(Protocol):
    """A stored message with something different in it: the same id and date, and the checks of a new one.

    `corrections` are by the names that `replay` takes (`to`, `text`, …); what a channel has no place for is refused
    with `InvalidEmail`.
    """

    def __call__(self, letter: Letter, corrections: Mapping[str, Any], /, *, id: EmailId, limits: Limits) -> Frozen: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A way to reach somebody."""

    name: str
    """As stored with every message, and as its entry point is called."""
    payload: type
    """What callers enqueue."""
    freeze: Freeze
    prepare: Prepare
    classify: Classify
    transports: Mapping[str, Callable[[str, Mapping[str, Any]], Transport]]
    """How a way out is made of its URL, by the URL's scheme. The mapping is the channel's own table of settings."""
    route: str
    """The route of messages that neither ask for one nor meet a rule."""
    always: str | None = None
    """The URL of a way out that needs no settings: workers open it for `route` where the settings do not."""
    correct: Correct | None = None
    """Where a message can be corrected before it is replayed; None where it goes again as it was, or not at all."""
