"""The sending settings and the senders of a workspace, as plans."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from postroom.campaigns.checks import name_of
from postroom.campaigns.commands import command
from postroom.campaigns.records import changed_sender, ramp_from, ramp_record, sending_from, sending_record, written
from postroom.campaigns.values import LONGEST_NAME, Sender, WorkspaceSettings
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.store.contract import instant, moment
from postroom.store.plan import Plan, Row, ask


def workspace_settings(workspace: str) -> Plan[WorkspaceSettings]:
    """What holds in a workspace; where nobody has said anything, the defaults, at version 0."""
    rows = yield ask("sending_settings", workspace=workspace)
    if not rows:
        return WorkspaceSettings()
    [[settings, person_hours, bounce_limit, complaint_limit, limit_after, version, updated_at]] = rows
    return WorkspaceSettings(
        sending=sending_from(json.loads(settings)),
        person_hours=person_hours,
        bounce_limit=bounce_limit,
        complaint_limit=complaint_limit,
        limit_after=limit_after,
        version=version,
        updated_at=instant(updated_at),
    )


def put_workspace_settings(workspace: str, settings: WorkspaceSettings) -> Plan[int]:
    """Let these hold from now on, provided nobody has changed them since their `version` was read; the new version."""
    rows = yield ask(
        "put_sending_settings",
        workspace=workspace,
        settings=written(sending_record(settings.sending)),
        person_hours=settings.person_hours,
        bounce_limit=settings.bounce_limit,
        complaint_limit=settings.complaint_limit,
        limit_after=settings.limit_after,
        version=settings.version,
    )
    if not rows:
        remedy = "look at what they are now, and change them again"
        raise InvalidCampaign("version", f"the settings are no longer those of version {settings.version}", remedy)
    [[version]] = rows
    return int(version)


def put_sender(workspace: str, sender: Sender) -> Plan[None]:
    """Add a sender, or change the one of that id. A pause stays as it is."""
    name_of("sender.name", sender.name, longest=LONGEST_NAME)
    ramp_up = ramp_record(sender.ramp_up)
    yield ask(
        "put_sender",
        workspace=workspace,
        id=sender.id,
        name=sender.name,
        address=sender.address,
        reply_to=sender.reply_to,
        route=sender.route,
        daily_quota=sender.daily_quota,
        ramp_up=None if ramp_up is None else written(ramp_up),
    )


def add_sender(workspace: str, sender: Sender) -> Plan[None]:
    """Add a sender; `InvalidCampaign` where there is one of that id, who stays as they are."""
    if (yield from find_sender(workspace, sender.id)) is not None:
        raise InvalidCampaign("sender.id", f"{sender.id!r} is there already", "change that one, or take another id")
    yield from put_sender(workspace, sender)


def change_sender(workspace: str, record: Mapping[str, Any]) -> Plan[Sender]:
    """Change what a record says of the sender of its id, and leave the rest; or add them."""
    sender = changed_sender((yield from find_sender(workspace, record["id"])), record)
    yield from put_sender(workspace, sender)
    return sender


def pause_sender(workspace: str, id: str, *, reason: str | None) -> Plan[bool]:
    """Have nothing leave from a sender, who is there, until somebody resumes them; False if they were paused before,
    for a reason of its own."""
    rows = yield ask("pause_sender", workspace=workspace, id=id, reason=reason)
    return bool(rows)


def resume_sender(workspace: str, id: str) -> Plan[None]:
    """Have mail leave from a sender again."""
    yield ask("resume_sender", workspace=workspace, id=id)


def senders(workspace: str) -> Plan[tuple[Sender, ...]]:
    """All of them, by id."""
    rows = yield ask("senders", workspace=workspace)
    return tuple(map(read_sender, rows))


def get_sender(workspace: str, id: str) -> Plan[Sender]:
    """The sender of an id; `NotInWorkspace` if the workspace has none."""
    sender = yield from find_sender(workspace, id)
    if sender is not None:
        return sender
    raise NotInWorkspace("sender", id, workspace, f"`{command('sender', workspace)}` lists those there are")


def find_sender(workspace: str, id: str) -> Plan[Sender | None]:
    """The sender of an id, if there is one."""
    return next((each for each in (yield from senders(workspace)) if each.id == id), None)


def read_sender(row: Row) -> Sender:
    id, name, address, reply_to, route, daily_quota, ramp_up, paused_at, pause_reason = row
    return Sender(
        id=id,
        name=name,
        address=address,
        reply_to=reply_to,
        route=route,
        daily_quota=daily_quota,
        ramp_up=None if ramp_up is None else ramp_from("sender.ramp_up", json.loads(ramp_up)),
        paused_at=moment(paused_at),
        pause_reason=pause_reason,
    )
