"""A machine whose clock is set while a scheduler rests: due times are the database's, waits are not the clock's."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

import pytest

from postroom.store import heartbeats
from tests.broker.bureau import Bureau
from tests.work.office import until

A_DAY = timedelta(days=1)


class Wall(datetime):
    """The machine's clock, and by how much somebody has set it."""

    jump = timedelta(0)

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + cls.jump


async def test_an_email_is_published_on_time_although_the_clock_is_set_back_an_hour(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler knows the database's time, and that this is a moment ago: no look at the wall is needed."""
    for module in ("postroom.broker.scheduler", "postroom.claim.clock"):
        monkeypatch.setattr(f"{module}.datetime", Wall, raising=False)
    monkeypatch.setattr("postroom.broker.scheduler.BEAT", 3_600.0)
    async with bureau.scheduling(interval=A_DAY):
        await until(lambda: bool(bureau.outbox.database.run(heartbeats.workers())))
        monkeypatch.setattr(Wall, "jump", timedelta(hours=-1))
        [later] = bureau.enqueue(not_before=bureau.sql("SELECT now() + interval '1 second'")[0][0])
        [now] = bureau.enqueue()  # wakes the scheduler, which rests until the other one is due
        await until(lambda: bureau.get(now).last_queued_at is not None)
        await until(lambda: bureau.get(later).last_queued_at is not None)

    assert await bureau.hatch.depth(bureau.queue) == 2
