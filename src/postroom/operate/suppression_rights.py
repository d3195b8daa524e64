"""Whose an entry is: who may see it, who may say it and take it back, and what has to be confirmed first."""

from __future__ import annotations

from collections.abc import Sequence

from postroom.errors import PostroomError
from postroom.operate.values import Workspaces
from postroom.store.suppressions import Stop, Suppression
from postroom.vocabulary import SuppressionReason, SuppressionScope

SAID_BY_THE_PERSON = frozenset({SuppressionReason.UNSUBSCRIBE, SuppressionReason.COMPLAINT})
"""Reasons that are somebody's own word."""

SAID_NO = (
    "the person has said no, and the law usually wants that to be kept: mail them again only if they have asked for it"
)


class SuppressionNotFound(PostroomError, LookupError):
    """There is no such entry, or it may not be seen."""

    def __init__(self) -> None:
        super().__init__("there is no such entry: it was removed, or was never there")


class SuppressionShared(PostroomError):
    """The entry is about mail of workspaces that are not all theirs; nothing was changed."""

    def __init__(self) -> None:
        super().__init__(
            "this is about mail that is not yours alone; say it of one of your workspaces, or ask somebody who may see "
            "every workspace"
        )


class RemovalUnconfirmed(PostroomError):
    """The entry is somebody's own word, and nobody has confirmed that it is to be removed; nothing was changed."""

    def __init__(self, entries: Sequence[Suppression]) -> None:
        super().__init__(f"this has to be confirmed: {SAID_NO}")
        self.entries = tuple(entries)


def may_be_seen(entry: Suppression, workspaces: Workspaces) -> bool:
    return workspaces is None or entry.scope is SuppressionScope.ALL or entry.workspace in workspaces


def is_theirs(entry: Suppression | Stop, workspaces: Workspaces) -> bool:
    """Whether somebody may say it, and take it back."""
    return workspaces is None or (entry.scope is not SuppressionScope.ALL and entry.workspace in workspaces)
