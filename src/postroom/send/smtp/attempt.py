"""What is known so far about one envelope, until it becomes a report."""

from __future__ import annotations

from postroom.send.contract import Envelope, Fault, FaultKind, Phase, Reply, Report

_FIRST = Phase.MAIL


class Attempt:
    """What is known so far about one envelope."""

    __slots__ = (
        "_since",
        "accepted",
        "dot_left",
        "envelope",
        "fault",
        "heard",
        "milliseconds",
        "phase",
        "recipients",
        "reply",
    )

    def __init__(self, envelope: Envelope, now: float) -> None:
        self.envelope = envelope
        self.phase = _FIRST
        self.recipients: list[Reply | None] = []
        self.accepted = 0
        self.reply: Reply | None = None
        self.fault: Fault | None = None
        self.dot_left = False
        self.heard = False
        self.milliseconds: dict[str, float] = {}
        self._since = now

    @property
    def fell_silent(self) -> bool:
        """The server went away, or took its leave, instead of answering."""
        if self.fault is not None:
            return self.fault.kind in (FaultKind.CUT, FaultKind.PROTOCOL)
        return self.reply is not None and self.reply.code == 421

    def note(self, phase: str, now: float) -> None:
        """The round trip of MAIL, RCPT and DATA together is noted under MAIL."""
        self.milliseconds[phase] = (now - self._since) * 1000
        self._since = now

    def report(self) -> Report:
        missing = len(self.envelope.recipients) - len(self.recipients)
        return Report(
            recipients=(*self.recipients, *[None] * missing) if missing else tuple(self.recipients),
            reply=self.reply,
            fault=self.fault,
            dot_left=self.dot_left,
            milliseconds=self.milliseconds,
            capabilities_known=True,
        )
