"""A broker over TLS: the certificate is verified, and what is wrong with it is said."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme

from postroom import Outbox
from postroom.broker.link import BrokerAway, open_session
from postroom.broker.topology import Broker
from tests.cli.conftest import CommandLine


class TlsFront:
    """Speaks TLS to clients, and plainly to the broker behind it."""

    def __init__(self, broker_url: str, certificate: trustme.LeafCert) -> None:
        parts = urlsplit(broker_url)
        self._broker = parts.hostname, parts.port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(self._context)

    @contextmanager
    def open(self) -> Iterator[int]:
        """The port it listens at, from a thread of its own."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            server = asyncio.run_coroutine_threadsafe(
                asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context), loop
            ).result()
            yield int(server.sockets[0].getsockname()[1])
            asyncio.run_coroutine_threadsafe(self._close(server), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _close(self, server: asyncio.Server) -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # until what was aborted is closed

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inwards, outwards = await asyncio.open_connection(*self._broker)
        await asyncio.gather(self._pass_on(reader, outwards), self._pass_on(inwards, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):
                while octets := await reader.read(65536):
                    writer.write(octets)
                    await writer.drain()
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()  # also when the test is over and nobody hangs up


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def url(broker_url: str, authority: trustme.CA) -> Iterator[str]:
    """The broker over TLS, with a certificate for this very name that only our authority vouches for."""
    with TlsFront(broker_url, authority.issue_cert("localhost")).open() as port:
        parts = urlsplit(broker_url)
        yield f"amqps://{parts.username}:{parts.password}@localhost:{port}/"


def broker_check(postroom: CommandLine) -> dict[str, Any]:
    [found] = [check for check in postroom("doctor", "--json").json["checks"] if check["name"] == "broker"]
    return dict(found)


def test_a_certificate_of_an_authority_we_are_told_to_trust_is_accepted(
    postroom: CommandLine, outbox: Outbox, url: str, authority: trustme.CA, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("POSTROOM_BROKER", f"{url}?cafile={tmp_path / 'ca.pem'}")

    assert broker_check(postroom)["level"] == "ok"


def test_a_certificate_that_nobody_vouches_for_is_refused_and_said_so(
    postroom: CommandLine, outbox: Outbox, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_BROKER", url)

    found = broker_check(postroom)

    assert found["level"] == "fail"
    assert "certificate" in found["detail"]
    assert urlsplit(url).password not in str(found)


async def test_schedulers_and_senders_speak_tls_and_verify_it(
    url: str, authority: trustme.CA, tmp_path: Path, dispatcher: str
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    ours = {"send": f"{dispatcher}.send", "dead": f"{dispatcher}.dead"}

    session = await open_session(Broker(url=f"{url}?cafile={tmp_path / 'ca.pem'}", **ours))
    depths = await session.depths()
    await session.close()

    assert set(depths.values()) == {0}
    with pytest.raises(BrokerAway, match="certificate"):
        await open_session(Broker(url=url, **ours))
    elsewhere = url.replace("@localhost:", "@127.0.0.1:")
    with pytest.raises(BrokerAway, match="certificate"):
        await open_session(Broker(url=f"{elsewhere}?cafile={tmp_path / 'ca.pem'}", **ours))
