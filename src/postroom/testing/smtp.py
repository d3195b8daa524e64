"""A mail server that records what it receives and misbehaves as it is told.

    with ScriptedSmtp() as server:
        server.script(at="rcpt", argument="nobody@example.org", reply="550 5.1.1 no such user")
        server.script(at="dot", reply="451 4.3.0 later", times=2)      # the next two messages
        server.script(at="dot", cut=True)                              # take the message, then vanish without a word
        ...
        assert server.copies("<1@example.org>") == 1

It listens on 127.0.0.1 in a thread of its own, so that synchronous tests, asynchronous tests and worker processes can
all reach it at `server.url`.
"""

from __future__ import annotations

import ssl
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Self

from postroom.send.script import At, Hold, Moment, Rule, Script
from postroom.testing.background import BackgroundLoop
from postroom.testing.dialogue import Behaviour
from postroom.testing.listener import Listener
from postroom.testing.record import ReceivedMessage, Record

EXTENSIONS = ("PIPELINING", "SIZE 26214400", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES")


class ScriptedSmtp:
    """A server for tests; a context manager. Accepts everything until it is scripted otherwise."""

    def __init__(
        self,
        *,
        extensions: Sequence[str] = EXTENSIONS,
        users: Mapping[str, str] | None = None,
        mechanisms: Sequence[str] = ("PLAIN", "LOGIN", "XOAUTH2"),
        tls: ssl.SSLContext | None = None,
        implicit_tls: bool = False,
        esmtp: bool = True,
        port: int = 0,
    ) -> None:
        """With `users` (name to password or token) AUTH is offered and MAIL needs it. With `tls` STARTTLS is offered,
        or with `implicit_tls` spoken from the first byte. With `esmtp=False` only HELO is understood.
        """
        self._script = Script()
        self._record = Record()
        self._behaviour = Behaviour(
            extensions=tuple(extensions),
            users=dict(users or {}),
            mechanisms=tuple(mechanisms),
            tls=tls,
            implicit_tls=implicit_tls,
            esmtp=esmtp,
            script=self._script,
            record=self._record,
        )
        self._listener = Listener(self._behaviour, port=port)
        self._background: BackgroundLoop | None = None

    @property
    def port(self) -> int:
        """Where it listens; chosen freely when started with port 0, and kept over `stop` and `start`."""
        return self._listener.port

    @property
    def url(self) -> str:
        """As a transport URL, without options."""
        return f"{'smtps' if self._behaviour.implicit_tls else 'smtp'}://127.0.0.1:{self.port}"

    # What it is to do

    def script(
        self,
        *,
        at: At,
        reply: str | bytes | None = None,
        times: int | None = None,
        argument: str | None = None,
        when: Callable[[Moment], bool] | None = None,
        delay: float = 0.0,
        hold: Hold | None = None,
        stall: bool = False,
        cut: bool | Literal["after"] = False,
        reset: bool = False,
        drip: float | None = None,
        endless: bool = False,
        accept: bool | None = None,
    ) -> None:
        """Do something else than usual at one moment of the conversation: always, or the next `times` times.

        `Rule` says what each argument means. Of several rules that fit, the newest is used. A message cut at `dot`
        counts as received unless `accept=False`.
        """
        rule = Rule(
            at=at,
            reply=reply,
            delay=delay,
            hold=hold,
            stall=stall,
            cut=cut,
            reset=reset,
            drip=drip,
            endless=endless,
            accept=accept,
            when=when,
            argument=argument,
        )
        self._script.add(rule, times=times)

    def clear_script(self) -> None:
        """Behave again."""
        self._script.clear()

    # What it has seen

    @property
    def messages(self) -> list[ReceivedMessage]:
        """What was received, in order: also where the reply was cut off, not where it was a refusal."""
        return self._record.messages(accepted=True)

    @property
    def refused(self) -> list[ReceivedMessage]:
        """What came whole and was refused at the dot."""
        return self._record.messages(accepted=False)

    @property
    def connections(self) -> int:
        """How many connections were made so far."""
        return self._record.connections

    @property
    def commands(self) -> list[str]:
        """Every command line received, in order, over all connections. Credentials are not kept."""
        return self._record.commands()

    @property
    def violations(self) -> list[str]:
        """What a client did that it may not do, such as pipelining without being offered it."""
        return self._record.violations()

    def copies(self, message_id: str) -> int:
        """How often the message with this Message-ID was received."""
        return self._record.copies()[message_id]

    def copies_of_all(self) -> Counter[str]:
        """Message-ID to number of copies received."""
        return self._record.copies()

    def wait_for(self, count: int, *, timeout: float = 30.0) -> list[ReceivedMessage]:
        """Block until this many messages were received, and return them; `TimeoutError` when they do not come."""
        if not self._record.wait_for_messages(count, timeout):
            raise TimeoutError(f"{len(self.messages)} of {count} messages came within {timeout:g} s")
        return self.messages

    def wait_until(self, condition: Callable[[], bool], *, timeout: float = 30.0) -> None:
        """Block until the condition holds, asked again after every command, connection and message.

        `server.wait_until(lambda: "DATA" in server.commands)`; `TimeoutError` when it does not come true.
        """
        if not self._record.wait_until(condition, timeout):
            raise TimeoutError(f"what was waited for did not happen within {timeout:g} s")

    def forget(self) -> None:
        """Empty the record of messages and commands."""
        self._record.clear()

    # Its life

    def start(self) -> Self:
        """Listen. Started again after `stop`, it is back on the same port with its record and its script."""
        if self._background is not None:
            raise RuntimeError("the server is running already")
        self._background = BackgroundLoop("scripted-smtp")
        try:
            self._background.run(self._listener.open())
        except BaseException:
            self._background.stop()
            self._background = None
            raise
        return self

    def stop(self) -> None:
        """Refuse connections from now on, and reset those that exist."""
        background, self._background = self._background, None
        if background is None:
            return
        background.run(self._listener.close())
        background.stop()

    def cut_all(self) -> None:
        """Reset every open connection and go on listening."""
        if self._background is not None:
            self._background.call(self._listener.abort_all)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()
