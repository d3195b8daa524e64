"""Who listens here: subscriptions of the settings, and listeners of other packages by their entry points."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from postroom.errors import ConfigurationError
from postroom.events.webhooks import webhooks_to
from postroom.store.listening import Hear, Listener

if TYPE_CHECKING:
    from postroom.config import Settings

GROUP = "postroom.listeners"


def listeners_of(settings: Settings) -> tuple[Listener, ...]:
    """Everybody who hears of the changes that a process with these settings makes."""
    ours = (Listener("events", webhooks_to(settings)),) if settings.events else ()
    return (*ours, *installed())


@cache
def installed() -> tuple[Listener, ...]:
    """Those of other packages, by name. One that cannot be loaded is told of now: unheard, it would be missed late."""
    from importlib.metadata import entry_points  # imported when an outbox is made, not with the library

    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return tuple(Listener(entry.name, _loaded(entry.name, entry.load)) for entry in found)


def _loaded(name: str, load: Callable[[], Any]) -> Hear:
    try:
        hear: Hear = load()
    except Exception as error:
        raise ConfigurationError(
            f"the listener {name} cannot be loaded ({error!r}); mend or remove its package"
        ) from error
    return hear
