"""Sequences, as plans. A version never changes: an edit makes the next one, and who was pinned to one stays with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from postroom.campaigns.checks import name_of
from postroom.campaigns.commands import command
from postroom.campaigns.records import step_record
from postroom.campaigns.values import LONGEST_NAME, Sequence, Step
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.store.contract import instant
from postroom.store.plan import Plan, Row, ask


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceOutline:
    """A sequence in a list."""

    id: str
    name: str
    version: int
    created_at: datetime
    steps: int


def add_sequence(workspace: str, sequence: Sequence, *, field: str = "sequence.id") -> Plan[None]:
    """A new one, at version 1; `InvalidCampaign` where the id is taken, about the `field` that says it."""
    name_of("sequence.name", sequence.name, longest=LONGEST_NAME)
    rows = yield ask("add_sequence", workspace=workspace, id=sequence.id, name=sequence.name)
    if not rows:
        problem = f"a sequence {sequence.id!r} is there already"
        raise InvalidCampaign(field, problem, "choose another id, or change that one")
    yield from _add_version(workspace, sequence, version=1)


def edit_sequence(workspace: str, sequence: Sequence) -> Plan[Sequence]:
    """Let the sequence of this id have these steps from its next version on; the same steps make no new version."""
    name_of("sequence.name", sequence.name, longest=LONGEST_NAME)
    rows = yield ask("lock_sequence", workspace=workspace, id=sequence.id)
    before = yield from _whole(workspace, rows[0]) if rows else _missing(workspace, sequence.id)
    if (before.name, before.steps) == (sequence.name, sequence.steps):
        return before
    version = before.version
    if before.steps != sequence.steps:
        version += 1
        yield from _add_version(workspace, sequence, version=version)
    yield ask("set_sequence_version", workspace=workspace, id=sequence.id, name=sequence.name, version=version)
    return (yield from get_sequence(workspace, sequence.id))


def get_sequence(workspace: str, id: str) -> Plan[Sequence]:
    """The newest version of a sequence; `NotInWorkspace` if the workspace has none of this id."""
    rows = yield ask("find_sequence", workspace=workspace, id=id)
    return (yield from _whole(workspace, rows[0]) if rows else _missing(workspace, id))


def sequence_in_launch(workspace: str, campaign_id: str, id: str) -> Plan[Sequence]:
    """The version that the launch of a campaign has begun with; the newest, if it has not begun."""
    newest = yield from get_sequence(workspace, id)
    rows = yield ask("version_in_launch", workspace=workspace, campaign=campaign_id)
    version = rows[0][0] if rows else newest.version
    if version == newest.version:
        return newest
    return replace(newest, version=version, steps=(yield from steps_of(workspace, id, version)))


def sequences(workspace: str) -> Plan[tuple[SequenceOutline, ...]]:
    """All of them, by id."""
    rows = yield ask("sequences", workspace=workspace)
    return tuple(
        SequenceOutline(id=id, name=name, version=version, created_at=instant(created_at), steps=int(steps))
        for id, name, version, created_at, steps in rows
    )


def steps_of(workspace: str, sequence_id: str, version: int) -> Plan[tuple[Step, ...]]:
    """The steps of one version; none where there is no such version."""
    rows = yield ask("steps_of", workspace=workspace, sequence=sequence_id, version=version)
    return tuple(
        Step(number=number, delay_days=delay_days, subject=subject, text=text, html=html, template=template)
        for number, delay_days, subject, text, html, template in rows
    )


def _add_version(workspace: str, sequence: Sequence, *, version: int) -> Plan[None]:
    steps = [step_record(step) for step in sequence.steps]
    yield ask("add_sequence_version", workspace=workspace, sequence=sequence.id, version=version, steps=steps)


def _whole(workspace: str, row: Row) -> Plan[Sequence]:
    id, name, version, created_at = row
    steps = yield from steps_of(workspace, id, version)
    return Sequence(id=id, name=name, version=version, steps=steps, created_at=instant(created_at))


def _missing(workspace: str, id: str) -> Plan[Sequence]:
    raise NotInWorkspace("sequence", id, workspace, f"`{command('sequence', workspace)}` lists those there are")
    yield  # a plan, though it asks nothing
