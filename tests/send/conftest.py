"""Servers, certificates and letters for the tests of the ways out."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import trustme

from postroom.send.smtp import SmtpTransport
from postroom.testing.fixtures import fault_proxy, memory_transport, smtp_server

__all__ = ["fault_proxy", "memory_transport", "smtp_server"]

QUICK = "connect=5s&greeting=5s&command=5s&data=5s&block=5s&dot=5s"
"""Limits that end a test that would hang, and are never what a test is about."""


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., SmtpTransport]]:
    """Makes transports from a URL and options, and closes them after the test."""
    made: list[SmtpTransport] = []

    def make(url: str, options: str = "") -> SmtpTransport:
        transport = SmtpTransport(f"{url}?{options or QUICK}")
        made.append(transport)
        return transport

    yield make
    for transport in made:
        await transport.close()


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="session")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a client is to trust."""
    path = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture(scope="session")
def server_tls(authority: trustme.CA) -> ssl.SSLContext:
    """A server's certificate for 127.0.0.1 that the authority stands for."""
    return tls_for(authority, "127.0.0.1")


def tls_for(authority: trustme.CA, *names: str, **options: object) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names, **options).configure_cert(context)  # type: ignore[arg-type]
    return context
