"""What a new draft changes beyond itself: settings and senders are those of its workspace, for all of its campaigns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from postroom.campaigns.records import BESIDE, OF_SENDER, SENDING, sender_record, settings_record
from postroom.campaigns.values import Sender, WorkspaceSettings

SHOWN = 10
"""Of a list, such as a ramp-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all campaigns of a workspace have in common."""

    settings: WorkspaceSettings
    senders: tuple[Sender, ...]

    @property
    def untouched(self) -> bool:
        """Nobody has said anything yet, and nobody sends: no campaign can count on what holds."""
        return not self.settings.version and not self.senders


def overwritten(before: Shared, after: Shared) -> tuple[str, ...]:
    """What held for others too, and is another now: `daily_quota 30 → 5`, `sender ada: name Ada → Ada L.`"""
    if before.untouched:
        return ()
    return (*_settings(before.settings, after.settings), *_senders(before.senders, after.senders))


def _settings(before: WorkspaceSettings, after: WorkspaceSettings) -> Iterator[str]:
    return _differing(settings_record(before), settings_record(after), (*SENDING, *BESIDE))


def _senders(before: tuple[Sender, ...], after: tuple[Sender, ...]) -> Iterator[str]:
    now = {each.id: sender_record(each) for each in after}
    for each in before:
        if differing := ", ".join(_differing(sender_record(each), now[each.id], OF_SENDER)):
            yield f"sender {each.id}: {differing}"


def _differing(before: dict[str, Any], after: dict[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if before[name] != after[name]:
            yield f"{name} {_shown(before[name])} → {_shown(after[name])}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value[:SHOWN])) + (", …" if len(value) > SHOWN else "") or "none"
    return "none" if value is None or value == "" else str(value)
