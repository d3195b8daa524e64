"""The MIME writer against the standard library's, on the standard email, building included on both sides."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from bench import message
from bench.readings import Contestant, Reading
from bench.world import World
from postroom.compose import Letter, parse_address
from postroom.vocabulary import EmailId

OURS = "MIME by Postroom, Email to bytes"
THEIRS = "MIME by EmailMessage(policy=SMTP)"
AGAIN = "MIME by Postroom, stored email to bytes"

_DATE = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
_ID = EmailId("019685b1-2c00-7000-8000-000000000001")
_SENDER = parse_address("sender", message.SENDER)


def contestants(world: World) -> list[Contestant]:
    seconds = world.scale.seconds / 4
    return [
        Contestant(name=what, measure=lambda what=what, work=work: [_reading(what, work, seconds)])  # type: ignore[misc]
        for what, work in ((OURS, _ours), (THEIRS, message.built), (AGAIN, _thawing()))
    ]


def _ours(number: int) -> bytes:
    return Letter.compose(message.email(number), id=_ID, date=_DATE, default_sender=_SENDER).as_bytes()


def _thawing() -> Callable[[int], bytes]:
    """What a worker does with each email it has claimed."""
    frozen = Letter.compose(message.email(1), id=_ID, date=_DATE, default_sender=_SENDER).freeze()
    stored = {name: getattr(frozen, name) for name in ("subject", "message_id", "envelope", "text", "html")}
    return lambda number: Letter.thaw(**stored, attachments={}).as_bytes()


def _reading(what: str, work: Callable[[int], bytes], seconds: float) -> Reading:
    work(0)
    number, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < seconds:
        number += 1
        work(number)
    return Reading(what=what, value=1e6 * elapsed / max(number, 1), unit="µs")
