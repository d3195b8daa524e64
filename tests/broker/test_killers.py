"""An email whose message kills whoever receives it, before anybody has claimed it: it ends, and nobody else does."""

from __future__ import annotations

import signal
from collections.abc import Collection
from datetime import timedelta
from typing import Any, NoReturn

import pytest

from postroom import DeadReason, EmailId, RetryPolicy, Status
from postroom.broker.topology import Broker
from postroom.errors import StoreUnavailable
from postroom.store import dispatch
from postroom.store.dispatch import Named
from postroom.testing import FaultProxy
from tests.broker.bureau import Bureau
from tests.broker.network import port_of, through
from tests.broker.test_sending import all_sent
from tests.work.office import until, wait_until
from tests.work.tally import check

THRICE = RetryPolicy(steps=["0s"], max_attempts=3, name="thrice")
MOST_DEATHS = 10
"""More than the policy allows: each take-over costs a sender that has the message anew, and one that has it again."""


def senders_until_dead(bureau: Bureau, killer: EmailId) -> int:
    """Start a sender whenever the one before has died of the email; how many it took along."""
    deaths = 0
    while deaths < MOST_DEATHS:
        sender = bureau.start_sender(options="connections=2", POSTROOM_FAILPOINT=f"received@{killer}")
        wait_until(lambda sender=sender: sender.poll() is not None or bureau.get(killer).status is Status.DEAD)  # type: ignore[misc]
        if sender.poll() is None:
            bureau.dismiss([sender])
            break
        assert sender.wait(0) == -signal.SIGKILL
        deaths += 1
    return deaths


@pytest.mark.parametrize("store", ["postgres", "sqlite"])
def test_an_email_that_kills_every_sender_on_receipt_ends_dead_and_the_others_are_sent(
    request: pytest.FixtureRequest, store: str
) -> None:
    """The count of take-overs ends it, as one that kills whoever has claimed it. Nobody in the same batch is blamed."""
    bureau: Bureau = request.getfixturevalue("bureau" if store == "postgres" else "sqlite_bureau")
    ids = bureau.enqueue(10)
    [killer] = bureau.enqueue(policy=THRICE)
    ids += bureau.enqueue(10)
    scheduler = bureau.start_scheduler(POSTROOM_DISPATCH_LEASE="1h")
    deaths = senders_until_dead(bureau, killer)
    bureau.dispatch()
    bureau.dismiss([scheduler])

    stored = bureau.get(killer)
    assert (stored.status, stored.dead_reason) == (Status.DEAD, DeadReason.MAX_ATTEMPTS)
    assert stored.last_error == "taken over 3 times from a worker that did not come to the end of it"
    assert [entry.what for entry in stored.history] == ["taken_over"] * 3
    assert THRICE.max_attempts <= deaths < MOST_DEATHS
    assert bureau.copies(killer) == 0
    check(bureau, ids)


async def test_a_message_that_the_broker_loses_again_and_again_is_no_fault_of_its_email(bureau: Bureau) -> None:
    """(D7) Lost more often than the email may be tried: it is published again all the same, and sent."""
    ids = bureau.enqueue(5, policy=THRICE)
    async with bureau.scheduling(lease=timedelta(milliseconds=200)):
        await until(lambda: bureau.meter.counts["requeued"] >= 5 * 2 * THRICE.max_attempts)
        assert bureau.statuses(ids) <= {Status.PENDING, Status.QUEUED}
        async with bureau.sending():
            await all_sent(bureau, ids)

    assert {(bureau.get(id).attempts, bureau.get(id).takeovers) for id in ids} == {(1, 0)}
    check(bureau, ids)


async def test_messages_that_come_back_are_claimed_one_by_one_and_sent_once(
    any_bureau: Bureau, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network is cut with everything in the hands of a sender that had not come to claim it."""
    bureau, in_hand = any_bureau, set[EmailId]()
    owned: list[EmailId] = []
    own, failures = dispatch.own_queued, iter(range(3))

    def claim_nothing(messages: Collection[Named], **_: object) -> NoReturn:
        in_hand.update(message.id for message in messages)
        raise StoreUnavailable("away")

    def own_in_the_end(message: Named, **settings: Any) -> Any:
        if next(failures, None) is not None:
            raise StoreUnavailable("away")
        owned.append(message.id)
        return own(message, **settings)

    monkeypatch.setattr(dispatch, "claim_queued", claim_nothing)
    monkeypatch.setattr(dispatch, "own_queued", own_in_the_end)
    ids = bureau.enqueue(20)
    with FaultProxy(target_port=port_of(broker)) as network:
        async with bureau.scheduling(), bureau.sending(broker=through(network, broker)):
            await until(lambda: len(in_hand) == 20)
            network.cut()
            await all_sent(bureau, ids)

    assert sorted(owned) == ids
    assert set(bureau.server.copies_of_all().values()) == {1}
    assert {bureau.get(id).takeovers for id in ids} == {0}
    check(bureau, ids)
