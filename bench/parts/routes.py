"""A drain of one route while nine others are down with emails waiting: their trouble must not be its own."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench import message
from bench.draining import Filled, there_and_back
from bench.postroom_queue import CONNECTIONS, PostroomQueue, on_postgres
from bench.readings import Contestant, Reading
from bench.world import Command, World, settle_down
from postroom import Outbox

NINE_DOWN = "drain, Postroom, PostgreSQL, nine of ten routes down"
ONE_ROUTE = "drain, Postroom, PostgreSQL, one route"

TENTH = "tenth"
DOWN = tuple(f"down{number}" for number in range(1, 10))
NOWHERE = "127.0.0.1:1"
"""Where nobody listens: connections are refused at once, which is the outage that keeps a worker busiest."""


def contestants(world: World) -> list[Contestant]:
    alone, nine_down = PostroomQueue(world, name=ONE_ROUTE), _NineDown(world)

    def measure() -> list[Reading]:
        return there_and_back(alone, nine_down, world.scale.emails, folder=world.folder)

    return [Contestant(name=NINE_DOWN, measure=measure)]


class _NineDown:
    """An outbox with ten routes; a tenth as many emails wait for each that is down as for the one that is not."""

    name = NINE_DOWN

    def __init__(self, world: World) -> None:
        self._world = world

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with on_postgres(self._world) as url, Outbox(url, routes=_routes(NOWHERE)) as outbox:
            outbox.enqueue_many((message.email(number) for number in range(emails)), route=TENTH)
            for name in DOWN:
                outbox.enqueue_many((message.email(number) for number in range(emails // 10)), route=name)
            settle_down(url)
            yield Filled(
                commands=lambda port: [self._worker(url, port)],
                done=lambda: outbox.counts().get("sent", 0),
            )

    def _worker(self, url: str, port: int) -> Command:
        routes = _routes(f"127.0.0.1:{port}")
        return Command(
            arguments=[sys.executable, "-m", "postroom.cli", "worker"],
            environment={
                "POSTROOM_DATABASE": url,
                "POSTROOM_JOURNAL": str(self._world.folder / f"journal-{secrets.token_hex(4)}"),
                **{f"POSTROOM_ROUTES__{name.upper()}__TRANSPORT": transport for name, transport in routes.items()},
            },
        )


def _routes(tenth: str) -> dict[str, str]:
    servers = {**dict.fromkeys(DOWN, NOWHERE), TENTH: tenth}
    return {name: f"smtp://{server}?connections={CONNECTIONS}" for name, server in servers.items()}
