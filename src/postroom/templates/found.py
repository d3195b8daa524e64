"""The portals that the settings name: `portals = ["shop.mail:hub", "shop.mail:org"]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

from postroom.errors import ConfigurationError
from postroom.templates.portal import Portal


def find_portals(places: Iterable[str]) -> dict[str, Portal]:
    """Portals by their own names, from `module:name` each; `ConfigurationError` says which cannot be found and why."""
    return dict(_found(tuple(places)))


@cache
def _found(places: tuple[str, ...]) -> dict[str, Portal]:
    portals: dict[str, Portal] = {}
    for place in places:
        portal = _at(place)
        if portals.setdefault(portal.name, portal) is not portal:
            raise ConfigurationError(f"setting portals: two portals are called {portal.name}; rename one of them")
    return portals


def _at(place: str) -> Portal:
    module, colon, name = place.partition(":")
    if not (module and colon and name):
        raise ConfigurationError(
            f"setting portals: {place!r} names no portal; write module:name, such as shop.mail:hub"
        )
    found = getattr(_imported(module, place), name, None)
    if not isinstance(found, Portal):
        raise ConfigurationError(f"setting portals: {name!r} in {module} is no Portal; write module:name of one")
    return found


def _imported(module: str, place: str) -> object:
    """The application's own modules are found from the working directory, as its other commands find them."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise ConfigurationError(f"setting portals: {place} needs {error.name}, which is not installed") from error
        raise ConfigurationError(
            f"setting portals: there is no module {module} here; run the command where `import {module}` works"
        ) from None
