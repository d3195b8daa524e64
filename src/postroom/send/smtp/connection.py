"""One envelope after another over one connection, each with an exact account of how far it came.

`before_dot` is asked, and only then does the final dot go out. Until that moment a failure is harmless; from it on,
without a complete reply, nobody can know. `dot_left` says on which side of that line an attempt ended, and it is never
False when the dot may have gone.

A message of more than 64 KiB, or under TLS, is written and drained first, and its dot goes out on its own. A smaller
one goes out together with its dot, in one write after the question, which saves a system call per email; the order of
bytes, of the question and of the dot is the same. The kernel takes all of such a write as a rule. When it takes
nothing, because the connection is gone, the dot has not left. When it takes part, the wire counts what is still in our
hands: where that is certain to include the dot, it has not left; where a reset connection leaves nothing to count, it
may have.

Where the server pipelines, MAIL, RCPT and DATA go in one write, and the next envelope's may ride behind this one's
dot (RFC 2920, 3.1 allows just that), which saves a round trip per email. Such an envelope has been opened, not sent:
its message goes out when `deliver` is called with it, and if the connection ends before, nothing has happened to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from time import monotonic

from postroom.send.contract import BeforeDot, Envelope, Fault, FaultKind, LastLook, Phase, Reply, Report
from postroom.send.smtp import commands
from postroom.send.smtp.attempt import Attempt
from postroom.send.smtp.capabilities import Capabilities
from postroom.send.smtp.replies import Lines, code_of, make_reply
from postroom.send.smtp.server import Limits
from postroom.send.smtp.wire import Ended, Wire

BLOCK = 65536
"""How much is written before we wait for the kernel to have taken it."""
MOST_BEHIND_THE_DOT = 100
"""RFC 5321 asks every server to take this many recipients; an envelope with more is opened when its turn comes."""
SHARE = 60
"""The part of a command's limit that each of many recipients adds to their common one: 5 s of 5 minutes."""
_OWED_FOR_ONE = 3
"""Replies to MAIL, one RCPT and DATA: no more than each has a limit for."""
_CLOSING = 2.0
# Looked up once: on Python 3.11 a member of an enum costs a call each time, and so does its value.
_MAIL, _RCPT, _DATA, _BODY, _DOT = Phase.MAIL, Phase.RCPT, Phase.DATA, Phase.BODY, Phase.DOT
_PARAMETER_REFUSED = frozenset({501, 504, 555})
"""501 and 504 come from servers that do not know 555."""
_STEP_MAIL, _STEP_BODY, _STEP_DOT = _MAIL.value, _BODY.value, _DOT.value


