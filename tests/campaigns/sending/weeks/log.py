"""What a mail server has seen of campaigns, and when by the clock of the story: all that the rules are held against.

Beside each entry stands what held at that moment, as the people who said so know it; nothing is read from the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email import message_from_bytes, policy

from postroom.campaigns import SendingSettings
from postroom.send.script import Moment
from postroom.testing import ReceivedMessage, ScriptedSmtp

WORDS = "Step {step} of {campaign}."
_WORDS = re.compile(rb"^Step (\d+) of (\w+)\.\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What holds at a moment."""

    settings: SendingSettings
    quotas: Mapping[str, int | None]
    """The senders' own, by address."""
    paused: frozenset[str] = frozenset()
    """Campaigns."""
    stopped: frozenset[str] = frozenset()
    """Addresses."""


@dataclass(slots=True, kw_only=True)
class Turn:
    """Somebody has begun to hand a mail over: so its turn had come just then."""

    place: int
    """Turns and arrivals are counted together, in the order in which the server saw them."""
    at: datetime
    present: Present
    to: str = ""
    """Empty where the server was told no recipient, or wanted to hear of none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A mail that the server took, whether or not it could say so."""

    place: int
    at: datetime
    """When the last of it had come: its dot."""
    turn: Turn
    campaign: str
    step: int
    to: str
    sender: str
    message_id: str
    answers: str
    """The Message-ID that it goes on from; empty where it begins a thread."""
    unsubscribe: bool
    """It has the pair of headers for one click."""
    present: Present
    """At its dot."""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.to, self.campaign, self.step

    @property
    def kept_waiting(self) -> bool:
        """The server was slow about it."""
        return self.at > self.turn.at

    def __str__(self) -> str:
        return f"step {self.step} of {self.campaign} to {self.to} at {self.at:%a %-d %b %H:%M:%S}"


@dataclass(frozen=True, slots=True)
class _Dot:
    place: int
    at: datetime
    turn: Turn
    present: Present


@dataclass(slots=True)
class ServerLog:
    """Written while the server speaks, by its thread; read when it is quiet."""

    server: ScriptedSmtp
    now: Callable[[], datetime]
    present: Callable[[], Present]
    turns: list[Turn] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    """In the order of their dots."""
    _begun: dict[int, Turn] = field(default_factory=dict)
    """By connection."""
    _dots: dict[str, _Dot] = field(default_factory=dict)
    """The last of each Message-ID, be it refused or not."""
    _places: int = 0

    def listen(self) -> None:
        """Hear of senders, recipients and dots; to be said anew behind every change of the server's script."""
        self.server.script(at="mail", when=self._sender)
        self.server.script(at="rcpt", when=self._recipient)
        self.server.script(at="dot", when=self._dot)

    def note(self) -> list[Arrival]:
        """Take down what the server has taken since the last time, and give it back."""
        new = self.server.messages[len(self.arrivals) :]
        arrivals = [_arrival(message, self._dots[message.message_id]) for message in new]
        self.arrivals += arrivals
        return arrivals

    def _sender(self, moment: Moment) -> bool:
        """Begun again at once, because the server had hung up, it is the same turn."""
        last = self.turns[-1] if self.turns else None
        again = last is not None and last.at == self.now() and not last.to
        self._begun[moment.connection] = last if again and last is not None else self._turn()
        return False

    def _recipient(self, moment: Moment) -> bool:
        turn = self._begun[moment.connection]
        if turn.to not in ("", moment.argument):  # it was another's after all
            turn = self._begun[moment.connection] = self._turn()
        turn.to = moment.argument
        return False

    def _turn(self) -> Turn:
        turn = Turn(place=self._next_place(), at=self.now(), present=self.present())
        self.turns.append(turn)
        return turn

    def _dot(self, moment: Moment) -> bool:
        turn = self._begun[moment.connection]
        self._dots[moment.argument] = _Dot(self._next_place(), self.now(), turn, self.present())
        return False

    def _next_place(self) -> int:
        self._places += 1
        return self._places


def _arrival(message: ReceivedMessage, dot: _Dot) -> Arrival:
    headers = message_from_bytes(message.data, policy=policy.default)
    words = _WORDS.search(message.data)
    assert words is not None, "no mail of these campaigns"
    return Arrival(
        place=dot.place,
        at=dot.at,
        turn=dot.turn,
        campaign=words[2].decode(),
        step=int(words[1]),
        to=message.recipients[0],
        sender=headers["From"].addresses[0].addr_spec,
        message_id=message.message_id,
        answers=str(headers["In-Reply-To"] or "").strip(),
        unsubscribe="List-Unsubscribe" in headers and "List-Unsubscribe-Post" in headers,
        present=dot.present,
    )
