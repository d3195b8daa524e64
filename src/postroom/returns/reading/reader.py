"""The reader of messages that come back: small readers, asked one after the other.

It is pure: the same octets always give the same reading. It reads whatever it is given, and never raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from postroom.returns.reading import limits
from postroom.returns.reading.addresses import header_addresses
from postroom.returns.reading.answers import author_of, read_answer, read_leaving, read_receipt
from postroom.returns.reading.arf import read_feedback
from postroom.returns.reading.dsn import KINDS, read_report
from postroom.returns.reading.flufl import read_known
from postroom.returns.reading.notices import read_notice
from postroom.returns.reading.opening import Opened, content_type, opened, parameter, raw, split
from postroom.returns.reading.original import message_ids
from postroom.returns.reading.own import looks_ours
from postroom.returns.reading.reports import looks_like_a_report
from postroom.returns.reading.values import Reading, Unclear
from postroom.returns.reading.words import read_words

STUMBLED = "the reader stumbled over it"
_DELIVERED_TO = ("Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To", "X-Delivered-To", "To", "Cc")


def read(octets: bytes, *, ours: Callable[[str], bool] | None = None, limit: int = limits.OCTETS) -> Reading:
    """Read what a message says.

    `ours` tells of a Message-ID whether an email of ours has it; without it, ours are known by the way they are
    written. Of a message longer than `limit` octets, its beginning is read.
    """
    try:
        return _read(octets, ours, limit)
    except Exception as error:  # noqa: BLE001 – what one message does to us must not keep the next from being read
        return Reading(kind=Unclear.UNREADABLE, problem=f"{STUMBLED} ({type(error).__name__}); please report this")


def _read(octets: bytes, ours: Callable[[str], bool] | None, limit: int) -> Reading:
    message = opened(octets, limit=limit)
    ids = message_ids(raw(message.headers, "Message-ID"))
    id = ids[0] if ids else ""
    if ours(id) if ours is not None and id else looks_ours(message, id):
        reading = Reading(kind=Unclear.OWN, reader="own", problem="it is a copy of an email of ours")
    else:
        reading = _first(message) or _unreadable(octets, message)
    return replace(reading, message_id=id, envelope_to=_envelope_to(message))


def _unreadable(octets: bytes, message: Opened) -> Reading:
    return Reading(kind=Unclear.UNREADABLE, author=author_of(message), problem=_problem(octets, message))


def _first(message: Opened) -> Reading | None:
    for reader in READERS:
        if (found := reader(message)) is not None:
            return found
    return None


def _read_forwarded(message: Opened) -> Reading | None:
    """A standard report within a report: some providers wrap what their own servers say."""
    if not looks_like_a_report(message):
        return None
    for part in message.parts:
        headers, _ = split(part.body[: limits.HEADERS]) if part.kind == "message/rfc822" else (None, b"")
        if headers is not None and content_type(headers) == "multipart/report":
            return read_report(opened(part.body)) if parameter(headers, "report-type") == "delivery-status" else None
    return None


READERS: tuple[Callable[[Opened], Reading | None], ...] = (
    read_report,
    read_feedback,
    read_receipt,
    read_notice,
    _read_forwarded,
    read_known,
    read_words,
    read_leaving,
    read_answer,
)
"""From the surest to the least sure."""


def _envelope_to(message: Opened) -> tuple[str, ...]:
    return tuple(header_addresses([value for name in _DELIVERED_TO for value in message.headers.get_all(name, [])]))


def _problem(octets: bytes, message: Opened) -> str:
    """Why nobody can say what it is."""
    if not octets.strip():
        return "it is empty"
    if not message.headers.keys():
        return "it has no headers, so it is no message"
    if message.of_kind(*KINDS):
        return "it has a delivery report that tells of no recipient and of no action"
    if looks_like_a_report(message):
        return "it looks like a report of a failure, and names nobody who did not get an email"
    return "it is no report in any form that is known, and no answer: it names no email that it could be about"
