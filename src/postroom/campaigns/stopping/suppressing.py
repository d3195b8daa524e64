"""Who is put on the list of those not to be mailed is stopped in campaigns, and each mail says why.

Without it nothing would leave either: the list is asked at a mail's turn and before its dot. But then the campaign
would tell only when the turn comes, which may be months away.

Where a person says so, or a reader, it is in the very transaction: `suppress_in_campaigns`. Whoever knows nothing of
campaigns, as `Outbox.suppress` does, only adds the entry; a trigger notes with the same commit which prospects it
covers, and the next look of a worker at their workspace draws the conclusion: `stop_covered`. It waits for nobody, and
asks what holds then: an entry that was taken away, or has ended, stops nothing any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from postroom.campaigns.books.mails import ring, store_clock
from postroom.campaigns.drafts.composing import KIND
from postroom.campaigns.stopping.following import hold_campaigns
from postroom.campaigns.stopping.stops import forget_covered, stop_for
from postroom.store.plan import Plan, ask
from postroom.store.suppressions import Mail, Stop, Suppression, stopped_by, suppress, suppressions_of
from postroom.vocabulary import SuppressionScope

MOST = 100
"""Conclusions in one transaction."""


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
            yield from _stop(workspace, prospect, by_address.get(address, ()), reason)
    return entries


def stop_covered(workspace: str, *, now: datetime) -> Plan[bool]:
    """Stop those of whom somebody said so meanwhile; whether there may be more. The caller holds the workspace."""
    rows = yield ask("covered_prospects", workspace=workspace, limit=MOST)
    if not rows:
        return False
    addresses: Mapping[str, str] = {prospect: address for _, prospect, address in rows if address}
    known = yield from suppressions_of(addresses.values())
    for prospect, address in addresses.items():
        entry = covering(workspace, known.get(address, ()), now=now)
        if entry is not None:
            yield from stop_for(workspace, prospect, entry)
    yield ask("forget_covered", ids=[id for id, _, _ in rows])
    return len(rows) == MOST


def covering(workspace: str, entries: Iterable[Suppression], *, now: datetime) -> Suppression | None:
    """The entry, of those about one address, that keeps mail of campaigns from it."""
    return stopped_by(entries, Mail(workspace=workspace, kind=KIND, unsubscribable=True), now=now)


def _stop(workspace: str, prospect: str, entries: Sequence[Suppression], reason: str | None) -> Plan[None]:
    now = yield from store_clock()
    entry = covering(workspace, entries, now=now)
    if entry is not None:
        yield from ring(workspace)
        yield from stop_for(workspace, prospect, entry, reason=reason)
        yield from forget_covered(workspace, prospect)


def _wanted(stop: Stop) -> dict[str, Any]:
    everywhere = stop.scope is SuppressionScope.ALL
    return {"address": stop.address, "workspace": None if everywhere else stop.workspace}
