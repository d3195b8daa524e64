"""A letter as a store keeps it: columns to look at, JSON for the rest, and large content apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from json import JSONDecoder, JSONEncoder
from json.encoder import encode_basestring as in_quotes
from typing import TYPE_CHECKING, Any

from postroom.compose.address import Address
from postroom.compose.attachment import Attachment
from postroom.compose.edition import Edition, read_edition, write_edition
from postroom.compose.late import LATE

if TYPE_CHECKING:
    from postroom.compose.letter import Letter

APART = "boxed:"
"""What an envelope begins with whose content is in a box, see `postroom.sealing`: in front of JSON, so that releases
which know nothing of boxes cannot read it, and send nothing."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_STAMP = re.compile(r"DTSTAMP:[0-9TZ]+")
# Made once: json.dumps with any option makes a new encoder each time.
_encode = JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_decode = JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarObject:
    """An invite as it is sent."""

    method: str
    ics: str


@dataclass(slots=True, kw_only=True)  # itself not frozen, as `Letter` is not
class Frozen:
    """A letter as a store keeps it: columns, an envelope of JSON, and content that is kept once per digest."""

    subject: str
    message_id: str
    envelope: str
    """Compact JSON: date, addresses, headers, calendar object, and what the attachments are."""
    text: str | None
    """What it says; the template's context, as JSON, while the envelope tells that it is not rendered yet."""
    html: str | None
    size: int
    """About how many octets the whole message has."""
    recipients: tuple[str, ...]
    """Whom the server is told: to, cc, bcc, in that order, each address once."""
    attachments: tuple[tuple[str, bytes], ...]
    """Content by SHA-256 digest, each once."""
    tags: tuple[str, ...]
    edition: Edition | None = None
    """The template that its words are from; also in the envelope."""
    stamp: str = ""
    """What in the text tells only when it was composed; it makes no difference to the fingerprint."""
    link: str = ""
    """The link by which its reader unsubscribes: another one each time, and no difference to the fingerprint either."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 over everything but Message-ID, date, tags, edition, link: tells whether a key has had two contents.

        The same words are the same content, whichever version of a template they are from. Worked out when it is asked
        for, because most emails have no key.
        """
        contents = self.envelope.partition(",")[2]  # what follows the date
        if self.edition is not None:  # it comes next
            contents = contents.partition("},")[2]
        if '"invite":' in contents:
            # The calendar object is stamped with the date of composing, which says nothing about the content.
            contents = _STAMP.sub("DTSTAMP:", contents)
        # NUL occurs in none of them, so no two different letters run together into the same octets.
        text = (self.text or "").replace(self.stamp, "", 1) if self.stamp else self.text or ""
        parts = f"{contents}\0{self.subject}\0{text}\0{self.html or ''}"
        if self.link:
            parts = parts.replace(self.link, "")
        return sha256(parts.encode()).hexdigest()


def write_contents(letter: Letter) -> str:
    """The envelope without its date, as JSON; only what there is. By hand, because most of them say little."""
    written = "{" if letter.edition is None else f"{{{write_edition(letter.edition)},"
    written += f'"sender":{_listed(letter.senders)}'
    if letter.to:
        written += f',"to":{_listed(letter.to)}'
    if letter.cc:
        written += f',"cc":{_listed(letter.cc)}'
    if letter.bcc:
        written += f',"bcc":{_listed(letter.bcc)}'
    if letter.reply_to:
        written += f',"reply_to":{_listed(letter.reply_to)}'
    if letter.headers:
        written += f',"headers":{_encode(letter.headers)}'
    if letter.calendar:
        written += f',"invite":{_encode({"method": letter.calendar.method, "ics": letter.calendar.ics})}'
    if letter.attachments:
        written += f',"attachments":{_encode([_described(each) for each in letter.attachments])}'
    return written + "}"


def write_envelope(date: datetime, contents: str) -> str:
    """The contents with the date in microseconds put before them."""
    return f'{{"date":{(date - _EPOCH) // _MICROSECOND},{contents[1:]}'


def decode(envelope: str) -> dict[str, Any]:
    """What an envelope says, as JSON has it. We wrote it, so no white space is looked for."""
    return _decode(envelope)[0]  # type: ignore[no-any-return]


def read_envelope(envelope: str, content: Mapping[str, bytes]) -> dict[str, Any]:
    """The fields of a `Letter` that are not columns of their own."""
    stored = decode(envelope.removeprefix(LATE))
    fields: dict[str, Any] = {
        "date": _EPOCH + timedelta(microseconds=stored["date"]),
        "senders": _addresses(stored.get("sender", ())),  # only emails have one
        "to": _addresses(stored.get("to", ())),
    }
    for name in ("cc", "bcc", "reply_to"):
        if name in stored:
            fields[name] = _addresses(stored[name])
    if "headers" in stored:
        fields["headers"] = tuple([(name, value) for name, value in stored["headers"]])
    if "invite" in stored:
        fields["calendar"] = CalendarObject(**stored["invite"])
    if "attachments" in stored:
        fields["attachments"] = _thawed(stored["attachments"], content)
    if "edition" in stored:
        fields["edition"] = read_edition(stored)
    return fields


def outside(envelope: str) -> dict[str, Any]:
    """What an envelope says to everybody, whether or not it is rendered yet, or its content is in a box."""
    return decode(envelope.removeprefix(LATE).removeprefix(APART))


def edition_in(envelope: str) -> Edition | None:
    """The edition that a frozen letter names. That most name none is told without parsing: inside JSON strings quotes
    are escaped."""
    return read_edition(outside(envelope)) if '"edition":{' in envelope else None


def recipients_in(envelope: str) -> tuple[str, ...]:
    """The recipients a frozen letter names, without thawing it: to, cc, bcc, in that order, each address once."""
    return _addresses_in(envelope, "to", "cc", "bcc")


def senders_in(envelope: str) -> tuple[str, ...]:
    """Whom a frozen letter is from, likewise."""
    return _addresses_in(envelope, "sender")


def _addresses_in(envelope: str, *groups: str) -> tuple[str, ...]:
    contents = outside(envelope)
    named = (each for group in groups for each in contents.get(group, ()))
    return tuple(dict.fromkeys(each if isinstance(each, str) else each[1] for each in named))


def _listed(addresses: tuple[Address, ...]) -> str:
    """An address without a name is a bare string, which is most of them."""
    written = [f"[{in_quotes(name)},{in_quotes(spec)}]" if name else in_quotes(spec) for name, spec in addresses]
    return f"[{','.join(written)}]"


def _addresses(stored: list[Any]) -> tuple[Address, ...]:
    return tuple([Address("", each) if isinstance(each, str) else Address(*each) for each in stored])


def _described(attachment: Attachment) -> dict[str, Any]:
    described: dict[str, Any] = {
        "digest": attachment.digest,
        "filename": attachment.filename,
        "content_type": attachment.content_type,
        "size": len(attachment.content),
    }
    if attachment.content_id is not None:
        described["content_id"] = attachment.content_id
    return described


def _thawed(described: list[dict[str, Any]], contents: Mapping[str, bytes]) -> tuple[Attachment, ...]:
    return tuple(
        Attachment.thawed(
            filename=each["filename"],
            content=contents[each["digest"]],
            content_type=each["content_type"],
            content_id=each.get("content_id"),
            digest=each["digest"],
        )
        for each in described
    )
