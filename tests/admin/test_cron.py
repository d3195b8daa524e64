"""`POST /api/cron/send-emails`: one bounded tick of a worker, for whoever knows the secret and nobody else (E7)."""

from __future__ import annotations

import asyncio
import hmac
import re
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from postroom import Email, Outbox, Status
from postroom.accounts import chance
from postroom.accounts.values import Role
from postroom.admin.ticking import LONGEST, Tick, Ticking
from postroom.store.deployment import stamp_if_nobody_has
from postroom.testing import MemoryTransport, Moment, ScriptedSmtp
from postroom.web import admin
from tests.admin.callers import caller, token_for
from tests.admin.campaign_house import NORTH, CampaignHouse, campaign_house, data_of, error_of
from tests.admin.desk import served
from tests.campaigns.sending.stage import OPEN_ALWAYS
from tests.documentation.page import ROOT
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url
from tests.store.journey import Clock
from tests.work.conftest import server
from tests.work.office import PATIENCE

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "server", "store_url"]

HOW_TO = ROOT / "docs/how-to/cron.md"
SEND = "/api/cron/send-emails"
SECRET = "tick-tock, every minute"
SHOWN = {"Authorization": f"Bearer {SECRET}"}


class Today(Clock):
    """The machine's own clock."""

    def __call__(self) -> datetime:
        return datetime.now(UTC)


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, server: ScriptedSmtp, tmp_path: Path) -> None:
    monkeypatch.setenv("POSTROOM_SMTP", server.url)
    monkeypatch.setenv("POSTROOM_JOURNAL", str(tmp_path / "journals"))
    monkeypatch.setenv("POSTROOM_CRON_SECRET", SECRET)


@pytest.fixture
async def house(store_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CampaignHouse]:
    async with campaign_house(store_url, Today(), monkeypatch) as house:
        house.north.settings(OPEN_ALWAYS)
        yield house


@pytest.fixture
async def small_house(migrated_sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CampaignHouse]:
    """On SQLite alone, for what no store decides."""
    async with campaign_house(migrated_sqlite_url, Today(), monkeypatch) as house:
        yield house


@pytest.fixture
def small_outbox(migrated_sqlite_url: str) -> Iterator[Outbox]:
    with Outbox(migrated_sqlite_url) as outbox:
        yield outbox


@pytest.fixture
async def cron(house: CampaignHouse) -> AsyncIterator[httpx.AsyncClient]:
    """Whoever calls, with no session and no token."""
    async with caller(house.app) as client:
        yield client


def letters(count: int) -> Iterator[Email]:
    return (Email(to=f"person{n}@example.org", subject=f"Email {n}", text="Good morning.") for n in range(count))


async def test_a_tick_sends_what_is_due_and_campaign_mail_and_ends(
    house: CampaignHouse, cron: httpx.AsyncClient, server: ScriptedSmtp
) -> None:
    """(E7)"""
    ids = [house.outbox.enqueue(email).id for email in letters(3)]
    later = house.outbox.enqueue(Email(to="ada@example.org", subject="Later", text="Hi"), not_before=_in_an_hour()).id
    house.north.launch()
    done = data_of(await cron.post(SEND, headers=SHOWN))

    assert done == {"running": False, "sent": 6, "failed": 0, "leftDue": 0}
    recipients = sorted(message.recipients[0] for message in server.messages)
    assert recipients == sorted([f"person{n}@example.org" for n in range(3)] + [f"p{n}@example.org" for n in (1, 2, 3)])
    assert {house.outbox.get(id).status for id in ids} == {Status.SENT}
    assert house.outbox.get(later).status is Status.PENDING
    assert sorted(house.north.states().values()) == ["ready"] * 3 + ["sent"] * 3

    assert data_of(await cron.post(SEND, headers=SHOWN)) == {"running": False, "sent": 0, "failed": 0, "leftDue": 0}
    assert len(server.messages) == 6


async def test_a_tick_waits_for_a_gap_that_ends_within_its_time(
    house: CampaignHouse, cron: httpx.AsyncClient, server: ScriptedSmtp
) -> None:
    """(E7)"""
    house.north.settings(replace(OPEN_ALWAYS, gap_seconds=(1, 1)))
    house.north.launch()
    done = data_of(await cron.post(SEND, headers=SHOWN))

    assert done == {"running": False, "sent": 3, "failed": 0, "leftDue": 0}
    times = sorted(mail.left_at for mail in house.north.mails() if mail.left_at)
    assert [later - earlier >= timedelta(seconds=1) for earlier, later in pairwise(times)] == [True, True]


async def test_a_tick_leaves_a_longer_gap_to_the_next_one(small_house: CampaignHouse, server: ScriptedSmtp) -> None:
    small_house.north.settings(replace(OPEN_ALWAYS, gap_seconds=(60, 60)))
    small_house.north.launch()
    begun = time.monotonic()
    tick = await Ticking(small_house.app.state.operations.outbox).tick()

    assert tick == Tick(sent=1)
    assert time.monotonic() - begun < LONGEST.total_seconds()


