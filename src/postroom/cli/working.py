"""Sending what waits: worker."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Annotated, Protocol

import typer
from pydantic import SecretStr

from postroom.broker.meter import UNMETERED_DISPATCH, DispatchMeter
from postroom.claim.meter import UNMETERED, Meter
from postroom.cli.reaching import reach
from postroom.cli.screen import standard_error
from postroom.cli.secrets import keep_secret
from postroom.cli.target import LogLevel, Target
from postroom.config import RouteTable, Settings
from postroom.events import listeners_of
from postroom.store.open import AsyncDatabase, open_async_database, open_database
from postroom.vocabulary import DEFAULT_ROUTE
from postroom.work.routes import routes_of
from postroom.work.supervise import supervise
from postroom.work.thread import worker_settings
from postroom.work.worker import Worker

COLLECT_AFTER = 50_000
"""Objects allocated before the collector looks for cycles. Emails make none, and looking cost a tenth of the time."""


Smtp = Annotated[str | None, typer.Option(help="The way out: smtp://…, smtps://…; else POSTROOM_SMTP.", metavar="URL")]
Processes = Annotated[int, typer.Option(help="So many processes, kept alive.", min=1, max=64)]
Grace = Annotated[str, typer.Option(help="How long emails under way may take when asked to stop.")]
MetricsPort = Annotated[
    int | None,
    typer.Option(help="Serve this process's metrics at this port; 0 for any that is free.", min=0, max=65_535),
]
MetricsHost = Annotated[
    str, typer.Option(help="The address to serve metrics at; this machine only unless told otherwise.")
]


Routes = Annotated[
    list[str] | None,
    typer.Option("--route", help="Serve this route, and no other that is not named too.", metavar="NAME"),
]


class Service(Protocol):
    """What runs until it is told to stop."""

    async def run(self) -> None: ...

    def stop(self) -> None: ...


def worker(
    target: Target,
    smtp: Smtp = None,
    route: Routes = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Stop when nothing is due.")] = False,
    processes: Processes = 1,
    grace: Grace = "30s",
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = "127.0.0.1",
) -> None:
    """Claim, send and settle emails until stopped. SIGTERM lets what is under way finish and gives the rest back."""
    target.prepare(quiet=LogLevel.INFO)
    settings = target.settings()
    if not settings.worker_enabled:
        standard_error().print("EMAIL_WORKER_ENABLED is false: this process sends nothing.")
        return
    settings, only = with_smtp(settings, smtp), route or ()
    routes_of(settings, only=only, always=True)
    check_database(settings)
    if processes > 1:
        raise typer.Exit(supervise(processes, metrics_port=metrics_port))
    working = worker_settings(settings, until_idle=until_idle, grace=grace)
    with ExitStack() as stack:
        meter = measured(stack, metrics_host, metrics_port)
        run_service(
            settings,
            lambda database: Worker(database, routes_of(settings, only=only, always=True), working, meter=meter.worker),
        )


def with_smtp(settings: Settings, url: str | None) -> Settings:
    """The settings with another mail server for the route `default`, if one is given."""
    if url is None:
        return settings
    keep_secret(url)
    table = settings.routes.get(DEFAULT_ROUTE, RouteTable()).model_copy(update={"transport": SecretStr(url)})
    return settings.model_copy(update={"smtp": None, "routes": {**settings.routes, DEFAULT_ROUTE: table}})


@dataclass(frozen=True, slots=True)
class Measured:
    """Where a process counts what it does."""

    worker: Meter = UNMETERED
    dispatch: DispatchMeter = UNMETERED_DISPATCH


def measured(stack: ExitStack, host: str, port: int | None, *, roles: Collection[str] = ("worker",)) -> Measured:
    """Count only if somebody wants to know: what a `worker` does, what passes between us and the broker, or both."""
    if port is None:
        return Measured()
    from postroom.metrics.counting import WorkerMeter
    from postroom.metrics.dispatching import CountingDispatch
    from postroom.metrics.serving import served

    meter, dispatch = WorkerMeter(), CountingDispatch()
    wanted: dict[str, WorkerMeter | CountingDispatch] = {"worker": meter, "dispatch": dispatch}
    stack.enter_context(served(*(wanted[role] for role in roles), host=host, port=port))
    return Measured(meter, dispatch)


def run_service(settings: Settings, make: Callable[[AsyncDatabase], Service]) -> None:
    """Run a service until it is done, or told to stop by SIGTERM or SIGINT."""
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)
    with suppress(KeyboardInterrupt):
        asyncio.run(_run(settings, make))


async def _run(settings: Settings, make: Callable[[AsyncDatabase], Service]) -> None:
    database = open_async_database(
        settings.database.get_secret_value(), tables=settings.tables, listeners=listeners_of(settings)
    )
    service = make(database)
    running = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        running.add_signal_handler(number, service.stop)
    try:
        await service.run()
    finally:
        await database.close()


def check_database(settings: Settings) -> None:
    database = open_database(settings.database.get_secret_value(), tables=settings.tables)
    try:
        reach(database)
    finally:
        database.close()
