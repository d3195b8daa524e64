"""Whether anybody sends the campaigns at all.

Whoever does looks at a workspace within a second of its time, and then says when it will look again. So a time that has
passed a while ago tells that nobody has come: no worker runs, none that sends campaigns, or none that is set up for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter

from postroom.campaigns.arithmetic.impasse import Impasse
from postroom.campaigns.books.mails import store_clock
from postroom.campaigns.drafts.workspace import read_sender
from postroom.campaigns.looking.impasses import impasses_of
from postroom.campaigns.values import Sender
from postroom.store.contract import instant, moment
from postroom.store.plan import Plan, ask

PATIENCE = timedelta(seconds=30)
"""After which it is no chance any more; workers that show no sign of life for so long count as gone, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """What keeps campaigns that run from being sent."""

    unserved: tuple[tuple[str, datetime], ...]
    """Workspaces at which nobody has looked, since then."""
    paused: tuple[tuple[str, Sender], ...]
    """Senders of theirs who are paused, with their workspaces."""
    impasses: tuple[tuple[str, Impasse], ...] = ()
    """Workspaces, and senders of theirs, from whom nothing will ever leave."""


def standstill() -> Plan[Standstill]:
    """Over all workspaces."""
    now = yield from store_clock()
    unserved = yield ask("unserved_paces", before=now - PATIENCE)
    senders = [(workspace, read_sender(row)) for workspace, *row in (yield ask("running_senders"))]
    held: list[tuple[str, Impasse]] = []
    for workspace, those in groupby(senders, key=itemgetter(0)):
        found = yield from impasses_of(workspace, [sender for _, sender in those], now=now)
        held += [(workspace, each) for each in found]
    return Standstill(
        unserved=tuple((workspace, instant(since)) for workspace, since in unserved),
        paused=tuple((workspace, sender) for workspace, sender in senders if sender.paused_at is not None),
        impasses=tuple(held),
    )


def unserved_since(workspace: str, *, now: datetime) -> Plan[datetime | None]:
    """Since when nobody has looked at a workspace, where that is longer than it may be."""
    rows = yield ask("pace_due", workspace=workspace)
    due = moment(rows[0][0]) if rows else None
    return due if due is not None and now - due > PATIENCE else None
