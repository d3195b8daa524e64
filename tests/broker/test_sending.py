"""What senders do with messages: each email sent once, whatever is said about it, and how often."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from postroom import Attachment, DeadReason, Email, EmailId, RetryPolicy, Status
from postroom.broker import consumption as consuming
from postroom.broker.consumption import Consumption
from postroom.broker.link import BrokerAway, open_session
from postroom.broker.message import encode
from postroom.broker.meter import UNMETERED_DISPATCH
from postroom.broker.topology import Broker
from postroom.sealing import Keyring
from postroom.send.script import Moment
from postroom.store.dispatch import Named
from postroom.vocabulary import Priority
from postroom.work.breakers import pause, resume
from tests.broker.bureau import Bureau
from tests.broker.hatch import eventually
from tests.work.drain import Drain
from tests.work.late import Press, late
from tests.work.office import LIMITS, until, wait_until
from tests.work.tally import check

A_DAY = timedelta(days=1)
NOBODY = EmailId("01890000-0000-7000-8000-000000000001")
TWICE = RetryPolicy(steps=["0s"], max_attempts=2, name="twice")


async def all_sent(bureau: Bureau, ids: list[EmailId]) -> None:
    await until(lambda: bureau.outbox.counts()["sent"] >= len(ids))
    await until(lambda: bureau.statuses(ids) == {Status.SENT})


async def test_what_is_due_is_sent_once_each(any_bureau: Bureau) -> None:
    """(D7)"""
    ids = any_bureau.enqueue(120)
    async with any_bureau.scheduling(), any_bureau.sending():
        await all_sent(any_bureau, ids)

    check(any_bureau, ids)
    assert set(any_bureau.server.copies_of_all().values()) == {1}
    assert [await any_bureau.hatch.depth(queue) for queue in any_bureau.queues] == [0, 0, 0]
    assert any_bureau.meter.counts == {"confirmed": 120}


async def test_a_sender_renders_what_is_not_rendered_yet(bureau: Bureau) -> None:
    """And what its template cannot say dies alone."""
    ids = [bureau.outbox.enqueue(late(name)).id for name in ("Ada", "Bob", "Eve")]
    async with bureau.scheduling(), bureau.sending(render=Press(rejects={"Bob"})):
        await until(lambda: not bureau.unfinished())

    assert [bureau.get(id).status for id in ids] == [Status.SENT, Status.DEAD, Status.SENT]
    assert sorted(bureau.order_of_arrival()) == ["Hello Ada", "Hello Eve"]


async def test_two_schedulers_and_three_senders_share_the_work(bureau: Bureau) -> None:
    ids = bureau.enqueue(300)
    bureau.server.script(at="dot", delay=0.005)
    async with (
        bureau.scheduling(),
        bureau.scheduling(),
        bureau.sending(prefetch=5),
        bureau.sending(prefetch=5),
        bureau.sending(prefetch=5),
    ):
        await all_sent(bureau, ids)

    check(bureau, ids)
    assert set(bureau.server.copies_of_all().values()) == {1}


async def test_a_sender_that_is_to_stop_when_nothing_is_left_waits_for_what_is_queued(bureau: Bureau) -> None:
    ids = bureau.enqueue(20)
    async with bureau.sending(until_idle=True) as sender:
        async with bureau.scheduling():
            await all_sent(bureau, ids)
        await until(lambda: not bureau.unfinished())
        await until(sender._feed.stopping.is_set)

    check(bureau, ids)


async def test_a_sender_opens_what_is_sealed_and_no_message_carries_any_of_it(bureau: Bureau) -> None:
    """One is sealed with a secret that the sender lacks: it dies, and the news of that does not tell what it said."""
    ids = []
    for secret in ("s" * 32, "lost " * 8):
        bureau.outbox.rules = replace(bureau.outbox.rules, keyring=Keyring(secret))
        email = Email(to="ada@example.org", subject="Code 493817", text="493817")
        ids.append(bureau.outbox.enqueue(email, sensitive=True).id)
    async with bureau.scheduling(), bureau.sending(keyring=Keyring("s" * 32)):
        await until(lambda: bureau.statuses(ids) == {Status.SENT, Status.DEAD})
        await eventually(lambda: bureau.hatch.depth(bureau.broker.dead), lambda depth: depth == 1)
        obituary = await bureau.obituaries()

    assert [message.data.count(b"493817") for message in bureau.server.messages] == [2]
    assert [each["emailId"] for each in obituary] == [ids[1]]
    assert "493817" not in json.dumps(obituary)
    assert bureau.get(ids[0]).erased


# ---------------------------------------------------------------- retries and deaths


async def test_a_retry_comes_through_the_queue_of_retries(bureau: Bureau, retry_broker: Broker) -> None:
    [id] = bureau.enqueue()
    bureau.server.script(at="dot", reply="451 4.3.0 later", times=1)
    async with bureau.scheduling(broker=retry_broker), bureau.sending(broker=retry_broker):
        await until(lambda: bureau.get(id).status is Status.SENT)

    assert bureau.get(id).attempts == 2
    assert bureau.copies(id) == 1
    assert bureau.meter.counts == {"confirmed": 2}


async def test_a_permanent_refusal_is_dead_at_once_and_told_of_without_the_address(bureau: Bureau) -> None:
    """(D5, D6)"""
    [id] = bureau.enqueue()
    bureau.server.script(at="rcpt", reply="550 5.1.1 <person0@example.org> is unknown here")
    async with bureau.scheduling(), bureau.sending():
        await until(lambda: bureau.meter.counts["announced"] == 1)

    stored = bureau.get(id)
    assert (stored.status, stored.dead_reason, stored.attempts) == (Status.DEAD, DeadReason.PERMANENT, 1)
    [news] = await bureau.obituaries()
    assert (news["emailId"], news["reason"], news["attempts"]) == (id, "permanent", 1)
    assert "is unknown here" in news["lastError"]
    assert "person0" not in json.dumps(news)


async def test_an_email_that_has_used_up_its_attempts_is_dead_and_told_of(bureau: Bureau) -> None:
    """(D5)"""
    [id] = bureau.enqueue(policy=TWICE)
    bureau.server.script(at="dot", reply="451 4.3.0 later")
    async with bureau.scheduling(), bureau.sending():
        await until(lambda: bureau.meter.counts["announced"] == 1)

    assert (bureau.get(id).status, bureau.get(id).dead_reason) == (Status.DEAD, DeadReason.MAX_ATTEMPTS)
    [news] = await bureau.obituaries()
    assert (news["emailId"], news["reason"], news["attempts"]) == (id, "max_attempts", 2)
    assert bureau.copies(id) == 0


# ---------------------------------------------------------------- messages that are no use


async def test_copies_latecomers_and_strangers_send_nothing(bureau: Bureau) -> None:
    """(D7) Each is acknowledged and counted."""
    ids = bureau.enqueue(10)
    [cancelled, later] = bureau.enqueue(2, not_before=bureau.sql("SELECT now() + interval '1 day'")[0][0])
    bureau.outbox.cancel(cancelled)
    async with bureau.scheduling(), bureau.sending():
        await all_sent(bureau, ids)
        useless = [
            *(encode(Named(id, 1)) for id in ids for _ in range(2)),  # sent already
            encode(Named(ids[0], 7)),
            encode(Named(NOBODY, 1)),
            encode(Named(cancelled, 1)),
            encode(Named(later, 1)),  # not queued
        ]
        await bureau.hatch.put(bureau.queue, *useless)
        await until(lambda: bureau.meter.counts["stale"] >= len(useless))
        [last] = bureau.enqueue()
        await all_sent(bureau, [last])

    assert bureau.meter.counts == {"confirmed": 11, "stale": 24}
    assert await bureau.hatch.depth(bureau.queue) == 0
    assert set(bureau.server.copies_of_all().values()) == {1}
    assert len(bureau.server.messages) == 11
    assert [bureau.get(id).status for id in (cancelled, later)] == [Status.CANCELLED, Status.PENDING]


async def test_copies_in_any_order_send_each_email_once(bureau: Bureau) -> None:
    """(D7) A broker may deliver twice, late and out of order; here it does all of that to everything."""
    ids = bureau.enqueue(60)
    async with bureau.scheduling():
        await until(lambda: bureau.meter.counts["confirmed"] == 60)
    bodies = [message.body for message in await bureau.hatch.take(bureau.queue)]
    await bureau.hatch.put(bureau.queue, *bodies[::-1], *bodies, *bodies[::2])
    async with bureau.sending(options=f"connections=4&{LIMITS}"), bureau.sending(options=f"connections=4&{LIMITS}"):
        await until(lambda: bureau.meter.counts["stale"] == 90)
        await all_sent(bureau, ids)

    check(bureau, ids)
    assert set(bureau.server.copies_of_all().values()) == {1}
    assert await bureau.hatch.depth(bureau.queue) == 0


async def test_a_message_in_the_wrong_lane_is_as_good_as_any(bureau: Bureau) -> None:
    [id] = bureau.enqueue()
    async with bureau.scheduling():
        await until(lambda: bureau.meter.counts["confirmed"] == 1)
    [message] = await bureau.hatch.take(bureau.queue)
    await bureau.hatch.put(bureau.broker.queue(Priority.BULK, 1), message.body)
    async with bureau.sending():
        await all_sent(bureau, [id])

    assert bureau.copies(id) == 1


async def test_poison_is_put_aside_once_and_stops_nobody(bureau: Bureau) -> None:
    poison = [b"", b"not json", b"\xff\xfe", b"[]", b'{"emailId":1}', b"x" * 10_000, b"[" * 4_000]
    async with bureau.scheduling(), bureau.sending(prefetch=3):
        ids = bureau.enqueue(10)
        await all_sent(bureau, ids)
        await bureau.hatch.put(bureau.queue, *poison)
        ids += bureau.enqueue(10)
        await all_sent(bureau, ids)
        await until(lambda: bureau.meter.counts["poison"] == len(poison))
    aside = await bureau.hatch.take(bureau.broker.dead)

    assert sorted(message.body for message in aside) == sorted(poison)
    assert bureau.meter.counts == {"confirmed": 20, "poison": len(poison)}
    assert await bureau.hatch.depth(bureau.queue) == 0
    check(bureau, ids)


# ---------------------------------------------------------------- lanes


async def test_an_urgent_email_passes_a_bulk_backlog_in_the_broker(bureau: Bureau) -> None:
    """In the order at the server: only what the sender holds already may be before it."""
    with bureau.outbox.transaction() as connection:
        postings = (Email(to=f"person{n}@example.org", subject=f"Bulk {n}", text="Buy.") for n in range(3_000))
        bureau.outbox.enqueue_many(postings, connection=connection, priority="bulk")
    bureau.server.script(at="dot", delay=0.005)
    async with bureau.scheduling(ahead=5_000):
        await until(lambda: bureau.meter.counts["confirmed"] == 3_000)
        async with bureau.sending(options=f"connections=2&{LIMITS}", prefetch=40):
            await until(lambda: len(bureau.server.messages) >= 20)
            bureau.outbox.enqueue(Email(to="ada@example.org", subject="Urgent", text="Now."), priority="urgent")
            before = len(bureau.server.messages)
            await until(lambda: "Urgent" in bureau.order_of_arrival())
            position = bureau.order_of_arrival().index("Urgent")

    assert position - before < 200


async def test_bulk_does_not_starve_behind_urgent_and_normal(bureau: Bureau) -> None:
    """Of thirteen seats one is bulk's, whoever else waits in the broker."""
    bureau.enqueue(150, priority="urgent")
    bureau.enqueue(150, priority="normal")
    bureau.outbox.enqueue(Email(to="ada@example.org", subject="Bulk", text="Some day."), priority="bulk")
    async with bureau.scheduling():
        await until(lambda: bureau.meter.counts["confirmed"] == 301)
        async with bureau.sending(options=f"connections=1&{LIMITS}", prefetch=26):
            await until(lambda: "Bulk" in bureau.order_of_arrival())

    assert bureau.order_of_arrival().index("Bulk") < 200


