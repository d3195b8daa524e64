"""Whose database this is: a name and a random id, stamped into it by `postroom migrate`.

A copy of production holds production's queue, and says that it is production's. Whoever is to send compares that with
the deployment it was configured for, and sends nothing where the two differ:

| stamped | configured | sending |
|---|---|---|
| no | no | yes: nobody has asked for the lock |
| no | yes | no: `postroom migrate` stamps it |
| yes | no | no: a copy on a machine without settings is the danger itself |
| yes | the same | yes |
| yes | another | no: it is a copy, or the wrong database |

Enqueueing is possible everywhere. The id changes when a copy is adopted, so that messages in a broker, and processes
that have been running since before, are known to belong to the time before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from postroom.errors import WrongDeployment
from postroom.store.acts import ABANDONED, cancel_abandoned
from postroom.store.contract import instant
from postroom.store.ids import FIRST
from postroom.store.plan import Course, Plan, ask

BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Whose a database is."""

    name: str
    id: str
    stamped_at: datetime


def stamp() -> Plan[Stamp | None]:
    """Whose this database is; None where nobody has said so."""
    rows = yield ask("deployment")
    return Stamp(name=rows[0][0], id=rows[0][1], stamped_at=instant(rows[0][2])) if rows else None


def stamp_if_nobody_has(name: str) -> Plan[None]:
    """Say whose this database is, unless that was said before."""
    yield ask("stamp_deployment", name=name)


def refusal(found: Stamp | None, configured: str) -> WrongDeployment | None:
    """Why a process that was configured for this deployment may not send from there; None where it may."""
    if (found.name if found else "") == configured:
        return None
    if found is None:
        return WrongDeployment(
            f"this process is configured for the deployment {configured}, and the database is not stamped yet: nothing "
            "is sent from it; run `postroom migrate` with the same settings once"
        )
    ours = f"this process is configured for {configured}" if configured else "this process is configured for none"
    return WrongDeployment(
        f"the database belongs to the deployment {found.name}, and {ours}: nothing is sent from it. If it is a copy, "
        "make it your own with `postroom deployment adopt --cancel-waiting` (or --keep-waiting); else point "
        "POSTROOM_DATABASE elsewhere, or correct POSTROOM_DEPLOYMENT"
    )


def adopt(
    name: str,
    *,
    cancel_waiting: bool,
    actor: str,
    progress: Callable[[int], None],
    note: Callable[[Stamp | None, int], Plan[None]],
) -> Course[int]:
    """Make a copy this deployment's own; how many emails were cancelled for it.

    It changes hands at the very end, together with what `note` writes: stopped in the middle, it is as foreign as
    before, and the same again goes on from there.
    """
    before: Stamp | None = yield stamp()
    cancelled = 0
    if cancel_waiting:
        for status in ABANDONED:
            last = FIRST
            while last:
                went, last = yield cancel_abandoned(
                    status, after=last, limit=BATCH, actor=actor, adopted={"from": before and before.name, "by": name}
                )
                cancelled += went
                progress(cancelled)
    yield _restamp(name, before, cancelled, note)
    return cancelled


def _restamp(
    name: str, before: Stamp | None, cancelled: int, note: Callable[[Stamp | None, int], Plan[None]]
) -> Plan[None]:
    yield ask("restamp_deployment", name=name)
    yield from note(before, cancelled)
