"""How a part's content travels through a protocol made for short lines of ASCII (RFC 2045)."""

from __future__ import annotations

import re
from binascii import b2a_base64, b2a_qp

LONGEST_LINE = 900
"""Longest line sent as it is. The standards allow 998 octets; relays that add to lines have been met."""

_LINE_END = re.compile(r"\r\n?|\n")
_BASE64_LINE = 76
# Python's own parser, and others, break lines at some of these; encoding keeps them inside theirs.
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\r\n") + b"\x7f"


def encode_text(text: str) -> tuple[str, bytes]:
    """The transfer encoding for a text and its octets: CRLF lines, ending in CRLF, each within the limit.

    ASCII with short lines stays readable; anything else becomes quoted-printable or base64, whichever is smaller.
    """
    text = with_crlf(text)
    data = text.encode()
    if text.isascii() and _travels_bare(data):
        return "7bit", data
    # b2a_qp ends its soft breaks like the first line of its input; with_crlf made sure that there is one with CRLF.
    quoted = b2a_qp(data)
    if len(quoted) <= base64_size(len(data)):
        return "quoted-printable", quoted
    return "base64", encode_base64(data)


def with_crlf(text: str) -> str:
    """Every line end as CRLF, the last line's included."""
    text = text.replace("\n", "\r\n") if "\r" not in text else _LINE_END.sub("\r\n", text)
    return text if text.endswith("\r\n") else text + "\r\n"


def _travels_bare(data: bytes) -> bool:
    return _has_short_lines(data) and len(data.translate(None, _CONTROLS)) == len(data)


def _has_short_lines(data: bytes) -> bool:
    """Whether no line is longer than it may be: leaps from line end to line end, each leap as far as it may go."""
    start, furthest = 0, LONGEST_LINE + 2
    while len(data) - start > furthest:
        end = data.rfind(b"\r\n", start, start + furthest)
        if end < 0:
            return False
        start = end + 2
    return True


def encode_base64(data: bytes) -> bytes:
    """Base64 in CRLF lines of 76 characters."""
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
