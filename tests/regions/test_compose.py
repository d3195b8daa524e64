"""`deploy/compose.regions.yaml`: Docker does not run here, so it is read, and its settings are loaded (C1, C7)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from postroom.config import load, load_shared

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NAMES = ("deu1", "usa1", "sgp1")
_DEFAULT = re.compile(r"\$\{\w+:-(.*)\}")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.regions.yaml").read_text("utf-8"))["services"]
    return found


def environment(service: dict[str, Any]) -> dict[str, str]:
    """As the container has it where nobody has set anything."""
    return {name: _DEFAULT.sub(r"\1", value) for name, value in service["environment"].items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_region_has_a_database_a_worker_and_a_journal_of_its_own(
    services: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, postgres = services[f"worker-{name}"], services[f"postgres-{name}"]
    for variable, value in environment(worker).items():
        monkeypatch.setenv(variable, value)
    settings = load()

    assert settings.region == name
    assert settings.smtp_url() == "smtp://mailpit:1025"
    assert settings.default_sender() == '"Postroom" <desk@example.org>'
    assert (settings.worker_enabled, settings.worker_batch_size) == (True, 100)
    password = postgres["environment"]["POSTGRES_PASSWORD"]
    assert settings.database.get_secret_value() == f"postgresql://postroom:{password}@postgres-{name}:5432/postroom"
    assert worker["networks"] == postgres["networks"] == [name]
    assert worker["volumes"] == [f"journal-{name}:/var/lib/postroom/journal"]
    assert services[f"migrate-{name}"]["environment"] == worker["environment"]


@pytest.mark.parametrize("name", NAMES)
def test_no_worker_knows_a_word_of_another_region(services: dict[str, Any], name: str) -> None:
    known = str(services[f"worker-{name}"])

    assert [other for other in NAMES if other != name and other in known.lower()] == []


def test_the_desk_knows_all_regions_and_none_as_its_own(
    services: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in environment(services["desk"]).items():
        monkeypatch.setenv(variable, value)

    settings = load_shared()

    assert (set(settings.regions), settings.region) == ({*NAMES}, "")


def test_every_name_that_deployments_have_already_can_be_set_from_outside(services: dict[str, Any]) -> None:
    """(C7)"""
    names = ("SMTP_HOST", "SMTP_PORT", "SMTP_FROM_ADDRESS", "SMTP_FROM_NAME")
    names += ("EMAIL_WORKER_ENABLED", "EMAIL_WORKER_BATCH_SIZE", "EMAIL_WORKER_POLL_INTERVAL")

    for region in NAMES:
        given = services[f"worker-{region}"]["environment"]
        assert [name for name in names if not given[name].startswith(f"${{{name}:-")] == []


def test_the_desk_asks_for_its_health_where_it_answers(services: dict[str, Any]) -> None:
    plain = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]["web"]

    assert services["desk"]["healthcheck"] == plain["healthcheck"]
    assert services["desk"]["command"] == plain["command"]
