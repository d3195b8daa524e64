"""What the settings say about the gateway, read from one URL.

twilio://ACCOUNT_SID:AUTH_TOKEN@api.twilio.com?from=%2B4915112345678
twilio://API_KEY_SID:API_KEY_SECRET@api.twilio.com?account=ACCOUNT_SID&messaging_service=MG…
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from postroom.errors import ConfigurationError
from postroom.send.http.limits import Limits, refuse_unknown, take_connections, take_limits, take_rate

CONNECTIONS = 8

_KIND = "a twilio:// URL"
_LIKE = "write twilio://ACCOUNT_SID:AUTH_TOKEN@api.twilio.com?from=%2B49…"
_ENCODE = "percent-encode '/', '?', '#' in a secret"
_SID = re.compile(r"[A-Za-z0-9]{1,64}")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whose account it is, and from whom messages are. The secret never shows in `repr` or in an error."""

    base: str
    """`https://api.twilio.com`; in the clear only to this machine."""
    name: str
    """As shown to people."""
    user: str
    secret: str = field(repr=False)
    account: str
    """In whose name messages are created; the user, unless an API key signs in."""
    sender: tuple[str, str]
    """`From` and a number or name, or `MessagingServiceSid` and its id."""
    connections: int = CONNECTIONS
    rate: str | None = None
    limits: Limits = field(default_factory=Limits)
    ca: str | None = None

    @classmethod
    def parse(cls, url: str, given: Mapping[str, Any]) -> Account:
        """Read the URL; a `ConfigurationError` names whatever is wrong with it, and never the secret."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise ConfigurationError(f"{_KIND} cannot be read; {_ENCODE}; {_LIKE}") from None
        if not host or parts.path not in ("", "/") or parts.fragment:
            raise ConfigurationError(f"{_KIND} has a host and no path; {_ENCODE}; {_LIKE}")
        if not parts.username or not parts.password:
            raise ConfigurationError(f"{_KIND} names no account and secret; {_LIKE}")
        if (clear := parts.scheme == "twilio+http") and host not in _LOOPBACK:
            raise ConfigurationError("twilio+http:// is for tests on this machine, as it does not hide the secret")
        place = f"[{host}]" if ":" in host else host
        place = f"{place}:{port}" if port else place
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        user = unquote(parts.username)
        read = cls(
            base=f"{'http' if clear else 'https'}://{place}",
            name=place,
            user=user,
            secret=unquote(parts.password),
            account=_sid("account", options.pop("account", user)),
            sender=_sender(options),
            connections=take_connections(options, given, _KIND, CONNECTIONS),
            rate=take_rate(options, given, _KIND),
            limits=take_limits(options, _KIND),
            ca=options.pop("ca", None),
        )
        refuse_unknown(options, _KIND, ("account", "ca", "from", "messaging_service"))
        return read


def _sender(options: dict[str, str]) -> tuple[str, str]:
    number, service = options.pop("from", None), options.pop("messaging_service", None)
    if service is not None and number is None:
        return "MessagingServiceSid", _sid("messaging_service", service)
    if number is not None and service is None:
        # In a query «+» is a space, and nobody remembers that.
        return "From", f"+{number.strip()}" if number.startswith(" ") else number
    raise ConfigurationError(f"{_KIND} names one of from and messaging_service; {_LIKE}")


def _sid(name: str, text: str) -> str:
    """It becomes part of a path, so nothing else may be in it."""
    if not _SID.fullmatch(text):
        raise ConfigurationError(f"{_KIND}: {name} is no id of letters and digits; {_LIKE}")
    return text
