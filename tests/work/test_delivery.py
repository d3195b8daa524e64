"""What a worker does on good days and with troublesome emails, on every store, against a real SMTP server."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postroom import DeadReason, Email, EmailId, RetryPolicy, Status
from postroom.testing import FaultProxy
from postroom.work.breaker import WELL
from postroom.work.breakers import known_routes
from tests.work.office import AT_ONCE, LIMITS, PATIENCE, Office, until


async def arrived(office: Office, count: int) -> None:
    await asyncio.to_thread(office.server.wait_for, count, timeout=PATIENCE)


def what(office: Office, id: EmailId) -> list[str]:
    return [entry.what for entry in office.get(id).history]


async def test_what_was_enqueued_is_delivered_once_each(office: Office) -> None:
    ids = office.enqueue(150)

    await office.work_until_idle()
    assert office.statuses(ids) == {Status.SENT}
    assert set(office.server.copies_of_all().values()) == {1}
    assert len(office.server.messages) == 150


async def test_an_email_enqueued_while_the_worker_is_idle_wakes_it(office: Office) -> None:
    async with office.working(poll=timedelta(hours=1)):
        office.enqueue()
        await arrived(office, 1)
        [second] = office.enqueue()
        await arrived(office, 2)
        await until(lambda: office.get(second).status is Status.SENT)

    assert office.server.copies(office.get(second).message_id) == 1


async def test_the_oldest_leaves_first(office: Office) -> None:
    office.enqueue(40)

    await office.work_until_idle(options="connections=1")
    assert office.order_of_arrival() == [f"Email {n}" for n in range(40)]


async def test_an_urgent_email_overtakes_a_backlog_of_bulk(office: Office) -> None:
    """In the order at the server: only what was already claimed may be before it."""
    office.enqueue(400, priority="bulk")
    office.server.script(at="dot", delay=0.005)
    async with office.working(options="connections=2", buffer=20):
        await arrived(office, 5)
        office.outbox.enqueue(Email(to="ada@example.org", subject="Urgent", text="Now."), priority="urgent")
        before = len(office.server.messages)
        await until(lambda: "Urgent" in office.order_of_arrival())
        position = office.order_of_arrival().index("Urgent")

    assert position < 300
    assert position - before < 100


async def test_bulk_does_not_starve_behind_urgent_and_normal(office: Office) -> None:
    """Of thirteen seats one is bulk's, whoever else waits."""
    office.enqueue(120, priority="normal")
    office.enqueue(120, priority="urgent")
    office.outbox.enqueue(Email(to="ada@example.org", subject="Bulk", text="Some day."), priority="bulk")
    await office.work_until_idle(options="connections=1", buffer=26)

    assert office.order_of_arrival().index("Bulk") < 200


async def test_a_full_buffer_does_not_claim_what_others_could_send(office: Office) -> None:
    """Every commit wakes the worker; what it holds stays within its buffer and one email for each connection."""
    office.enqueue(100)
    office.server.script(at="dot", delay=0.2)
    async with office.working(options="connections=2", buffer=4):
        await arrived(office, 1)
        for _ in range(30):
            office.enqueue()
            await asyncio.sleep(0.01)

        # Two under way, each with a follower; four in the buffer, and an overflow of two. What has been accepted and
        # is about to be recorded counts for nothing.
        counts = office.outbox.counts()
        accepted = len(office.server.messages) - counts["sent"]
        assert counts["sending"] - accepted <= 2 + 2 + 4 + 2
        office.server.clear_script()


async def test_each_recipient_keeps_its_own_result_and_only_the_open_ones_are_tried_again(office: Office) -> None:
    office.server.script(at="rcpt", argument="nobody@example.org", reply="550 5.1.1 no such user")
    office.server.script(at="rcpt", argument="later@example.org", reply="450 4.2.1 mailbox busy", times=1)
    people = ["ada@example.org", "nobody@example.org", "later@example.org"]
    id = office.outbox.enqueue(Email(to=people, subject="All", text="Hello."), policy=AT_ONCE).id
    await office.work_until_idle()

    assert [(r.address, r.status, r.code) for r in office.get(id).recipients] == [
        ("ada@example.org", "sent", 250),
        ("nobody@example.org", "dead", 550),
        ("later@example.org", "sent", 250),
    ]
    assert office.get(id).status is Status.SENT
    assert [message.recipients for message in office.server.messages] == [("ada@example.org",), ("later@example.org",)]


async def test_a_temporary_refusal_is_tried_again_when_the_policy_says(office: Office) -> None:
    office.server.script(at="dot", reply="451 4.3.0 try later")
    policy = RetryPolicy(steps=["0s", "7m"], max_attempts=3)
    [id] = office.enqueue(policy=policy)
    before = datetime.now(UTC)
    await office.work_until_idle()
    after = datetime.now(UTC)

    stored = office.get(id)
    assert stored.status is Status.RETRYING
    assert stored.attempts == 1
    assert stored.next_attempt_at is not None
    slack = timedelta(seconds=1)  # two clocks
    assert before - slack <= stored.next_attempt_at - timedelta(minutes=7) <= after + slack


