"""The network between, and its failures."""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from postroom.testing import FaultProxy


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        try:
            while data := self.request.recv(65536):
                self.request.sendall(data)
        except OSError:
            pass


class EchoServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False


@pytest.fixture
def echo() -> Iterator[int]:
    with EchoServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def connect(proxy: FaultProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def exchange(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return receive(connection, len(data))


def receive(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count and (piece := connection.recv(65536)):
        received += piece
    return received


def test_everything_passes_in_order(echo: int, fault_proxy: Callable[..., FaultProxy]) -> None:
    data = bytes(range(256)) * 4000
    proxy = fault_proxy(target_port=echo, round_trip=0.005)
    with connect(proxy) as connection:
        writer = threading.Thread(target=connection.sendall, args=(data,))
        writer.start()
        received = receive(connection, len(data))
        writer.join()

    assert received == data
    assert proxy.connections == 1


def test_a_round_trip_takes_at_least_its_time(echo: int, fault_proxy: Callable[..., FaultProxy]) -> None:
    with connect(fault_proxy(target_port=echo, round_trip=0.1)) as connection:
        exchange(connection, b"warm")
        before = time.monotonic()
        exchange(connection, b"ping")

        assert time.monotonic() - before >= 0.1


def test_a_cut_resets_what_is_connected_and_nothing_else(echo: int, fault_proxy: Callable[..., FaultProxy]) -> None:
    proxy = fault_proxy(target_port=echo)
    with connect(proxy) as connection:
        exchange(connection, b"hello")
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    with connect(proxy) as connection:
        assert exchange(connection, b"again") == b"again"


@pytest.mark.parametrize("side", ["client_bytes", "server_bytes"])
def test_a_cut_after_so_many_bytes_lets_no_more_pass(
    echo: int, fault_proxy: Callable[..., FaultProxy], side: str
) -> None:
    proxy = fault_proxy(target_port=echo)
    proxy.cut_after(**{side: 7}, times=1)
    received: list[bytes] = []
    with connect(proxy) as connection:
        connection.sendall(b"0123456789")
        with pytest.raises(ConnectionResetError):
            received.extend(iter(lambda: connection.recv(65536), b""))
    with connect(proxy) as connection:
        assert exchange(connection, b"0123456789") == b"0123456789"

    assert b"0123456".startswith(b"".join(received))


def test_refused_means_that_nobody_listens_until_somebody_does(
    echo: int, fault_proxy: Callable[..., FaultProxy]
) -> None:
    proxy = fault_proxy(target_port=echo)
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    proxy.accept()
    with connect(proxy) as connection:
        assert exchange(connection, b"hello") == b"hello"


def test_stalled_nothing_passes_and_resumed_everything_does(echo: int, fault_proxy: Callable[..., FaultProxy]) -> None:
    proxy = fault_proxy(target_port=echo)
    with connect(proxy) as connection:
        exchange(connection, b"hello")
        proxy.stall()
        connection.sendall(b"anybody?")
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        with connect(proxy) as newcomer:
            newcomer.settimeout(0.1)
            newcomer.sendall(b"me too")
            with pytest.raises(TimeoutError):
                newcomer.recv(1)
            proxy.resume()
            newcomer.settimeout(10)
            assert receive(newcomer, 6) == b"me too"
        connection.settimeout(10)

        assert receive(connection, 8) == b"anybody?"


def test_a_target_that_is_away_looks_like_a_cut(fault_proxy: Callable[..., FaultProxy]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    proxy = fault_proxy(target_port=port)

    def knock() -> bytes:
        with connect(proxy) as connection:
            return connection.recv(1)

    with pytest.raises(ConnectionResetError):
        knock()


def test_before_it_runs_it_says_so() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        FaultProxy(target_port=1).cut()
