"""A private RabbitMQ: its own data and free ports, a non-root user, gone when its owner is.

Tests and benchmarks ask for `server()`. It uses the broker named by `POSTROOM_TEST_RABBITMQ` when there is one, and
otherwise starts a private one. As a command it gives one broker to everything that another command starts:

    python -m tests.servers.rabbitmq --run -- pytest -n 2
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import aiormq

from tests.servers.lending import lend
from tests.servers.rabbitmq_node import RabbitNode

VARIABLE = "POSTROOM_TEST_RABBITMQ"


@dataclass(frozen=True, slots=True, kw_only=True)
class RabbitServer:
    """A running broker on which queues may be declared."""

    url: str

    def delete(self, *, queues: Iterable[str] = (), exchanges: Iterable[str] = ()) -> None:
        """Delete what there is of these, whoever still uses it."""
        asyncio.run(self._delete(queues, exchanges))

    async def _delete(self, queues: Iterable[str], exchanges: Iterable[str]) -> None:
        connection = await aiormq.connect(self.url)
        try:
            channel = await connection.channel()
            for queue in queues:
                await channel.queue_delete(queue)
            for exchange in exchanges:
                await channel.exchange_delete(exchange)
        finally:
            await connection.close()


@contextmanager
def server() -> Iterator[RabbitServer]:
    """The given broker, or a private one for as long as the context lasts."""
    if given := os.environ.get(VARIABLE):
        yield RabbitServer(url=given)
        return
    with RabbitNode.create() as node:
        yield RabbitServer(url=node.url)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.rabbitmq", description="A private RabbitMQ.")
    parser.add_argument("--run", action="store_true", required=True, help=f"run a command with {VARIABLE} set")
    parser.add_argument("command", nargs="+", help="after --")
    arguments = parser.parse_args()
    try:
        return lend(server(), arguments.command, variable=VARIABLE)
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
