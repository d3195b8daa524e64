"""Pausing and resuming a transport through the service: what it does, to whom it is allowed, what is on record."""

from __future__ import annotations

import pytest

from postroom import Outbox
from postroom.accounts.audit import read_audit
from postroom.operate import AsyncOperations, RouteNotFound, RouteShared
from postroom.settle.verdict import Health, TransportVerdict
from postroom.work import transports
from postroom.work.breaker import BreakerState

NAME = "smtp.example.org:587"


def states(outbox: Outbox) -> dict[str, BreakerState]:
    known = outbox.database.run(transports.known_transports(), writes=False)
    return {each.name: each.breaker.state for each in known}


async def test_whoever_pauses_and_resumes_is_in_the_audit_log(outbox: Outbox, operations: AsyncOperations) -> None:
    outbox.database.run(transports.standing_of(NAME))
    await operations.pause_route(NAME, "new password", "grace")
    paused = states(outbox)
    await operations.resume_route(NAME, "ada")

    page = outbox.database.run(read_audit(), writes=False)
    assert (paused, states(outbox)) == ({NAME: BreakerState.PAUSED}, {NAME: BreakerState.OK})
    assert [(entry.actor, entry.what, entry.detail["transport"]) for entry in page.entries] == [
        ("ada", "transport_resume", NAME),
        ("grace", "transport_pause", NAME),
    ]
    assert page.entries[1].detail["reason"] == "new password"


async def test_what_was_not_done_is_not_on_record(outbox: Outbox, operations: AsyncOperations) -> None:
    """(E8) Who may not see every workspace stops no transport; one that nobody knows cannot be stopped."""
    outbox.database.run(transports.standing_of(NAME))
    with pytest.raises(RouteShared):
        await operations.pause_route(NAME, "", "grace", workspaces=frozenset({"hotel"}))
    with pytest.raises(RouteNotFound, match=r"known are smtp\.example\.org:587"):
        await operations.resume_route("smtp.example.com:587", "grace")

    assert states(outbox) == {NAME: BreakerState.OK}
    assert outbox.database.run(read_audit(), writes=False).entries == ()


async def test_a_transport_is_on_the_dashboard_from_the_start_of_its_worker(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    outbox.database.run(transports.standing_of(NAME))

    [seen] = (await operations.dashboard()).routes
    assert (seen.name, seen.state, seen.held) == (NAME, BreakerState.OK, False)


async def test_registering_a_transport_again_changes_nothing(outbox: Outbox) -> None:
    outbox.database.run(transports.learn(NAME, TransportVerdict(health=Health.PAUSE, reason="535 no"), jitter=0))
    before = outbox.database.run(transports.known_transports(), writes=False)
    outbox.database.run(transports.standing_of(NAME))

    assert outbox.database.run(transports.known_transports(), writes=False) == before
    assert before[0].breaker.state is BreakerState.PAUSED
