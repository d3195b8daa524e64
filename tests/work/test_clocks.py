"""Clocks that are set while a worker is at work: nothing expires for it, waits for it, or is tried too late for it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from postroom import RetryPolicy, Status
from postroom.testing import FaultProxy
from tests.work.office import LIMITS, Office, until
from tests.work.test_trouble import transport_state

HOUR = timedelta(hours=1)


class SetClock:
    """The machine's clock, by which SQLite goes; on PostgreSQL the server's."""

    def __init__(self) -> None:
        self.set_by = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.set_by


async def test_a_clock_set_back_while_the_breaker_is_open_does_not_put_off_the_next_look(office: Office) -> None:
    clock = SetClock()
    with FaultProxy(target_port=office.server.port) as network:
        network.refuse()
        office.enqueue(5)
        async with office.working(smtp=f"smtp://127.0.0.1:{network.port}?{LIMITS}", clock=clock):
            await until(lambda: transport_state(office)[0] == "open")
            clock.set_by = -HOUR
            network.accept()

            await until(lambda: transport_state(office)[0] == "ok")

            assert clock() < datetime.now(UTC) - HOUR / 2  # it was still set back then


async def _fail_with_the_clock_ahead(office: Office) -> None:
    """One attempt, deferred after the clock was set ahead by an hour; then the clock is right again.

    The worker stops meanwhile: by a clock that is ahead the email would be due, and past its time, at once.
    """
    clock = SetClock()
    office.server.script(at="dot", reply="451 4.3.0 later", delay=1.5, times=1)
    async with office.working(clock=clock) as worker:
        await asyncio.to_thread(office.server.wait_until, lambda: "DATA" in office.server.commands)
        clock.set_by = HOUR
        worker.stop()


async def test_a_clock_set_ahead_while_an_email_is_in_hand_makes_its_retry_no_later(office: Office) -> None:
    [id] = office.enqueue(policy=RetryPolicy(steps=["0s", "4s"], max_attempts=5))

    await _fail_with_the_clock_ahead(office)

    stored = office.get(id)
    assert (stored.status, stored.attempts) == (Status.RETRYING, 1)
    assert stored.next_attempt_at is not None
    assert stored.next_attempt_at < datetime.now(UTC) + timedelta(minutes=1)


async def test_a_clock_set_ahead_while_an_email_is_in_hand_does_not_make_it_expire(office: Office) -> None:
    [id] = office.enqueue(expires_at=datetime.now(UTC) + HOUR / 2)

    await _fail_with_the_clock_ahead(office)
    await office.work_until_idle()

    assert (office.get(id).status, office.get(id).attempts) == (Status.SENT, 2)
