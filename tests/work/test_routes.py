"""Many ways out: each with its own breaker, rate and pause, and none holds up another's mail (F1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from postroom import Status
from postroom.claim.route import Route
from postroom.send.memory import MemoryTransport
from postroom.send.smtp.pool import SmtpTransport
from postroom.store import questions
from postroom.store.plan import Plan
from postroom.testing import ScriptedSmtp
from postroom.work import breakers
from postroom.work.attempts import SCOUTS
from tests.work.nursery import Nursery
from tests.work.office import Office, until

Routes = Callable[[], list[Route]]
SHORT = "connect=2s&greeting=2s&command=2s&data=2s&block=2s&dot=2s"


class Town:
    """Two mail servers and an office that knows both: `default` and `backup`."""

    def __init__(self, office: Office, backup: ScriptedSmtp) -> None:
        self.office = office
        self.backup = backup

    @property
    def main(self) -> ScriptedSmtp:
        return self.office.server

    def routes(self, *, fallback: str | None = None, options: str = SHORT) -> Routes:
        """`default` over the main server, `backup` over the other."""
        return lambda: [
            replace(Route.over(SmtpTransport(f"{self.main.url}?{options}")), fallback=fallback),
            Route.over(SmtpTransport(f"{self.backup.url}?{SHORT}"), name="backup"),
        ]

    def state(self, route: str) -> str:
        known = self.office.outbox.database.run(breakers.known_routes(), writes=False)
        return {each.name: each.breaker.state.value for each in known}.get(route, "unknown")


@pytest.fixture
def town(store_url: str, tmp_path: Path, nursery: Nursery) -> Iterator[Town]:
    with (
        ScriptedSmtp() as main,
        ScriptedSmtp() as backup,
        Office(store_url, main, tmp_path, nursery, routes=("backup", "third")) as office,
    ):
        yield Town(office, backup)


async def test_each_email_leaves_by_its_own_route(town: Town) -> None:
    here, there = town.office.enqueue(20), town.office.enqueue(20, route="backup")
    await town.office.work_until_idle(routes=town.routes())

    assert town.office.statuses([*here, *there]) == {Status.SENT}
    assert (len(town.main.messages), len(town.backup.messages)) == (20, 20)
    assert {town.office.get(id).route for id in there} == {"backup"}


@pytest.mark.parametrize("trouble", ["refused", "stalled", "paused", "slow", "rate"])
async def test_a_route_in_trouble_holds_up_no_email_of_another(town: Town, trouble: str) -> None:
    """A thousand emails wait for one way out; another route's leave as if they were alone."""
    options = SHORT
    if trouble == "refused":
        town.main.script(at="greeting", reply="554 5.7.1 not you")
    elif trouble == "stalled":
        town.main.script(at="greeting", stall=True)
    elif trouble == "slow":
        town.main.script(at="dot", delay=1.0)
    elif trouble == "paused":
        town.office.outbox.database.run(breakers.pause("default", "moving house"))
    else:
        options = f"{SHORT}&rate=1/h"
    town.office.enqueue(1_000)
    async with town.office.working(routes=town.routes(options=options)):
        there = town.office.enqueue(100, route="backup")
        await until(lambda: town.office.statuses(there) == {Status.SENT})

        assert len(town.backup.messages) == 100
        assert town.office.unfinished() >= 900


async def test_a_server_that_is_down_is_found_out_by_a_handful_of_emails(town: Town) -> None:
    """Three failures tell it, whatever the number of lines; two more may have begun by then."""
    town.main.script(at="greeting", reply="421 4.3.0 down")
    ids = town.office.enqueue(200)
    async with town.office.working(routes=town.routes(options=f"{SHORT}&connections=16")) as worker:
        await until(lambda: town.state("default") == "open")
        await until(lambda: worker.engine.idle)

        emails = [town.office.get(id) for id in ids]
        assert 3 <= sum(any("421" in str(event.detail) for event in email.history) for email in emails) <= 5
        assert sum(email.attempts for email in emails) == 1  # of the one that found out


