"""Sending over a broker: scheduler and sender."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer
from pydantic import SecretStr

from postroom.campaigns.serving import campaign_feed
from postroom.cli.secrets import keep_secret
from postroom.cli.target import LogLevel, Target
from postroom.cli.telling import Telling
from postroom.cli.working import (
    FINISHED,
    Grace,
    MetricsHost,
    MetricsPort,
    Processes,
    Smtp,
    check_database,
    measured,
    run_sending,
    run_service,
    with_smtp,
)
from postroom.config import Settings
from postroom.errors import ConfigurationError
from postroom.work.routes import routes_of
from postroom.work.supervise import posts, supervise
from postroom.work.thread import worker_settings

BrokerUrl = Annotated[
    str | None, typer.Option("--broker", help="The broker: amqp://…, amqps://…; else POSTROOM_BROKER.", metavar="URL")
]


def scheduler(
    target: Target,
    broker: BrokerUrl = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Stop when nothing is due.")] = False,
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = "127.0.0.1",
) -> None:
    """Name due emails in messages to RabbitMQ until stopped. Run as many as you like; senders do the sending."""
    settings = _settings(target, broker)
    from postroom.broker import services

    services.broker_of(settings)
    check_database(settings)
    with ExitStack() as stack:
        meter = measured(stack, metrics_host, metrics_port, roles=["dispatch"])
        run_service(
            settings,
            lambda database: services.scheduler(
                settings, database, until_idle=until_idle, meter=meter.dispatch, pulse=meter.pulse
            ),
        )


def sender(
    target: Target,
    broker: BrokerUrl = None,
    smtp: Smtp = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Stop when nothing is due or queued.")] = False,
    processes: Processes = 1,
    grace: Grace = "30s",
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = "127.0.0.1",
) -> None:
    """Send what messages from RabbitMQ name, and campaigns, until stopped. SIGTERM lets what is under way finish."""
    settings = _settings(target, broker)
    settings = with_smtp(settings, smtp)
    routes_of(settings, always=True)
    from postroom.broker import services

    services.broker_of(settings)
    check_database(settings)
    if processes > 1:
        raise typer.Exit(supervise(posts(processes, metrics_port=metrics_port), finished=FINISHED))
    working = worker_settings(settings, until_idle=until_idle, grace=grace, role="sender")
    with ExitStack() as stack:
        meter = measured(stack, metrics_host, metrics_port, roles=["worker", "dispatch"])
        routes = routes_of(settings, always=True)
        run_sending(
            lambda database: services.sender(
                settings,
                database,
                routes,
                working,
                meter=meter.worker,
                dispatch_meter=meter.dispatch,
                pulse=meter.pulse,
                beside=campaign_feed(settings),
            ),
            Telling(role="sender", settings=settings, routes=routes, meter=meter.worker),
        )


def _settings(target: Target, broker: str | None) -> Settings:
    """The settings in force, with a broker among them; and what speaks to it at hand."""
    keep_secret(broker)
    target.prepare(quiet=LogLevel.INFO)
    try:
        import pamqp  # noqa: F401
    except ImportError as error:
        raise ConfigurationError("RabbitMQ needs pamqp: install it with `pip install 'postroom[rabbitmq]'`") from error
    settings = target.settings()
    return settings.model_copy(update={"broker": SecretStr(broker)}) if broker else settings