async def test_a_tick_ends_after_so_many_emails_whatever_gap_is_to_end(
    small_house: CampaignHouse, server: ScriptedSmtp
) -> None:
    small_house.north.settings(replace(OPEN_ALWAYS, gap_seconds=(1, 1)))
    small_house.north.launch()

    assert await Ticking(small_house.app.state.operations.outbox, most=1).tick() == Tick(sent=1)


async def test_a_workspace_that_cannot_send_here_keeps_no_tick_from_waiting_for_another(
    small_house: CampaignHouse, server: ScriptedSmtp
) -> None:
    """Its turn has come, and stays so until somebody who serves its route uses it."""
    for shop in (small_house.north, small_house.south):
        shop.settings(replace(OPEN_ALWAYS, gap_seconds=(1, 1)))
    small_house.south.sender(route="elsewhere")
    small_house.north.launch()
    small_house.south.launch()
    tick = await Ticking(small_house.app.state.operations.outbox).tick()

    assert tick is not None
    assert tick.sent == 3
    assert sorted(small_house.south.states().values()) == ["ready"] * 3 + ["waiting"] * 3


async def test_what_fails_is_told_and_tried_again_by_its_policy(
    house: CampaignHouse, cron: httpx.AsyncClient, server: ScriptedSmtp
) -> None:
    house.outbox.enqueue_many(list(letters(2)))
    server.script(at="rcpt", reply="451 4.2.0 try later", argument="person1@example.org")
    done = data_of(await cron.post(SEND, headers=SHOWN))

    assert (done["sent"], done["failed"]) == (1, 1)
    assert house.outbox.counts()["retrying"] == 1


async def test_the_secret_may_be_shown_in_either_header(small_house: CampaignHouse) -> None:
    async with caller(small_house.app) as cron:
        for headers in (SHOWN, {"Authorization": f"bearer {SECRET}"}, {"X-Cron-Secret": SECRET}):
            assert data_of(await cron.post(SEND, headers=headers))["running"] is False


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Cron-Secret": ""},
        {"X-Cron-Secret": SECRET[:-1]},
        {"X-Cron-Secret": SECRET + "x"},
        {"X-Cron-Secret": SECRET.upper()},
        {"Authorization": SECRET},
        {"Authorization": f"Basic {SECRET}"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer None"},
        {"X-Cron-Secret": b"\xff\xfe\xed"},
    ],
)
async def test_whoever_does_not_know_the_secret_sends_nothing(
    small_house: CampaignHouse, server: ScriptedSmtp, headers: dict[str, Any]
) -> None:
    small_house.outbox.enqueue_many(list(letters(1)))
    async with caller(small_house.app) as cron:
        refused = error_of(await cron.post(SEND, headers=headers), 401)

    assert refused["code"] == "bad_secret"
    assert SECRET not in str(refused)
    assert server.messages == []


async def test_people_and_tokens_have_no_part_in_it(small_house: CampaignHouse) -> None:
    async with small_house.caller(Role.ADMIN) as admin:
        assert error_of(await admin.post(SEND), 401)["code"] == "bad_secret"
    async with caller(small_house.app) as cron:
        error_of(await cron.get(SEND, headers=SHOWN), 405)
        assert error_of(await cron.get(f"/api/campaigns?workspace={NORTH}", headers=SHOWN), 401)["code"] == "bad_token"


async def test_without_the_setting_it_is_not_there(small_house: CampaignHouse) -> None:
    settings = small_house.app.state.operations.outbox.settings
    for missing in (None, type(settings.cron_secret)("")):
        settings.cron_secret = missing
        async with caller(small_house.app) as cron:
            for headers in ({}, SHOWN, {"X-Cron-Secret": ""}):
                assert error_of(await cron.post(SEND, headers=headers), 404)["code"] == "not_found"


