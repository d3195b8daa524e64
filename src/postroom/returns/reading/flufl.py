"""What `flufl.bounce` knows of mail systems, where it is installed: it names recipients, the class is decided here."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from functools import cache

from postroom.returns.reading import limits
from postroom.returns.reading.addresses import addresses_in, tidy
from postroom.returns.reading.opening import Opened
from postroom.returns.reading.original import about
from postroom.returns.reading.prose import without_origins
from postroom.returns.reading.reports import looks_like_a_report
from postroom.returns.reading.values import Reading
from postroom.returns.reading.words import delays, possible, returned
from postroom.vocabulary import Return

Scanner = Callable[[Message], tuple[frozenset[bytes], frozenset[bytes]]]
"""Who is still waited for, and who has failed."""

_CONTAINER = re.compile(rb"^content-type:\s{0,20}(?:multipart|message)/", re.IGNORECASE | re.MULTILINE)
_MOST_CONTAINERS = 30


@cache
def scanner() -> Scanner | None:
    """What it offers, or None where it is not installed: it is an extra."""
    try:
        from flufl.bounce import all_failures
    except ModuleNotFoundError:
        return None
    # It tells of messages that it cannot read, each with a traceback; they are ordinary here.
    logging.getLogger("flufl.bounce").setLevel(logging.CRITICAL + 1)
    return all_failures


def read_known(opened: Opened) -> Reading | None:
    """A report of a system that `flufl.bounce` knows."""
    scan = scanner()
    if scan is None or not looks_like_a_report(opened):
        return None
    delayed, failed = _failures(scan, _bounded(opened.octets))
    kind = Return.BOUNCED if failed and not delays(opened) else Return.DEFERRED
    named = _named(opened, failed or delayed)
    if not named:
        return None
    recipients = tuple(returned(opened, address, kind, alone=len(named) == 1) for address in named)
    return Reading(kind=kind, recipients=recipients, about=about(opened), reader="flufl")


def _named(opened: Opened, found: frozenset[bytes]) -> list[str]:
    """In the report's own order. It takes much for a recipient that is an address of another kind, or a Message-ID."""
    report = addresses_in(without_origins(opened.report))
    named = {tidy(each.decode("utf-8", "replace")) for each in found}
    return possible(opened, [each for each in report if each in named])


def _failures(scan: Scanner, octets: bytes) -> tuple[frozenset[bytes], frozenset[bytes]]:
    try:
        return scan(message_from_bytes(octets))
    except Exception:  # noqa: BLE001 – its detectors raise what they like at messages that nobody foresaw
        return frozenset(), frozenset()


def _bounded(octets: bytes) -> bytes:
    """As much as its regular expressions and the library's parser can be given: short lines, few parts."""
    lines = octets[: 2 * limits.TEXT].split(b"\n")[: limits.LINES]
    bounded = b"\n".join(line[: limits.LINE] for line in lines)
    containers = [found.start() for found in _CONTAINER.finditer(bounded)]
    return bounded[: containers[_MOST_CONTAINERS]] if len(containers) > _MOST_CONTAINERS else bounded
