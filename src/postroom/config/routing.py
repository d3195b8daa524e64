"""`[[routing]]`: which route an email takes that does not name one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from postroom.config.patterns import LISTED, SOME, Domains, Kinds, Names
from postroom.vocabulary import LANES, Priority


def _priority(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    known = {lane.label: lane for lane in LANES}
    if value.lower() not in known:
        raise ValueError("expected urgent, normal or bulk")
    return known[value.lower()]


class RoutingRule(BaseModel):
    """One rule; it holds when all of its conditions do. What is None is no condition."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    route: str
    """The route that emails take for which it holds."""
    kind: Kinds | None = None
    """One of these, where `invoice*` stands for all that begin so."""
    workspace: Names | None = None
    sender_domain: Domains | None = None
    """The sender is at one of these, where `*.example.org` stands for all beneath it."""
    recipient_domain: Domains | None = None
    """Every recipient is at one of these."""
    priority: Annotated[tuple[Annotated[Priority, BeforeValidator(_priority)], ...], LISTED, SOME] | None = None
