"""All that the engine needs of a way out: what a transport is given, and what it gives back.

What comes back are values, whatever the network did: a transport never raises because of it or of the server. Where
something was said decides what it is about (connection, greeting, TLS and AUTH: the transport; MAIL: the sender; RCPT:
one recipient; DATA and the dot: the email), so every reply and every fault carries its phase.

The dot is the word for the moment from which nobody can know: the end of a message over SMTP, the end of a request
over HTTP. Whatever a channel speaks, `before_dot` is asked before it leaves, and `dot_left` tells whether it may have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class Phase(StrEnum):
    """How far the conversation had come. The order of the members is the order of the conversation over SMTP."""

    CONNECT = "connect"
    GREETING = "greeting"
    TLS = "tls"
    HELLO = "hello"
    AUTH = "auth"
    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    BODY = "body"
    DOT = "dot"
    ANSWER = "answer"
    """Where a request is made and answered, as over HTTP: what `DOT` is over SMTP."""

    __hash__ = str.__hash__  # an enum's own is several times slower, and phases are looked up for every reply


NOBODY_WAS_ASKED = 0
"""The code of a recipient whom a delivery mode has captured while the email left for others: no server spoke of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One complete reply of the server."""

    phase: Phase
    code: int
    text: str
    """All lines joined by a space, printable, without the codes; at most 500 characters."""
    enhanced: str | None = None
    """The RFC 3463 code, such as `4.7.1`, when the server gave one; over HTTP, a provider's own code."""
    retry_after: float | None = None
    """Seconds that we are asked to wait, where the protocol has a place for that."""

    def __str__(self) -> str:
        return " ".join(part for part in (str(self.code), self.enhanced, self.text) if part)


class FaultKind(StrEnum):
    """What ended a conversation when no complete reply did."""

    REFUSED = "refused"
    """No TCP connection: refused, unreachable, unresolvable."""
    TIMEOUT = "timeout"
    CUT = "cut"
    """The connection was closed or reset."""
    PROTOCOL = "protocol"
    """The other end said something that is not of the protocol, or too much of it."""
    TLS = "tls"
    """Handshake or certificate trouble, or required TLS not offered."""
    CONFIGURATION = "configuration"
    """The server lacks what our settings demand, such as an AUTH mechanism."""
    TOO_LARGE = "too_large"
    """The server's SIZE is smaller than the message; nothing was uploaded."""
    NEEDS_SMTPUTF8 = "needs_smtputf8"
    """An address needs SMTPUTF8 and the server does not offer it; nothing was uploaded."""
    ABANDONED = "abandoned"
    """`before_dot` said no: the lease was lost or too short, or somebody has stopped it. Nothing was sent."""
    FORBIDDEN = "forbidden"
    """Our own settings forbid to go there; nothing was connected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What went wrong where no reply tells it."""

    phase: Phase
    kind: FaultKind
    text: str
    enhanced: str | None = None
    """The RFC 3463 code that a server would have given, where there is one for it."""

    def __str__(self) -> str:
        return f"{self.kind.value} at {self.phase.value}: {self.text}"


@dataclass(slots=True, kw_only=True)  # not frozen: every email has one, and making it would take thrice as long
class Envelope:
    """One message and those of its recipients who still wait for it. Nobody changes one."""

    sender: str
    """The reverse path; empty for the null sender."""
    recipients: tuple[str, ...]
    message: bytes
    """CRLF lines, ending in CRLF; dots not stuffed."""
    smtputf8: bool = False
    """An address or header needs RFC 6531."""
    id: str = ""
    """Of the email: a server that reports on deliveries names it. Letters, digits and hyphens."""


@dataclass(slots=True, kw_only=True)  # not frozen, as `Envelope` is not
class Report:
    """What happened to one envelope. Exactly what was said is kept; what it means is for `settle` to decide.

    Nobody changes one.
    """

    recipients: tuple[Reply | None, ...]
    """The reply to each RCPT, in the envelope's order; None where none was received."""
    reply: Reply | None = None
    """The reply that ended the transaction: to the dot, or the refusal that came before it."""
    fault: Fault | None = None
    """What ended it when no reply did. At most one of `reply` and `fault` ends a transaction."""
    dot_left: bool = False
    """The final dot may have left. With no complete reply to it, nobody can know what the server did.

    Never False when the kernel may have got the dot; True when that cannot be told.
    """
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    """Time per step of the conversation, by phase name."""
    capabilities_known: bool = False
    """The server was reached and greeted us: a later failure is not an outage."""


BeforeDot = Callable[[], bool]
"""Asked when the server waits for the message, and before the dot is written; False abandons the message unsent.

A short message may leave together with its dot, and then the question comes before the first byte of it. One that is a
`LastLook` is to be given the time to look first. A transport that does not know of these asks it all the same, and is
answered from what is known already.
"""


class LastLook:
    """A `BeforeDot` whose answer lies elsewhere: `look` is awaited when all else is done, and then it is asked.

    A plain class, because every email is asked whether its question is one.
    """

    __slots__ = ()

    async def look(self) -> None:
        """Find out what to answer. Takes a few seconds at most, and never raises."""
        raise NotImplementedError

    def __call__(self) -> bool:
        """Whether the dot may leave."""
        raise NotImplementedError


async def may_leave(before_dot: BeforeDot | None) -> bool:
    """The answer, looked for if need be."""
    if isinstance(before_dot, LastLook):
        await before_dot.look()
    return before_dot is None or before_dot()


class Payload(Protocol):
    """One message, ready to leave: an `Envelope`, or whatever a channel's transport carries."""

    @property
    def recipients(self) -> tuple[str, ...]:
        """Those it is for who still wait for it. The report has an entry for each, in this order."""


class Line(Protocol):
    """The use of one connection at a time, by one task."""

    async def deliver(self, payload: Any, /, *, before_dot: BeforeDot | None = None, following: Any = None) -> Report:
        """Attempt one payload. A value for whatever happened; raises only on a bug of ours or on cancellation.

        `following`, if given, is to be the next one delivered here, and may be begun behind this one's dot; a
        transport that cannot do that leaves it alone. Cancelled before the dot, nothing was sent; cancelled after it,
        the fate is unknown.
        """


class Transport(Protocol):
    """A way out. Belongs to one event loop at a time; in a forked process it has connections of its own."""

    name: str
    """As shown to people: `smtp.example.org:587`; never with credentials."""

    @property
    def connections(self) -> int:
        """How many lines there are."""

    @property
    def rate(self) -> str | None:
        """How many may leave in a period, over all workers, such as `14/s`; None for as many as there are."""

    def connection(self) -> AbstractAsyncContextManager[Line]:
        """A line for as long as it is wanted; waits while all of them are taken."""

    async def probe(self) -> Report:
        """Look whether the other end is well and we are welcome, without sending anything.

        Without a fault and without a refusal (`reply.code` below 400) it can be sent to.
        """

    async def close(self) -> None:
        """Take leave of the other end. A later delivery opens a new connection."""
