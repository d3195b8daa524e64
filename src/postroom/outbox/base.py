"""What the blocking and the awaiting outbox share: settings, and the decisions made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from postroom.channels import channel_by
from postroom.compose import Address, Limits, parse_address
from postroom.compose.limits import limit_setting
from postroom.duration import Duration, parse_duration
from postroom.errors import ConfigurationError
from postroom.events import listeners_of
from postroom.outbox.submission import NOBODY, HouseRules, Sendable, Submission, Wishes
from postroom.outbox.unsubscribing import Links
from postroom.posix import can_send
from postroom.send.contract import Transport
from postroom.send.delivery_mode import UNREADABLE, DeliveryMode, Mode, mode_in, sentence_in
from postroom.settle.policy import RetryPolicy
from postroom.store import housekeeping
from postroom.store.contract import Filter
from postroom.store.dialect import Clock
from postroom.store.housekeeping import Archive, Keep, Pruned
from postroom.store.listening import Listener
from postroom.store.order import Order
from postroom.store.plan import Course
from postroom.vocabulary import EmailId, Status

# What reads settings and what sends is imported by the methods that do so: `import postroom` brings neither pydantic
# nor the engine, and an application that only enqueues never has the second.
if TYPE_CHECKING:
    from postroom.claim.route import Route
    from postroom.config import RouteSettings, Settings
    from postroom.outbox.thread import InlineThread

INLINE_POLICY = "quick"
"""The policy of emails sent inline that do not name one."""

NO_WAY_OUT = "this process knows no way out; a worker will send it"

PRUNED = (Status.SENT, Status.CANCELLED)
"""What is pruned unless told otherwise: the dead wait for a person."""


class OutboxBase:
    """What the two shells share: settings, and the decisions made from them."""

    settings: Settings
    rules: HouseRules
    clock: Clock | None
    listeners: tuple[Listener, ...]
    """Who hears of what is changed through this outbox."""
    _transport: Transport | None = None

    def __init__(
        self,
        database: str | None = None,
        *,
        smtp: str | None = None,
        routes: Mapping[str, str | RouteSettings] | None = None,
        transport: Transport | None = None,
        sender: str | None = None,
        policy: str | None = None,
        policies: Mapping[str, RetryPolicy] | None = None,
        retention: Duration | None = None,
        limits: Limits | None = None,
        tables: str | None = None,
        region: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        """What is not given is taken from the environment, then from `postroom.toml`.

        `region` is one of the regions of the settings, whose database, sender and ways out it then has; `Regions` has
        all of them.

        `routes` are further ways out by name, each a URL or `RouteSettings`; `smtp` is that of the route `default`.
        `transport` takes the place of `smtp`: a `MemoryTransport` in tests, or one of your own. `clock` is for tests:
        the time everything goes by, in place of the machine's and the database's.
        """
        from postroom.config import load
        from postroom.config.routes import as_tables

        self._transport = transport
        given = load(
            database=database,
            smtp=smtp,
            routes=as_tables(routes),
            sender=sender,
            policy=policy,
            policies=dict(policies) if policies else None,
            retention=retention,
            tables=tables,
            region=region,
            **_limit_settings(limits),
        )
        self._open(given, clock)

    @classmethod
    def from_settings(cls, settings: Settings | None = None, *, clock: Clock | None = None) -> Self:
        """An outbox as these settings have it; those of the environment and `postroom.toml` if none are given."""
        from postroom.config import load

        outbox = cls.__new__(cls)
        outbox._open(settings or load(), clock)
        return outbox

    def _open(self, settings: Settings, clock: Clock | None) -> None:
        """Become the outbox of these settings: the one way there, whoever made them."""
        settings = settings.here()
        settings.check_one_database()
        self.settings, self.clock = settings, clock
        self.rules = house_rules(settings)
        self.listeners = listeners_of(settings)

    @property
    def database_url(self) -> str:
        return self.settings.database.get_secret_value()

    def _inline_thread(self) -> InlineThread | None:
        """Who sends inline, not started yet; None when no way out is known, or none can be used on this machine."""
        settings = self.settings
        nowhere = not settings.all_routes() and mode_in(settings.delivery) != Mode.CAPTURE
        if not can_send() or (self._transport is None and nowhere):
            return None
        from postroom.outbox.inline import InlineSettings
        from postroom.outbox.thread import InlineThread
        from postroom.work.journal import journal_folder

        return InlineThread(
            InlineSettings(
                database=self.database_url,
                tables=settings.tables,
                routes=self.routes,
                journals=settings.journal or journal_folder(self.database_url, settings.tables),
                lease=settings.lease,
                limit=settings.inline_limit,
                keep_sent=bool(settings.retention),
                keyring=self.rules.keyring,
                portals=settings.portals,
                limits=self.rules.limits,
                suppressions=self.rules.suppressions,
                deployment=settings.deployment,
                delivers=settings.delivery == Mode.DELIVER,
                obstacle=sentence_in(settings.delivery) if mode_in(settings.delivery) == UNREADABLE else None,
                clock=self.clock,
                listeners=self.listeners,
            )
        )

    def routes(self, *, always: bool = False) -> list[Route]:
        """The ways out of this outbox, to be used in one process and one event loop.

        With `always`, as workers have it, also those that need no settings. Where a `transport` was given, every route
        leads there, so that a test sees what rules would have sent elsewhere.
        """
        from postroom.claim.route import Route
        from postroom.work.routes import guarded, routes_of

        if self._transport is not None:
            delivery = DeliveryMode.parse(self.settings.delivery)
            return [guarded(Route.over(self._transport, name=name), delivery) for name in self.settings.known_routes()]
        return routes_of(self.settings, always=always)

    def _inline_order(self, email: Sendable, key: str | None, wishes: Wishes) -> Order:
        wishes.setdefault("policy", INLINE_POLICY)
        return self.rules.order(Submission(email, key, wishes), now=self._now())

    def _now(self) -> datetime:
        return (self.clock() if self.clock else None) or datetime.now(UTC)

    def _prune(
        self,
        older_than: Duration | None,
        *,
        statuses: Iterable[Status],
        archive: Archive | None,
        batch: int,
        progress: Callable[[int], None],
    ) -> Course[Pruned]:
        age = self.settings.retention if older_than is None else parse_duration(older_than)
        return housekeeping.prune(
            **Keep(emails=age, keys=self.settings.key_retention, undo=self.settings.undo).ends(self._now()),
            statuses=_prunable(statuses),
            batch=batch,
            archive=archive,
            progress=progress,
        )


def _prunable(statuses: Iterable[Status | str]) -> list[Status]:
    chosen = [Status(status) for status in statuses]
    for status in chosen:
        if status not in housekeeping.PRUNABLE:
            known = ", ".join(housekeeping.PRUNABLE)
            raise ConfigurationError(f"{status} emails are not finished and cannot be pruned; choose from {known}")
    return chosen


def make_filter(**given: Any) -> Filter:
    """A filter from names and plain values, as a program or a command line has them."""
    if (status := given.get("status")) is not None:
        try:
            given["status"] = Status(status)
        except ValueError:
            raise ConfigurationError(f"no status is called {status!r}; they are {', '.join(Status)}") from None
    try:
        return Filter(**given)
    except TypeError:
        known = ", ".join(field.name for field in fields(Filter))
        unknown = ", ".join(sorted(set(given) - {field.name for field in fields(Filter)}))
        raise ConfigurationError(f"emails cannot be filtered by {unknown}; they can by {known}") from None


def cursor(before: str | None) -> EmailId | None:
    return EmailId(before) if before else None


def keyed(item: Sendable | tuple[Sendable, str | None]) -> tuple[Sendable, str | None]:
    return item if isinstance(item, tuple) else (item, None)


def _sender(sender: str | None) -> Address:
    return NOBODY if sender is None else parse_address("sender", sender)


def house_rules(settings: Settings) -> HouseRules:
    """What these settings say about what is submitted. An unknown policy is told now, not at the first email."""
    keyring = settings.keyring()
    rules = HouseRules(
        default_sender=_sender(settings.default_sender()),
        default_policy=settings.policy,
        policies=settings.policies,
        limits=settings.limits(),
        routes=frozenset(settings.known_routes()),
        routing=settings.routing,
        carried=_carried(settings),
        keyring=keyring,
        suppressions=settings.suppression_rules(),
        links=Links(public_url=settings.public_url, region=settings.region, keyring=keyring),
    )
    rules.policy_for(None)
    return rules


def _carried(settings: Settings) -> dict[str, str]:
    """Which channel leaves by which route, where that is known here."""
    found = {}
    for name, route in settings.all_routes().items():
        with suppress(ConfigurationError):  # whoever is to send by it will tell
            found[name] = channel_by(route.transport).name
    return found


def _limit_settings(limits: Limits | None) -> dict[str, int]:
    return {limit_setting(each.name): getattr(limits, each.name) for each in fields(Limits)} if limits else {}


def corrections_of(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}
