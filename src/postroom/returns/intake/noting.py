"""From what a message says to what is to be noted: pure.

Which email it is about is told, in this order, by a token in an address it was sent to, by the Message-IDs of what it
returns, and by those of the thread it answers. The Message-ID of an email of ours is made of the email's id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from uuid import UUID

from postroom.compose.return_path import ReturnPath
from postroom.returns.reading import Reading, Returned, limits
from postroom.store.returns import Mention, Note
from postroom.vocabulary import EmailId

MOST_NOTES = limits.RECIPIENTS
"""Recipients of one message that are noted, each a row of one transaction."""
MOST_MENTIONS = 50
"""Emails that are looked up for one message; a thread may be as long as somebody likes."""
_MESSAGE_ID = re.compile(r"<([0-9a-f]{32})@[^<>\s]+>", re.ASCII | re.IGNORECASE)
_NOBODY = Returned(address="")


def notes_of(
    reading: Reading, *, source: str, source_id: str, delivered_to: Sequence[str] = (), paths: Sequence[ReturnPath] = ()
) -> list[Note]:
    """A note for each recipient the message speaks of; one for a message that speaks of nobody.

    `delivered_to` are the addresses it was handed over for, as far as the mail system told them; `paths` are those by
    which our emails come back.
    """
    addresses = (*delivered_to, *reading.envelope_to)
    mentions = tuple(_mentions(addresses, reading.about, paths))
    return [
        Note(
            source=source,
            source_id=source_id,
            part=part,
            what=reading.kind_of(each).value,
            mentions=mentions,
            address=each.address,
            aliases=each.aliases,
            bounce_class=each.bounce_class,
            status=each.status,
            code=each.code,
            text=each.text,
            message_id=reading.message_id,
            reader=reading.reader,
            problem=reading.problem,
            until=reading.until,
            feedback=reading.feedback,
            objected=reading.objected,
            author=reading.author,
        )
        for part, each in enumerate(islice(reading.recipients or (_NOBODY,), MOST_NOTES))
    ]


def _mentions(addresses: Iterable[str], about: Iterable[str], paths: Sequence[ReturnPath]) -> Iterator[Mention]:
    found: set[tuple[EmailId, bool]] = set()
    for mention in (*_signed(addresses, paths), *_named(about)):
        if (mention.id, mention.signed) not in found and len(found) < MOST_MENTIONS:
            found.add((mention.id, mention.signed))
            yield mention


def _signed(addresses: Iterable[str], paths: Sequence[ReturnPath]) -> Iterator[Mention]:
    for address in addresses:
        for path in paths:
            if (id := path.email_of(address)) is not None:
                yield Mention(id=id, signed=True)


def _named(about: Iterable[str]) -> Iterator[Mention]:
    for message_id in about:
        if match := _MESSAGE_ID.fullmatch(message_id.strip()):
            yield Mention(id=EmailId(str(UUID(match[1]))), message_id=message_id)