async def test_what_comes_due_again_while_the_worker_asks_is_not_left_behind(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to «is anything due?» is as old as the question; by then the last attempt may have failed."""
    office.server.script(at="dot", reply="451 4.3.0 try later")
    [id] = office.enqueue(policy=RetryPolicy(steps=["0s"], max_attempts=3))
    async with office._employed(office._route(f"{office.server.url}?{LIMITS}")(), {"until_idle": True}) as worker:
        run = worker._database.run

        async def slowly(plan: Any, **how: Any) -> Any:
            answer = await run(plan, **how)
            if plan.__name__ == "something_due":
                await until(lambda: worker.engine.idle)
            return answer

        monkeypatch.setattr(worker._database, "run", slowly)
        await worker.run()

    assert (office.get(id).status, office.get(id).attempts) == (Status.DEAD, 3)


async def test_attempts_used_up_make_an_email_dead(office: Office) -> None:
    office.server.script(at="dot", reply="451 4.3.0 try later")
    [id] = office.enqueue(policy=RetryPolicy(steps=["0s"], max_attempts=3))
    await office.work_until_idle()

    assert office.get(id).status is Status.DEAD
    assert office.get(id).dead_reason is DeadReason.MAX_ATTEMPTS
    assert office.get(id).attempts == 3
    assert len(office.server.refused) == 3


async def test_a_permanent_refusal_is_never_tried_again(office: Office) -> None:
    office.server.script(at="dot", reply="554 5.6.0 not this")
    [id] = office.enqueue()
    await office.work_until_idle()

    assert office.get(id).status is Status.DEAD
    assert office.get(id).dead_reason is DeadReason.PERMANENT
    assert len(office.server.refused) == 1


async def test_an_email_past_its_time_is_never_sent_late(office: Office) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=0.3)
    [id] = office.enqueue(expires_at=soon)
    await asyncio.sleep(0.5)
    await office.work_until_idle()

    assert office.get(id).status is Status.DEAD
    assert office.get(id).dead_reason is DeadReason.EXPIRED
    assert office.server.messages == []


async def test_a_lost_reply_is_a_doubt_on_record_and_the_second_copy_is_too(office: Office) -> None:
    office.server.script(at="dot", cut=True, times=1)
    [id] = office.enqueue()
    await office.work_until_idle()

    assert office.copies(id) == 2
    assert office.get(id).status is Status.SENT
    assert what(office, id) == ["in_doubt", "sent"]
    assert office.get(id).history[1].detail["possible_second_copy"] is True


async def test_a_held_email_with_a_lost_reply_waits_for_a_person(office: Office) -> None:
    office.server.script(at="dot", cut=True, times=1)
    [id] = office.enqueue(on_doubt="hold")
    await office.work_until_idle()

    assert office.copies(id) == 1
    assert office.get(id).status is Status.IN_DOUBT
    assert office.get(id).next_attempt_at is None


async def test_an_email_that_cannot_be_built_is_dead_and_the_others_go(office: Office) -> None:
    first, broken, last = office.enqueue(3)
    corrupt(office, broken)
    await office.work_until_idle()

    assert status_of(office, broken) == ("dead", "invalid")
    assert office.statuses([first, last]) == {Status.SENT}


async def test_a_broken_email_left_behind_by_a_dead_worker_stops_nobody(office: Office) -> None:
    broken, good = office.enqueue(2)
    dead = office.start_worker(POSTROOM_FAILPOINT="claimed:1")
    assert dead.wait(PATIENCE) < 0
    corrupt(office, broken)
    await office.work_until_idle()

    assert status_of(office, broken) == ("dead", "invalid")
    assert office.get(good).status is Status.SENT


def status_of(office: Office, id: EmailId) -> tuple[str, str]:
    """Of an email that cannot be read any more."""
    [[status, reason]] = office.sql("SELECT status, dead_reason FROM {emails} WHERE id = ?", id)
    return status, reason


def corrupt(office: Office, id: EmailId) -> None:
    """As a bad disk, or somebody with an SQL prompt, might."""
    office.sql("UPDATE {contents} SET envelope = ? WHERE email_id = ?", '{"date": "yesterday"}', id)


async def test_an_email_for_later_leaves_when_it_is_due_and_not_before(office: Office) -> None:
    """Without a poll in between: the worker knows when to wake."""
    due = datetime.now(UTC) + timedelta(seconds=1.5)
    [id] = office.enqueue(not_before=due)
    async with office.working(poll=timedelta(hours=1)):
        [message] = await asyncio.to_thread(office.server.wait_for, 1, timeout=PATIENCE)
        await until(lambda: office.get(id).status is Status.SENT)

    assert message.at >= due.timestamp() - 0.05


async def test_without_retention_nothing_remains_of_what_was_sent(office: Office) -> None:
    office.enqueue(5)
    await office.work_until_idle(keep_sent=False)

    assert len(office.server.messages) == 5
    assert office.outbox.list().emails == ()
    assert office.outbox.counts()["pruned"] == 5
    assert office.outbox.conservation().holds


async def test_the_worker_shows_a_sign_of_life_and_signs_off(office: Office) -> None:
    office.enqueue()
    async with office.working() as worker:
        await until(lambda: heartbeats(office) == [worker.name])
        assert heartbeats(office) == [worker.name]

    assert heartbeats(office) == []


def heartbeats(office: Office) -> list[str]:
    return [name for [name] in office.sql("SELECT name FROM {workers}")]


async def test_without_notifications_polling_finds_the_work(postgres_office: Office) -> None:
    """As behind PgBouncer in transaction mode, where LISTEN hears nothing."""
    async with postgres_office.working():
        postgres_office.enqueue()
        await arrived(postgres_office, 1)
        deafen()
        [id] = postgres_office.enqueue()
        await until(lambda: postgres_office.get(id).status is Status.SENT)

    assert postgres_office.server.copies(postgres_office.get(id).message_id) == 1


def deafen() -> None:
    [listening] = [task for task in asyncio.all_tasks() if task.get_name() == "wake-up"]
    listening.cancel()


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_rate_holds_over_all_workers_together(office: Office, workers: int) -> None:
    """A hundred a second in bursts of ten: so many can have left after a while, and no more."""
    office.enqueue(60)
    started = time.time()
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(office.work_until_idle(options=f"rate=100/s&{LIMITS}"))

    times = sorted(message.at for message in office.server.messages)
    assert len(times) == 60
    # Nothing was reserved before the start, and the last of sixty at least (60 - 10) / 100 s after the first.
    assert times[-1] - started >= 0.5


async def test_an_idle_worker_does_not_use_up_a_slow_rate(office: Office) -> None:
    async with office.working(options="rate=1/h", poll=timedelta(milliseconds=20)):
        await asyncio.sleep(0.3)
        office.enqueue()
        await arrived(office, 1)

        assert len(office.server.messages) == 1


async def test_leases_are_renewed_while_a_slow_server_takes_longer_than_the_lease(office: Office) -> None:
    office.server.script(at="dot", delay=3.0, times=1)
    [id] = office.enqueue(on_doubt="hold")
    async with office.working(lease=timedelta(seconds=1)), office.working(lease=timedelta(seconds=1)):
        await until(lambda: office.get(id).status is Status.SENT)

    assert office.copies(id) == 1
    assert office.get(id).takeovers == 0


async def test_without_any_grace_what_has_not_begun_is_given_back_all_the_same(office: Office) -> None:
    """(C6) The grace is for conversations; recording what is known takes the time it takes."""
    office.server.script(at="mail", stall=True)
    ids = office.enqueue(30)
    async with office.working(options=f"connections=2&{LIMITS}", grace=timedelta(0)):
        await asyncio.to_thread(office.server.wait_until, lambda: len(office.server.commands) >= 4)

    assert office.statuses(ids) == {Status.PENDING}


async def test_a_worker_whose_lease_was_stolen_does_not_finish_the_dot(office: Office) -> None:
    """The network stalls before the message may be uploaded; meanwhile the email is taken away."""
    office.server.script(at="data", delay=0.5, times=1)
    [id] = office.enqueue()
    with FaultProxy(target_port=office.server.port) as network:
        async with office.working(smtp=f"smtp://127.0.0.1:{network.port}", lease=timedelta(seconds=1)) as worker:
            await until(lambda: "DATA" in office.server.commands)
            network.stall()
            steal(office, id)
            await until(lambda: all(claim.token > 1 for claim in worker.engine.held))
            network.resume()
            await until(lambda: office.get(id).status is Status.SENT)

    assert office.copies(id) == 1


def steal(office: Office, id: EmailId) -> None:
    """What a take-over does, without waiting for the lease to end: the email goes back under a new token."""
    office.sql(
        "UPDATE {emails} SET lease_token = lease_token + 1, status = 'pending', worker = NULL, leased_until = NULL"
        " WHERE id = ?",
        id,
    )


async def test_a_route_is_known_as_soon_as_a_worker_uses_it(office: Office) -> None:
    async with office.working():
        await until(lambda: [known.name for known in office.outbox.database.run(known_routes())] != [])

        [known] = office.outbox.database.run(known_routes())
        assert known.breaker == WELL
        assert (known.name, known.server) == ("default", f"127.0.0.1:{office.server.port}")