class Connection:
    """A greeted, secured and authenticated connection. One task at a time."""

    def __init__(
        self,
        wire: Wire,
        capabilities: Capabilities,
        *,
        limits: Limits,
        idle: float,
        wants_less: Callable[[], None] = lambda: None,
    ) -> None:
        """`wants_less` is called when the server turns out to take MAIL only without what a message can do without."""
        self.capabilities = capabilities
        self.delivered = 0
        """Envelopes taken on so far."""
        self.unheard = False
        """The server ended the last conversation before it answered MAIL: on a fresh connection it may go better."""
        self.out_of_step = False
        """The server and we no longer agree on where the session stands: this envelope, too, needs a new one."""
        self._wire = wire
        self._limits = limits
        self._idle = idle
        self._wants_less = wants_less
        self._loop = asyncio.get_running_loop()
        self._ahead: Envelope | None = None
        self._unfinished = False
        wire.be_brief()
        wire.allow(idle)

    @property
    def usable(self) -> bool:
        return self._wire.ended is None

    def ready_for(self, envelope: Envelope) -> bool:
        """Whether this envelope can be delivered here: no other has been opened."""
        return self._wire.ended is None and (self._ahead is None or self._ahead is envelope)

    def belongs_here(self) -> bool:
        """Whether this connection was opened in the running event loop; in another it is of no use."""
        return self._loop is asyncio.get_running_loop()

    def has_opened(self, envelope: Envelope) -> bool:
        return self._ahead is envelope

    @property
    def has_opened_any(self) -> bool:
        return self._ahead is not None

    async def deliver(
        self, envelope: Envelope, *, before_dot: BeforeDot | None = None, following: Envelope | None = None
    ) -> Report:
        """Attempt one envelope and say what happened.

        With `following`, that envelope may be opened behind this one's dot; it is to be the next one delivered here,
        and if it is not, the connection is closed rather than left with a message begun.

        Cancelled before the dot, the connection is closed and nothing was sent. Cancelled after it, the fate of the
        message is unknown: whoever may cancel must shield this call.
        """
        attempt = Attempt(envelope, monotonic())
        self.delivered += 1
        try:
            await self._carry(attempt, before_dot, following)
        except Ended as ended:
            self._explain(attempt, ended)
            ended.with_traceback(None)  # the wire keeps it, and it would keep the message
        except BaseException:
            self.close()
            raise
        self.unheard = not attempt.heard and attempt.fell_silent and not self.usable
        if attempt.reply is not None and attempt.reply.phase is _MAIL:
            self._look_at_refusal(attempt, attempt.reply)
        if self._ahead is None:
            self._wire.allow(self._idle)
        return attempt.report()

    def close(self) -> None:
        """Close, with a goodbye unless a message was begun. Nothing is awaited."""
        if self._unfinished or self._ahead is not None:
            self._wire.end(FaultKind.CUT, "closed by us")
        else:
            self._wire.farewell()

    async def closed(self) -> None:
        """Wait for a connection that was told to close."""
        await self._wire.closed(_CLOSING)

    async def _carry(self, attempt: Attempt, before_dot: BeforeDot | None, following: Envelope | None) -> None:
        if self._ahead is None:
            attempt.fault = commands.unsuitable(attempt.envelope, self.capabilities)
            if attempt.fault is not None:
                return
        elif self._ahead is not attempt.envelope:
            raise self._wire.end(FaultKind.CUT, "closed by us: another envelope had been opened")
        opened = await (self._open_at_once if self.capabilities.pipelining else self._open_in_turn)(attempt)
        if not opened and attempt.reply is not None and self.usable and self._asks_for_less(attempt, attempt.reply):
            opened = await self._open_with_less(attempt, attempt.reply)
        attempt.note(_STEP_MAIL, monotonic())
        if not opened:
            return
        attempt.phase = _BODY
        if len(attempt.envelope.message) <= BLOCK and not self._wire.secure:
            if isinstance(before_dot, LastLook):
                await before_dot.look()
            self._send_at_once(attempt, before_dot, following)
        else:
            await self._send_in_turn(attempt, before_dot, following)
        self._hear_dot(attempt, await self._wire.reply())
        attempt.note(_STEP_DOT, monotonic())

    def _asks_for_less(self, attempt: Attempt, refusal: Reply) -> bool:
        """Whether it may be a parameter of MAIL that was refused, and one that the message can do without."""
        return (
            refusal.phase is _MAIL
            and refusal.code in _PARAMETER_REFUSED
            and not (refusal.enhanced or "").startswith("5.1.")  # that is about the address
            and commands.has_spare_parameters(attempt.envelope, self.capabilities)
        )

    async def _open_with_less(self, attempt: Attempt, refusal: Reply) -> bool:
        """The same again, without what the message can do without. Should that not help, the first refusal stands."""
        before, self.capabilities = self.capabilities, self.capabilities.sparing()
        attempt.reply, attempt.phase = None, _MAIL
        opened = await (self._open_at_once if before.pipelining else self._open_in_turn)(attempt)
        if attempt.reply is None or attempt.reply.phase is not _MAIL:
            self._wants_less()
        else:
            self.capabilities = before
            attempt.reply = refusal
        return opened

    async def _open_at_once(self, attempt: Attempt) -> bool:
        """MAIL, every RCPT and DATA in one write. True when the server now waits for the message."""
        wire, owed = self._wire, len(attempt.envelope.recipients) + 2
        most = inf if owed == _OWED_FOR_ONE else self._for_opening(attempt)
        if self._ahead is not None:
            self._ahead = None
            wire.allow(self._limits.command, most=most)
        else:
            opening = commands.whole(attempt.envelope, self.capabilities)
            await self._reset()
            wire.write(opening, replies=owed, limit=self._limits.command, most=most)
        self._unfinished = True
        welcome = self._hear_mail(attempt, wire.reply_at_hand() or await wire.reply(wanted=owed - 1))
        for left in range(owed - 2, 0, -1):
            lines = wire.reply_at_hand() or await wire.reply(wanted=left)
            if welcome and not self._hear_recipient(attempt, lines):
                return False
        attempt.phase = _DATA
        lines = wire.reply_at_hand() or await wire.reply(limit=self._limits.data)
        if welcome and attempt.accepted:
            return self._hear_data(attempt, lines)
        if code_of(lines) == 354:
            # The server waits for a message that nobody is to get.
            wire.end(FaultKind.CUT, "closed by us: no recipient was accepted")
        return False

    async def _open_in_turn(self, attempt: Attempt) -> bool:
        """MAIL, RCPT and DATA one at a time. True when the server now waits for the message."""
        wire, limits = self._wire, self._limits
        mail = commands.mail(attempt.envelope, self.capabilities)
        recipients = [commands.recipient(address, self.capabilities) for address in attempt.envelope.recipients]
        await self._reset()
        self._unfinished = True
        wire.write(mail, replies=1, limit=limits.command)
        until = monotonic() + self._for_opening(attempt)
        if not self._hear_mail(attempt, await wire.reply()):
            return False
        for recipient in recipients:
            wire.write(recipient, replies=1, limit=max(0.0, min(limits.command, until - monotonic())))
            if not self._hear_recipient(attempt, await wire.reply()):
                return False
        if not attempt.accepted:
            return False
        attempt.phase = _DATA
        wire.write(b"DATA\r\n", replies=1, limit=limits.data)
        return self._hear_data(attempt, await wire.reply())

    def _for_opening(self, attempt: Attempt) -> float:
        """Seconds for MAIL and every RCPT together: as long as each may take, for one; far less for each of many."""
        return self._limits.command * (2 + len(attempt.envelope.recipients) / SHARE)

    async def _reset(self) -> None:
        """Leave an unfinished transaction behind, so that its recipients cannot get the next message."""
        if not self._unfinished:
            return
        self._wire.write(b"RSET\r\n", replies=1, limit=self._limits.command)
        if code_of(await self._wire.reply()) != 250:
            raise self._wire.end(FaultKind.PROTOCOL, "the server refused RSET")
        self._unfinished = False

    def _look_at_refusal(self, attempt: Attempt, refusal: Reply) -> None:
        """Find out whether MAIL was refused because of the session, and not because of what it said."""
        self.out_of_step = refusal.code == 503
        if not self.usable and self._asks_for_less(attempt, refusal):
            # We had to close, because the server waits for a message that it has refused.
            self._wants_less()
            self.out_of_step = True
        if self.out_of_step:
            self._wire.end(FaultKind.CUT, "closed by us: out of step")

    def _hear_mail(self, attempt: Attempt, lines: Lines) -> bool:
        reply = make_reply(_MAIL, lines)
        attempt.heard = reply.code != 421
        if reply.code // 100 == 2:
            attempt.phase = _RCPT
            return True
        if reply.code < 400:
            raise self._nonsense(reply)
        attempt.reply = reply
        return False

    def _hear_recipient(self, attempt: Attempt, lines: Lines) -> bool:
        """Note what was said to one recipient; False when it was said to the whole session."""
        reply = make_reply(_RCPT, lines)
        attempt.recipients.append(reply)
        if reply.code // 100 == 2:
            attempt.accepted += 1
        elif reply.code < 400:
            raise self._nonsense(reply)
        elif reply.code == 421:
            attempt.reply = reply
            self._wire.end(FaultKind.CUT, "the server closed the session")
            return False
        return True

    def _hear_data(self, attempt: Attempt, lines: Lines) -> bool:
        reply = make_reply(_DATA, lines)
        if reply.code == 354:
            return True
        if reply.code < 400:
            raise self._nonsense(reply)
        attempt.reply = reply
        return False

    def _send_at_once(self, attempt: Attempt, before_dot: BeforeDot | None, following: Envelope | None) -> None:
        """A short message, the dot, and the next envelope where that is safe, in one write."""
        wire, limits, behind = self._wire, self._limits, self._behind(following)
        message, ending = commands.stuffed(attempt.envelope.message), commands.DOT + behind
        wire.check()
        self._ask(before_dot)
        wire.write_message(message, ending, replies=_owed(following, behind), limit=limits.dot, block=limits.block)
        self._note_dot(attempt, following if behind else None)

    async def _send_in_turn(self, attempt: Attempt, before_dot: BeforeDot | None, following: Envelope | None) -> None:
        """A message block by block until the kernel has all of it; then the dot, and the next envelope behind it."""
        message, wire, limits = attempt.envelope.message, self._wire, self._limits
        if len(message) <= BLOCK:
            wire.write(commands.stuffed(message))
            await wire.drained(limits.block)
        else:
            for block in commands.stuffed_blocks(message, BLOCK):
                wire.write(block)
                await wire.drained(limits.block)
                await asyncio.sleep(0)  # the server may have something to say about a long message
        behind = self._behind(following)
        if isinstance(before_dot, LastLook):
            await before_dot.look()
        self._ask(before_dot)
        wire.write(commands.DOT + behind, replies=_owed(following, behind), limit=limits.dot)
        self._note_dot(attempt, following if behind else None)

    def _ask(self, before_dot: BeforeDot | None) -> None:
        if before_dot is not None and not before_dot():
            self._wire.end(FaultKind.ABANDONED, "abandoned before the dot")
            raise Ended(FaultKind.ABANDONED, "the right to send was lost before the dot; nothing was sent")

    def _note_dot(self, attempt: Attempt, ahead: Envelope | None) -> None:
        attempt.dot_left = True
        attempt.note(_STEP_BODY, monotonic())
        attempt.phase = _DOT
        self._ahead = ahead

    def _hear_dot(self, attempt: Attempt, lines: Lines) -> None:
        """What became of the message."""
        reply = make_reply(_DOT, lines)
        if 300 <= reply.code < 400:
            raise self._nonsense(reply)
        attempt.reply = reply
        self._unfinished = False

    def _behind(self, following: Envelope | None) -> bytes:
        if following is None or not self.capabilities.pipelining or len(following.recipients) > MOST_BEHIND_THE_DOT:
            return b""
        if commands.unsuitable(following, self.capabilities) is not None:
            return b""
        try:
            return commands.whole(following, self.capabilities)
        except ValueError:
            return b""  # its own turn will tell; this message has nothing to do with it

    def _nonsense(self, reply: Reply) -> Ended:
        self._wire.end(FaultKind.PROTOCOL, "unexpected reply")
        return Ended(FaultKind.PROTOCOL, f"unexpected reply: {reply}")

    def _explain(self, attempt: Attempt, ended: Ended) -> None:
        """Say why there is no reply to what was asked last."""
        self._ahead = None
        if self._wire.kept_dot:
            attempt.dot_left, attempt.phase = False, _BODY
        attempt.note(attempt.phase.value, monotonic())
        if attempt.reply is not None:
            return  # refused already; only the leftovers of the pipeline are missing
        said = self._wire.unsolicited
        if attempt.phase is _BODY and said is not None and code_of(said) >= 400:
            attempt.reply = make_reply(_BODY, said)
        else:
            attempt.fault = Fault(phase=attempt.phase, kind=ended.kind, text=ended.text)


def _owed(following: Envelope | None, behind: bytes) -> int:
    """How many replies there are to a dot and the envelope behind it."""
    return len(following.recipients) + 3 if following is not None and behind else 1