async def test_a_slow_server_gets_every_line_all_the_same(town: Town) -> None:
    """The lines that went ahead hear nothing; the others do not wait for them."""
    town.main.script(at="greeting", stall=True, times=SCOUTS)
    patient = "connect=60s&greeting=60s&command=60s&data=60s&dot=60s&connections=16"
    async with town.office.working(routes=town.routes(options=patient)):
        town.office.enqueue(20)
        await until(lambda: len(town.main.messages) == 20 - SCOUTS)

        assert town.state("default") == "ok"
        town.main.cut_all()


async def test_refusals_show_that_a_server_is_there(town: Town) -> None:
    """Nothing is accepted, and yet the other lines need not wait."""
    town.main.script(at="rcpt", reply="550 5.1.1 nobody of that name", delay=0.05)
    ids = town.office.enqueue(40)
    await town.office.work_until_idle(routes=town.routes(options=f"{SHORT}&connections=16"))

    assert town.office.statuses(ids) == {Status.DEAD}
    assert town.main.connections > SCOUTS


async def test_a_route_that_may_not_be_used_does_not_ask_what_is_due(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is woken: what is due for it makes no difference."""
    asked: list[str] = []

    def next_due(routes: Sequence[str]) -> Plan[datetime | None]:
        asked.extend(routes)
        return original(routes)

    original = questions.next_due
    monkeypatch.setattr(questions, "next_due", next_due)
    town.office.outbox.database.run(breakers.pause("default", "moving house"))
    town.office.enqueue(100)
    async with town.office.working(routes=town.routes()) as worker:
        await until(lambda: not worker.engine.routes["default"].minder.may_send())
        for _ in range(20):
            there = town.office.enqueue(1, route="backup")
            await until(lambda: town.office.statuses(there) == {Status.SENT})  # noqa: B023  awaited here

    assert set(asked) == {"backup"}


async def test_a_pause_also_holds_what_was_claimed_and_has_not_begun(town: Town) -> None:
    town.main.script(at="dot", delay=0.5)
    ids = town.office.enqueue(100)
    async with town.office.working(routes=town.routes(options=f"{SHORT}&connections=2")) as worker:
        await until(lambda: len(town.main.messages) > 0)
        town.office.outbox.database.run(breakers.pause("default", "wrong text"))
        await until(lambda: not worker.engine.routes["default"].minder.may_send())
        begun = len(town.main.messages) + 2  # one on each line
        await until(lambda: worker.engine.idle)

        assert len(town.main.messages) <= begun
        assert town.office.statuses(ids) == {Status.SENT, Status.PENDING}


async def test_a_worker_serves_the_routes_it_was_given_and_no_other(town: Town) -> None:
    here, there = town.office.enqueue(5), town.office.enqueue(5, route="backup")
    await town.office.work_until_idle(routes=lambda: town.routes()()[1:])

    assert (town.office.statuses(here), town.office.statuses(there)) == ({Status.PENDING}, {Status.SENT})


# ---------------------------------------------------------------- fallback


@pytest.mark.parametrize("reply", ["554 5.7.1 not you", "421 4.3.0 down"])
async def test_while_a_route_is_in_trouble_its_emails_leave_by_the_fallback(town: Town, reply: str) -> None:
    town.main.script(at="greeting", reply=reply)
    ids = town.office.enqueue(50)
    await town.office.work_until_idle(routes=town.routes(fallback="backup"))

    assert town.office.statuses(ids) == {Status.SENT}
    assert (len(town.main.messages), len(town.backup.messages)) == (0, 50)
    moved = [event for id in ids for event in town.office.get(id).history if event.what == "rerouted"]
    assert len(moved) == 50
    assert {(event.detail["from"], event.detail["to"]) for event in moved} == {("default", "backup")}
    assert all(reply[:3] in event.detail["reason"] for event in moved)


async def test_an_email_in_doubt_never_leaves_by_the_fallback(town: Town) -> None:
    """The server may have taken it: whether to send it again is no question of which way."""
    town.main.script(at="dot", cut=True, accept=True, times=1)
    town.main.script(at="greeting", reply="421 4.3.0 down", when=lambda moment: moment.connection > 1)
    [doubtful] = town.office.enqueue(1)
    async with town.office.working(routes=town.routes(fallback="backup")):
        await until(lambda: town.state("default") == "open")
        others = town.office.enqueue(20)
        await until(lambda: town.office.statuses(others) == {Status.SENT})

        assert (town.office.get(doubtful).status, town.office.get(doubtful).route) == (Status.IN_DOUBT, "default")
    assert len(town.backup.messages) == 20
    assert town.backup.copies(town.office.get(doubtful).message_id) == 0


async def test_a_pause_by_a_person_is_no_trouble_and_nothing_leaves_by_the_fallback(town: Town) -> None:
    town.office.outbox.database.run(breakers.pause("default", "moving house"))
    here, there = town.office.enqueue(5), town.office.enqueue(5, route="backup")
    await town.office.work_until_idle(routes=town.routes(fallback="backup"))

    assert (town.office.statuses(here), town.office.statuses(there)) == ({Status.PENDING}, {Status.SENT})
    assert {town.office.get(id).route for id in here} == {"default"}


async def test_when_the_route_is_well_again_it_takes_its_emails_itself(town: Town) -> None:
    town.main.script(at="greeting", reply="421 4.3.0 down")
    async with town.office.working(routes=town.routes(fallback="backup")):
        first = town.office.enqueue(5)
        await until(lambda: town.office.statuses(first) == {Status.SENT})
        town.main.clear_script()
        await until(lambda: town.state("default") == "ok")
        town.office.enqueue(5)
        await until(lambda: len(town.main.messages) == 5)

    assert len(town.backup.messages) == 5


async def test_two_routes_that_back_each_other_up_and_are_both_down_keep_their_emails(town: Town) -> None:
    def both() -> list[Route]:
        main, backup = town.routes(fallback="backup")()
        return [main, replace(backup, fallback="default")]

    town.main.script(at="greeting", reply="421 4.3.0 down")
    town.backup.script(at="greeting", reply="421 4.3.0 down")
    async with town.office.working(routes=both):
        ids = [*town.office.enqueue(5), *town.office.enqueue(5, route="backup")]
        await until(lambda: (town.state("default"), town.state("backup")) == ("open", "open"))
        town.backup.clear_script()
        await until(lambda: town.office.statuses(ids) == {Status.SENT})

    assert sum(town.backup.copies_of_all().values()) == 10


# ---------------------------------------------------------------- what a worker cannot serve


async def test_a_transport_in_memory_drives_a_real_worker(town: Town) -> None:
    memory = MemoryTransport(connections=2)
    memory.script(at="dot", reply="451 4.3.0 later", times=1)
    ids = town.office.enqueue(10)
    await town.office.work_until_idle(routes=lambda: [Route.over(memory)])

    assert town.office.statuses(ids) == {Status.SENT}
    assert (len(memory.sent), memory.attempts) == (10, 11)


async def test_a_route_that_no_setting_names_is_shown_once_something_has_left_by_it(town: Town) -> None:
    def routes() -> list[Route]:
        return [*town.routes()()[:1], replace(town.routes()()[1], unasked=True)]

    async with town.office.working(routes=routes):
        here = town.office.enqueue(1)
        await until(lambda: town.office.statuses(here) == {Status.SENT})
        assert [each.name for each in town.office.outbox.database.run(breakers.known_routes())] == ["default"]
        there = town.office.enqueue(1, route="backup")
        await until(lambda: town.office.statuses(there) == {Status.SENT})
        await until(lambda: town.state("backup") == "ok")
