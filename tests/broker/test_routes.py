"""Many ways out behind a broker: messages name emails of every route, and no route holds up another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from postroom import Status
from postroom.broker.open_routes import OpenRoutes
from postroom.claim.route import Route
from postroom.send.smtp.pool import SmtpTransport
from postroom.store.open import open_async_database
from postroom.testing import ScriptedSmtp
from postroom.work.breakers import known_routes, pause
from tests.broker.bureau import Bureau
from tests.work.office import LIMITS, until
from tests.work.tally import check


@pytest.fixture
def backup() -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp() as server:
        yield server


def routes(bureau: Bureau, backup: ScriptedSmtp, *, fallback: str | None = None, options: str = LIMITS) -> list[Route]:
    return [
        replace(Route.over(SmtpTransport(f"{bureau.server.url}?{options}")), fallback=fallback),
        Route.over(SmtpTransport(f"{backup.url}?{LIMITS}"), name="backup"),
    ]


async def test_each_email_leaves_by_its_own_route(any_bureau: Bureau, backup: ScriptedSmtp) -> None:
    here, there = any_bureau.enqueue(20), any_bureau.enqueue(20, route="backup")
    async with any_bureau.scheduling(), any_bureau.sending(routes=routes(any_bureau, backup)):
        await until(lambda: any_bureau.statuses([*here, *there]) == {Status.SENT})

    assert (len(any_bureau.server.messages), len(backup.messages)) == (20, 20)


async def test_a_route_that_is_paused_fills_no_queue_and_holds_up_no_other(
    bureau: Bureau, backup: ScriptedSmtp
) -> None:
    """More emails than the queues may hold wait for the one; those of the other leave."""
    bureau.outbox.database.run(pause("default", "moving house"))
    here = bureau.enqueue(200)
    async with bureau.scheduling(ahead=50), bureau.sending(routes=routes(bureau, backup)):
        there = bureau.enqueue(100, route="backup")
        await until(lambda: bureau.statuses(there) == {Status.SENT})

        assert bureau.statuses(here) <= {Status.PENDING, Status.QUEUED}
    assert (bureau.server.messages, len(backup.messages)) == ([], 100)


async def test_a_scheduler_looks_anew_which_routes_are_shut_when_it_is_woken(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Senders give back what a route may not send any more: it would be named again, for nobody to take."""
    looked, look_anew = [], OpenRoutes.look_anew
    monkeypatch.setattr(OpenRoutes, "look_anew", lambda routes: looked.append(1) or look_anew(routes))
    async with bureau.scheduling(interval=timedelta(days=1)):
        ids = bureau.enqueue(1)
        await until(lambda: bureau.statuses(ids) == {Status.QUEUED})
        seen = len(looked)
        bureau.enqueue(1)
        await until(lambda: len(looked) > seen)


async def test_what_was_seen_of_routes_counts_for_a_moment_and_not_after_a_new_look(bureau: Bureau) -> None:
    bureau.enqueue(1, route="backup")
    database = open_async_database(bureau.url)
    routes = OpenRoutes(database)
    assert await routes.names() is None

    bureau.outbox.database.run(pause("default", "by hand"))
    routes.look_anew()
    assert await routes.names() == ["backup"]
    await database.close()


async def test_a_route_with_a_rate_holds_up_no_other_and_is_kept(bureau: Bureau, backup: ScriptedSmtp) -> None:
    here = bureau.enqueue(60)
    ways = routes(bureau, backup, options=f"{LIMITS}&rate=1/h")
    async with bureau.scheduling(ahead=50), bureau.sending(routes=ways):
        there = bureau.enqueue(60, route="backup")
        await until(lambda: bureau.statuses(there) == {Status.SENT})

    assert len(bureau.server.messages) <= 1
    told = [event for id in here for event in bureau.get(id).history if event.what == "deferred"]
    assert {event.detail["reason"] for event in told} <= {"the rate of 1/h is used up"}


async def test_while_a_route_is_in_trouble_senders_take_its_emails_to_the_fallback(
    any_bureau: Bureau, backup: ScriptedSmtp
) -> None:
    any_bureau.server.script(at="greeting", reply="554 5.7.1 not you")
    ids = any_bureau.enqueue(40)
    ways = routes(any_bureau, backup, fallback="backup")
    async with any_bureau.scheduling(), any_bureau.sending(routes=ways):
        await until(lambda: any_bureau.statuses(ids) == {Status.SENT})

    check(any_bureau, [])
    assert (len(any_bureau.server.messages), len(backup.messages)) == (0, 40)
    assert {any_bureau.get(id).route for id in ids} == {"backup"}


async def test_an_email_of_a_route_that_a_sender_does_not_know_is_left_alone_for_a_while(bureau: Bureau) -> None:
    [foreign] = bureau.enqueue(1, route="third")
    async with bureau.scheduling(), bureau.sending():
        await until(lambda: any(event.what == "deferred" for event in bureau.get(foreign).history))
        here = bureau.enqueue(20)
        await until(lambda: bureau.statuses(here) == {Status.SENT})

    stored = bureau.get(foreign)
    [deferred] = [event for event in stored.history if event.what == "deferred"]
    assert (stored.status, stored.attempts) == (Status.PENDING, 0)
    assert "does not know the route third" in deferred.detail["reason"]
    assert "third" not in {route.name for route in bureau.outbox.database.run(known_routes(), writes=False)}