# ---------------------------------------------------------------- stopping, pausing, throttling


async def test_a_sender_that_stops_gives_back_what_it_holds_at_once(bureau: Bureau) -> None:
    """Nobody has to wait for a lease to end: those last a day."""
    ids = bureau.enqueue(100)
    bureau.server.script(at="dot", delay=0.02)
    async with bureau.scheduling(lease=A_DAY):
        async with bureau.sending(options=f"connections=1&{LIMITS}", prefetch=30, lease=A_DAY):
            await until(lambda: len(bureau.server.messages) >= 3)
        assert bureau.outbox.counts()["sending"] == 0
        left = bureau.outbox.counts()["sent"]
        bureau.server.clear_script()
        async with bureau.sending(lease=A_DAY):
            await all_sent(bureau, ids)

    check(bureau, ids)
    assert left < 100
    assert set(bureau.server.copies_of_all().values()) == {1}


async def test_a_sender_without_a_moment_of_grace_gives_back_what_has_not_begun(bureau: Bureau) -> None:
    """Messages in hand, and emails that were claimed and not begun. What has begun is brought to its recorded end."""
    ids = bureau.enqueue(100)
    bureau.server.script(at="greeting", delay=3_600)
    async with bureau.scheduling(lease=A_DAY):
        async with bureau.sending(options=f"connections=1&{LIMITS}", prefetch=30, lease=A_DAY, grace=timedelta(0)):
            await until(lambda: bureau.outbox.counts()["sending"] >= 20)
        assert bureau.outbox.counts()["sending"] == 0
        bureau.server.clear_script()
        async with bureau.sending(lease=A_DAY):
            await all_sent(bureau, ids)

    check(bureau, ids)
    assert set(bureau.server.copies_of_all().values()) == {1}


