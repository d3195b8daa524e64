"""Passwords are never shown, wherever a URL or an error that quotes one comes up."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

MASK = "***"

_IN_AUTHORITY = re.compile(r"(?P<before>\b[a-z][a-z0-9+.\-]*://[^:/?#@\s]*:)(?P<secret>[^/?#\s]*)(?=@)", re.IGNORECASE)
_IN_QUERY = re.compile(r"(?P<before>[?&\s](?:password|sslpassword|passwd|token)=)(?P<secret>[^&\s'\"]+)", re.IGNORECASE)
_SETTINGS = ("POSTROOM_DATABASE", "POSTROOM_SMTP", "POSTROOM_BROKER")
_SHORTEST = 4
"""Shorter secrets are hidden in URLs only: elsewhere, hiding them would hide innocent words."""


def masked_url(url: str) -> str:
    """The URL without its password."""
    for pattern in (_IN_AUTHORITY, _IN_QUERY):
        url = pattern.sub(rf"\g<before>{MASK}", url)
    return url


def masked(text: str) -> str:
    """A message without the passwords of the URLs in it, and without those of the settings in force."""
    text = masked_url(text)
    for secret in _known_secrets():
        text = text.replace(secret, MASK)
    return text


def _known_secrets() -> set[str]:
    found = set()
    for name in _SETTINGS:
        for pattern in (_IN_AUTHORITY, _IN_QUERY):
            for match in pattern.finditer(os.environ.get(name, "")):
                found |= {match["secret"], unquote(match["secret"])}
    return {secret for secret in found if len(secret) >= _SHORTEST}
