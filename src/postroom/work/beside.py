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

    def objection(self, parcel: Parcel, /) -> Plan[Objection | None]:
        """What speaks against an email at the last moment; asked about every one for which the database is asked."""

    def take_place(self, parcel: Parcel, /) -> Plan[Objection | None] | None:
        """Write down that an email leaves now against which nothing speaks, unless somebody else was quicker; None if
        nothing is to be written."""
