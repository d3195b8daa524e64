"""The entries of the list of suppressions by which prospects were stopped, for the pages that tell why they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from fastapi import Request

from postroom.accounts.values import Person
from postroom.admin.addresses import SuppressionsAddress
from postroom.admin.campaign_wording import entry_in
from postroom.admin.places import operations_of, root_of
from postroom.operate.suppression_rights import SuppressionNotFound
from postroom.store.suppressions import Suppression


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Those that are still there, of all that a page names."""

    root: str
    found: Mapping[str, Suppression]
    """By id."""

    def path(self, reason: str) -> str:
        """Where the entry that is the reason stands in the list; empty where none is, or it was removed."""
        entry = self.found.get(entry_in(reason))
        return SuppressionsAddress(q=entry.address).path(self.root) if entry else ""

    def removed(self, reason: str) -> bool:
        """Whether an entry is the reason that is not there any more."""
        return bool(entry_in(reason)) and not self.path(reason)


async def entries_of(request: Request, person: Person, reasons: Iterable[str | None]) -> Entries:
    """Look up those that are named by reasons. Whoever sees a workspace sees every entry that stops its mail."""
    found = {}
    for id in sorted({entry_in(reason) for reason in reasons} - {""}):
        with suppress(SuppressionNotFound):
            found[id] = await operations_of(request).suppression(id, workspaces=person.workspaces)
    return Entries(root=root_of(request), found=found)
