"""Pausing and resuming a transport through the service: what it does, to whom it is allowed, what is on record."""

from __future__ import annotations

import pytest

from postroom import Outbox
from postroom.accounts.audit import read_audit
from postroom.config import RouteSettings
from postroom.operate import AsyncOperations, Operations, RouteNotFound, RouteShared, ways_out
from postroom.settle.verdict import Health, TransportVerdict
from postroom.work import breakers
from postroom.work.breaker import BreakerState
from tests.store.journey import Clock, enqueue, enqueue_on

NAME = "smtp.example.org:587"


def states(outbox: Outbox) -> dict[str, BreakerState]:
    known = outbox.database.run(breakers.known_routes(), writes=False)
    return {each.name: each.breaker.state for each in known}


async def test_whoever_pauses_and_resumes_is_in_the_audit_log(outbox: Outbox, operations: AsyncOperations) -> None:
    outbox.database.run(breakers.standing_of({NAME: ""}))
    await operations.pause_route(NAME, "new password", "grace")
    paused = states(outbox)
    await operations.resume_route(NAME, "ada")

    page = outbox.database.run(read_audit(), writes=False)
    assert (paused, states(outbox)) == ({NAME: BreakerState.PAUSED}, {NAME: BreakerState.OK})
    assert [(entry.actor, entry.what, entry.detail["route"]) for entry in page.entries] == [
        ("ada", "route_resume", NAME),
        ("grace", "route_pause", NAME),
    ]
    assert page.entries[1].detail["reason"] == "new password"


async def test_what_was_refused_is_on_record_as_refused(outbox: Outbox, operations: AsyncOperations) -> None:
    """(E8) Who may not see every workspace stops no transport; one that nobody knows cannot be stopped."""
    outbox.database.run(breakers.standing_of({NAME: ""}))
    with pytest.raises(RouteShared):
        await operations.pause_route(NAME, "", "grace", workspaces=frozenset({"hotel"}))
    with pytest.raises(RouteNotFound, match=r"known are smtp\.example\.org:587"):
        await operations.resume_route("smtp.example.com:587", "grace")

    assert states(outbox) == {NAME: BreakerState.OK}
    lines = outbox.database.run(read_audit(), writes=False).entries
    assert [(line.what, "refused" in line.detail) for line in lines] == [("route_resume", True), ("route_pause", True)]


async def test_a_transport_is_on_the_dashboard_from_the_start_of_its_worker(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    outbox.database.run(breakers.standing_of({NAME: ""}))

    [seen] = (await operations.dashboard()).routes
    assert (seen.name, seen.state, seen.held) == (NAME, BreakerState.OK, False)


async def test_a_route_that_only_the_settings_know_is_listed_and_can_be_paused(
    store_url: str, clock: Clock, outbox: Outbox
) -> None:
    routes = {
        "backup": "smtp://user:secret@backup.example.org:2525",
        "bulk": RouteSettings(transport="smtp://b", fallback="backup"),
    }
    with Outbox(store_url, clock=clock, routes=routes) as knowing:
        operations = Operations(knowing)
        before = {route.name: route for route in operations.routes()}
        operations.pause_route("backup", "not yet", "grace")
        after = {route.name: route for route in operations.routes()}

    assert [*before] == ["backup", "bulk"]
    assert (before["backup"].server, before["backup"].state) == ("backup.example.org:2525", BreakerState.OK)
    assert (before["bulk"].server, before["bulk"].fallback) == ("b", "backup")
    assert after["backup"].held
    assert (before["backup"].used, after["backup"].used) == (False, True)
    assert "secret" not in repr(after)


async def test_a_route_tells_how_many_emails_wait_for_it_to_those_who_may_see_them_all(
    outbox: Outbox, operations: AsyncOperations
) -> None:
    enqueue_on(outbox, "bulk", 3)
    enqueue(outbox, 2)

    seen = {route.name: route.waiting for route in (await operations.dashboard()).routes}
    within = {route.name: route.waiting for route in (await operations.dashboard(workspaces=frozenset())).routes}

    assert seen == {"bulk": 3, "default": 2}
    assert set(within.values()) <= {None}


async def test_emails_move_to_another_route_in_batches_and_it_is_on_record(
    outbox: Outbox, operations: AsyncOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways_out, "MOVED", 2)
    ids = enqueue_on(outbox, "bulk", 5)
    enqueue(outbox)

    some = await operations.move_route("bulk", "default", "grace", limit=3)
    rest = await operations.move_route("bulk", "default", "grace")

    page = outbox.database.run(read_audit(), writes=False)
    assert (some, rest) == (3, 2)
    assert {outbox.get(id).route for id in ids} == {"default"}
    assert {entry.what for id in ids for entry in outbox.get(id).history} == {"rerouted"}
    assert sum(entry.detail["emails"] for entry in page.entries) == 5
    assert {(entry.actor, entry.what, entry.detail["to"]) for entry in page.entries} == {
        ("grace", "route_move", "default")
    }


async def test_nothing_moves_to_or_from_a_route_that_nobody_knows(outbox: Outbox, operations: AsyncOperations) -> None:
    [id] = enqueue_on(outbox, "bulk")

    with pytest.raises(RouteNotFound, match="known are bulk"):
        await operations.move_route("bulk", "bukl", "grace")
    with pytest.raises(RouteNotFound):
        await operations.move_route("bukl", "bulk", "grace")
    with pytest.raises(RouteShared):
        await operations.move_route("bulk", "bulk", "grace", workspaces=frozenset({"hotel"}))

    assert outbox.get(id).route == "bulk"
    assert all("refused" in line.detail for line in outbox.database.run(read_audit(), writes=False).entries)


async def test_registering_a_transport_again_changes_nothing(outbox: Outbox) -> None:
    outbox.database.run(breakers.learn(NAME, TransportVerdict(health=Health.PAUSE, reason="535 no"), jitter=0))
    before = outbox.database.run(breakers.known_routes(), writes=False)
    outbox.database.run(breakers.standing_of({NAME: ""}))

    assert outbox.database.run(breakers.known_routes(), writes=False) == before
    assert before[0].breaker.state is BreakerState.PAUSED


def test_what_a_route_carries_and_how_much_is_told_as_far_as_it_is_known_here(store_url: str, outbox: Outbox) -> None:
    routes = {
        "backup": "smtp://user:secret@backup.example.org:2525?rate=10/s",
        "bulk": RouteSettings(transport="smtp://b", rate="500/h"),
        "text": "twilio://account:secret@gateway.example.org",
    }
    with Outbox(store_url, routes=routes) as knowing:
        knowing.database.run(breakers.standing_of({"elsewhere": "", "webhooks": ""}))
        told = {route.name: (route.rate, route.channel) for route in Operations(knowing).routes()}

    assert told == {
        "backup": ("10/s", "email"),
        "bulk": ("500/h", "email"),
        "elsewhere": (None, None),
        "text": (None, "sms"),
        "webhooks": (None, "webhook"),
    }