async def test_while_nothing_may_be_sent_messages_are_let_go_and_nothing_is_lost(bureau: Bureau) -> None:
    """No message stays in the sender's hands, and no email is on its way."""
    bureau.server.script(at="dot", delay=0.05)
    ids = bureau.enqueue(100)
    async with bureau.scheduling(), bureau.sending(options=f"connections=1&{LIMITS}", prefetch=30) as sender:
        await until(lambda: len(bureau.server.messages) >= 3)
        bureau.outbox.database.run(pause("default", "by hand"))
        await until(lambda: not sender.engine.routes["default"].minder.may_send())
        await eventually(lambda: bureau.hatch.consumers(bureau.queue), lambda consumers: consumers == 0)
        await until(lambda: not bureau.outbox.counts()["sending"])
        await eventually(
            lambda: bureau.hatch.depth(bureau.queue), lambda depth: depth == bureau.outbox.counts()["queued"]
        )
        counts = bureau.outbox.counts()
        assert counts["pending"] + counts["queued"] == 100 - counts["sent"] > 0
        bureau.outbox.database.run(resume("default"))
        await all_sent(bureau, ids)

    check(bureau, ids)
    assert set(bureau.server.copies_of_all().values()) == {1}


async def test_a_rate_holds_over_two_senders(bureau: Bureau) -> None:
    """A hundred a second in bursts of ten: so many can have left after a while, and no more."""
    ids = bureau.enqueue(60)
    async with bureau.scheduling():
        await until(lambda: bureau.meter.counts["confirmed"] == 60)
        options, started = f"rate=100/s&{LIMITS}", time.time()
        async with bureau.sending(options=options), bureau.sending(options=options):
            await all_sent(bureau, ids)

    times = sorted(message.at for message in bureau.server.messages)
    assert len(times) == 60
    # Nothing was reserved before the start, and the last of sixty at least (60 - 10) / 100 s after the first.
    assert times[-1] - started >= 0.5


