"""What the mail server has taken, and when by the clock of the story: all that the rules are held against."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from email import message_from_bytes, policy
from zoneinfo import ZoneInfo

from postroom.testing import ReceivedMessage

_LINK = re.compile(r"<([^<>]+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One mail that has arrived."""

    at: datetime
    day: date
    """On the clock of the workspace."""
    to: str
    sender: str
    """As the reader sees it."""
    envelope_sender: str
    message_id: str
    subject: str
    answers: str
    """The Message-ID that it goes on from; empty where it begins a thread."""
    step: int
    """1 for what begins a thread; each mail names those before it."""
    unsubscribe: str
    """The link for one click; empty where the pair of headers is not there."""


class ServerLog:
    """The deliveries in their order. Whatever has arrived since the last look was sent at the instant of this one."""

    def __init__(self, zone: ZoneInfo) -> None:
        self.deliveries: list[Delivery] = []
        self._zone = zone

    def note(self, received: Sequence[ReceivedMessage], now: datetime) -> None:
        """Look at all that a server has received."""
        for message in received[len(self.deliveries) :]:
            self.deliveries.append(delivery(message, now, self._zone))

    def first_to(self, place: int) -> Delivery:
        """The first mail of the person who was the so-many-th to get one."""
        return [each for each in self.deliveries if each.step == 1][place]


def delivery(message: ReceivedMessage, at: datetime, zone: ZoneInfo) -> Delivery:
    """A message as it was received, with its headers read."""
    headers = message_from_bytes(message.data, policy=policy.default)
    link = _LINK.fullmatch(str(headers["List-Unsubscribe"] or ""))
    one_click = str(headers["List-Unsubscribe-Post"] or "") == "List-Unsubscribe=One-Click"
    [recipient] = message.recipients
    return Delivery(
        at=at,
        day=at.astimezone(zone).date(),
        to=recipient,
        sender=str(headers["From"]),
        envelope_sender=message.sender,
        message_id=message.message_id,
        subject=str(headers["Subject"]),
        answers=str(headers["In-Reply-To"] or "").strip(),
        step=1 + len(str(headers["References"] or "").split()),
        unsubscribe=link[1] if link and one_click else "",
    )
