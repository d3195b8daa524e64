"""Reading the settings in force, and saying what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError

from postroom.config.regions import RegionTable
from postroom.config.routes import RouteTable
from postroom.config.routing import RoutingRule
from postroom.config.settings import Settings
from postroom.config.webhooks import EventSettings, WebhookSettings
from postroom.errors import ConfigurationError
from postroom.spelling import nearest

NESTED: Mapping[str, type[BaseModel]] = {
    "regions": RegionTable,
    "routes": RouteTable,
    "routing": RoutingRule,
    "webhooks": WebhookSettings,
    "events": EventSettings,
}
"""What the tables of the file are."""


def load(**given: Any) -> Settings:
    """The settings in force; what is given here comes before everything else.

    Where there are regions and one of them is named (`region=…`, `POSTROOM_REGION`), they are those of that region.
    """
    return load_shared(**given).here({name: value for name, value in given.items() if value is not None})


def load_shared(**given: Any) -> Settings:
    """The settings that all regions share, and the tables of the regions; whichever region this process belongs to."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise ConfigurationError(_told(_first(error))) from None
    except SettingsError as error:
        raise ConfigurationError(f"{error}; lists and tables are written as JSON there") from None
    except ValueError as error:
        raise ConfigurationError(f"the settings cannot be read: {error}") from error


def _first(error: ValidationError) -> ErrorDetails:
    """A mistyped name before what is missing because of it."""
    found = error.errors(include_input=False, include_url=False)
    return next((each for each in found if each["type"] == "extra_forbidden"), found[0])


def _told(wrong: ErrorDetails) -> str:
    """What is wrong with one setting; never its value, which may be a secret."""
    where = [part for part in wrong["loc"] if not _internal(part)]
    name = ".".join(str(part) for part in where)
    if wrong["type"] == "extra_forbidden":
        model = next((NESTED[str(each)] for each in reversed(where[:-1]) if each in NESTED), Settings)
        meant = nearest(str(where[-1]), model.model_fields)
        known = f"did you mean {meant}?" if meant else f"the known ones are {', '.join(model.model_fields)}"
        return f"there is no setting {name}; {known}"
    said = wrong.get("ctx", {}).get("error")
    return f"setting {name}: {said if isinstance(said, ValueError) else wrong['msg']}"


def _internal(part: str | int) -> bool:
    """pydantic names the branch of a union too, such as `tuple[str, ...]`."""
    return isinstance(part, str) and ("[" in part or "(" in part)
