"""Secrets as settings write them."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BeforeValidator, SecretStr


def _one_text(value: Any) -> Any:
    """A list, as a file may have it, as the environment would say it."""
    return json.dumps(value) if isinstance(value, list | tuple) else value


SecretTexts = Annotated[SecretStr, BeforeValidator(_one_text)]
"""Several, separated by blanks, or as a list."""
