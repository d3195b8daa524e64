"""Addresses in headers, reports and prose."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import islice

from postroom.returns.reading import limits
from postroom.returns.reading.decoding import words

_LOCAL = r"A-Za-z0-9.!#$%&'*+/=?^_`{|}~-"
# It begins where a word begins, and its lengths are bounded: the search never turns back far.
_ADDRESS = re.compile(
    rf"(?<![{_LOCAL}])(?:[{_LOCAL}]{{1,128}}"
    rf"|\"[^\"\s@]{{1,64}}\")@(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]{{0,250}}[A-Za-z0-9])?)"
)
_EDGES = "\"'`*.,;:()[]{}<>= \t"
_X400 = re.compile(r"\b(?:dda:)?(?:smtp|rfc-822)[=:]", re.IGNORECASE)
"""What an address of X.400 puts before one of the internet's."""
_QUOTED = re.compile(r'"[^"@]{1,64}"@')
_INTERNAL = re.compile(r"@|[^@]+@[^@.]{0,60}daemon\Z")
_ESCAPED = re.compile(r"\\x\{([0-9A-Fa-f]{2,6})\}")
_MARKS = frozenset(map(ord, "+=\\"))
"""Of ASCII, what is written so: nothing that ends an address or divides it."""
_DAEMONS = re.compile(
    r"(?:mailer[-_.]?daemon|postmaster|mail[-_.]?delivery|no-?reply|do-?not-?reply|bounces?[-+@])", re.I
)


def addresses_in(text: str) -> list[str]:
    """Every address in a text, in order, each once."""
    found = (tidy(match[0]) for match in _ADDRESS.finditer(_X400.sub(" ", text[: limits.TEXT])))
    return list(dict.fromkeys(each for each in found if each))


def without_addresses(text: str) -> str:
    """A text with nothing where its addresses stand."""
    return _ADDRESS.sub(" ", text)


def tidy(written: str) -> str:
    """An address in lower case without brackets and marks around it; empty where it is none."""
    bare = written.strip().strip(_EDGES.replace('"', "")).lower()
    if not _QUOTED.match(bare):
        bare = bare.strip(_EDGES)
    local, at, domain = bare.rpartition("@")
    if not at or not local or not domain or any(each.isspace() for each in bare):
        return ""
    return bare


def header_addresses(values: Iterable[object]) -> list[str]:
    """The addresses in headers such as To, in order, each once."""
    found = [each for value in islice(values, limits.PARTS) for each in _in_header(str(value))]
    return list(dict.fromkeys(found))[: limits.RECIPIENTS]


def _in_header(value: str) -> Iterator[str]:
    """In angle brackets where there are any, as a name may look like an address too."""
    readable = words(value)
    bracketed = [tidy(each) for each in re.findall(r"<([^<>]{3,320})>", readable)]
    named = [each for each in bracketed if each]
    yield from named or addresses_in(readable)


def typed_address(value: str) -> str:
    """The address in `rfc822; ada@example.org`, a field of a report."""
    readable = words(value)
    kind, semicolon, rest = readable.partition(";")
    if semicolon and " " not in kind.strip():
        readable = _unescaped(rest) if kind.strip().lower() == "utf-8" else rest
    bracketed = re.search(r"<([^<>]{3,320})>", readable)
    if address := tidy(bracketed[1] if bracketed else readable):
        return address
    return next(iter(addresses_in(readable)), "")


def _unescaped(readable: str) -> str:
    """With the letters that RFC 6533 has a report write as `\\x{43F}`."""
    return _ESCAPED.sub(_letter, readable)


def _letter(mark: re.Match[str]) -> str:
    number = int(mark[1], 16)
    letter = chr(number) if number in _MARKS or 0x80 <= number <= sys.maxunicode else ""
    return letter if letter and letter.isprintable() else mark[0]


def is_internal(address: str) -> bool:
    """Whether it is a route or a mailbox within one system, and nowhere else an address."""
    return _INTERNAL.match(address) is not None


def is_daemon(address: str) -> bool:
    """Whether it is the address of a program that writes reports, which never is the recipient that failed."""
    return _DAEMONS.match(address) is not None
