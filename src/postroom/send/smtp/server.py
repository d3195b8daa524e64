"""What the settings say about the other end, read from one URL.

smtp://user:secret@smtp.example.org:587?starttls=required&connections=16&rate=14/s&dot=10m
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from postroom.duration import parse_duration
from postroom.errors import ConfigurationError
from postroom.spelling import suggestion

_PORTS = {"smtp": 25, "smtps": 465}
_RATE = re.compile(r"[1-9]\d*/[smhd]", re.ASCII)
_HELO = re.compile(r"[A-Za-z0-9.\-_:\[\]]{1,255}", re.ASCII)
_Word = TypeVar("_Word", bound=StrEnum)


class StartTls(StrEnum):
    """Whether to change to TLS after the greeting. A certificate is verified whenever TLS is spoken."""

    REQUIRED = "required"
    OFFERED = "offered"
    """When the server offers it; in the clear otherwise."""
    OFF = "off"


class AuthMechanism(StrEnum):
    """How to prove who we are."""

    PLAIN = "plain"
    LOGIN = "login"
    XOAUTH2 = "xoauth2"
    """The password is a bearer token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds to wait. Each is a total: a server that drips bytes gains nothing. The defaults are those of RFC 5321."""

    connect: float = 30.0
    """For name resolution and TCP."""
    greeting: float = 300.0
    command: float = 300.0
    """For the reply to each of EHLO, STARTTLS and its handshake, AUTH, MAIL and RCPT."""
    data: float = 120.0
    """For the reply to DATA."""
    block: float = 180.0
    """For the server to take in each 64 KiB of the message: the slowest upload we put up with."""
    dot: float = 600.0
    """For the reply to the final dot. Giving up early here is what makes emails doubtful."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One mail server and how to speak with it. The password never shows in `repr` or in an error."""

    host: str
    port: int
    implicit_tls: bool = False
    """TLS from the first byte (`smtps://`)."""
    starttls: StartTls = StartTls.OFFERED
    user: str | None = None
    password: str = field(default="", repr=False)
    auth: AuthMechanism | None = None
    """None takes the best mechanism that the server offers of PLAIN and LOGIN."""
    insecure_auth: bool = False
    """AUTH may travel in the clear."""
    dsn: bool = False
    """Ask for delivery status notifications about failures and delays, where the server offers them."""
    connections: int = 16
    rate: str | None = None
    """Emails per unit over all workers, such as `14/s`; for the claim to keep."""
    emails_per_connection: int = 1000
    idle: float = 30.0
    """Seconds after which an unused connection is closed."""
    ca: str | None = None
    """A file of certificates to trust instead of the system's."""
    helo: str | None = None
    """How we introduce ourselves; None takes this machine's full name or its address."""
    limits: Limits = Limits()

    @property
    def name(self) -> str:
        """As shown to people; never with credentials."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{'smtps' if self.implicit_tls else 'smtp'}://{self.name}"

    @classmethod
    def parse(cls, url: str) -> Server:
        """Read a transport URL; a `ConfigurationError` names whatever is wrong with it, and never the password."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise ConfigurationError("the SMTP URL cannot be read; write smtp://user:password@host:587") from None
        if parts.scheme not in _PORTS:
            known = "smtp:// or smtps://"
            raise ConfigurationError(f"an SMTP URL begins with {known}, not with {parts.scheme[:20]!r}")
        if not host:
            raise ConfigurationError("the SMTP URL names no host; write smtp://host:587")
        if parts.path not in ("", "/") or parts.fragment or "@" in parts.query:
            # Most likely the rest of a password, so it is not shown.
            raise ConfigurationError("the SMTP URL has a path or fragment; percent-encode '/', '?', '#' in a password")
        implicit_tls = parts.scheme == "smtps"
        known_values: dict[str, Any] = {
            "host": host,
            "port": _PORTS[parts.scheme] if port is None else port,
            "implicit_tls": implicit_tls,
            "user": None if parts.username is None else _credential(parts.username),
            "password": _credential(parts.password or ""),
        }
        options = _options(parts.query)
        if implicit_tls and "starttls" in options:
            raise ConfigurationError("starttls has no meaning with smtps://, which is TLS from the first byte")
        if "auth" in options and parts.username is None:
            raise ConfigurationError("auth is set and the SMTP URL names no user; write smtp://user:password@host")
        return cls(**known_values, **options)


def _credential(text: str) -> str:
    text = unquote(text)
    if "\0" in text:
        raise ConfigurationError("the SMTP user or password contains a NUL character, which AUTH cannot carry")
    return text


def _options(query: str) -> dict[str, Any]:
    """The query as arguments of `Server`; each option at most once."""
    values: dict[str, Any] = {}
    limits: dict[str, float] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name in values or name in limits:
            raise ConfigurationError(f"the SMTP option {name!r} is given twice")
        if name in _LIMITS:
            limits[name] = _seconds(name, text)
        elif name in _OPTIONS:
            values[name] = _OPTIONS[name](name, text)
        else:
            known = suggestion(name, sorted([*_OPTIONS, *_LIMITS]))
            raise ConfigurationError(f"there is no SMTP option {name!r}; {known}")
    if limits:
        values["limits"] = Limits(**limits)
    return values


def _word(kind: type[_Word]) -> Callable[[str, str], _Word]:
    def read(name: str, text: str) -> _Word:
        try:
            return kind(text.lower())
        except ValueError:
            raise _wrong(name, text, "one of " + ", ".join(kind)) from None

    return read


def _seconds(name: str, text: str) -> float:
    try:
        seconds = parse_duration(text).total_seconds()
    except ConfigurationError as error:
        raise ConfigurationError(f"SMTP option {name!r}: {error}") from None
    if seconds <= 0:
        raise _wrong(name, text, "longer than nothing")
    return seconds


def _count(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= 100_000:
        raise _wrong(name, text, "a whole number from 1 to 100000")
    return int(text)


def _yes(name: str, text: str) -> bool:
    if text.lower() not in ("yes", "no"):
        raise _wrong(name, text, "yes or no")
    return text.lower() == "yes"


def _matching(pattern: re.Pattern[str], expected: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if not pattern.fullmatch(text):
            raise _wrong(name, text, expected)
        return text

    return read


def _wrong(name: str, text: str, expected: str) -> ConfigurationError:
    return ConfigurationError(f"SMTP option {name!r}: expected {expected}, got {text[:60]!r}")


_LIMITS = ("connect", "greeting", "command", "data", "block", "dot")
_OPTIONS: Mapping[str, Callable[[str, str], object]] = {
    "starttls": _word(StartTls),
    "auth": _word(AuthMechanism),
    "insecure_auth": _yes,
    "dsn": _yes,
    "connections": _count,
    "rate": _matching(_RATE, "a number per unit such as 14/s, 100/m, 5000/h or 2000/d"),
    "emails_per_connection": _count,
    "idle": _seconds,
    "ca": _matching(re.compile(r"[^\0]+"), "the path of a file of certificates"),
    "helo": _matching(_HELO, "a host name or an address in brackets"),
}
