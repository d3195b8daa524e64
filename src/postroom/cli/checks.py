"""What `postroom doctor` looks at. Each check gives findings; one that cannot be made says so instead of failing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from postroom.cli.moments import relative
from postroom.cli.smtp_advice import Advice, advice
from postroom.cli.tables import state_of
from postroom.config import RouteSettings, Settings
from postroom.errors import ConfigurationError
from postroom.operate import House
from postroom.operate.sentences import LATE, nobody_sends, sum_in_words, trouble
from postroom.operate.wording import count_of
from postroom.send.contract import Fault
from postroom.send.delivery_mode import UNREADABLE, Mode, mode_in, sentence_in
from postroom.store.contract import Conservation
from postroom.vocabulary import DEFAULT_ROUTE, Status
from postroom.work.breaker import BreakerState

_SMTP = ("smtp://", "smtps://")
_PROBE = 20.0
"""Seconds for the whole of a probe: the limits of sending are patient, a person at a terminal is not."""


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    """Worth a look."""
    FAIL = "fail"
    """Emails are not stored or not sent until this is put right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the examination."""

    name: str
    level: Level
    detail: str
    remedy: str = ""


def check_sender(settings: Settings) -> Finding:
    """Mail from nobody in particular is refused by most servers."""
    if sender := settings.default_sender():
        return Finding(name="sender", level=Level.OK, detail=sender)
    return Finding(
        name="sender",
        level=Level.WARN,
        detail="emails that do not say who they are from go out as postroom@localhost",
        remedy="set POSTROOM_SENDER, such as 'Desk <desk@example.org>'",
    )


def check_return_address(settings: Settings) -> Finding | None:
    """Whether a bounce names its email; None where nobody has asked for that."""
    addresses = settings.return_addresses()
    if not addresses:
        return None
    if not settings.return_paths():
        return Finding(
            name="return address",
            level=Level.WARN,
            detail="there is no secret to sign return addresses with, so emails come back to their own sender",
            remedy="set POSTROOM_SECRET, the same for all processes, such as `openssl rand -base64 32`",
        )
    return Finding(
        name="return address",
        level=Level.OK,
        detail=f"emails come back to {', '.join(addresses)}, each with a token of its own",
    )


def check_delivery(settings: Settings) -> Finding:
    """Who gets what is sent from here."""
    mode, sentence = mode_in(settings.delivery), sentence_in(settings.delivery)
    if mode == UNREADABLE:
        remedy = "set POSTROOM_DELIVERY to deliver, capture, redirect:ADDRESS or only:DOMAIN,…"
        return Finding(name="delivery", level=Level.FAIL, detail=sentence, remedy=remedy)
    if mode == Mode.DELIVER:
        return Finding(name="delivery", level=Level.OK, detail=sentence)
    remedy = "where real people are to be mailed, set POSTROOM_DELIVERY=deliver"
    return Finding(name="delivery", level=Level.WARN, detail=f"{mode}: {sentence}", remedy=remedy)


def check_smtp(settings: Settings) -> Iterator[Finding]:
    """Whether the other ends of all routes are well and let us in. Nothing is sent."""
    routes = list(settings.all_routes().values())
    if not routes and mode_in(settings.delivery) != Mode.CAPTURE:
        yield Finding(
            name="smtp",
            level=Level.WARN,
            detail="no mail server is configured; emails wait",
            remedy="set POSTROOM_SMTP, such as smtp://user:password@host:587?starttls=required",
        )
    if routes:
        yield from asyncio.run(_probe_all(routes, settings.channel_tables()))


async def _probe_all(routes: Sequence[RouteSettings], tables: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """All at the same time: one that does not answer keeps nobody waiting for the others."""
    return await asyncio.gather(*(_probe(route, tables) for route in routes))


async def _probe(route: RouteSettings, tables: Mapping[str, Mapping[str, Any]]) -> Finding:
    # Imported here, for few commands need a way out.
    from postroom.channels import transport_for

    default = route.name == DEFAULT_ROUTE
    scheme = "smtp" if route.transport.startswith(_SMTP) else route.transport.partition(":")[0][:20]
    name = scheme if default else f"{scheme} {route.name}"
    setting = "POSTROOM_SMTP" if default else f"routes.{route.name}.transport"
    remedy = f"check that the server runs and that {setting} is right; `postroom worker` goes on trying"
    try:
        _, transport = transport_for(route.url, tables=tables)
    except ConfigurationError as error:
        return Finding(name=name, level=Level.FAIL, detail=str(error), remedy=f"correct {setting}")
    try:
        async with asyncio.timeout(_PROBE):
            report = await transport.probe()
    except TimeoutError:
        told = _advised(route, transport.name, None, setting)
        detail = told.detail if told else f"{transport.name} did not finish its greeting within {_PROBE:g} s"
        return Finding(name=name, level=Level.FAIL, detail=detail, remedy=told.remedy if told else remedy)
    if report.fault is not None and (told := _advised(route, transport.name, report.fault, setting)) is not None:
        return Finding(name=name, level=Level.FAIL, detail=told.detail, remedy=told.remedy)
    wrong = report.fault or (report.reply if report.reply is not None and report.reply.code >= 400 else None)
    if wrong is not None:
        return Finding(name=name, level=Level.FAIL, detail=f"{transport.name}: {wrong}", remedy=remedy)
    answers = "answers and lets us in" if report.reply is not None else "can be sent"
    return Finding(name=name, level=Level.OK, detail=f"{transport.name} {answers}")


def _advised(route: RouteSettings, name: str, fault: Fault | None, setting: str) -> Advice | None:
    if not route.transport.startswith(_SMTP):
        return None
    return advice(name, fault, implicit_tls=route.transport.startswith("smtps:"), setting=setting)


def check_house(house: House) -> Iterator[Finding]:
    """Whether what is in the outbox gets on."""
    if house.broker is None:  # else schedulers and senders are looked at by themselves
        yield _check_workers(house)
    yield _check_oldest(house.oldest_due, now=house.at)
    yield _check_count(house, Status.DEAD, "gave up", "postroom list --status dead, then retry, replay or dismiss")
    yield _check_count(
        house,
        Status.IN_DOUBT,
        "may or may not have arrived",
        "postroom list --status in_doubt, then retry or dismiss",
    )
    for route in house.routes:
        if route.state is not BreakerState.OK:
            yield Finding(
                name="route",
                level=Level.WARN,
                detail=f"{trouble(route, house.at)} ({state_of(route)})",
                remedy="its emails wait and lose no attempts; put the reason right",
            )


def check_sum(sums: Conservation) -> Finding:
    """Whether everything that was ever enqueued is accounted for."""
    if sums.holds:
        return Finding(name="conservation", level=Level.OK, detail=sum_in_words(sums))
    return Finding(
        name="conservation",
        level=Level.FAIL,
        detail=sum_in_words(sums),
        remedy="rows were changed behind Postroom's back; compare with a backup, and report it if they were not",
    )


def _check_workers(house: House) -> Finding:
    """Whether anybody sends; that nobody does matters once something is due."""
    alive = [worker for worker in house.workers if worker.alive]
    if not nobody_sends(alive):
        return Finding(name="workers", level=Level.OK, detail=f"{count_of(len(alive), 'process')} at work")
    if house.oldest_due is None:
        return Finding(name="workers", level=Level.OK, detail="none at work, and nothing is due")
    return Finding(
        name="workers",
        level=Level.FAIL,
        detail="mail is due, and no worker has shown a sign of life",
        remedy="start `postroom worker`, or find out why it does not run",
    )


def _check_oldest(oldest: datetime | None, *, now: datetime) -> Finding:
    if oldest is None:
        return Finding(name="due", level=Level.OK, detail="nothing is due")
    waits = f"the oldest email that waits came due {relative(oldest, now=now)}"
    if now - oldest <= LATE:
        return Finding(name="due", level=Level.OK, detail=waits)
    return Finding(name="due", level=Level.WARN, detail=waits, remedy="is a worker running, and is its transport open?")


def _check_count(house: House, status: Status, meaning: str, remedy: str) -> Finding:
    count = house.counts.get(status, 0)
    if not count:
        return Finding(name=status, level=Level.OK, detail="none")
    return Finding(name=status, level=Level.WARN, detail=f"{count:,} emails {meaning}", remedy=remedy)
