"""Sending what waits: worker."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Annotated, Protocol, TypeVar

import typer
from pydantic import SecretStr
from rich.text import Text

from postroom.broker.meter import UNMETERED_DISPATCH, DispatchMeter
from postroom.campaigns.serving import campaign_feed
from postroom.claim.meter import Meter, TallyMeter
from postroom.cli.everywhere import AllRegions, every_region
from postroom.cli.problems import ExitCode
from postroom.cli.reaching import reach
from postroom.cli.screen import standard_error
from postroom.cli.secrets import keep_secret
from postroom.cli.target import LogLevel, Target
from postroom.cli.telling import Telling
from postroom.config import RouteTable, Settings
from postroom.errors import ConfigurationError
from postroom.events import listeners_of
from postroom.logs import logger
from postroom.send.delivery_mode import mode_in
from postroom.store.deployment import refusal, stamp
from postroom.store.open import AsyncDatabase, open_async_database, open_database
from postroom.vocabulary import DEFAULT_ROUTE
from postroom.work.pulse import Pulse
from postroom.work.routes import routes_of
from postroom.work.supervise import posts, supervise
from postroom.work.thread import worker_settings
from postroom.work.worker import Worker

COLLECT_AFTER = 50_000
"""Objects allocated before the collector looks for cycles. Emails make none, and looking cost a tenth of the time."""

FINISHED = (ExitCode.DONE, ExitCode.LEFT_DUE)
"""How a process ends that need not be started again."""

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


def regions_at_work(target: Target) -> list[str]:
    """The regions that this machine is to work for; why it is not to work for another one is said."""
    shared, found = every_region(target), []
    for name in shared.regions:
        try:
            if shared.of_region(name).worker_enabled:
                found.append(name)
                continue
            reason = "its worker is not enabled"
        except ConfigurationError as error:
            reason = str(error)
        standard_error().print(Text(f"{name} is left out: {reason}."), soft_wrap=True)
    if not found:
        raise typer.Exit
    return found


class Service(Protocol):
    """What runs until it is told to stop."""

    async def run(self) -> None: ...

    def stop(self) -> None: ...


class Sending(Service, Protocol):
    """A service that sends emails."""

    @property
    def left_due(self) -> bool:
        """It has ended by itself, although emails are due that it could not send."""


S = TypeVar("S", bound=Service)


def worker(
    target: Target,
    smtp: Smtp = None,
    route: Routes = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Stop when nothing is due.")] = False,
    processes: Processes = 1,
    all_regions: AllRegions = False,
    grace: Grace = "30s",
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = "127.0.0.1",
) -> None:
    """Claim, send and settle emails until stopped. SIGTERM lets what is under way finish and gives the rest back."""
    target.prepare(quiet=LogLevel.INFO)
    if all_regions:
        at_work = regions_at_work(target)
        raise typer.Exit(supervise(posts(processes, regions=at_work, metrics_port=metrics_port), finished=FINISHED))
    settings = target.settings()
    if not settings.worker_enabled:
        standard_error().print("EMAIL_WORKER_ENABLED is false: this process sends nothing.")
        return
    settings, only = with_smtp(settings, smtp), route or ()
    routes_of(settings, only=only, always=True)
    check_database(settings)
    if processes > 1:
        raise typer.Exit(supervise(posts(processes, metrics_port=metrics_port), finished=FINISHED))
    working = worker_settings(settings, until_idle=until_idle, only_these=bool(only), grace=grace)
    with ExitStack() as stack:
        meter = measured(stack, metrics_host, metrics_port)
        routes = routes_of(settings, only=only, always=True)
        run_sending(
            lambda database: Worker(
                database,
                routes,
                working,
                meter=meter.worker,
                pulse=meter.pulse,
                beside=campaign_feed(settings),
            ),
            Telling(role="worker", settings=settings, routes=routes, meter=meter.worker),
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

    worker: Meter = field(default_factory=TallyMeter)
    dispatch: DispatchMeter = UNMETERED_DISPATCH
    pulse: Pulse = field(default_factory=Pulse)


def measured(stack: ExitStack, host: str, port: int | None, *, roles: Collection[str] = ("worker",)) -> Measured:
    """Count closely only if somebody wants to know: what a `worker` does, what passes by the broker, or both."""
    if port is None:
        return Measured()
    from postroom.metrics.counting import WorkerMeter
    from postroom.metrics.dispatching import CountingDispatch
    from postroom.metrics.serving import served

    meter, dispatch, pulse = WorkerMeter(), CountingDispatch(), Pulse()
    wanted: dict[str, WorkerMeter | CountingDispatch] = {"worker": meter, "dispatch": dispatch}
    stack.enter_context(served(*(wanted[role] for role in roles), pulse=pulse, host=host, port=port))
    return Measured(meter, dispatch, pulse)


def run_sending(make: Callable[[AsyncDatabase], Sending], telling: Telling) -> None:
    """Run a service that sends; the exit code tells whether it stopped by itself although emails are due."""
    service = run_service(telling.settings, make, during=telling.during)
    if service is not None and service.left_due:
        raise typer.Exit(int(ExitCode.LEFT_DUE))


During = Callable[[AsyncDatabase], AbstractAsyncContextManager[None]]
"""What goes on beside a service for as long as it runs."""


def run_service(
    settings: Settings, make: Callable[[AsyncDatabase], S], *, during: During = lambda _database: nullcontext()
) -> S | None:
    """Run a service until it is done, or told to stop by SIGTERM or SIGINT; the service, unless it was interrupted."""
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)
    with suppress(KeyboardInterrupt):
        return asyncio.run(_run(settings, make, during))
    return None


async def _run(settings: Settings, make: Callable[[AsyncDatabase], S], during: During) -> S:
    database = open_async_database(
        settings.database.get_secret_value(), tables=settings.tables, listeners=listeners_of(settings)
    )
    service = make(database)
    told = {"deployment": settings.deployment or None, "delivery": mode_in(settings.delivery)}
    logger.info("starting", service=type(service).__name__.lower(), **told)
    running = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        running.add_signal_handler(number, service.stop)
    try:
        async with during(database):
            await service.run()
    finally:
        await database.close()
    return service


def check_database(settings: Settings) -> None:
    """See that the database is within reach, of this version, and one that this process may send from."""
    database = open_database(settings.database.get_secret_value(), tables=settings.tables)
    try:
        reach(database)
        if foreign := refusal(database.run(stamp(), writes=False), settings.deployment):
            raise foreign
    finally:
        database.close()
