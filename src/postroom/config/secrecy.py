"""Secrets as settings write them."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, SecretStr

SHORTEST = 16
"""Characters of a secret that opens a door to the internet."""


def _one_text(value: Any) -> Any:
    """A list, as a file may have it, as the environment would say it."""
    return json.dumps(value) if isinstance(value, list | tuple) else value


SecretTexts = Annotated[SecretStr, BeforeValidator(_one_text)]
"""Several, separated by blanks, or as a list."""


def _hard_to_guess(secret: SecretStr) -> SecretStr:
    length = len(secret.get_secret_value())
    if 0 < length < SHORTEST:
        raise ValueError(
            f"has {length} characters, and whoever guesses it has emails sent; take {SHORTEST} or more, such as "
            "`openssl rand -hex 32` prints"
        )
    return secret


DoorSecret = Annotated[SecretStr, AfterValidator(_hard_to_guess)]
"""What opens a door to whoever shows it; an empty one opens none."""
