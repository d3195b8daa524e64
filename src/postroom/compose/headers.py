"""Header lines: folded (RFC 5322), encoded where they are not ASCII (RFC 2047, RFC 2231), raw UTF-8 only in an
address that has no other form (RFC 6532).

Everything here trusts `safety`: no value holds a line break, a control character or an encoded word of its own.
"""

from __future__ import annotations

import re
import unicodedata
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import quote

from postroom.compose.address import Mailbox, quoted

_EPOCH, _SECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(seconds=1)

FOLD_AT = 78
"""Lines are folded before they grow longer than this, where they have a space."""

LONGEST_LINE = 998
"""What RFC 5322 allows at most."""

_WORD_FRAME = len("=?utf-8?q??=")
_LONGEST_ENCODED_WORD = 75
_SMALLEST_ROOM = 24
_NAME_ROOM = 66
"""Room for one encoded word of a name: small enough to stand behind `Reply-To: ` on the first line."""
_WORD = re.compile(r" *[^ ]+")
_LONGEST_BARE_WORD = 65
_Q_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!*+-/")
_Q = tuple(chr(octet) if octet in _Q_SAFE else "_" if octet == 0x20 else f"={octet:02X}" for octet in range(256))
_NOT_FALLBACK = re.compile(r"[^A-Za-z0-9._ -]+")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def text_header(name: str, value: str) -> str:
    """An unstructured header, such as Subject: bare when it can be, otherwise in encoded words."""
    if value.isascii():
        line = f"{name}: {value}"
        bare = not value or (value[0] != " " and value[-1] != " ")
        if bare and len(line) <= FOLD_AT:
            return line
        words = [word.removeprefix(" ") for word in _WORD.findall(value)]
        if bare and "  " not in value and max(map(len, words)) <= _LONGEST_BARE_WORD:
            return fold(name, words)
    # A name of more than 50 characters leaves too little room; its first line is then a little longer than usual.
    room = max(_SMALLEST_ROOM, _LONGEST_ENCODED_WORD - len(name) - 1)
    return fold(name, encoded_words(value, first=room, rest=_LONGEST_ENCODED_WORD))


def custom_header(name: str, value: str) -> str:
    """A header of the caller's. ASCII is never encoded, as it may be structured: a list of ids, a URL in brackets."""
    if value.isascii():
        return fold(name, [word.removeprefix(" ") for word in _WORD.findall(value)])
    return text_header(name, value)


def address_header(name: str, addresses: tuple[Mailbox, ...]) -> str:
    """From, To and their kin: one mailbox after the other, folded between them."""
    if len(addresses) > 1:
        return fold(name, _listed(addresses))
    [only] = addresses
    return fold(name, mailbox(only)) if only[0] else f"{name}: {only[1]}"


def _listed(addresses: tuple[Mailbox, ...]) -> Iterator[str]:
    for address in addresses[:-1]:
        *first, last = mailbox(address)
        yield from first
        yield last + ","
    yield from mailbox(addresses[-1])


@lru_cache(maxsize=1024)  # senders return with every email
def mailbox(address: Mailbox) -> tuple[str, ...]:
    """The words of one mailbox, between which a line may be folded."""
    name, spec = address
    if not name:
        return (spec,)
    if name.isascii() and len(name) <= _NAME_ROOM:
        return (quoted(name), f"<{spec}>")
    return (*encoded_words(name, first=_NAME_ROOM, rest=_LONGEST_ENCODED_WORD), f"<{spec}>")


def fold(name: str, words: Iterable[str]) -> str:
    """Lay words out behind a header's name, breaking the line before a word that would make it too long.

    Never before the first word: some parsers take that break for a part of the value. Where several spaces stand, only
    in need: some parsers take a break with its spaces for one space.
    """
    parts = [name, ":"]
    width = len(name) + 1
    for word in words:
        step = len(word) + 1
        if width + step > (FOLD_AT if word[:1] != " " else LONGEST_LINE) and len(parts) > 2:
            parts.append("\r\n ")
            width = step
        else:
            parts.append(" ")
            width += step
        parts.append(word)
    return "".join(parts)


def encoded_words(value: str, *, first: int, rest: int) -> list[str]:
    """RFC 2047: the value in words of at most so many characters, no character split between two of them."""
    octets = value.encode()
    if sum(len(_Q[octet]) for octet in octets) <= (len(octets) + 2) // 3 * 4:
        chunks = _chunks(value, _q_weight, first - _WORD_FRAME, rest - _WORD_FRAME)
        return [f"=?utf-8?q?{_q(chunk)}?=" for chunk in chunks]
    # Base64 writes three octets as four characters, so it is octets that are counted.
    chunks = _chunks(value, _octets, (first - _WORD_FRAME) // 4 * 3, (rest - _WORD_FRAME) // 4 * 3)
    return [f"=?utf-8?b?{b2a_base64(chunk.encode(), newline=False).decode()}?=" for chunk in chunks]


def _q(text: str) -> str:
    return "".join([_Q[octet] for octet in text.encode()])


def _q_weight(character: str) -> int:
    return len(_q(character))


def _octets(character: str) -> int:
    return len(character.encode())


def _chunks(value: str, weigh: Callable[[str], int], first: int, rest: int) -> Iterator[str]:
    start, weight, room = 0, 0, first
    for position, character in enumerate(value):
        step = weigh(character)
        if weight + step > room:
            yield value[start:position]
            start, weight, room = position, 0, rest
        weight += step
    yield value[start:]


def is_quotable(filename: str) -> bool:
    """May stand between quotes. Marks that would be right there too, but that many readers get wrong, may not."""
    return filename.isascii() and '"' not in filename and ";" not in filename


def disposition_header(disposition: str, filename: str) -> str:
    """Content-Disposition with the file's name: in quotes where it can be, otherwise as RFC 2231 has it."""
    if is_quotable(filename):
        return fold("Content-Disposition", (f"{disposition};", f'filename="{filename}"'))
    return fold("Content-Disposition", (f"{disposition};", f"filename*=utf-8''{quote(filename, safe='')}"))


def fallback_name(filename: str) -> str:
    """The name without its accents, and `_` for whatever ASCII has no letter for.

    It belongs in Content-Type, where readers that do not know RFC 2231 look next. Beside `filename*` it would do harm:
    of the two, some parsers believe the first and some the last.
    """
    letters = unicodedata.normalize("NFKD", filename).encode("ascii", "ignore").decode()
    stem, dot, extension = _NOT_FALLBACK.sub("_", letters).rpartition(".")
    return f"{stem.strip() or 'attachment'}{dot}{extension}"


def date_value(moment: datetime) -> str:
    """RFC 5322's date and time, in UTC."""
    return date_at((moment - _EPOCH) // _SECOND)  # exact: a float has no room for the microseconds of far centuries


@lru_cache(maxsize=256)  # emails come in flocks
def date_at(seconds: int) -> str:
    """The same, of a time in whole seconds since 1970."""
    moment = datetime.fromtimestamp(seconds, UTC)
    day, month = _DAYS[moment.weekday()], _MONTHS[moment.month - 1]
    clock = f"{moment.hour:02}:{moment.minute:02}:{moment.second:02}"
    return f"{day}, {moment.day} {month} {moment.year:04} {clock} +0000"
