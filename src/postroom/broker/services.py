"""A scheduler or a sender as the settings have them. Imports pamqp, so only those who need a broker import this."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from urllib.parse import urlsplit

from postroom.broker.feed import BrokerFeed, Outage
from postroom.broker.meter import UNMETERED_DISPATCH, DispatchMeter
from postroom.broker.scheduler import Scheduler, SchedulerSettings
from postroom.broker.topology import Broker
from postroom.claim.feed import Workbench
from postroom.claim.meter import UNMETERED, Meter
from postroom.claim.route import Route
from postroom.config import Settings
from postroom.errors import ConfigurationError
from postroom.store.open import AsyncDatabase
from postroom.work.beside import Beside
from postroom.work.pulse import Pulse
from postroom.work.worker import Worker, WorkerSettings


def broker_of(settings: Settings) -> Broker:
    """The broker and its queues' names, or what to do about their absence."""
    url = settings.broker.get_secret_value() if settings.broker is not None else ""
    if not url:
        raise ConfigurationError(
            "no broker is known; set POSTROOM_BROKER or give --broker, such as amqp://user@host:5672/"
        )
    _check(url)
    _check_names(settings)
    return Broker(
        url=url,
        send=settings.send_queue,
        retry=settings.retry_queue or None,
        dead=settings.dead_queue,
        delivery_limit=settings.delivery_limit,
        confirm_limit=settings.confirm_limit,
    )


def _check(url: str) -> None:
    """Say what is wrong with a URL before anybody tries for hours; the password is in it, so it is not repeated."""
    remedy = "write POSTROOM_BROKER or --broker as amqp://user@host:5672/ with its password, or amqps:// for TLS"
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where it is no number
    except ValueError:
        escape = "percent-encode characters such as #, / and @ in the password"
        raise ConfigurationError(f"the broker's URL cannot be read; {escape}, and {remedy}") from None
    if parts.scheme not in ("amqp", "amqps"):
        raise ConfigurationError(f"the broker's URL begins with {parts.scheme or 'no scheme'}://; {remedy}")
    if not parts.hostname:
        raise ConfigurationError(f"the broker's URL names no host; {remedy}")


def _check_names(settings: Settings) -> None:
    """Two queues under one name would be declared in two ways, and mix what is to be sent with what is not."""
    names = [name for name in (settings.send_queue, settings.retry_queue, settings.dead_queue) if name]
    if not settings.send_queue or not settings.dead_queue or len(set(names)) < len(names):
        raise ConfigurationError(
            "POSTROOM_SEND_QUEUE, POSTROOM_RETRY_QUEUE and POSTROOM_DEAD_QUEUE need different names"
        )


def scheduler(
    settings: Settings,
    database: AsyncDatabase,
    *,
    until_idle: bool = False,
    meter: DispatchMeter = UNMETERED_DISPATCH,
    pulse: Pulse | None = None,
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
            deployment=settings.deployment,
        ),
        meter=meter,
        pulse=pulse,
    )


def sender(
    settings: Settings,
    database: AsyncDatabase,
    routes: Iterable[Route],
    working: WorkerSettings,
    *,
    meter: Meter = UNMETERED,
    dispatch_meter: DispatchMeter = UNMETERED_DISPATCH,
    pulse: Pulse | None = None,
    beside: Callable[[Workbench], Beside] | None = None,
) -> Worker:
    """A worker that is fed by messages, and `beside` them by what goes by other rules: mail of campaigns is named by no
    message, for whose turn it is, is for the database to say."""
    feed = partial(
        BrokerFeed,
        broker=broker_of(settings),
        prefetch=settings.prefetch,
        outage=Outage(settings.broker_outage),
        meter=dispatch_meter,
    )
    return Worker(database, routes, working, meter=meter, pulse=pulse, feed=feed, beside=beside)
