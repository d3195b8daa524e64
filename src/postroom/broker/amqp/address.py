"""Where a broker is, and as whom to sign in: what its URL says."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

HEARTBEAT = 10
"""Seconds between signs of life, so that a broker that vanished is missed soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A broker, a virtual host there, and a user."""

    host: str
    port: int
    virtual_host: str
    user: str
    password: str = field(repr=False)
    heartbeat: int
    """Seconds; 0 asks for none."""
    by_certificate: bool
    """Sign in as whoever our certificate says we are."""
    tls: ssl.SSLContext | None = field(repr=False)


def address(url: str) -> Address:
    """Read `amqp://user:password@host:5672/virtual-host`, or `amqps://…`; raises `ValueError` or `OSError`."""
    parts = urlsplit(url)
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    return Address(
        host=parts.hostname or "localhost",
        port=_port(parts.scheme, parts.port),
        virtual_host=unquote(parts.path[1:]) or "/",
        user=unquote("guest" if parts.username is None else parts.username),
        password=unquote("guest" if parts.password is None else parts.password),
        heartbeat=_seconds(options.get("heartbeat", str(HEARTBEAT))),
        by_certificate=options.get("auth", "").lower() == "external",
        tls=_tls(options) if parts.scheme == "amqps" else None,
    )


def broker_name(url: str) -> str:
    """Where the broker is; no user, no password."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'localhost'}:{_port(parts.scheme, parts.port)}{parts.path}"


def _port(scheme: str, port: int | None) -> int:
    return port or (5671 if scheme == "amqps" else 5672)


def _seconds(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise ValueError(f"heartbeat={text} is not a number of seconds up to 65535")
    return int(text)


def _tls(options: dict[str, str]) -> ssl.SSLContext:
    """Verifies the broker's certificate, unless `no_verify_ssl` says otherwise."""
    context = ssl.create_default_context(cafile=options.get("cafile"), capath=options.get("capath"))
    if options.get("no_verify_ssl", "0") != "0":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate := options.get("certfile"):
        context.load_cert_chain(certificate, options.get("keyfile"))
    return context
