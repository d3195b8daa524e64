"""One conversation of the scripted server with one client."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import re
import ssl
import time
from dataclasses import dataclass

from postroom.send.script import At, Moment, Rule, Script
from postroom.testing.channel import Channel
from postroom.testing.record import NotKept, ReceivedMessage, Record, message_id_of

_PATH = re.compile(rb"(?:FROM|TO):\s*<([^>]*)>", re.IGNORECASE)
_SIZE = re.compile(rb"\sSIZE=(\d{1,18})(?:\s|$)", re.IGNORECASE)
_USUALLY = Rule(at="connect")
_TOO_LARGE = "552 5.3.4 the message is too large"
_LONGEST_COMMAND = 65_536
"""Longer than any command may be; beyond it, somebody is only filling memory."""


@dataclass(slots=True, kw_only=True)
class Behaviour:
    """What all conversations of one server share."""

    extensions: tuple[str, ...]
    users: dict[str, str]
    mechanisms: tuple[str, ...]
    tls: ssl.SSLContext | None
    implicit_tls: bool
    esmtp: bool
    script: Script
    record: Record
    name: str = "scripted.example"
    """What the server calls itself."""
    any_password: bool = False
    """Whether AUTH is offered without being needed, and every user and password is right."""
    max_bytes: int | None = None
    """The largest message that is taken; it should be what SIZE says."""
    max_connections: int = 10_000
    """Those beyond are reset at once."""


class _Over(Exception):
    """The conversation is to end here."""


class Dialogue:
    """Reads commands and answers them, as usual or as the script says."""

    def __init__(self, behaviour: Behaviour, number: int, channel: Channel) -> None:
        self._behaviour = behaviour
        self._number = number
        self._channel = channel
        self._secure = False
        self._authenticated = not behaviour.users
        self._sender: str | None = None
        self._recipients: list[str] = []

    async def run(self) -> None:
        """Converse until one side leaves."""
        with contextlib.suppress(_Over, EOFError, OSError):
            await self._answer("connect", None)
            if self._behaviour.implicit_tls:
                await self._handshake()
            await self._answer("greeting", f"220 {self._behaviour.name} ESMTP")
            while True:
                await self._command((await self._line(_LONGEST_COMMAND)).rstrip(b"\r\n"))

    def abort(self) -> None:
        """Close without ceremony."""
        self._channel.abort()

    # Answering

    async def _answer(self, at: At, usual: str | bytes | None, argument: str = "", parameters: str = "") -> str:
        """Do what the script says here, or the usual. Returns the code that was given, empty when none was."""
        moment = Moment(at=at, argument=argument, connection=self._number, parameters=parameters)
        return await self._perform(self._behaviour.script.rule_for(moment) or _USUALLY, usual)

    async def _perform(self, rule: Rule, usual: str | bytes | None) -> str:
        if rule.delay:
            await asyncio.sleep(rule.delay)
        if rule.hold is not None:
            await rule.hold.wait(self._channel.over)
        reply = rule.reply if rule.stall or rule.cut is True or rule.reply is not None else usual
        if reply is not None:
            await self._say(reply, rule)
        if rule.stall:
            await asyncio.Event().wait()
        if rule.cut or rule.reset:
            self._cut(reset=rule.reset)
        return _code(reply)

    async def _say(self, reply: str | bytes, rule: Rule) -> None:
        data = reply if isinstance(reply, bytes) else reply.encode() + b"\r\n"
        if rule.drip is not None:
            for byte in data:
                await self._channel.write(bytes([byte]))
                await asyncio.sleep(rule.drip)
        else:
            await self._channel.write(data)
        while rule.endless:
            await self._channel.write(data)

    def _cut(self, *, reset: bool) -> None:
        if reset:
            self._channel.reset()
        else:
            self._channel.close()
        raise _Over

    # Commands

    async def _command(self, line: bytes) -> None:
        verb, _, argument = line.partition(b" ")
        name = verb.upper().decode("ascii", "replace")
        shown = line if name != "AUTH" else b" ".join(line.split()[:2])
        self._behaviour.record.heard(shown.decode("utf-8", "replace"))
        self._note_violations(name)
        match name:
            case "EHLO" | "HELO":
                await self._hello(name)
            case "STARTTLS":
                await self._starttls()
            case "AUTH":
                await self._auth(argument)
            case "MAIL":
                await self._mail(argument)
            case "RCPT":
                await self._rcpt(argument)
            case "DATA":
                await self._data()
            case "RSET":
                self._sender, self._recipients = None, []
                await self._answer("rset", "250 2.0.0 Ok")
            case "NOOP":
                await self._channel.write(b"250 2.0.0 Ok\r\n")
            case "QUIT":
                await self._channel.write(b"221 2.0.0 Bye\r\n")
                raise _Over
            case _:
                await self._channel.write(b"500 5.5.2 unknown command\r\n")

    def _note_violations(self, name: str) -> None:
        if self._channel.buffer and name in ("EHLO", "HELO", "STARTTLS", "AUTH", "DATA"):
            self._behaviour.record.violated(f"something was sent behind {name} before its reply")
        elif self._channel.buffer and "PIPELINING" not in self._behaviour.extensions:
            self._behaviour.record.violated(f"pipelined behind {name} without PIPELINING")

    async def _hello(self, name: str) -> None:
        self._sender, self._recipients = None, []
        if name == "HELO":
            await self._answer("ehlo", f"250 {self._behaviour.name}", name)
            return
        if not self._behaviour.esmtp:
            await self._answer("ehlo", "502 5.5.1 EHLO is not known here", name)
            return
        lines = [self._behaviour.name, *self._behaviour.extensions]
        if self._behaviour.tls is not None and not self._behaviour.implicit_tls and not self._secure:
            lines.append("STARTTLS")
        if self._behaviour.users or self._behaviour.any_password:
            lines.append("AUTH " + " ".join(self._behaviour.mechanisms))
        usual = "\r\n".join(f"250-{line}" for line in lines[:-1])
        await self._answer("ehlo", f"{usual}\r\n250 {lines[-1]}".lstrip(), name)

    async def _starttls(self) -> None:
        if self._behaviour.tls is None or self._secure:
            await self._answer("starttls", "502 5.5.1 not offered")
        elif await self._answer("starttls", "220 2.0.0 go ahead") == "220":
            await self._handshake()

    async def _handshake(self) -> None:
        await self._answer("tls", None)
        assert self._behaviour.tls is not None
        try:
            await self._channel.start_tls(self._behaviour.tls)
        except OSError:
            raise _Over from None
        self._secure = True

    async def _auth(self, argument: bytes) -> None:
        mechanism, _, initial = argument.partition(b" ")
        name = mechanism.upper().decode("ascii", "replace")
        offered = self._behaviour.users or self._behaviour.any_password
        if not offered or name not in self._behaviour.mechanisms:
            await self._answer("auth", "504 5.5.4 mechanism not offered", name)
            return
        good = await self._credentials_are_good(name, initial)
        self._authenticated = (
            await self._answer("auth", "235 2.7.0 welcome" if good else "535 5.7.8 wrong user or password", name)
            == "235"
        )

    async def _credentials_are_good(self, mechanism: str, initial: bytes) -> bool:
        users = self._behaviour.users
        if mechanism == "LOGIN":
            user = _decoded(initial) if initial else await self._challenge(b"VXNlcm5hbWU6")
            password = await self._challenge(b"UGFzc3dvcmQ6")
            return users.get(user) == password or self._behaviour.any_password
        answer = _decoded(initial) if initial else await self._challenge(b"")
        if self._behaviour.any_password:
            return True
        if mechanism == "PLAIN":
            _, user, password = [*answer.split("\0"), "", "", ""][:3]
            return bool(user) and users.get(user) == password
        good = answer in {f"user={user}\1auth=Bearer {token}\1\1" for user, token in users.items()}
        if not good:
            await self._challenge(base64.b64encode(b'{"status":"401"}'))
        return good

    async def _challenge(self, text: bytes) -> str:
        await self._channel.write(b"334 %b\r\n" % text)
        return _decoded((await self._line(_LONGEST_COMMAND)).strip())

    async def _mail(self, argument: bytes) -> None:
        sender, parameters = _path_and_parameters(argument)
        usual = "250 2.1.0 Ok"
        if not self._authenticated:
            usual = "530 5.7.0 authentication required"
        elif self._sender is not None:
            usual = "503 5.5.1 nested MAIL"
        elif self._is_too_large(_declared_size(argument)):
            usual = _TOO_LARGE
        if (await self._answer("mail", usual, sender, parameters))[:1] == "2":
            self._sender, self._recipients = sender, []

    async def _rcpt(self, argument: bytes) -> None:
        address, parameters = _path_and_parameters(argument)
        if self._sender is None:
            await self._channel.write(b"503 5.5.1 MAIL first\r\n")
        elif (await self._answer("rcpt", "250 2.1.5 Ok", address, parameters))[:1] == "2":
            self._recipients.append(address)

    async def _data(self) -> None:
        if self._sender is None:
            await self._channel.write(b"503 5.5.1 MAIL first\r\n")
        elif not self._recipients:
            await self._answer("data", "554 5.5.1 no valid recipients")
        elif await self._answer("data", "354 go ahead") == "354":
            await self._message()

    async def _message(self) -> None:
        moment = Moment(at="body", connection=self._number)
        rule = self._behaviour.script.rule_for(moment)
        if rule is not None:
            if not self._channel.buffer:
                await self._channel.read()
            await self._perform(rule, None)
        lines: list[bytes] = []
        size = 0
        while (line := await self._line(self._behaviour.max_bytes)) != b".\r\n":
            size += len(line)
            if self._is_too_large(size):
                lines.clear()  # the rest is heard and not kept, so that the client hears why
            else:
                lines.append(line[1:] if line.startswith(b".") else line)
        if self._is_too_large(size):
            self._sender, self._recipients = None, []
            await self._answer("dot", _TOO_LARGE)
        else:
            await self._finish(b"".join(lines))

    def _is_too_large(self, size: int) -> bool:
        return self._behaviour.max_bytes is not None and size > self._behaviour.max_bytes

    async def _line(self, limit: int | None) -> bytes:
        """The next line; a client that never ends its line is shown the door."""
        try:
            return await self._channel.line(limit)
        except OverflowError:
            await self._channel.write(b"500 5.5.2 line too long\r\n")
            self._cut(reset=False)
            raise

    async def _finish(self, data: bytes) -> None:
        """Record the message before anything is said, so that no cut can lose it."""
        message_id = message_id_of(data)
        moment = Moment(at="dot", argument=message_id, connection=self._number)
        rule = self._behaviour.script.rule_for(moment) or _USUALLY
        refused = _code(rule.reply)[:1] in ("4", "5")
        message = ReceivedMessage(
            sender=self._sender or "",
            recipients=tuple(self._recipients),
            data=data,
            message_id=message_id,
            accepted=not refused if rule.accept is None else rule.accept,
            connection=self._number,
            at=time.time(),
        )
        self._sender, self._recipients = None, []
        try:
            self._behaviour.record.received(message)
        except NotKept as error:
            await self._channel.write(b"452 4.3.1 %b\r\n" % str(error).encode())
            return
        await self._perform(rule, "250 2.0.0 Ok: queued")


def _path_and_parameters(argument: bytes) -> tuple[str, str]:
    found = _PATH.match(argument)
    if found is None:
        return "", ""
    return found[1].decode("utf-8", "replace"), argument[found.end() :].decode("utf-8", "replace").strip()


def _declared_size(argument: bytes) -> int:
    found = _SIZE.search(argument)
    return int(found[1]) if found else 0


def _code(reply: str | bytes | None) -> str:
    text = reply.decode("ascii", "replace") if isinstance(reply, bytes) else reply or ""
    return text[:3] if text[:3].isdigit() else ""


def _decoded(text: bytes) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except binascii.Error:
        return ""
