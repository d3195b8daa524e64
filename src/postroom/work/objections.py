"""Why an email must not leave: the answers of whoever is asked before it does. None at all means that it may."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.store.contract import Settlement


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """Nobody is to get it: it is settled like this."""

    settlement: Settlement


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNow:
    """It has to wait. No attempt is counted."""

    reason: str
    """In words for people, without addresses; its history says so, unless it is due again at once."""
    seconds: float = 0.0
    """For so long; with none, it is given back, and claimed anew."""


Objection = Never | NotNow

UNSURE = NotNow(reason="somebody may have stopped it just now")
"""Something was heard of that may concern it: who knows for certain has to be asked."""
