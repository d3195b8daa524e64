"""A message taken apart: its headers, and its parts in their order.

The library's parser reads every block of headers. The splitting into parts is done here, for that parser spends on
some messages of ten megabytes minutes and gigabytes: parts within parts by the thousand, a report of empty lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from functools import cached_property
from itertools import islice
from string import ascii_lowercase, ascii_uppercase

from postroom.returns.reading import limits
from postroom.returns.reading.addresses import header_addresses
from postroom.returns.reading.decoding import decoded_text
from postroom.returns.reading.meant import with_domains
from postroom.returns.reading.quoting import paragraphs_of, report_and_original
from postroom.returns.reading.transcript import replies_to_recipients, without_guesses

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)")
_MESSAGES = ("message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part that has no parts: a text, a report, a message that was returned."""

    headers: Message
    kind: str
    """Its type: `text/plain`, `message/delivery-status`."""
    body: bytes

    @cached_property
    def text(self) -> str:
        """Its beginning as text, whatever it is encoded in; HTML without its marks."""
        return decoded_text(self.headers, self.kind, self.body)

    @property
    def is_original(self) -> bool:
        """Whether it is a message, or the headers of one."""
        return self.kind in _MESSAGES


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A message taken apart."""

    headers: Message
    kind: str
    octets: bytes
    """With the line ends of Unix, to the limit."""
    parts: tuple[Part, ...]

    @cached_property
    def text(self) -> str:
        """What its author wrote for people: its texts, without what was returned."""
        plain = [part for part in self.parts if part.kind == "text/plain"]
        shown = plain or [part for part in self.parts if part.kind.startswith("text/") and not part.is_original]
        return "\n".join(part.text for part in shown)[: limits.TEXT]

    @cached_property
    def report(self) -> str:
        """Those texts without the email that is quoted in them or beneath."""
        return report_and_original(self.text, returned=any(part.is_original for part in self.parts))[0]

    @cached_property
    def told(self) -> str:
        """The report without what its system has guessed: what was said, rather than about whom."""
        return without_guesses(self.report)

    @cached_property
    def replies_to_recipients(self) -> frozenset[str]:
        """What was said to RCPT, where the report has the session in it."""
        return replies_to_recipients(self.report)

    @cached_property
    def paragraphs(self) -> tuple[str, ...]:
        """Of what was told, for many recipients are looked up in them."""
        return paragraphs_of(self.told)

    @cached_property
    def lower_paragraphs(self) -> tuple[str, ...]:
        """The same in lower case, character by character, so that places in both are the same."""
        return tuple(each.translate(_LOWER) for each in self.paragraphs)

    @cached_property
    def lower_report(self) -> str:
        return self.report.translate(_LOWER)

    @cached_property
    def original(self) -> Message | None:
        """The headers of the email that is spoken of: a part of their own, or in the text; None without any."""
        for part in self.parts:
            if part.is_original and (headers := _original(part)) is not None:
                return headers
        quoted = report_and_original(self.text)[1]
        return read_headers(quoted.encode("utf-8", "replace")) if quoted else None

    @cached_property
    def senders(self) -> frozenset[str]:
        """Addresses, and their domains, of who sent that email: who is told of it has sent it too."""
        written = [(self.headers, name) for name in ("To", "Delivered-To", "X-Original-To")]
        if self.original is not None:
            written += [(self.original, name) for name in ("Return-Path", "From", "Sender")]
        return with_domains(
            header_addresses([value for headers, name in written for value in headers.get_all(name, [])])
        )

    def of_kind(self, *kinds: str) -> list[Part]:
        """The parts of these types."""
        return [part for part in self.parts if part.kind in kinds]


def opened(octets: bytes, *, limit: int = limits.OCTETS) -> Opened:
    """Take a message apart; whatever it is, this comes to an end and gives something."""
    lines = octets[:limit].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    headers, body = split(lines.lstrip(b"\n"))
    parts = tuple(islice(_parts(headers, body, depth=0), limits.PARTS))
    return Opened(headers=headers, kind=content_type(headers), octets=lines, parts=parts)


def split(octets: bytes) -> tuple[Message, bytes]:
    """A block of headers, and what follows it."""
    if octets.startswith(b"\n"):
        return read_headers(b""), octets[1:]
    end = octets.find(b"\n\n")
    if end < 0:
        return read_headers(octets), b""
    return read_headers(octets[:end]), octets[end + 2 :]


def read_headers(block: bytes) -> Message:
    """The fields of a block. What is not ASCII is mostly UTF-8, and every octet is something in Latin-1."""
    block = block[: limits.HEADERS]
    try:
        text = block.decode()
    except UnicodeDecodeError:
        text = block.decode("latin-1")
    return HeaderParser().parsestr(f"{text}\n\n")


def content_type(headers: Message) -> str:
    found = _TYPE.match(raw(headers, "Content-Type"))
    return found[1].lower() if found else "text/plain"


def raw(headers: Message, name: str) -> str:
    """A header as it was written, or the empty string; of several, the first."""
    return str(headers.get(name, ""))[: limits.HEADER]


def parameter(headers: Message, name: str, *, of: str = "Content-Type") -> str:
    """A parameter of a header: `boundary`, `charset`, `report-type`."""
    found = re.search(rf';\s*{name}\s*=\s*("[^"]*"|[^\s;"]+)', raw(headers, of), re.IGNORECASE)
    return found[1].strip('"') if found else ""


def _original(part: Part) -> Message | None:
    headers, _ = split(part.body.lstrip(b"\n")[: limits.HEADERS])
    if headers.keys():
        return headers
    # Some encode it, which RFC 2046 forbids.
    decoded = read_headers(part.text.lstrip().partition("\n\n")[0].encode("utf-8", "replace"))
    return decoded if decoded.keys() else None


def _parts(headers: Message, body: bytes, *, depth: int) -> Iterator[Part]:
    kind = content_type(headers)
    boundary = parameter(headers, "boundary") if kind.startswith("multipart/") else ""
    if not boundary or depth >= limits.DEPTH:
        yield Part(headers=headers, kind="text/plain" if kind.startswith("multipart/") else kind, body=body)
        return
    pieces = list(islice(_pieces(body, boundary.encode("utf-8", "surrogateescape")), limits.PARTS))
    for piece in pieces:
        yield from _parts(*split(piece), depth=depth + 1)
    if not pieces:  # the boundary that was promised is nowhere
        yield Part(headers=Message(), kind="text/plain", body=body)


def _pieces(body: bytes, boundary: bytes) -> Iterator[bytes]:
    """What stands between the boundaries; what stands before the first and behind the last is for nobody."""
    mark = b"\n--" + boundary
    body = b"\n" + body
    at = body.find(mark)
    while at >= 0:
        begin = body.find(b"\n", at + len(mark))
        if begin < 0 or body.startswith(b"--", at + len(mark)):
            return
        following = body.find(mark, begin)
        yield body[begin + 1 : following if following >= 0 else len(body)]
        at = following
