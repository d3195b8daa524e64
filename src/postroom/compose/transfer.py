"""How a part's content travels through a protocol made for short lines of ASCII (RFC 2045)."""

from __future__ import annotations

import re
from binascii import b2a_base64, b2a_qp
from collections.abc import Iterable

LONGEST_LINE = 900
"""Longest line sent as it is. The standards allow 998 octets; relays that add to lines have been met."""

BLOCK = 57 * 1024
"""Octets of a large content encoded at a time: whole lines of base64, and never a second copy of the whole."""

_LINE_END = re.compile(rb"\r\n?|\n")
_BASE64_LINE = 76
# Python's own parser, and others, break lines at some of these; encoding keeps them inside theirs.
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\r\n") + b"\x7f"
_NO_CONTROLS = bytes(set(range(256)) - set(_CONTROLS))
_BEYOND_ASCII = bytes(range(128, 256))


def encode_text(text: str | bytes) -> tuple[str, list[bytes]]:
    """The transfer encoding for a text, or its UTF-8, and its octets: CRLF lines, ending in CRLF, within the limit.

    ASCII with short lines stays readable; anything else becomes quoted-printable or base64, whichever is smaller.
    """
    data = with_crlf(text.encode() if isinstance(text, str) else text)
    if data.isascii() and _travels_bare(data):
        return "7bit", [data]
    quoted = _quoted(data, at_most=base64_size(len(data)))
    if quoted is not None:
        return "quoted-printable", quoted
    return "base64", encode_base64(data)


def with_crlf(data: bytes) -> bytes:
    """Every line end as CRLF, the last line's included."""
    data = data.replace(b"\n", b"\r\n") if b"\r" not in data else _LINE_END.sub(b"\r\n", data)
    return data if data.endswith(b"\r\n") else data + b"\r\n"


def _travels_bare(data: bytes) -> bool:
    if len(data) <= BLOCK:
        return _has_short_lines(data) and not _has_controls(data)
    return _has_short_lines(data) and not any(map(_has_controls, _blocks(data)))


def _has_controls(data: bytes) -> bool:
    return bool(data.translate(None, _NO_CONTROLS))


def _beyond_ascii(data: bytes) -> int:
    """How many octets quoted-printable writes as three for certain."""
    return len(data) - len(data.translate(None, _BEYOND_ASCII))


def _blocks(data: bytes) -> Iterable[bytes]:
    """The data in slices of bounded size."""
    return (data[start : start + BLOCK] for start in range(0, len(data), BLOCK))


def _quoted(data: bytes, *, at_most: int) -> list[bytes] | None:
    """Quoted-printable, some lines at a time; None as soon as it is known to be longer than `at_most`.

    b2a_qp ends its soft breaks like the first line of its input; `with_crlf` made sure that there is one with CRLF.
    """
    if len(data) > BLOCK and len(data) + 2 * sum(map(_beyond_ascii, _blocks(data))) > at_most:
        return None
    pieces, start = [], 0
    while start < len(data):
        end = data.find(b"\r\n", start + BLOCK - 2) + 2 if len(data) - start > BLOCK else len(data)
        piece = b2a_qp(data[start:end])
        at_most -= len(piece)
        if at_most < 0:
            return None
        pieces.append(piece)
        start = end
    return pieces


def _has_short_lines(data: bytes) -> bool:
    """Whether no line is longer than it may be: leaps from line end to line end, each leap as far as it may go."""
    start, furthest = 0, LONGEST_LINE + 2
    while len(data) - start > furthest:
        end = data.rfind(b"\r\n", start, start + furthest)
        if end < 0:
            return False
        start = end + 2
    return True


def encode_base64(data: bytes) -> list[bytes]:
    """Base64 in CRLF lines of 76 characters."""
    if len(data) <= BLOCK:
        return [_base64_lines(data)]
    return [_base64_lines(block) for block in _blocks(data)]


def _base64_lines(data: bytes) -> bytes:
    encoded = b2a_base64(data, newline=False)
    lines = [encoded[start : start + _BASE64_LINE] for start in range(0, len(encoded), _BASE64_LINE)]
    return b"\r\n".join(lines) + b"\r\n"


def base64_size(octets: int) -> int:
    """What `encode_base64` will need for so many octets."""
    characters = (octets + 2) // 3 * 4
    return characters + 2 * max(1, -(-characters // _BASE64_LINE))


def text_size(text: str) -> int:
    """Octets of a text on the wire: about exact for ASCII, at most this much for anything else."""
    return len(text) if text.isascii() else base64_size(len(text.encode()))
