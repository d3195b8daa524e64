"""What routes and regions may be called."""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}", re.ASCII)

ALLOWED = "use lower-case letters, digits, hyphens and underscores, at most 50"


def is_name(text: str) -> bool:
    """A name that environments, URLs, files and cookies can hold as it is."""
    return _NAME.fullmatch(text) is not None
