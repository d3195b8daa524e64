"""A transport that leads nowhere and remembers everything, for tests that need no network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from postroom.send.contract import BeforeDot, Envelope, Fault, FaultKind, Phase, Reply, Report, may_leave
from postroom.send.script import At, Moment, Rule, Script
from postroom.send.smtp.replies import make_reply

_PHASES: dict[At, Phase] = {
    "connect": Phase.CONNECT,
    "greeting": Phase.GREETING,
    "tls": Phase.TLS,
    "ehlo": Phase.HELLO,
    "auth": Phase.AUTH,
    "mail": Phase.MAIL,
    "rcpt": Phase.RCPT,
    "data": Phase.DATA,
    "body": Phase.BODY,
    "dot": Phase.DOT,
}
_BEFORE_MAIL: tuple[At, ...] = ("connect", "greeting", "tls", "ehlo", "auth")


class _Stopped(Exception):
    """The attempt went no further."""

    def __init__(self, *, reply: Reply | None = None, fault: Fault | None = None) -> None:
        self.reply = reply
        self.fault = fault


class MemoryLine:
    """One of its lines."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport

    async def deliver(
        self, envelope: Envelope, /, *, before_dot: BeforeDot | None = None, following: Envelope | None = None
    ) -> Report:
        """Attempt one envelope; what follows has its own turn."""
        return await self._transport.send(envelope, before_dot=before_dot)


class MemoryTransport:
    """Accepts everything until it is told otherwise, in the words of `postroom.testing.ScriptedSmtp`.

        transport = MemoryTransport()
        transport.script(at="dot", reply="451 4.3.0 later", times=1)
        transport.script(at="rcpt", argument="nobody@example.org", reply="550 5.1.1 no such user")
        transport.script(at="dot", cut=True)            # takes the email, and the reply never comes

    Each attempt goes through the same phases as a real one and gives the same reports. Dots are not doubled, time does
    not pass, and `stall` is a timeout at once. `Outbox(…, transport=transport)` and any worker take it.
    """

    def __init__(self, name: str = "memory", *, connections: int = 4, rate: str | None = None) -> None:
        self.name = name
        self.connections = connections
        self.rate = rate
        self.sent: list[Envelope] = []
        """What was accepted, each with the recipients who were; a reply that was cut off does not undo that."""
        self.attempts = 0
        self._script = Script()

    def script(
        self,
        *,
        at: At,
        reply: str | None = None,
        times: int | None = None,
        argument: str | None = None,
        cut: bool = False,
        stall: bool = False,
        accept: bool | None = None,
    ) -> None:
        """Answer differently at one moment: always, or the next `times` times. `Rule` says what the arguments mean."""
        if at not in _PHASES:
            raise ValueError(f"nothing is scripted at {at!r} here; the moments are {', '.join(_PHASES)}")
        rule = Rule(at=at, reply=reply, argument=argument, cut=cut, stall=stall, accept=accept)
        self._script.add(rule, times=times)

    def clear_script(self) -> None:
        """Accept everything again."""
        self._script.clear()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[MemoryLine]:
        """A line; nobody waits for one."""
        yield MemoryLine(self)

    async def probe(self) -> Report:
        """What the script says up to signing in."""
        reached: list[Phase] = []
        try:
            self._pass_all(_BEFORE_MAIL, reached)
        except _Stopped as stopped:
            return Report(recipients=(), reply=stopped.reply, fault=stopped.fault, capabilities_known=False)
        return Report(recipients=(), capabilities_known=True)

    async def send(self, envelope: Envelope, *, before_dot: BeforeDot | None = None) -> Report:
        """Attempt one envelope."""
        self.attempts += 1
        recipients: list[Reply | None] = []
        reached: list[Phase] = []
        stopped = _Stopped()
        try:
            await self._attempt(envelope, before_dot, recipients, reached)
        except _Stopped as caught:
            stopped = caught
        return Report(
            recipients=(*recipients, *[None] * (len(envelope.recipients) - len(recipients))),
            reply=stopped.reply,
            fault=stopped.fault,
            dot_left=Phase.DOT in reached,
            capabilities_known=Phase.TLS in reached,
        )

    async def close(self) -> None:
        """Nothing to close."""

    async def _attempt(
        self, envelope: Envelope, before_dot: BeforeDot | None, recipients: list[Reply | None], reached: list[Phase]
    ) -> None:
        self._pass_all(_BEFORE_MAIL, reached)
        self._pass("mail", envelope.sender, reached)
        accepted = []
        for address in envelope.recipients:
            reply = self._hear("rcpt", "250 2.1.5 Ok", address, reached)
            recipients.append(reply)
            if reply.code == 421:
                raise _Stopped(reply=reply)
            if reply.code < 400:
                accepted.append(address)
        if not accepted:
            raise _Stopped
        self._pass_all(("data", "body"), reached)
        if not await may_leave(before_dot):
            text = "the right to send was lost before the dot; nothing was sent"
            raise _Stopped(fault=Fault(phase=Phase.BODY, kind=FaultKind.ABANDONED, text=text))
        self._finish(envelope, tuple(accepted), reached)

    def _finish(self, envelope: Envelope, accepted: tuple[str, ...], reached: list[Phase]) -> None:
        reached.append(Phase.DOT)
        moment = Moment(at="dot")
        rule = self._script.rule_for(moment) or Rule(at="dot")
        refused = rule.reply is not None and str(rule.reply)[:1] in ("4", "5")
        if not refused if rule.accept is None else rule.accept:
            kept = Envelope(
                sender=envelope.sender, recipients=accepted, message=envelope.message, smtputf8=envelope.smtputf8
            )
            self.sent.append(kept)
        raise _Stopped(reply=_outcome(rule, "250 2.0.0 Ok"))

    def _pass_all(self, moments: tuple[At, ...], reached: list[Phase]) -> None:
        for at in moments:
            self._pass(at, "", reached)

    def _pass(self, at: At, argument: str, reached: list[Phase]) -> None:
        """Go on to the next phase, unless the script says no."""
        reply = self._hear(at, "250 2.0.0 Ok", argument, reached)
        if reply.code >= 400:
            raise _Stopped(reply=reply)

    def _hear(self, at: At, usual: str, argument: str, reached: list[Phase]) -> Reply:
        reached.append(_PHASES[at])
        rule = self._script.rule_for(Moment(at=at, argument=argument))
        return _outcome(rule or Rule(at=at), usual)


def _outcome(rule: Rule, usual: str) -> Reply:
    """What the rule makes the server say, or `_Stopped` where it says nothing."""
    phase = _PHASES[rule.at]
    if not rule.stall and not rule.cut:
        text = usual if rule.reply is None else str(rule.reply)
        return make_reply(phase, (text.encode(),))
    kind = FaultKind.TIMEOUT if rule.stall else FaultKind.REFUSED if phase is Phase.CONNECT else FaultKind.CUT
    raise _Stopped(fault=Fault(phase=phase, kind=kind, text="as the script says"))
