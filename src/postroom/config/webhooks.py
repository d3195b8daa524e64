"""`[webhooks]` and `[[events]]`: how webhooks are signed and where they may go, and who hears of changes of state."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from postroom.config.patterns import LISTED, SOME, Kinds
from postroom.vocabulary import Change

_NESTED = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def _network(value: Any) -> Any:
    try:
        return ip_network(value)
    except ValueError as error:
        raise ValueError(f"expected a network such as 10.0.0.0/8: {error}") from None


def _web_address(value: str) -> str:
    if not value.startswith(("https://", "http://")):
        raise ValueError("expected a URL that begins with https:// or http://")
    return value


Secret = Annotated[SecretStr, Field(min_length=1)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]


class WebhookSettings(BaseModel):
    """How webhooks are signed, and which of one's own networks they may reach."""

    model_config = _NESTED

    secrets: Annotated[tuple[Secret, ...], LISTED] = ()
    """The newest first: several while one takes over from another."""
    allow: Annotated[tuple[Network, ...], LISTED] = ()
    """Networks that webhooks may reach although they are not public."""


class EventSettings(BaseModel):
    """Who hears of which changes of state."""

    model_config = _NESTED

    url: Annotated[str, AfterValidator(_web_address)]
    secret: Secret | None = None
    """Signs these; those of `[webhooks]` do if not given."""
    of: Annotated[tuple[Change, ...], LISTED, SOME] = tuple(Change)
    """The changes to hear of."""
    kind: Kinds | None = None
    """The kinds of emails to hear of, as in a rule of `[[routing]]`; all if not given."""
