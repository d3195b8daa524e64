"""Every transport with its far end, as the contract suite sees them: what they can do, in the same words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol
from urllib.parse import parse_qs

from postroom.send.contract import Envelope, Payload, Phase, Transport
from postroom.send.http.limits import Limits
from postroom.send.memory import MemoryTransport
from postroom.send.smtp import SmtpTransport
from postroom.send.twilio.account import Account
from postroom.send.twilio.message import Message
from postroom.send.twilio.transport import TwilioTransport
from postroom.send.webhook.delivery import Delivery
from postroom.send.webhook.transport import WebhookTransport
from postroom.testing import Moment, ScriptedHttp, ScriptedSmtp
from tests.send.letters import ADA, letter

PATIENT = Limits(connect=20, tls=20, write=20, answer=20, total=60)
"""Limits that end a test that would hang, and are never what a test is about."""

Arrived = list[tuple[tuple[str, ...], bytes]]


class Stage(Protocol):
    """A transport, its far end, and what arrived there."""

    transport: Any
    end: Phase
    """Where the answer to the whole comes."""
    refusing: tuple[Phase, ...]
    """Where the far end can say no to a payload."""
    codes: tuple[int, ...]
    """What it can say there."""

    def payload(self, number: int = 1) -> Payload: ...
    def content(self, number: int = 1) -> bytes:
        """What arrives of that payload."""

    def arrived(self) -> Arrived: ...
    def refuse(self, at: Phase, code: int, *, times: int | None = None) -> None: ...
    def lose_answer(self, *, times: int | None = None) -> None:
        """The far end takes the next payload whole, and its answer never comes."""

    def outage(self) -> None:
        """The far end cannot be sent to at all."""


class Holding(Stage, Protocol):
    """A stage whose far end can keep us waiting before the dot."""

    async def held(self) -> None:
        """Return when somebody is kept waiting."""


class OverSmtp:
    end = Phase.DOT
    refusing = (Phase.MAIL, Phase.DATA, Phase.DOT)
    codes = (421, 451, 554)

    def __init__(self, server: ScriptedSmtp, transport: SmtpTransport) -> None:
        self.transport: Transport = transport
        self.script: Any = server.script
        self._server = server

    def payload(self, number: int = 1) -> Envelope:
        return letter(number, ADA)

    def content(self, number: int = 1) -> bytes:
        return letter(number).message

    def arrived(self) -> Arrived:
        return [(message.recipients, message.data) for message in self._server.messages]

    def refuse(self, at: Phase, code: int, *, times: int | None = None) -> None:
        self.script(at=at.value, reply=f"{code} {code // 100}.3.0 no", times=times)

    def lose_answer(self, *, times: int | None = None) -> None:
        self.script(at="dot", cut=True, times=times)

    def outage(self) -> None:
        self.script(at="greeting", reply="554 5.3.2 closed")

    async def held(self) -> None:
        loop, waiting = asyncio.get_running_loop(), asyncio.Event()

        def here(moment: Moment) -> bool:
            loop.call_soon_threadsafe(waiting.set)
            return True

        self.script(at="connect", stall=True, when=here)
        await waiting.wait()


class InMemory(OverSmtp):
    def __init__(self) -> None:
        self.transport = self._memory = MemoryTransport()
        self.script = self._memory.script

    def arrived(self) -> Arrived:
        return [(envelope.recipients, envelope.message) for envelope in self._memory.sent]


class OverHttp:
    """What both transports over HTTP have in common."""

    end = Phase.ANSWER
    refusing = (Phase.ANSWER,)
    codes: ClassVar[tuple[int, ...]] = (400, 404, 429, 503)
    transport: Any

    def __init__(self, server: ScriptedHttp) -> None:
        self._server = server
        self._waiting = asyncio.Event()
        self._hold = False

    async def resolve(self, host: str, port: int) -> list[str]:
        if self._hold:
            self._waiting.set()
            await asyncio.Event().wait()
        return [host]

    def refuse(self, at: Phase, code: int, *, times: int | None = None) -> None:
        self._server.script(status=code, body=json.dumps({"message": "no"}).encode(), times=times)

    def lose_answer(self, *, times: int | None = None) -> None:
        self._server.script(cut=True, times=times)

    async def held(self) -> None:
        self._hold = True
        await self._waiting.wait()


class Webhooks(OverHttp):
    def __init__(self, server: ScriptedHttp, *, ca: str | None = None) -> None:
        super().__init__(server)
        self.transport = WebhookTransport(allow=["127.0.0.0/8"], limits=PATIENT, ca=ca, resolve=self.resolve)

    def payload(self, number: int = 1) -> Delivery:
        return Delivery(url=f"{self._server.url}/hook", id=f"msg_{number}", body=self.content(number))

    def content(self, number: int = 1) -> bytes:
        return b'{"number":%d}' % number

    def arrived(self) -> Arrived:
        return [((f"{self._server.url}{each.target}",), each.body) for each in self._server.accepted]


class Texts(OverHttp):
    def __init__(self, server: ScriptedHttp) -> None:
        super().__init__(server)
        server.script(status=201, body=b'{"sid": "SM1"}')
        url = f"twilio+http://AC1:secret@127.0.0.1:{server.port}?from=%2B15005550006&total=60s"
        self.transport = TwilioTransport(Account.parse(url, {}), resolve=self.resolve)

    def payload(self, number: int = 1) -> Message:
        return Message(to=f"+4915112345{number:03}", text=f"Number {number}.")

    def content(self, number: int = 1) -> bytes:
        return f"Number {number}.".encode()

    def arrived(self) -> Arrived:
        forms = [parse_qs(each.body.decode()) for each in self._server.accepted if each.method == "POST"]
        return [((form["To"][0],), form["Body"][0].encode()) for form in forms]

    def outage(self) -> None:
        self._server.script(status=401, body=b'{"code": 20003, "message": "Authenticate"}')


def contents(arrived: Arrived) -> Iterable[bytes]:
    return sorted(content for _, content in arrived)
