"""What the forms of campaigns hold, as what it is meant to be. What cannot be meant is left for those who refuse it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from postroom.campaigns.drafts.rendering import Wording
from postroom.campaigns.values import Step
from postroom.errors import InvalidCampaign

_WHOLE = re.compile(r"-?[0-9]{1,9}")


def number_in(text: str) -> Any:
    """A whole number, also one that is too small; any other text as it is."""
    return int(text) if _WHOLE.fullmatch(text) else text


def numbers_in(text: str) -> list[Any]:
    """Several, between commas or blanks."""
    return [number_in(each) for each in re.split(r"[\s,;]+", text) if each]


def unreadable(steps: Iterable[Step]) -> list[InvalidCampaign]:
    """Templates that nobody could read, each by its part of a step. They may be long: not for the event loop.

    Whether a portal is there is left to the check of a campaign: who sends may know more of them than the desk.
    """
    return [error for error in Wording(tuple(steps), {}).check() if not error.field.endswith(".template")]
