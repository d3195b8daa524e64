"""Settings: the environment first, then `postroom.toml`, then defaults.

`POSTROOM_DATABASE`, `POSTROOM_SMTP` and the rest are read from the environment under that prefix; `POSTROOM_CONFIG`
names another file than `./postroom.toml`. The names of mail settings that many deployments have already (`SMTP_HOST`,
`SMTP_PORT`, `SMTP_FROM_ADDRESS`, `SMTP_FROM_NAME`, `EMAIL_WORKER_…`) are honoured where ours are not given.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from postroom.duration import parse_duration
from postroom.errors import ConfigurationError
from postroom.settle.policy import RetryPolicy

Duration = Annotated[timedelta, BeforeValidator(parse_duration)]

CONFIG_FILE = "postroom.toml"


class Settings(BaseSettings):
    """Every setting there is. Durations read `30s`, `5m`, `2h`, `90d`."""

    model_config = SettingsConfigDict(env_prefix="POSTROOM_", extra="forbid", populate_by_name=True)

    database: SecretStr = SecretStr("sqlite:///postroom.db")
    """Where emails wait: `sqlite:///file` or `postgresql://…`."""
    tables: str = "postroom"
    """The schema (PostgreSQL) or table prefix (SQLite) that Postroom's tables live under."""
    smtp: SecretStr | None = None
    """The way out: `smtp://user:password@host:587?starttls=required`."""
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
    """The region this process belongs to."""
    sender: str | None = None
    """Who emails are from when they do not say."""
    policy: str = "patient"
    """The retry policy of emails that do not name one."""
    policies: dict[str, dict[str, Any]] = {}
    """Retry policies of your own, by name."""
    lease: Duration = timedelta(seconds=30)
    """How long a worker may hold an email without a sign of life."""
    inline_limit: Duration = timedelta(seconds=10)
    """How long an inline send may take before the email goes to the outbox instead."""
    retention: Duration = timedelta(days=30)
    """How long sent and cancelled emails are kept; 0 deletes an email when it is sent."""
    journal: Path | None = None
    """The folder in which workers note what they are sending; a folder of its own for each outbox if not given."""
    key_retention: Duration = timedelta(days=90)
    """How long an idempotency key is remembered after its email is gone."""
    secret: SecretStr | None = None
    """The key of sign-in codes and forms; if not given, one is made and kept in the database."""
    max_recipients: int = 1_000
    max_bytes: int = 25_000_000
    max_key: int = 256
    max_headers: int = 100

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
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config_file())

    def smtp_url(self) -> str | None:
        """The way out, from our name or from `SMTP_HOST` and `SMTP_PORT`."""
        if self.smtp is not None:
            return self.smtp.get_secret_value()
        return f"smtp://{self.smtp_host}:{self.smtp_port}" if self.smtp_host else None

    def default_sender(self) -> str | None:
        """Who emails are from, from our name or from `SMTP_FROM_ADDRESS` and `SMTP_FROM_NAME`."""
        if self.sender is not None or self.smtp_from_address is None:
            return self.sender
        if not self.smtp_from_name:
            return self.smtp_from_address
        quoted = self.smtp_from_name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{quoted}" <{self.smtp_from_address}>'

    def own_policies(self) -> dict[str, RetryPolicy]:
        """The retry policies of the configuration, by name."""
        return {name: _policy(name, values) for name, values in self.policies.items()}


def config_file() -> Path | None:
    """The file to read: the one that `POSTROOM_CONFIG` names, or `postroom.toml` here if there is one."""
    if named := os.environ.get("POSTROOM_CONFIG"):
        path = Path(named)
        if not path.is_file():
            raise ConfigurationError(f"POSTROOM_CONFIG names {named}, and there is no such file")
        return path
    path = Path(CONFIG_FILE)
    return path if path.is_file() else None


def load(**given: Any) -> Settings:
    """The settings in force; what is given here comes before everything else."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"setting {name}: {first['msg']}") from None
    except (SettingsError, ValueError) as error:
        raise ConfigurationError(f"the settings cannot be read: {error}") from error


def _policy(name: str, values: dict[str, Any]) -> RetryPolicy:
    try:
        if "base" in values:
            return RetryPolicy.exponential(**values, name=name)
        return RetryPolicy(**values, name=name)
    except TypeError as error:
        raise ConfigurationError(
            f"policies.{name}: {error}; a policy has steps or base, max_attempts, cap, jitter"
        ) from error
