"""Who may see a workspace, and acts on its campaigns with their line in the audit log."""

from __future__ import annotations

from typing import Any, TypeVar

from postroom.campaigns.values import LONGEST_ID
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.operate.recording import By, alone, line, refused_on_record
from postroom.operate.values import Workspaces
from postroom.store.plan import Course, Plan

T = TypeVar("T")


def check_seen(workspace: str, workspaces: Workspaces) -> None:
    if len(workspace) > LONGEST_ID or not workspace.isprintable():
        problem = f"is not a name of at most {LONGEST_ID} printable characters"
        raise InvalidCampaign("workspace", problem, "use a shorter one")
    if workspaces is not None and workspace not in workspaces:
        raise NotInWorkspace("workspace", workspace, workspace, "ask somebody who may see it")


def on_record(doing: Plan[T], by: By, what: str, workspace: str, /, **told: Any) -> Course[T]:
    """An act of one transaction, with its line in it; a refusal gets one of its own."""
    told = {"workspace": workspace, **told}

    def noted() -> Plan[T]:
        result = yield from doing
        yield from line(by, what, **told)
        return result

    return (yield from refused_on_record(alone(noted()), by, what, **told))
