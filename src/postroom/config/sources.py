"""Where settings are looked for, and what an earlier place overrules in a later one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic_settings import EnvSettingsSource, TomlConfigSettingsSource

from postroom.errors import ConfigurationError
from postroom.spelling import mistyped
from postroom.vocabulary import DEFAULT_ROUTE

PREFIX = "POSTROOM_"
CONFIG_FILE = "postroom.toml"
NOT_SETTINGS = ("config", "failpoint")
"""What else is read under the prefix."""


class Environment(EnvSettingsSource):
    """The environment. A variable that is nearly one of ours is refused instead of being ignored."""

    def __call__(self) -> dict[str, Any]:
        known = [*self.settings_cls.model_fields, *NOT_SETTINGS]
        for variable, meant in mistyped(os.environ, PREFIX, known):
            raise ConfigurationError(f"there is no setting {variable}; did you mean {meant}?")
        return _yielding(super().__call__(), self.current_state)


class File(TomlConfigSettingsSource):
    """The file."""

    def __call__(self) -> dict[str, Any]:
        return _yielding(super().__call__(), self.current_state)


def _yielding(found: dict[str, Any], earlier: dict[str, Any]) -> dict[str, Any]:
    """What a place says, without a way out that an earlier place has given by its other name.

    `smtp` and `routes.default.transport` are two names of one thing: what is found first counts, and only both in
    the same place contradict each other.
    """
    if earlier.get("smtp") is not None:
        default = _default(found)
        if "transport" in default:
            rest = {name: value for name, value in default.items() if name != "transport"}
            return {**found, "routes": {**found["routes"], DEFAULT_ROUTE: rest}}
    elif "transport" in _default(earlier):
        return {name: value for name, value in found.items() if name != "smtp"}
    return found


def _default(found: dict[str, Any]) -> dict[str, Any]:
    """The table of the default route, in whatever shape a person has left it."""
    routes = found.get("routes")
    table = routes.get(DEFAULT_ROUTE) if isinstance(routes, dict) else None
    if isinstance(table, str):
        return {"transport": table}
    return table if isinstance(table, dict) else {}


def config_file() -> Path | None:
    """The file to read: the one that `POSTROOM_CONFIG` names, or `postroom.toml` here if there is one."""
    if named := os.environ.get("POSTROOM_CONFIG"):
        path = Path(named)
        if not path.is_file():
            raise ConfigurationError(f"POSTROOM_CONFIG names {named}, and there is no such file")
        return path
    path = Path(CONFIG_FILE)
    return path if path.is_file() else None
