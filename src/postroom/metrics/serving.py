"""A process's numbers over HTTP, from a thread of their own: for Prometheus, on this machine unless told otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from postroom.errors import ConfigurationError
from postroom.logs import logger
from postroom.metrics.counting import WorkerMeter
from postroom.metrics.dispatching import CountingDispatch


@contextmanager
def served(*meters: WorkerMeter | CountingDispatch, host: str, port: int) -> Iterator[int]:
    """Answer scrapes while the body runs; the port, which is a free one when 0 was asked for."""
    try:
        from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server

        from postroom.metrics.families import collector_of
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"metrics need {error.name}: install them with `pip install 'postroom[web]'`"
        ) from None
    registry = CollectorRegistry(auto_describe=False)
    for meter in meters:
        registry.register(collector_of(meter))
    ProcessCollector(registry=registry)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ConfigurationError(
            f"cannot serve metrics at {host} port {port}: {error.strerror or error}; choose another --metrics-port"
        ) from error
    logger.info("metrics served", host=host, port=server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
