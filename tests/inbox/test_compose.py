"""The compose file, read as Docker would read it: it cannot be run here, and every name in it can be checked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import AliasChoices
from typer.main import get_command

from postroom.cli.app import app
from postroom.config import Settings, load

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "postroom"}

ENVIRONMENT_OF_C7 = {
    "SMTP_HOST",
    "SMTP_PORT",
    "SMTP_FROM_ADDRESS",
    "SMTP_FROM_NAME",
    "EMAIL_WORKER_ENABLED",
    "EMAIL_WORKER_BATCH_SIZE",
    "EMAIL_WORKER_POLL_INTERVAL",
}


def variables() -> set[str]:
    """Every variable that Postroom reads."""
    aliases = [field.validation_alias for field in Settings.model_fields.values()]
    named = {str(alias.choices[0]) for alias in aliases if isinstance(alias, AliasChoices)}
    return named | {
        f"POSTROOM_{name.upper()}" for name, alias in zip(Settings.model_fields, aliases, strict=True) if not alias
    }


def filled_in(value: str) -> str:
    """`${NAME:-otherwise}` where NAME is not set."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)


def test_the_services_that_are_promised_are_there() -> None:
    assert {"postgres", "rabbitmq", "mailpit", "worker", "web"} <= set(SERVICES)
    assert set(OURS) == {"migrate", "worker", "scheduler", "sender", "web"}
    assert {name for name, service in SERVICES.items() if "profiles" in service} == {"scheduler", "sender"}


@pytest.mark.parametrize("name", OURS)
def test_every_setting_is_one_that_postroom_reads(name: str) -> None:
    """C7: these names are honoured, and may be set from outside."""
    given = OURS[name]["environment"]

    assert set(given) <= variables()
    assert set(given) >= ENVIRONMENT_OF_C7
    assert all(given[name].startswith(f"${{{name}:-") for name in ENVIRONMENT_OF_C7)
    assert set(re.findall(r"\b(POSTROOM_[A-Z]+)=", DOCKERFILE)) <= variables()


def test_the_settings_are_understood_and_lead_from_service_to_service(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in OURS["worker"]["environment"].items():
        monkeypatch.setenv(name, filled_in(value))
    settings = load()
    mailpit = [filled_in(port) for port in SERVICES["mailpit"]["ports"]]

    assert settings.smtp_url() == "smtp://mailpit:1025"
    assert settings.default_sender() == '"Postroom" <desk@example.org>'
    assert settings.worker_enabled
    assert settings.worker_batch_size == 100
    assert settings.worker_poll_interval is not None
    assert settings.worker_poll_interval.total_seconds() == 1
    assert "@postgres:5432/" in settings.database.get_secret_value()
    assert settings.broker is not None
    assert "@rabbitmq:5672/" in settings.broker.get_secret_value()
    assert "127.0.0.1:1025:1025" in mailpit


@pytest.mark.parametrize("name", OURS)
def test_every_command_exists_with_its_options(name: str) -> None:
    command, *given = OURS[name]["command"]
    known = {option for parameter in commands()[command].params for option in parameter.opts}

    assert {option for option in given if option.startswith("--")} <= known


def commands() -> dict[str, Any]:
    found: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_published_on_this_machine_only(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


def test_whatever_is_waited_for_exists_and_can_tell_that_it_is_well() -> None:
    for service in SERVICES.values():
        for name, wish in service.get("depends_on", {}).items():
            assert name in SERVICES
            assert wish["condition"] != "service_healthy" or "healthcheck" in SERVICES[name]


def test_every_volume_is_declared_and_every_file_is_there() -> None:
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    build = OURS["web"]["build"]
    root = (DEPLOY / build["context"]).resolve()

    assert used == set(COMPOSE["volumes"])
    assert (root / build["dockerfile"]).is_file()
    for copied in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        assert all((root / each).exists() for each in copied.split())


@pytest.mark.parametrize("name", ["worker", "sender"])
def test_whoever_sends_is_given_longer_to_stop_than_it_takes(name: str) -> None:
    grace = int(SERVICES[name]["stop_grace_period"].removesuffix("s"))

    assert grace > 30  # `--grace` unless told otherwise
    assert SERVICES[name]["volumes"] == ["journal:/var/lib/postroom/journal"]
