"""Typical calls, as users write them; never run, only type-checked, by `tests/test_docs.py`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import assert_type
from zoneinfo import ZoneInfo

from postroom import (
    Address,
    AsyncOutbox,
    AsyncRegions,
    Attachment,
    Brand,
    DeadReason,
    Email,
    EmailId,
    Filter,
    Invite,
    Limits,
    OnDoubt,
    Outbox,
    Page,
    Portal,
    Priority,
    Receipt,
    Regions,
    RetryPolicy,
    RouteSettings,
    Settings,
    Status,
    StoredEmail,
    Suppression,
    SuppressionPage,
)
from postroom.campaigns import Planned, RampUp, SendingSettings, Slot, next_open, plan, window
from postroom.testing import ScriptedSmtp


def outboxes(clock: Callable[[], datetime]) -> list[Outbox]:
    backup = RouteSettings(transport="smtp://backup.example", rate="14/s", connections=4, fallback="default")
    settings = Settings()
    assert_type(settings.all_routes(), dict[str, RouteSettings])
    assert_type(AsyncOutbox.from_settings(settings), AsyncOutbox)
    return [
        Outbox(),
        Outbox.from_settings(),
        Outbox.from_settings(settings, clock=clock),
        Outbox("sqlite:///app.db", smtp="smtp://localhost:1025", routes={"backup": "smtp://b", "other": backup}),
        Outbox(
            sender="desk@example.org",
            policy="mine",
            policies={"mine": RetryPolicy(steps=["0s"])},
            retention=timedelta(days=7),
            limits=Limits(bytes=1_000),
            tables="mail",
            clock=clock,
        ),
    ]


def regions() -> None:
    settings = Settings()
    assert_type(settings.of_region("deu1"), Settings)
    with Regions.from_settings(settings, of=lambda user: "deu1") as everywhere:
        assert_type(everywhere["deu1"], Outbox)
        assert_type(everywhere.of(object()), Outbox)
        assert_type(list(everywhere), list[str])
    assert_type(AsyncRegions.from_settings()["deu1"], AsyncOutbox)
    assert_type(Outbox(region="deu1"), Outbox)


def emails() -> list[Email]:
    people = ["ada@example.org", "grace@example.org"]
    start = datetime(2027, 5, 14, 19, 0, tzinfo=ZoneInfo("Europe/Vienna"))
    invite = Invite(uid="7@example.org", start=start, end=start + timedelta(hours=2), summary="Dinner")
    assert_type(invite.updated(location="by the window"), Invite)
    assert_type(invite.cancelled(), Invite)
    return [
        Email(to="ada@example.org", subject="Hi", text="Hello"),
        Email(to="Ada <ada@example.org>", cc=["grace@example.org"], bcc=("Kay", "kay@example.org"), html="<p>Hi</p>"),
        Email(to=[Address("Ada", "ada@example.org"), ("Grace", "grace@example.org")], text="Hi", invite=invite),
        Email(to=["Ada <ada@example.org>", ("Grace", "grace@example.org"), Address("", "kay@example.org")], text="Hi"),
        Email(to=("Ada", "ada@example.org"), sender=("Desk", "desk@example.org"), reply_to=["a@example.org"]),
        Email(to=(each for each in ("ada@example.org", "grace@example.org")), cc={"kay@example.org"}, text="Hi"),
        Email(to={"ada": "ada@example.org"}.values(), bcc={"kay@example.org": 1}.keys(), text="Hi"),
        Email(to=people, text="Hi"),
        Email(to=Email(to=people, text="Hi").to, text="Hello again"),
        Email(to="ada@example.org", text="Hi", attachments=Attachment("menu.txt", b"Soup")),
        Email(
            to="ada@example.org", text="Hi", attachments=[Attachment("a.png", b"", content_id="logo")], tags=["a", "b"]
        ),
        Email(to="ada@example.org", text="Hi", headers={"X-One": "1"}, tags="one", limits=Limits(bytes=1_000)),
        Email(to="ada@example.org", text="Hi", headers=[("X-One", "1"), ("X-One", "2")]),
    ]


def enqueue(outbox: Outbox, email: Email, connection: sqlite3.Connection) -> None:
    receipt = outbox.enqueue(
        email,
        key="memo-7",
        connection=connection,
        policy=RetryPolicy(steps=["0s", timedelta(minutes=1), 300], jitter=0.1),
        priority="urgent",
        not_before=datetime.now(UTC),
        expires_at=datetime.now(UTC) + timedelta(days=1),
        kind="memo",
        workspace="acme",
        sensitive=True,
        unsubscribable=True,
        on_doubt="hold",
        route="backup",
    )
    assert_type(receipt, Receipt)
    assert_type(receipt.id, EmailId)
    assert_type(receipt.suppressed, tuple[str, ...])
    outbox.enqueue(email, priority=Priority.BULK, on_doubt=OnDoubt.HOLD, policy="standard")
    outbox.enqueue(email, policy=RetryPolicy.exponential("30s", cap="1h"))
    assert_type(outbox.enqueue_many(each for each in emails()), int)
    outbox.enqueue_many([(email, "key-1"), (email, None)], priority="bulk", route=None)
    with outbox.transaction() as own:
        outbox.enqueue(email, connection=own)


def send(outbox: Outbox, email: Email) -> str:
    outcome = outbox.send(email, key="code-1", durable=False, sensitive=True)
    if outcome.sent or outcome.queued:
        return outcome.id
    outbox.send_soon(email, policy="quick")
    return outcome.error or "a duplicate"


def operate(outbox: Outbox, id: EmailId) -> None:
    stored = outbox.get(id)
    assert_type(stored, StoredEmail)
    assert_type(stored.status, Status)
    assert_type(stored.dead_reason, DeadReason | None)
    assert_type([entry.what for entry in stored.history], list[str])
    page = outbox.list(status="dead", recipient="ada@example.org", limit=10)
    assert_type(page, Page)
    outbox.list(Filter(status=Status.DEAD, since=datetime.now(UTC)), before=page.next)
    assert_type(outbox.counts(), dict[str, int])
    assert_type(outbox.oldest_due(), datetime | None)
    assert_type(outbox.conservation().holds, bool)
    assert_type(outbox.letter(id).as_bytes(), bytes)
    outbox.retry(id, by="ada")
    outbox.replay(id, to="right@example.org", subject="Corrected", by="ada")
    outbox.replay(id, to=("Ada", "right@example.org"), cc=["grace@example.org"])
    outbox.cancel(id)
    outbox.dismiss(id)
    outbox.reinstate(id, by="grace")
    assert_type(outbox.act("retry", Filter(status=Status.DEAD), limit=10), int)
    assert_type(outbox.prune(older_than="30d", archive="sent.jsonl").removed, int)


def suppress(outbox: Outbox) -> None:
    entry = outbox.suppress("ada@example.org", reason="complaint", evidence="a call", by="grace")
    assert_type(entry, Suppression)
    outbox.suppress("ada@example.org", scope="kind", workspace="acme", kind="digest", expires_at=datetime.now(UTC))
    page = outbox.suppressions("ada", reason="complaint", limit=10)
    assert_type(page, SuppressionPage)
    outbox.suppressions(before=page.next)
    assert_type(outbox.unsuppress(entry.id, by="grace"), bool)


async def await_everything(email: Email) -> None:
    async with AsyncOutbox("postgresql://localhost/app", smtp="smtp://localhost:1025", retention="0s") as outbox:
        await outbox.migrate()
        receipt = await outbox.enqueue(email, key="memo-7", priority="urgent")
        assert_type(receipt, Receipt)
        async with outbox.transaction() as connection:
            await outbox.enqueue(email, connection=connection)
        assert_type((await outbox.send(email)).sent, bool)
        assert_type(await outbox.get(receipt.id), StoredEmail)
        assert_type(await outbox.list(status=Status.SENT), Page)
        assert_type(await outbox.enqueue_many(emails()), int)
        await outbox.replay(receipt.id, to=["right@example.org"])
        assert_type(await outbox.suppress("ada@example.org"), Suppression)
        assert_type(await outbox.suppressions(), SuppressionPage)


def with_a_server() -> None:
    with ScriptedSmtp(port=1025) as server, Outbox("sqlite:///app.db", smtp=server.url) as outbox:
        server.script(at="dot", reply="451 4.3.0 later", times=1)
        outbox.migrate()
        assert_type([message.recipients for message in server.wait_for(1)], list[tuple[str, ...]])


hub = Portal("hub", templates="templates/hub", brand=Brand(name="Hub", logo="logo.png"), languages=("en", "de"))


@hub.template
@dataclass(frozen=True)
class Welcome:
    name: str


@hub.template(name="goodbye")
@dataclass(frozen=True)
class Farewell:
    name: str


def templated() -> list[Email]:
    assert_type(Welcome(name="Ada"), Welcome)
    assert_type(Farewell(name="Ada").name, str)
    return [
        hub.email(Welcome(name="Ada"), to="ada@example.org", language="de"),
        hub.email(Farewell(name="Ada"), to=("Ada", "ada@example.org"), late=True, tags=["bye"]),
    ]


def campaigns(now: datetime) -> Iterator[Slot]:
    settings = SendingSettings(
        sending_days=("mon", "tue"),
        timezone="America/New_York",
        ramp_up=RampUp(schedule=(20, 30, 40)),
        holidays=(date(2026, 12, 25),),
    )
    assert_type(window(settings, date(2026, 3, 9)), tuple[datetime, datetime] | None)
    assert_type(next_open(settings, now), datetime | None)
    planned = Planned(id="c1", prospects=(f"p{number}" for number in range(9)), delay_days=(0, 3, 4))
    return plan(settings, [planned], now=now, used={date(2026, 3, 9): 12}, sent_days=2, random=Random(7))
