"""Text out of octets: transfer encodings, character sets, encoded words, HTML. None of it can fail."""

from __future__ import annotations

import binascii
import codecs
import encodings
import html
import quopri
import re
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from encodings import normalize_encoding
from encodings.aliases import aliases
from pkgutil import iter_modules

from postroom.returns.reading import limits

_CHARSET = re.compile(r'charset\s*=\s*"?([\w.:+-]+)', re.IGNORECASE)
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")
_BREAKS = re.compile(r"<(?:br|/?p|/?div|/?tr|/?li|/?h[1-6]|/?pre|/?table)\b[^<>]{0,1000}>", re.IGNORECASE)
_HIDDEN = re.compile(r"<(style|script|head)\b|</(style|script|head)\s*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!][A-Za-z0-9:-]{0,30}(?:\s[^<>]{0,2000})?/?>")
_CHARSETS = frozenset(module.name for module in iter_modules(encodings.__path__))
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
"""Codecs of Python that no mail is written in; some are slow, some warn."""
_SHIFTED = b"\x1b$"
"""What Japanese begins with in ISO-2022-JP, also where nobody declares it."""


def decoded_text(headers: Message, kind: str, body: bytes) -> str:
    """The beginning of a part, as text."""
    octets = _transferred(str(headers.get("Content-Transfer-Encoding", "")), body[: limits.TEXT])
    found = _CHARSET.search(str(headers.get("Content-Type", ""))[: limits.HEADER])
    text = _in_charset(octets, found[1] if found else "")
    return _without_marks(text) if kind == "text/html" else text


def _transferred(encoding: str, body: bytes) -> bytes:
    match encoding.strip().lower():
        case "base64":
            letters = _NOT_BASE64.sub(b"", body)
            whole = letters[: len(letters) // 4 * 4]
            rest = letters[len(whole) :]
            return binascii.a2b_base64(whole + (rest + b"=" * (4 - len(rest)) if len(rest) > 1 else b""))
        case "quoted-printable":
            return quopri.decodestring(body)
        case _:
            return body


def _is_named(charset: str) -> bool:
    """Whether Python has such a charset. Asked before it is looked up: every name that ever was is remembered there."""
    name = normalize_encoding(charset.lower())
    return name in aliases or name in _CHARSETS


def _in_charset(octets: bytes, charset: str) -> str:
    if _SHIFTED in octets:
        charset = "iso-2022-jp"
    for each in (charset if _is_named(charset) else "", "utf-8"):
        try:
            if each and codecs.lookup(each).name not in _NO_CHARSETS:
                return octets.decode(each, "strict" if each == "utf-8" else "replace")
        except (LookupError, UnicodeError, ValueError):
            continue
    return octets.decode("latin-1")


def _without_marks(text: str) -> str:
    text = "".join(_shown(text))
    return html.unescape(_TAG.sub("", _BREAKS.sub("\n", text)))


def _shown(text: str) -> Iterator[str]:
    """What is not between the marks of a style, a script or the head."""
    begin, hidden = 0, False
    for mark in _HIDDEN.finditer(text):
        if not hidden:
            yield text[begin : mark.start()]
        hidden, begin = bool(mark[1]), mark.end() if mark[2] else mark.start()
    yield "" if hidden else text[begin:]


def words(value: str) -> str:
    """A header's value on one line, its encoded words read."""
    value = " ".join(value[: limits.HEADER].split())
    if "=?" not in value:
        return value
    try:
        pieces = decode_header(value)
    except (ValueError, HeaderParseError):
        return value
    return " ".join("".join(_piece(octets, charset) for octets, charset in pieces).split())


def _piece(octets: bytes | str, charset: str | None) -> str:
    if isinstance(octets, str):
        return octets
    return _in_charset(octets, charset or "")
