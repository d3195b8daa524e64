"""What brings a worker emails by other rules than their being due, and has a say before they leave."""

from __future__ import annotations

from typing import Protocol

from postroom.store.plan import Plan
from postroom.work.objections import Objection
from postroom.work.parcel import Parcel


class Beside(Protocol):
    """A feed beside the worker's own: that of campaigns."""

    idle: bool
    """The last look found nothing to do."""

    async def until_stopped(self) -> None:
        """Bring emails until stopped."""

    def stop(self) -> None:
        """Bring no more."""

    def leaving(self, parcel: Parcel, others: Plan[Objection | None], /) -> Plan[Objection | None] | None:
        """What lets an email leave that goes by these rules: unless they or the `others` speak against that, it is
        written down, in one transaction. None for emails that go by no rules of this feed."""
