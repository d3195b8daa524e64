"""Durations as settings write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator

from postroom.duration import parse_duration
from postroom.errors import ConfigurationError


def _duration(value: Any) -> timedelta:
    try:
        return parse_duration(value)
    except ConfigurationError as error:
        raise ValueError(error) from None


Duration = Annotated[timedelta, BeforeValidator(_duration)]
"""`30s`, `5m`, `2h`, `90d`."""