async def test_a_queue_that_is_deleted_under_its_senders_is_declared_and_served_again(bureau: Bureau) -> None:
    """The broker tells a consumer that its queue is gone, and nothing else: the connection stays."""
    async with bureau.scheduling(lease=timedelta(seconds=1)), bureau.sending():
        first = bureau.enqueue(5)
        await all_sent(bureau, first)
        await bureau.hatch.delete(*bureau.queues)
        second = bureau.enqueue(5)
        await all_sent(bureau, second)

    check(bureau, first + second)
    assert set(bureau.server.copies_of_all().values()) == {1}


async def test_whoever_is_served_no_more_and_was_not_told_finds_out(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker under load may forget to tell a consumer that its queue is gone."""
    session = await open_session(bureau.broker)
    consumption = Consumption(session, prefetch=1, meter=UNMETERED_DISPATCH)
    await consumption.start()
    monkeypatch.setattr(consuming, "INSIST", 0.0)
    await consumption.insist()
    for tag in consumption._tags:
        await session.client.cancel(tag)

    with pytest.raises(BrokerAway, match="a queue was deleted"):
        await consumption.insist()
    assert session.closed.is_set()
    await session.close()


def test_a_sender_stays_below_its_bound_and_small_emails_pass_large_ones(any_bureau: Bureau) -> None:
    bureau, file = any_bureau, Attachment("report.bin", bytes(range(256)) * 55_000)
    large = Email(to="large@example.org", text="Hello", attachments=[file])
    small = Email(to="small@example.org", text="Hello")
    with Drain() as drain:
        drain.holding = {"large@example.org"}
        bureau.outbox.enqueue_many([large] * 20, priority=Priority.BULK)
        running = [bureau.start_scheduler(), bureau.start_sender(lease="30s", POSTROOM_SMTP=drain.url)]
        wait_until(lambda: drain.held >= 2)
        bureau.outbox.enqueue_many([small] * 200, priority=Priority.URGENT)
        wait_until(lambda: len(drain.recipients) == 200)

        assert set(drain.recipients) == {"small@example.org"}
        drain.let_go()
        wait_until(lambda: not bureau.unfinished())
        assert running[1].most_memory() < 300
        assert len(drain.recipients) == 220
        bureau.dismiss(running)


@pytest.mark.usefixtures("links")
async def test_a_sender_sends_nothing_to_who_is_not_to_be_mailed(any_bureau: Bureau) -> None:
    """Neither what was published before nor what is in hand."""
    bureau = any_bureau
    ids = bureau.enqueue(20)
    before = bureau.outbox.suppress("person3@example.org")
    during: list[str] = []

    def unsubscribe(moment: Moment) -> bool:
        if not during:
            during.append(bureau.outbox.suppress("reader@example.org", reason="unsubscribe").id)
        return False

    reader = bureau.outbox.enqueue(Email(to="reader@example.org", subject="News", text="x"), unsubscribable=True).id
    bureau.server.script(at="data", when=unsubscribe)
    async with bureau.scheduling(), bureau.sending(options=f"{LIMITS}&connections=1"):
        await until(lambda: not bureau.unfinished())

    assert {id for id in (*ids, reader) if bureau.get(id).status is Status.DEAD} == {ids[3], reader}
    assert before.id in (bureau.get(ids[3]).last_error or "")
    assert during[0] in (bureau.get(reader).last_error or "")
    assert (len(bureau.server.messages), bureau.outbox.conservation().holds) == (19, True)
    assert [await bureau.hatch.depth(queue) for queue in bureau.queues] == [0, 0, 0]
