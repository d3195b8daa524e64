"""What a request wants that was sent to a link."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from postroom.compose.unsubscribing import ONE_CLICK

FIELD = "what"
"""Of our own form: what the button that was pressed stands for."""

_NAME, _, _VALUE = ONE_CLICK.partition("=")


class Wish(StrEnum):
    """What somebody asks for."""

    ONE_CLICK = "one-click"
    """A mailbox has pressed the link in the header for its owner."""
    ALL = "all"
    """No more of this sender's mail that can be unsubscribed from."""
    KIND = "kind"
    """No more mail of the same kind."""
    UNDO = "undo"
    """It was pressed by mistake."""


_ON_THE_PAGE = {wish.value: wish for wish in (Wish.ALL, Wish.KIND, Wish.UNDO)}


def wish_in(form: Mapping[str, str]) -> Wish | None:
    """The wish of a form; None for one that is neither ours nor RFC 8058's."""
    if form.get(_NAME, "").strip().lower() == _VALUE.lower():
        return Wish.ONE_CLICK
    return _ON_THE_PAGE.get(form.get(FIELD, ""))
