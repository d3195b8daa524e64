"""A scheduler or a sender as the settings have them. Imports aio-pika, so only those who need a broker import this."""

from __future__ import annotations

from functools import partial

from postroom.claim.meter import UNMETERED, Meter
from postroom.config import Settings
from postroom.dispatch.feed import BrokerFeed, Outage
from postroom.dispatch.meter import UNMETERED_DISPATCH, DispatchMeter
from postroom.dispatch.scheduler import Scheduler, SchedulerSettings
from postroom.dispatch.topology import Broker
from postroom.errors import ConfigurationError
from postroom.send.smtp.pool import SmtpTransport
from postroom.store.open import AsyncDatabase
from postroom.worker import Worker, WorkerSettings


def broker_of(settings: Settings) -> Broker:
    """The broker and its queues' names, or what to do about their absence."""
    if settings.broker is None:
        raise ConfigurationError(
            "no broker is known; set POSTROOM_BROKER or give --broker amqp://user:password@host:5672/"
        )
    return Broker(
        url=settings.broker.get_secret_value(),
        send=settings.send_queue,
        retry=settings.retry_queue or None,
        dead=settings.dead_queue,
        delivery_limit=settings.delivery_limit,
        confirm_limit=settings.confirm_limit,
    )


def scheduler(
    settings: Settings,
    database: AsyncDatabase,
    *,
    until_idle: bool = False,
    meter: DispatchMeter = UNMETERED_DISPATCH,
) -> Scheduler:
    """A scheduler for this outbox."""
    return Scheduler(
        database,
        broker_of(settings),
        SchedulerSettings(
            interval=settings.dispatch_interval,
            lease=settings.dispatch_lease,
            ahead=settings.dispatch_ahead,
            until_idle=until_idle,
        ),
        meter=meter,
    )


def sender(
    settings: Settings,
    database: AsyncDatabase,
    transport: SmtpTransport,
    working: WorkerSettings,
    *,
    meter: Meter = UNMETERED,
    dispatch_meter: DispatchMeter = UNMETERED_DISPATCH,
) -> Worker:
    """A worker that is fed by messages."""
    feed = partial(
        BrokerFeed,
        broker=broker_of(settings),
        prefetch=settings.prefetch,
        outage=Outage(settings.broker_outage),
        meter=dispatch_meter,
    )
    return Worker(database, transport, working, meter=meter, feed=feed)
