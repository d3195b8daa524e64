"""A way out that keeps to a delivery mode. Whoever sends through it need not know that there are any.

What is captured goes through the same questions as what leaves, and has a report as if a server had taken it, whose
text says what became of it. What is redirected has two more headers before its own; its bytes are the same at every
attempt, because all of its recipients share one fate.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from postroom.send.contract import (
    NOBODY_WAS_ASKED,
    BeforeDot,
    Envelope,
    Fault,
    FaultKind,
    Line,
    Phase,
    Reply,
    Report,
    Transport,
    may_leave,
)
from postroom.send.delivery_mode import DeliveryMode, Mode

CAPTURED = "captured: not delivered, as POSTROOM_DELIVERY says"
REDIRECTED = "redirected, as POSTROOM_DELIVERY says"
LONGEST = 500


class GuardedTransport:
    """A transport under a mode other than `deliver`. What is to be captured does not even reach the one inside."""

    def __init__(self, inner: Transport, delivery: DeliveryMode, *, email: bool) -> None:
        """`email`: what leaves by it are envelopes; anything else is captured."""
        self._inner = inner
        self._delivery = delivery
        self._answers = Phase.DOT if email else Phase.ANSWER
        self._leads_somewhere = email and delivery.mode is not Mode.CAPTURE
        self.name = inner.name

    @property
    def connections(self) -> int:
        return self._inner.connections

    @property
    def rate(self) -> str | None:
        return self._inner.rate

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Line]:
        """A line; one of the transport inside, as far as that is used."""
        if not self._leads_somewhere:
            yield CapturingLine(self._answers)
            return
        async with self._inner.connection() as line:
            yield GuardedLine(line, self._delivery)

    async def probe(self) -> Report:
        """What leads nowhere is always well."""
        return await self._inner.probe() if self._leads_somewhere else Report(recipients=(), capabilities_known=True)

    async def close(self) -> None:
        await self._inner.close()


class CapturingLine:
    """Takes everything, and sends nothing."""

    def __init__(self, answers: Phase = Phase.DOT) -> None:
        self._reply = Reply(phase=answers, code=250 if answers is Phase.DOT else 200, text=CAPTURED)

    async def deliver(self, payload: Any, /, *, before_dot: BeforeDot | None = None, following: Any = None) -> Report:
        """As if it had been taken for everybody, provided that it is still ours."""
        if not await may_leave(before_dot):
            text = "the right to send was lost before the dot; nothing was sent"
            fault = Fault(phase=Phase.BODY, kind=FaultKind.ABANDONED, text=text)
            return Report(recipients=(None,) * len(payload.recipients), fault=fault)
        return Report(recipients=(self._reply,) * len(payload.recipients), reply=self._reply, dot_left=True)


class GuardedLine:
    """A line on which emails leave for other recipients than their own, or for some of them."""

    def __init__(self, line: Line, delivery: DeliveryMode) -> None:
        self._line = line
        self._delivery = delivery
        self._capturing = CapturingLine()
        self._following: tuple[Envelope, Envelope | None] | None = None
        """What was announced to the line, before and after: it has to be the very same when its turn comes."""

    async def deliver(
        self, envelope: Envelope, /, *, before_dot: BeforeDot | None = None, following: Envelope | None = None
    ) -> Report:
        """Attempt one envelope for those who get it."""
        leaving = self._leaving(envelope)
        self._following = None if following is None else (following, guarded(following, self._delivery))
        if leaving is None:
            return await self._capturing.deliver(envelope, before_dot=before_dot)
        behind = self._following[1] if self._following else None
        report = await self._line.deliver(leaving, before_dot=before_dot, following=behind)
        if self._delivery.mode is Mode.REDIRECT:
            return _told_to_all(report, len(envelope.recipients))
        return _told_apart(report, envelope.recipients, leaving.recipients)

    def _leaving(self, envelope: Envelope) -> Envelope | None:
        if self._following is not None and self._following[0] is envelope:
            return self._following[1]
        return guarded(envelope, self._delivery)


def guarded(envelope: Envelope, delivery: DeliveryMode) -> Envelope | None:
    """The envelope as it leaves under a mode; None where nobody gets it. The same each time."""
    if delivery.mode is Mode.REDIRECT:
        message = _headers(envelope.recipients) + envelope.message
        return replace(envelope, recipients=(delivery.to,), message=message)
    reached = delivery.may_reach(envelope.recipients)
    if len(reached) == len(envelope.recipients):
        return envelope
    return replace(envelope, recipients=reached) if reached else None


def _headers(recipients: tuple[str, ...]) -> bytes:
    """Who should have got it, one to a line. Where an address needs SMTPUTF8, the envelope says so already."""
    listed = ",\r\n ".join(recipients)
    return f"X-Postroom-Delivery: redirect\r\nX-Postroom-Redirected-From: {listed}\r\n".encode()


def _told_to_all(report: Report, recipients: int) -> Report:
    """What was said of the one address holds for everybody; an acceptance and a refusal tell whose it is not."""
    reply = report.reply
    if reply is not None and reply.phase is Phase.DOT and reply.code < 300:
        reply = replace(reply, text=f"{REDIRECTED}: {reply.text}"[:LONGEST])
    elif reply is not None:
        reply = _marked(reply)
    told = tuple([each and _marked(each) for each in report.recipients[:1] or (None,)])
    return replace(report, recipients=told * recipients, reply=reply)


def _marked(reply: Reply) -> Reply:
    """A refusal for good with a mark behind it: nobody is to be struck off a list for it."""
    if reply.code < 500:
        return reply
    mark = f" ({REDIRECTED})"
    return replace(reply, text=reply.text[: LONGEST - len(mark)] + mark)


def _told_apart(report: Report, recipients: tuple[str, ...], reached: tuple[str, ...]) -> Report:
    """What was said of those who were reached, and that the others were captured."""
    if len(recipients) == len(reached):
        return report
    said = dict(zip(reached, report.recipients, strict=False))
    captured = Reply(phase=Phase.RCPT, code=NOBODY_WAS_ASKED, text=CAPTURED)
    return replace(report, recipients=tuple([said.get(each) if each in said else captured for each in recipients]))
