"""Passwords are never shown, wherever a URL or an error that quotes one comes up."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

MASK = "***"

_IN_AUTHORITY = re.compile(r"(?P<before>\b[a-z][a-z0-9+.\-]*://[^:/?#\s]*:)(?P<secret>\S*)(?=@)", re.IGNORECASE)
"""Up to the last @, whatever is before it: people write passwords as they are, with /, @ and all. Rather a host is
hidden with them, where an address follows further on, than a piece of a password shown.
"""
_DELIMITERS = re.compile(r"[/?#@:]")
_IN_QUERY = re.compile(
    r"(?P<before>(?:^|[?&\s'\"(,{])(?:password|sslpassword|passwd|token|secret)=)(?P<secret>'[^']*'|[^&\s'\"]+)",
    re.IGNORECASE | re.MULTILINE,
)
_IN_HEADER = re.compile(r"(?P<before>\b(?:bearer|basic)\s+)(?P<secret>[a-z0-9._~+/\-]{8,}=*)", re.IGNORECASE)
_NAMED_VALUES = re.compile(r"(?:^|\s)\w+=[^=\s]")
"""`host=db password=…`; not a key in base64, which may end in equals signs."""
_URLS = ("POSTROOM_DATABASE", "POSTROOM_SMTP", "POSTROOM_BROKER")
_WHOLE = ("POSTROOM_SECRET",)
_SHORTEST = 4
"""Shorter secrets are hidden in URLs only: elsewhere, hiding them would hide innocent words."""

_kept: set[str] = set()
"""Secrets of this process that are in no environment variable: from a file, or from the command line."""


def masked_url(url: str) -> str:
    """The URL without its password."""
    for pattern in (_IN_AUTHORITY, _IN_QUERY):
        url = pattern.sub(rf"\g<before>{MASK}", url)
    return url


def masked(text: str) -> str:
    """A message without the passwords of the URLs in it, and without those of the settings in force."""
    text = _IN_HEADER.sub(rf"\g<before>{MASK}", masked_url(text))
    for secret in sorted(_known_secrets(), key=len, reverse=True):  # a secret may begin like a longer one
        text = text.replace(secret, MASK)
    return text


def masked_value(value: Any) -> Any:
    """The same for whatever is logged, as deep as it goes; what is no plain value is shown by its `repr`."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return masked(value)
        case Mapping():
            return {masked(str(name)): masked_value(each) for name, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [masked_value(each) for each in value]
        case _:
            return masked(repr(value))


def keep_secret(*values: str | None) -> None:
    """From now on hide these, and the passwords of those that are URLs."""
    for value in values:
        if value:
            _kept.update(_secrets_in(value) if "://" in value or _NAMED_VALUES.search(value) else {value})


def _known_secrets() -> set[str]:
    found = set(_kept)
    for name in _URLS:
        found |= _secrets_in(os.environ.get(name, ""))
    found |= {os.environ.get(name, "") for name in _WHOLE}
    return {secret for secret in found if len(secret) >= _SHORTEST}


def _secrets_in(url: str) -> set[str]:
    found = set()
    for pattern in (_IN_AUTHORITY, _IN_QUERY):
        for match in pattern.finditer(url):
            secret = match["secret"].strip("'")
            # A parser that stumbles over a raw / in a password quotes the piece that it took for something else.
            found |= {secret, unquote(secret), *_DELIMITERS.split(secret)}
    return found
