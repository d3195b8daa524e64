"""Where settings are looked for, and what an earlier place overrules in a later one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings, EnvSettingsSource, TomlConfigSettingsSource

from postroom.config.regions import of_one_region
from postroom.errors import ConfigurationError
from postroom.spelling import mistyped
from postroom.vocabulary import DEFAULT_ROUTE

PREFIX = "POSTROOM_"
CONFIG_FILE = "postroom.toml"
NOT_SETTINGS = ("config", "failpoint")
"""What else is read under the prefix."""


class Environment(EnvSettingsSource):
    """The environment. A variable that is nearly one of ours is refused instead of being ignored."""

    def __init__(self, settings_cls: type[BaseSettings], *, file: File) -> None:
        """The file is asked which regions there are: only then does `SMTP_HOST__DEU1` mean one of them."""
        super().__init__(settings_cls)
        self._file = file

    def __call__(self) -> dict[str, Any]:
        known = [*self.settings_cls.model_fields, *NOT_SETTINGS]
        for variable, meant in mistyped(os.environ, PREFIX, known):
            raise ConfigurationError(f"there is no setting {variable}; did you mean {meant}?")
        return _yielding(self._with_other_names(super().__call__()), self.current_state)

    def _with_other_names(self, found: dict[str, Any]) -> dict[str, Any]:
        """Ours before theirs, in the same place."""
        own = _regions(found)
        known = {**_regions(self._file.toml_data), **own, **_regions(self.current_state)}
        theirs = of_one_region(os.environ, list(known))
        if not theirs:
            return found
        both = {name: {**said, **_table(own.get(name))} for name, said in theirs.items()}
        return {**found, "regions": {**own, **{name: _without_twins(said) for name, said in both.items()}}}


class File(TomlConfigSettingsSource):
    """The file."""

    def __call__(self) -> dict[str, Any]:
        return _yielding(super().__call__(), self.current_state)


_TWINS = {"smtp": ("smtp_host", "smtp_port"), "sender": ("smtp_from_address", "smtp_from_name")}
"""What says the same as another setting, in other words."""


def _without_twins(table: dict[str, Any]) -> dict[str, Any]:
    """Where a region has a way out or a sender by our name, without those by other names."""
    said = {*table} | ({"smtp"} if "transport" in _default(table) else set())
    dropped = {twin for name in said for twin in _TWINS.get(name, ())}
    return {name: value for name, value in table.items() if name not in dropped}


def _regions(found: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of regions, in whatever shape a person has left them."""
    return _table(found.get("regions"))


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _yielding(found: dict[str, Any], earlier: dict[str, Any]) -> dict[str, Any]:
    """What a place says, without a way out that an earlier place has given by its other name.

    `smtp` and `routes.default.transport` are two names of one thing: what is found first counts, and only both in
    the same place contradict each other. The same holds within each region, where `SMTP_HOST` is a third one.
    """
    tables, before = _regions(found), _regions(earlier)
    if tables and before:
        regions = {name: _yielding_region(each, _table(before.get(name))) for name, each in tables.items()}
        found = {**found, "regions": regions}
    if earlier.get("smtp") is not None:
        default = _default(found)
        if "transport" in default:
            rest = {name: value for name, value in default.items() if name != "transport"}
            return {**found, "routes": {**found["routes"], DEFAULT_ROUTE: rest}}
    elif "transport" in _default(earlier):
        return {name: value for name, value in found.items() if name != "smtp"}
    return found


def _yielding_region(found: Any, earlier: dict[str, Any]) -> Any:
    if not isinstance(found, dict) or not earlier:
        return found
    if "smtp_from_address" in earlier:
        found = {name: value for name, value in found.items() if name != "sender"}
    ways_out = {**earlier, "smtp": earlier["smtp_host"]} if "smtp_host" in earlier else earlier
    found = _yielding(found, ways_out)
    return {name: value for name, value in found.items() if name != "smtp"} if "smtp_host" in earlier else found


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
