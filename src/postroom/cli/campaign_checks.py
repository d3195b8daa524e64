"""What `postroom doctor` asks of campaigns: whether anybody sends them, and whether their senders may."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from postroom.campaigns.arithmetic.impasse import Impasse
from postroom.campaigns.commands import command
from postroom.campaigns.looking.standstill import standstill
from postroom.cli.checks import Finding, Level
from postroom.cli.moments import relative
from postroom.operate import House
from postroom.operate.sentences import nobody_sends
from postroom.store.open import Database


def check_campaigns(database: Database, house: House) -> Iterator[Finding]:
    """Findings only where a campaign that runs stands still by something that somebody can put right."""
    found = database.run(standstill(), writes=False)
    for workspace, since in found.unserved:
        told = "no worker is running" if nobody_sends(house.workers) else "no worker that can send it has looked"
        yield Finding(
            name="campaigns",
            level=Level.FAIL,
            detail=f"mail of campaigns{_of(workspace)} might have left {relative(since, now=house.at)}, and {told}",
            remedy="start `postroom worker` or `postroom sender`"
            if nobody_sends(house.workers)
            else "workers that run must know the routes of its senders; their log says what they lack",
        )
    yield from (_stuck(workspace, held) for workspace, held in found.impasses)
    for workspace, sender in found.paused:
        why = f": {sender.pause_reason}" if sender.pause_reason else ""
        resume = command(f"sender {shlex.quote(sender.id)} --resume", workspace)
        yield Finding(
            name="campaigns",
            level=Level.WARN,
            detail=f"the sender {sender.id}{_of(workspace)} was paused {relative(sender.paused_at, now=house.at)}{why}",
            remedy=f"put it right, then `{resume}`",
        )


def _stuck(workspace: str, held: Impasse) -> Finding:
    return Finding(
        name="campaigns",
        level=Level.WARN if held.later else Level.FAIL,
        detail=f"campaigns{_of(workspace)}: {held.told[:1].lower()}{held.told[1:].rstrip('.')}",
        remedy=f"{held.remedy}: `{command(held.words, workspace)}`",
    )


def _of(workspace: str) -> str:
    return f" of {workspace}" if workspace else ""
