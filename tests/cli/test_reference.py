"""The reference pages name every setting and every command, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel
from typer.main import get_command

from postroom.cli.app import app
from postroom.config import EventSettings, RegionTable, RouteTable, RoutingRule, Settings, WebhookSettings, load
from postroom.send.smtp import server
from postroom.settle.policy import PRESETS

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
COMMANDS = (REFERENCE / "commands.md").read_text("utf-8")
SETTINGS = (REFERENCE / "settings.md").read_text("utf-8")


def commands(command: Any = None, path: str = "postroom") -> Iterator[tuple[str, Any]]:
    """Every command with its whole name; groups are walked through."""
    found = getattr(command or get_command(app), "commands", None)
    if found is None:
        yield path, command
        return
    for name, each in found.items():
        if not each.hidden:
            yield from commands(each, f"{path} {name}")


def section(heading: str) -> str:
    """From a heading to the next one of its rank."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", COMMANDS, re.MULTILINE | re.DOTALL)
    assert match, f"commands.md has no section for {heading}"
    return match[1]


def variable_of(name: str) -> str:
    alias = Settings.model_fields[name].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"POSTROOM_{name.upper()}"


@pytest.mark.parametrize(("name", "command"), [*commands()], ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_has_a_section_and_every_option_its_line(name: str, command: Any) -> None:
    options = {option: parameter for parameter in command.params for option in parameter.opts if option[0] == "-"}
    text = section(f"`{name}`") + section("Everywhere")
    if "--reply-code" in options:  # a command that takes filters
        text += section("Which emails")

    for option, parameter in options.items():
        if not getattr(parameter, "hidden", False) and parameter.name != "help":
            assert re.search(rf"`{option}[` ]", text), f"{name} {option} is not documented"


def test_no_command_is_documented_that_does_not_exist() -> None:
    documented = set(re.findall(r"^## `(postroom [\w -]+)`$", COMMANDS, re.MULTILINE))

    assert documented == {name for name, _ in commands()}


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_every_setting_is_documented(name: str) -> None:
    assert f"`{variable_of(name)}`" in SETTINGS


def test_no_setting_is_documented_that_does_not_exist() -> None:
    named = set(re.findall(r"POSTROOM_[A-Z_]+[A-Z]|SMTP_[A-Z_]+|EMAIL_WORKER_[A-Z_]+", SETTINGS))
    documented = {name.partition("__")[0] for name in named}

    assert documented - {"POSTROOM_CONFIG", "POSTROOM_DATABSE"} == {variable_of(name) for name in Settings.model_fields}


@pytest.mark.parametrize(
    ("table", "model"),
    [
        ("[regions.NAME]", RegionTable),
        ("[routes.NAME]", RouteTable),
        ("[[routing]]", RoutingRule),
        ("[webhooks]", WebhookSettings),
        ("[[events]]", EventSettings),
    ],
)
def test_every_setting_of_a_table_is_documented_and_no_other(table: str, model: type[BaseModel]) -> None:
    rows = re.search(rf"^\| `{re.escape(table)}` \|.*\n((?:\|.*\n)+)", SETTINGS, re.MULTILINE)
    assert rows, f"settings.md has no table for {table}"

    assert re.findall(r"^\| `(\w+)` \|", rows[1], re.MULTILINE) == [*model.model_fields]


def test_every_option_of_a_transport_and_every_preset_is_documented() -> None:
    for name in (*server._OPTIONS, *server._LIMITS, *PRESETS):
        assert f"| `{name}` |" in SETTINGS


def test_the_example_file_of_settings_is_understood(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", SETTINGS, re.DOTALL)
    assert example
    (tmp_path / "postroom.toml").write_text(example[1], "utf-8")

    settings = load()

    assert settings.default_sender() == "Desk <desk@example.org>"
    assert settings.policies["mine"].max_attempts == 6
    assert settings.all_routes()["default"].fallback == "backup"
    assert settings.all_routes()["backup"].connections == 4
    assert settings.routing[0].kind == ("newsletter", "digest-*")
    assert [str(network) for network in settings.webhooks.allow] == ["10.0.0.0/8"]
    assert settings.events[0].of == ("sent", "dead", "in_doubt")
