"""Kinds and domains as settings name them: one or several, with a star where anything may stand."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from postroom.compose.address import parse_address
from postroom.errors import InvalidEmail


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _kind(value: str) -> str:
    if "*" in value[:-1]:
        raise ValueError("a star may stand at the end only, such as invoice*")
    return value


def _domain(value: str) -> str:
    """As addresses have it: in lower case, an international one in its ASCII form."""
    star, name = ("*.", value[2:]) if value.startswith("*.") else ("", value)
    try:
        return star + parse_address("domain", f"somebody@{name.strip()}").domain
    except InvalidEmail:
        raise ValueError("expected a domain such as example.org, or *.example.org for all beneath it") from None


LISTED = BeforeValidator(_listed)
"""A text alone stands for a list of it."""
SOME = Field(min_length=1)
Names = Annotated[tuple[str, ...], LISTED, SOME]
Kinds = Annotated[tuple[Annotated[str, AfterValidator(_kind)], ...], LISTED, SOME]
Domains = Annotated[tuple[Annotated[str, AfterValidator(_domain)], ...], LISTED, SOME]
