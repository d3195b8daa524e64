"""Every setting there is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    InstanceOf,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from postroom.compose.limits import Limits, limit_setting
from postroom.compose.return_path import ReturnPath
from postroom.config.durations import Duration
from postroom.config.public_url import PublicUrl
from postroom.config.regions import RegionTable, check_known, check_regions, overlaid
from postroom.config.routes import (
    ReturnAddress,
    RouteSettings,
    RouteTable,
    check_name,
    check_one_way_out,
    check_routes,
    known_routes,
    usable_routes,
)
from postroom.config.routing import RoutingRule
from postroom.config.secrecy import DoorSecret, SecretTexts
from postroom.config.sources import PREFIX, Environment, File, config_file
from postroom.config.webhooks import EventSettings, WebhookSettings
from postroom.errors import ConfigurationError
from postroom.sealing import Keyring
from postroom.settle.policy import RetryPolicy
from postroom.store.suppressions import SuppressionRules
from postroom.vocabulary import DEFAULT_ROUTE


def _pruned(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return () if value.strip() == "off" else tuple(each.strip() for each in value.split(","))


class Settings(BaseSettings):
    """Every setting there is. Durations read `30s`, `5m`, `2h`, `90d`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    database: SecretStr = SecretStr("sqlite:///postroom.db")
    """Where emails wait: `sqlite:///file` or `postgresql://…`."""
    deployment: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,64}$")] = ""
    """Whose outbox this is, such as `production` or `staging`: nothing is sent from a database of another one."""
    delivery: str = "deliver"
    """Who gets what is sent from here: `deliver`, `capture`, `redirect:dev@example.org` or `only:example.org`. Read
    when something is to be sent, so that a mode nobody can read keeps no email from being stored."""
    tables: str = "postroom"
    """The schema (PostgreSQL) or table prefix (SQLite) that Postroom's tables live under."""
    smtp: SecretStr | None = None
    """The way out of the route `default`: `smtp://user:password@host:587?starttls=required`."""
    routes: dict[str, RouteTable] = {}
    """Named ways out, in use as `all_routes()`."""
    routing: tuple[RoutingRule, ...] = ()
    """Which route an email takes that does not name one: the first rule that holds, else `default`."""
    webhooks: WebhookSettings = WebhookSettings()
    """How webhooks are signed, and where they may go."""
    events: tuple[EventSettings, ...] = ()
    """Who hears of changes of state."""
    broker: SecretStr | None = None
    """`amqp://user:password@host:5672/`, for those who dispatch over RabbitMQ; `amqps://` for TLS."""
    broker_outage: Literal["wait", "direct"] = "wait"
    """What senders do while the broker is away: wait, or claim straight from the database."""
    dispatch_interval: Duration = timedelta(seconds=60)
    """How long a scheduler rests at most between rounds, for want of a wake-up."""
    dispatch_lease: Duration = timedelta(minutes=2)
    """How long an email may be queued without a sign of its message before it is due again."""
    dispatch_ahead: Annotated[int, Field(ge=1)] = 1_000
    """How many messages may wait in the queues of one lane."""
    send_queue: str = "email.dispatcher.send"
    """The queue of normal emails; those of urgent and bulk ones have `.urgent` and `.bulk` behind it."""
    retry_queue: str = ""
    """A queue for attempts after the first, such as `email.dispatcher.retry`; empty: the same."""
    dead_queue: str = "email.dispatcher.dead"
    """Where the news of dead emails goes, and what senders cannot read."""
    delivery_limit: Annotated[int, Field(ge=1)] = 20
    """How often a message may come back to its queue before it is put aside."""
    confirm_limit: Duration = timedelta(seconds=10)
    """How long a scheduler waits for the broker to confirm a message."""
    prefetch: Annotated[int | None, Field(ge=1)] = None
    """Messages a sender asks for ahead, for each queue; 40 for each connection to the mail server if not given."""
    region: str = ""
    """The region this process belongs to: one of `regions`, if there are any."""
    regions: dict[str, RegionTable] = {}
    """Regions by name, each with a database of its own and what else differs there; in use as `of_region()`."""
    portals: tuple[str, ...] = ()
    """Where the application keeps its portals: `module:name` of each, such as `shop.mail:hub`."""
    sender: str | None = None
    """Who emails are from when they do not say."""
    return_address: ReturnAddress | None = None
    """Where emails come back to, such as `bounces@example.org`: their envelope sender is then this address with a token
    of the email's own, `bounces+TOKEN@example.org`. Without a `secret` to sign tokens with it changes nothing."""
    policy: str = "patient"
    """The retry policy of emails that do not name one."""
    policies: dict[str, InstanceOf[RetryPolicy]] = {}
    """Retry policies of your own, by name."""
    lease: Duration = timedelta(seconds=30)
    """How long a worker may hold an email without a sign of life."""
    bounces_stop_all: bool = True
    """Whether an address that bounced for good gets no mail at all any more, receipts and codes included; otherwise it
    gets none that can be unsubscribed from."""
    inline_limit: Duration = timedelta(seconds=10)
    """How long an inline send may take before the email goes to the outbox instead."""
    retention: Duration = timedelta(days=30)
    """How long sent and cancelled emails are kept; 0 deletes an email when it is sent."""
    prune: Annotated[tuple[Literal["sent", "cancelled", "dead"], ...], BeforeValidator(_pruned)] | None = None
    """What workers remove by themselves when its retention is over: `sent`, `cancelled`, `dead`, several with commas;
    `off` for nothing. If not given, `sent` where a retention is, and nothing where none is."""
    undo: Duration = timedelta(days=1)
    """How long a dismissal can be undone; until then a dismissed email stays in the database, out of sight."""
    journal: Path | None = None
    """The folder in which workers note what they are sending; a folder of its own for each outbox if not given."""
    key_retention: Duration = timedelta(days=90)
    """How long an idempotency key is remembered after its email is gone."""
    secret: SecretStr | None = None
    """The key of sign-in codes and forms, of what sensitive emails say, and of links by which somebody unsubscribes; if
    not given, a key for the first is made and kept in the database, the second is not sealed, and the last cannot be
    made."""
    previous_secrets: SecretTexts = SecretStr("")
    """What `secret` was before, separated by blanks, or as a JSON list: what was sealed then can still be opened,
    and links of that time still lead somewhere."""
    public_url: PublicUrl = ""
    """Where people reach the web app, such as `https://mail.example.org`: links by which somebody unsubscribes lead
    there."""
    cron_secret: DoorSecret | None = None
    """What a cron job shows to have the web app send what is due: `POST /api/cron/send-emails`; 16 characters or more.
    If not given, that is not there."""
    max_recipients: int = 1_000
    max_bytes: int = 25_000_000
    max_key: int = 256
    max_headers: int = 100
    dotless_domains: bool = False
    """Whether recipients such as `root@localhost` are taken."""

    smtp_host: Annotated[str | None, Field(validation_alias=AliasChoices("SMTP_HOST"))] = None
    smtp_port: Annotated[int, Field(validation_alias=AliasChoices("SMTP_PORT"))] = 25
    smtp_from_address: Annotated[str | None, Field(validation_alias=AliasChoices("SMTP_FROM_ADDRESS"))] = None
    smtp_from_name: Annotated[str | None, Field(validation_alias=AliasChoices("SMTP_FROM_NAME"))] = None
    worker_enabled: Annotated[bool, Field(validation_alias=AliasChoices("EMAIL_WORKER_ENABLED"))] = True
    worker_batch_size: Annotated[int | None, Field(validation_alias=AliasChoices("EMAIL_WORKER_BATCH_SIZE"))] = None
    worker_poll_interval: Annotated[
        Duration | None, Field(validation_alias=AliasChoices("EMAIL_WORKER_POLL_INTERVAL"))
    ] = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = File(settings_cls, config_file())
        return init_settings, Environment(settings_cls, file=file), file

    @field_validator("policies", mode="before")
    @classmethod
    def _read_policies(cls, given: Any) -> Any:
        return {name: _policy(name, values) for name, values in given.items()} if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_one_way_out(self.smtp, self.routes)
        if not self.regions:
            self._check_routes()
            return self
        check_regions(self)
        for name in self.regions:
            self._overlaid(name, {})._check_routes(f"regions.{name}: ")
        return self

    def _check_routes(self, where: str = "") -> None:
        try:
            check_routes(self.routes, smtp=self._smtp())
            for number, rule in enumerate(self.routing):
                check_name(f"routing.{number}.route", rule.route, self.known_routes())
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}{error}") from None

    def of_region(self, name: str, given: Mapping[str, Any] | None = None) -> Settings:
        """The settings of one region: its own where it has any, and those of all regions. It knows no other region.

        What a program has given itself, by the names in `given`, stays.
        """
        check_known(name, self.regions)
        given = given or {}
        if self.regions[name].database is None and "database" not in given:
            raise ConfigurationError(
                f"the database of region {name} is not known here; "
                f"set regions.{name}.database, or {PREFIX}REGIONS__{name.upper()}__DATABASE"
            )
        return self._overlaid(name, given)

    def _overlaid(self, name: str, given: Mapping[str, Any]) -> Settings:
        return self.model_copy(update=overlaid(self, name, self.regions[name].without(given)))

    def here(self, given: Mapping[str, Any] | None = None) -> Settings:
        """Those of the region that this process belongs to, if it is one of `regions`; else as they are."""
        return self.of_region(self.region, given) if self.regions and self.region else self

    def check_one_database(self) -> None:
        """Refuse to take the default for a database where there are regions and nobody has said which."""
        if self.regions and "database" not in self.model_fields_set:
            first, known = next(iter(self.regions)), ", ".join(self.regions)
            raise ConfigurationError(
                f"there are several databases, one for each region, and no region is named; the regions are {known}; "
                f"name one, as --region {first} or {PREFIX}REGION={first}"
            )

    def all_routes(self) -> dict[str, RouteSettings]:
        """The ways out that this process can use, by name, the default first; none where no transport is known."""
        return usable_routes(self.routes, self._smtp())

    def known_routes(self) -> tuple[str, ...]:
        """The routes that emails may name here: also those whose transport only workers know."""
        return known_routes(self.routes)

    def pruned(self) -> tuple[str, ...]:
        """The statuses of emails that workers remove by themselves."""
        if self.prune is not None:
            return self.prune
        return ("sent",) if "retention" in self.model_fields_set else ()

    def channel_tables(self) -> dict[str, dict[str, Any]]:
        """What transports of a channel are told beside their URL, by the channel's name."""
        own: dict[str, list[str]] = {}
        for event in self.events:
            if event.secret is not None:
                own.setdefault(event.url, []).append(event.secret.get_secret_value())
        webhook = {
            "secrets": tuple(each.get_secret_value() for each in self.webhooks.secrets),
            "secrets_for": own,
            "allow": tuple(map(str, self.webhooks.allow)),
        }
        return {"webhook": webhook}

    def smtp_url(self) -> str | None:
        """The way out of the default route, with its options."""
        default = self.all_routes().get(DEFAULT_ROUTE)
        return default.url if default else None

    def _smtp(self) -> str | None:
        """From our name, or from `SMTP_HOST` and `SMTP_PORT`."""
        if self.smtp is not None:
            return self.smtp.get_secret_value()
        return f"smtp://{self.smtp_host}:{self.smtp_port}" if self.smtp_host else None

    def secrets(self) -> Iterator[str]:
        """Everything in here that nobody may read, for those who hide it: URLs with passwords, and keys."""
        tables = (table.transport for table in self.routes.values())
        signing = (*self.webhooks.secrets, *(event.secret for event in self.events))
        for secret in (self.database, self.smtp, self.broker, self.secret, self.cron_secret, *tables, *signing):
            if secret is not None:
                yield secret.get_secret_value()
        yield from self._previous_secrets()
        for name in self.regions:
            yield from self._overlaid(name, {}).secrets()

    def keyring(self) -> Keyring:
        """What sensitive emails are sealed with, and what those are opened with that were sealed before."""
        secret = None if self.secret is None else self.secret.get_secret_value()
        return Keyring(secret, self._previous_secrets())

    def return_path(self, address: str | None = None) -> ReturnPath | None:
        """Where emails come back to, of all routes or of one that has an address of its own; None where there is no
        such address, or no secret to sign with."""
        address = address or self.return_address
        if address is None or self.secret is None:
            return None
        return ReturnPath(address, [key.value for key in self.keyring().keys_for("return addresses")])

    def return_addresses(self) -> tuple[str, ...]:
        """Every address that emails come back to, without tokens."""
        known = (self.return_address, *(table.return_address for table in self.routes.values()))
        return tuple(dict.fromkeys(address for address in known if address is not None))

    def return_paths(self) -> tuple[ReturnPath, ...]:
        """The same, each able to tell which email a token is of; none without a secret."""
        paths = (self.return_path(address) for address in self.return_addresses())
        return tuple(path for path in paths if path is not None)

    def suppression_rules(self) -> SuppressionRules:
        """Which emails an entry about an address stops."""
        return SuppressionRules(bounces_stop_all=self.bounces_stop_all)

    def limits(self) -> Limits:
        """How large an email may be."""
        return Limits(**{each.name: getattr(self, limit_setting(each.name)) for each in fields(Limits)})

    def _previous_secrets(self) -> tuple[str, ...]:
        given = self.previous_secrets.get_secret_value().strip()
        try:
            return tuple(map(str, json.loads(given))) if given.startswith("[") else tuple(given.split())
        except ValueError:
            raise ConfigurationError("setting previous_secrets: begins like a JSON list and is none") from None

    def default_sender(self) -> str | None:
        """Who emails are from, from our name or from `SMTP_FROM_ADDRESS` and `SMTP_FROM_NAME`."""
        if self.sender is not None or self.smtp_from_address is None:
            return self.sender
        if not self.smtp_from_name:
            return self.smtp_from_address
        quoted = self.smtp_from_name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{quoted}" <{self.smtp_from_address}>'


def _policy(name: str, values: Any) -> RetryPolicy:
    if isinstance(values, RetryPolicy):
        return values
    try:
        if "base" in values:
            return RetryPolicy.exponential(**values, name=name)
        return RetryPolicy(**values, name=name)
    except TypeError as error:
        raise ConfigurationError(
            f"policies.{name}: {error}; a policy has steps or base, max_attempts, cap, jitter"
        ) from error
