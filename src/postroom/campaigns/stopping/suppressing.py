"""Who is put on the list of those not to be mailed is stopped in campaigns at once, and each mail says why.

Without it nothing would leave either: the list is asked at a mail's turn and before its dot. But then the campaign
would tell only when the turn comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from postroom.campaigns.books.mails import ring, store_clock
from postroom.campaigns.drafts.composing import KIND
from postroom.campaigns.stopping.following import hold_campaigns
from postroom.campaigns.stopping.stops import ends_by, stop_enrolments
from postroom.store.plan import Plan, ask
from postroom.store.suppressions import Mail, Stop, Suppression, stopped_by, suppress
from postroom.vocabulary import SuppressionScope


def suppress_in_campaigns(stops: Sequence[Stop], *, reason: str | None = None) -> Plan[list[Suppression]]:
    """Have these entries, as `suppress` does, and stop whom they cover in campaigns, in one transaction.

    `reason` is what the stopped mails say; otherwise they name the entry.
    """
    rows = yield ask("prospects_at", wanted=[_wanted(stop) for stop in stops])
    held = yield from hold_campaigns(workspaces=[workspace for workspace, _, _ in rows])
    entries = yield from suppress(stops)
    by_address: dict[str, list[Suppression]] = {}
    for entry in entries:
        by_address.setdefault(entry.address, []).append(entry)
    for workspace, prospect, address in rows:
        if workspace in held:
            yield from _stop(workspace, prospect, by_address, address, reason)
    return entries


def _wanted(stop: Stop) -> dict[str, Any]:
    everywhere = stop.scope is SuppressionScope.ALL
    return {"address": stop.address, "workspace": None if everywhere else stop.workspace}


def _stop(
    workspace: str, prospect: str, entries: Mapping[str, Sequence[Suppression]], address: str, reason: str | None
) -> Plan[None]:
    now = yield from store_clock()
    mail = Mail(workspace=workspace, kind=KIND, unsubscribable=True)
    entry = stopped_by(entries.get(address, ()), mail, now=now)
    if entry is not None:
        yield from ring(workspace)
        why = reason or f"suppressed: {entry}"
        yield from stop_enrolments(workspace, why, prospect=prospect, ends=ends_by(entry))
