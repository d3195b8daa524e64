"""What a process knows of those who are not to be mailed, between one question to the database and the next.

Every half second it hears what was added lately. So an entry that was recorded a second before a dot is known here by
then, and the dot waits for the database's word. How far back it listens is wide enough for a transaction that took a
while to commit; and what was heard is remembered for as long as an email is in hand that was claimed before. When more
is added at once than is worth remembering, as by an import, the database is asked about each email instead.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import inf

from postroom.claim.leases import Holdings
from postroom.errors import StoreUnavailable
from postroom.store.contract import Claim, Claimed
from postroom.store.open import AsyncDatabase
from postroom.store.suppressions import (
    Mail,
    Suppression,
    SuppressionRules,
    normal_address,
    stopped_by,
    suppressions_since,
)

LISTEN = 0.5
"""Seconds between one look and the next."""
WINDOW = 60.0
"""Seconds back: what commits later than so long after it was written is found at the next claim."""
MOST = 2_000
"""Entries that are remembered; of more at once, none."""

Known = Mapping[str, Collection[Suppression]]
"""Entries by the address that they are about."""


@dataclass(frozen=True, slots=True)
class _Heard:
    entry: Suppression
    since: float
    """When it was first heard of, on the monotonic clock."""


class Stops:
    """What was heard of lately."""

    def __init__(self, database: AsyncDatabase, *, holdings: Holdings, rules: SuppressionRules) -> None:
        self.alert = False
        """Something was heard of that may concern an email in hand."""
        self.rules = rules
        self._database = database
        self._held = holdings
        self._heard: dict[str, _Heard] = {}
        self._about: dict[str, list[Suppression]] = {}
        self._crowded = -inf
        """When there was last too much to remember."""

    async def listen(self) -> None:
        """Hear what is new. While the database is away, which other duties tell of, there is nothing to hear."""
        asked = time.monotonic()
        try:
            plan = suppressions_since(WINDOW, limit=MOST + 1)
            entries = await self._database.run(plan, writes=False, atomic=False)
        except StoreUnavailable:
            return
        if len(entries) > MOST:
            self._crowded, entries = asked, []
        oldest = self._held.oldest
        kept = {id: heard for id, heard in self._heard.items() if heard.since >= oldest}
        for entry in entries:
            since = self._heard[entry.id].since if entry.id in self._heard else asked
            kept[entry.id] = _Heard(entry, since)
        self._remember(kept)
        self.alert = bool(kept) or self._crowded >= oldest

    def stopping(self, email: Claimed, addresses: Iterable[str], known: Known) -> dict[str, Suppression]:
        """Which of these addresses entries keep an email from, and by which."""
        mail = Mail(workspace=email.workspace, kind=email.kind, unsubscribable=email.unsubscribable)
        now, found = self._held.now_for(email), {}
        for address in addresses:
            entry = stopped_by(known.get(normal_address(address), ()), mail, now=now, rules=self.rules)
            if entry is not None:
                found[address] = entry
        return found

    def may_stop(self, email: Claimed, addresses: Iterable[str]) -> bool:
        """Whether what was heard may concern an email: then the database has to be asked."""
        return self.is_crowded(email.claim) or bool(self.stopping(email, addresses, self._about))

    def is_crowded(self, claim: Claim) -> bool:
        """Too much has happened since an email was claimed to know here what concerns it."""
        return self._held.held_since(claim) <= self._crowded

    def forget(self, email: Claimed, addresses: Iterable[str]) -> None:
        """Entries that would stop an email were taken away again: the database does not know them any more."""
        gone = {entry.id for entry in self.stopping(email, addresses, self._about).values()}
        if gone:
            self._remember({id: heard for id, heard in self._heard.items() if id not in gone})

    def _remember(self, heard: dict[str, _Heard]) -> None:
        about: dict[str, list[Suppression]] = {}
        for each in heard.values():
            about.setdefault(each.entry.address, []).append(each.entry)
        self._heard, self._about = heard, about
