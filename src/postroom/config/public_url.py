"""Where people reach the web app, as links in emails name it."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")
_PATH = re.compile(r"[A-Za-z0-9._~/-]*")
LONGEST = 200
"""Characters: a link has to fit on one line of a header."""


def checked(given: str) -> str:
    """The address without a slash behind it; nothing in it ever needs to be escaped, in a header or in HTML."""
    url = given.strip().rstrip("/")
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        host, path, rest = parts.netloc, parts.path, url.removeprefix(f"{parts.scheme}://{parts.netloc}{parts.path}")
        name, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError(_EXPECTED) from None
    bare = host.rpartition(":")[0] if parts.port is not None else host
    if parts.scheme not in ("http", "https") or rest or not (_HOST.fullmatch(bare) and _PATH.fullmatch(path)):
        raise ValueError(_EXPECTED)
    if len(url) > LONGEST:
        raise ValueError(f"has {len(url)} characters; {LONGEST} leave room for the rest of a link")
    if parts.scheme == "http" and not _is_this_machine(name):
        raise ValueError(_SECURE)
    return url


PublicUrl = Annotated[str, AfterValidator(checked)]

_EXPECTED = "expected an address such as https://mail.example.org, without a query, and a path of plain letters at most"
_SECURE = (
    "begins with http:, and mailboxes press links to unsubscribe over https: alone, for others could read and change "
    "them on the way; use https:, or http: with localhost while you develop"
)


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
