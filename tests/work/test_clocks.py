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


async def test_a_clock_set_ahead_while_an_email_is_in_hand_makes_its_retry_no_later(office: Office) -> None:
    clock = SetClock()
    office.server.script(at="dot", reply="451 4.3.0 later", delay=1.5, times=1)
    [id] = office.enqueue(policy=RetryPolicy(steps=["0s", "4s"], max_attempts=5))
    async with office.working(clock=clock):
        await asyncio.to_thread(office.server.wait_until, lambda: "DATA" in office.server.commands)
        clock.set_by = HOUR
        await until(lambda: office.get(id).attempts == 1 and office.get(id).status is not Status.SENDING)
        clock.set_by = timedelta(0)

        due = office.get(id).next_attempt_at
        assert due is None or due < datetime.now(UTC) + timedelta(minutes=1)
        await until(lambda: office.get(id).status is Status.SENT)


async def test_a_clock_set_ahead_while_an_email_is_in_hand_does_not_make_it_expire(office: Office) -> None:
    clock = SetClock()
    office.server.script(at="dot", reply="451 4.3.0 later", delay=1.5, times=1)
    [id] = office.enqueue(expires_at=datetime.now(UTC) + HOUR / 2)
    async with office.working(clock=clock):
        await asyncio.to_thread(office.server.wait_until, lambda: "DATA" in office.server.commands)
        clock.set_by = HOUR
        await until(lambda: office.get(id).status is not Status.SENDING)
        clock.set_by = timedelta(0)
        await until(lambda: office.get(id).status in (Status.SENT, Status.DEAD))

        assert office.get(id).status is Status.SENT
