"""Sending what waits: worker."""

from __future__ import annotations

import asyncio
import gc
import signal
from contextlib import ExitStack, suppress
from typing import Annotated

import typer

from postroom.claim.meter import UNMETERED, Meter
from postroom.cli.desk import Desk, LogLevel, reach
from postroom.cli.screen import standard_error
from postroom.cli.secrets import keep_secret
from postroom.config import Settings
from postroom.embedded import way_out, worker_settings
from postroom.send.smtp.pool import SmtpTransport
from postroom.store.open import open_async_database, open_database
from postroom.supervise import supervise
from postroom.worker import Worker

COLLECT_AFTER = 50_000
"""Objects allocated before the collector looks for cycles. Emails make none, and looking cost a tenth of the time."""


def worker(
    desk: Desk,
    smtp: Annotated[
        str | None, typer.Option(help="The way out: smtp://…, smtps://…; else POSTROOM_SMTP.", metavar="URL")
    ] = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Stop when nothing is due.")] = False,
    processes: Annotated[int, typer.Option(help="So many worker processes, kept alive.", min=1, max=64)] = 1,
    grace: Annotated[str, typer.Option(help="How long emails under way may take when asked to stop.")] = "30s",
    metrics_port: Annotated[
        int | None,
        typer.Option(help="Serve this process's metrics at this port; 0 for any that is free.", min=0, max=65_535),
    ] = None,
    metrics_host: Annotated[
        str, typer.Option(help="The address to serve metrics at; this machine only unless told otherwise.")
    ] = "127.0.0.1",
) -> None:
    """Claim, send and settle emails until stopped. SIGTERM lets what is under way finish and gives the rest back."""
    desk.prepare(quiet=LogLevel.INFO)
    settings = desk.settings()
    if not settings.worker_enabled:
        standard_error().print("EMAIL_WORKER_ENABLED is false: this process sends nothing.")
        return
    keep_secret(smtp)
    transport_url = smtp or way_out(settings)
    _check_database(settings)
    if processes > 1:
        raise typer.Exit(supervise(processes, metrics_port=metrics_port))
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 50)
    with ExitStack() as stack, suppress(KeyboardInterrupt):
        meter = _metered(stack, metrics_host, metrics_port)
        asyncio.run(_work(settings, transport_url, until_idle=until_idle, grace=grace, meter=meter))


def _metered(stack: ExitStack, host: str, port: int | None) -> Meter:
    """Count only if somebody wants to know."""
    if port is None:
        return UNMETERED
    from postroom.metrics.counting import WorkerMeter
    from postroom.metrics.serving import served

    meter = WorkerMeter()
    stack.enter_context(served(meter, host=host, port=port))
    return meter


async def _work(settings: Settings, transport_url: str, *, until_idle: bool, grace: str, meter: Meter) -> None:
    database = open_async_database(settings.database.get_secret_value(), tables=settings.tables)
    working = Worker(
        database,
        SmtpTransport(transport_url),
        worker_settings(settings, until_idle=until_idle, grace=grace),
        meter=meter,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, working.stop)
    try:
        await working.run()
    finally:
        await database.close()


def _check_database(settings: Settings) -> None:
    database = open_database(settings.database.get_secret_value(), tables=settings.tables)
    try:
        reach(database)
    finally:
        database.close()
