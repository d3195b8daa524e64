"""A process's numbers and its health over HTTP, from a thread of their own; on this machine unless told otherwise.

`/metrics` is for Prometheus, `/healthz` and `/readyz` for whoever keeps processes running: 200, or 503 with what is
wrong in a line. The thread answers while the event loop hangs, too, which is what `/healthz` is there to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from postroom.errors import ConfigurationError
from postroom.logs import logger
from postroom.metrics.counting import WorkerMeter
from postroom.metrics.dispatching import CountingDispatch
from postroom.work.pulse import Pulse

Answer = tuple[int, str, bytes]
"""Status, type and content."""
_TEXT = "text/plain; charset=utf-8"
SLOW = 10
"""Seconds for which somebody who asks may keep a thread waiting."""


@contextmanager
def served(*meters: WorkerMeter | CountingDispatch, pulse: Pulse, host: str, port: int) -> Iterator[int]:
    """Answer while the body runs; the port, which is a free one when 0 was asked for."""
    pages: Mapping[str, Callable[[], Answer]] = {
        "/metrics": _numbers(meters),
        "/healthz": lambda: _health(pulse.why_not_alive()),
        "/readyz": lambda: _health(pulse.why_not_ready()),
    }
    try:
        server = ThreadingHTTPServer((host, port), _handler(pages))
    except OSError as error:
        raise ConfigurationError(
            f"cannot serve metrics at {host} port {port}: {error.strerror or error}; choose another --metrics-port"
        ) from error
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, name="postroom-metrics", daemon=True)
    thread.start()
    logger.info("metrics served", host=host, port=server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _numbers(meters: tuple[WorkerMeter | CountingDispatch, ...]) -> Callable[[], Answer]:
    try:
        from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
        from prometheus_client.exposition import CONTENT_TYPE_LATEST

        from postroom.metrics.families import collector_of
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"metrics need {error.name}: install them with `pip install 'postroom[web]'`"
        ) from None
    registry = CollectorRegistry(auto_describe=False)
    for meter in meters:
        registry.register(collector_of(meter))
    ProcessCollector(registry=registry)
    return lambda: (200, CONTENT_TYPE_LATEST, generate_latest(registry))


def _health(wrong: str) -> Answer:
    return (503 if wrong else 200), _TEXT, f"{wrong or 'ok'}\n".encode()


def _handler(pages: Mapping[str, Callable[[], Answer]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = SLOW
        server_version, sys_version = "postroom", ""

        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            known = f"not here; {', '.join(pages)} are\n".encode()
            status, media_type, content = page() if page is not None else (404, _TEXT, known)
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815  (the name that the standard library looks for)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody wants a line for each scrape."""

    return Handler