async def test_the_secret_is_compared_in_a_time_that_tells_nothing(
    small_house: CampaignHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(chance, "hmac", type("Watched", (), {"compare_digest": staticmethod(compare), "new": hmac.new}))
    async with caller(small_house.app) as cron:
        for shown in ("x", SECRET, "y" * 10_000):
            await cron.post(SEND, headers={"X-Cron-Secret": shown})

    assert compared == [(64, 64)] * 3, "of digests, whose length is always the same"


async def test_who_guesses_is_slowed_down(small_house: CampaignHouse) -> None:
    async with caller(small_house.app) as cron:
        statuses = [(await cron.post(SEND, headers={"X-Cron-Secret": f"guess {n}"})).status_code for n in range(40)]
        told = await cron.post(SEND, headers={"X-Cron-Secret": "guess"})
        right = await cron.post(SEND, headers=SHOWN)

    assert statuses[:30] == [401] * 30
    assert (error_of(told, 429)["code"], int(told.headers["retry-after"]) > 0) == ("too_many", True)
    data_of(right)


async def test_two_at_once_do_not_overlap(small_house: CampaignHouse, server: ScriptedSmtp) -> None:
    asked, answer = threading.Event(), threading.Event()

    def hold(moment: Moment) -> bool:
        asked.set()
        return answer.wait(PATIENCE)

    server.script(at="rcpt", reply="250 2.1.5 Ok", when=hold)
    small_house.outbox.enqueue_many(list(letters(1)))
    async with caller(small_house.app) as cron:
        first = asyncio.ensure_future(cron.post(SEND, headers=SHOWN))
        await asyncio.to_thread(asked.wait, PATIENCE)
        second = data_of(await cron.post(SEND, headers=SHOWN))
        answer.set()
        done = data_of(await first)

    assert second == {"running": True, "sent": 0, "failed": 0, "leftDue": 0}
    assert (done["running"], done["sent"]) == (False, 1)


async def test_a_tick_ends_after_so_many_emails_and_gives_the_rest_back(
    house: CampaignHouse, cron: httpx.AsyncClient, server: ScriptedSmtp
) -> None:
    house.outbox.enqueue_many(list(letters(300)))
    outbox = house.app.state.operations.outbox
    house.app.state.ticking = Ticking(outbox, most=5)
    done = data_of(await cron.post(SEND, headers=SHOWN))
    counts = house.outbox.counts()

    assert 5 <= done["sent"] < 300
    assert (counts["sent"], counts["pending"], counts["sending"]) == (done["sent"], 300 - done["sent"], 0)
    assert done["leftDue"] == counts["pending"]
    assert len(server.messages) == done["sent"]


async def test_a_tick_ends_when_its_time_is_up(small_house: CampaignHouse, server: ScriptedSmtp) -> None:
    small_house.outbox.enqueue_many(list(letters(50)))
    outbox = small_house.app.state.operations.outbox
    tick = await Ticking(outbox, longest=timedelta(0)).tick()

    assert tick == Tick(sent=len(server.messages), failed=0, left_due=50 - len(server.messages))
    assert small_house.outbox.counts()["sending"] == 0


async def test_nothing_is_sent_from_the_database_of_another_deployment(
    house: CampaignHouse, cron: httpx.AsyncClient, server: ScriptedSmtp
) -> None:
    house.outbox.database.run(stamp_if_nobody_has("production"))
    house.outbox.enqueue_many(list(letters(1)))
    refused = error_of(await cron.post(SEND, headers=SHOWN), 409)

    assert "belongs to the deployment production" in refused["message"]
    assert server.messages == []
    assert error_of(await cron.post(SEND, headers=SHOWN), 409) == refused, "a tick that failed is over"


async def test_nothing_is_sent_where_workers_are_switched_off(small_house: CampaignHouse, server: ScriptedSmtp) -> None:
    small_house.outbox.enqueue_many(list(letters(1)))
    small_house.app.state.operations.outbox.settings.worker_enabled = False
    async with caller(small_house.app) as cron:
        assert error_of(await cron.post(SEND, headers=SHOWN), 409)["code"] == "not_done"

    assert server.messages == []


async def test_the_app_of_a_blocking_outbox_sends_by_its_own_way_out(migrated_sqlite_url: str) -> None:
    way_out = MemoryTransport()
    with Outbox(migrated_sqlite_url, transport=way_out) as outbox:
        outbox.enqueue_many(list(letters(2)))
        async with caller(admin(outbox)) as cron:
            assert data_of(await cron.post(SEND, headers=SHOWN))["sent"] == 2

    assert way_out.attempts == 2


async def test_where_no_way_out_is_known_that_is_told(
    migrated_sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POSTROOM_SMTP")
    with Outbox(migrated_sqlite_url) as outbox:
        async with caller(admin(outbox)) as cron:
            told = error_of(await cron.post(SEND, headers=SHOWN), 409)

    assert "POSTROOM_SMTP" in told["message"]


def test_the_line_of_the_how_to_sends_what_is_due(small_outbox: Outbox, server: ScriptedSmtp) -> None:
    """As it is written there, but for the port."""
    [line] = re.findall(r"^\$ (curl .*)$", HOW_TO.read_text("utf-8"), re.MULTILINE)
    small_outbox.enqueue_many(list(letters(2)))
    token_for(small_outbox, Role.ADMIN)  # nothing is served while nobody may sign in
    with served(small_outbox) as (address, _):
        command = line.replace("http://127.0.0.1:8090", address)
        said = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)

    assert command != line
    assert said.stdout == '{"success":true,"data":{"running":false,"sent":2,"failed":0,"leftDue":0}}', said.stderr
    assert len(server.messages) == 2


def _in_an_hour() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)
