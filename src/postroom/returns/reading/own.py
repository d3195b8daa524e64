"""Copies of our own emails: they come back by a bcc, a mailing list or a loop, and nothing follows from them."""

from __future__ import annotations

import re
from datetime import timedelta
from email.utils import mktime_tz, parsedate_tz

from postroom.returns.reading.addresses import header_addresses
from postroom.returns.reading.opening import Opened, raw

# As `Letter` makes it: an id of version 7, which begins with the milliseconds since 1970, at the sender's domain.
_MESSAGE_ID = re.compile(r"<([0-9a-f]{12})7[0-9a-f]{3}[89ab][0-9a-f]{15}@([^<>@\s]{1,255})>")
_APART = timedelta(days=1).total_seconds()


def looks_ours(opened: Opened, message_id: str) -> bool:
    """Whether Postroom wrote it, by the way it writes: the id is as old as the date, at the domain of the author.

    A program that numbers its mail by chance does not meet all of this. Whoever can ask a database is surer.
    """
    if "X-Postroom-Delivery" in opened.headers:
        return True
    found = _MESSAGE_ID.fullmatch(message_id)
    if found is None:
        return False
    authors = header_addresses(opened.headers.get_all("From", []))
    return any(author.endswith(f"@{found[2].lower()}") for author in authors) and _of_its_date(opened, found[1])


def _of_its_date(opened: Opened, moment: str) -> bool:
    told = parsedate_tz(raw(opened.headers, "Date")[:100])
    if told is None:
        return False
    try:
        return abs(mktime_tz(told) - int(moment, 16) / 1000) < _APART
    except (ValueError, OverflowError):
        return False
