"""What the forms of campaigns hold, as what it is meant to be. What cannot be meant is left for those who refuse it."""

from __future__ import annotations

import re
from typing import Any

_WHOLE = re.compile(r"-?[0-9]{1,9}")


def number_in(text: str) -> Any:
    """A whole number, also one that is too small; any other text as it is."""
    return int(text) if _WHOLE.fullmatch(text) else text


def numbers_in(text: str) -> list[Any]:
    """Several, between commas or blanks."""
    return [number_in(each) for each in re.split(r"[\s,;]+", text) if each]
