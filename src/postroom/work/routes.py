"""The ways out that the settings name, made ready to be used."""

from __future__ import annotations

from collections.abc import Collection

from postroom.channels import transport_for
from postroom.claim.route import DEFAULT, Route
from postroom.config import Settings
from postroom.errors import ConfigurationError


def routes_of(settings: Settings, *, only: Collection[str] = ()) -> list[Route]:
    """Every route of the settings, or those that are named; an error that says what to do where there is none."""
    url = settings.smtp_url()
    if url is None:
        raise ConfigurationError("no way out is known; set POSTROOM_SMTP or give --smtp smtp://host:port")
    channel, transport = transport_for(url)
    return [Route(name=DEFAULT, channel=channel, transport=transport)]
