"""What may stand in a header, whoever supplied it.

A header is one line of a protocol that is spoken in lines, so a line break that slips into a value becomes a header of
the attacker's choosing. Parsers make it worse by decoding encoded words (`=?utf-8?q?=0A?=`) *after* the line breaks
were looked for. Both are refused here, once, before anything is stored; the writer can then trust what it is given.
"""

from __future__ import annotations

import re

from postroom.errors import InvalidEmail

LONGEST_VALUE = 8_000
"""Characters in one header value. Servers refuse far less than this; a longer one is a mistake or an attack."""

LONGEST_WORD = 900
"""A line may have 998 octets and can be folded only where there is a space."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# Wider than RFC 2047 allows, because parsers are: Python's takes spaces in the charset, others an unknown encoding.
_ENCODED_WORD = re.compile(r"=\?(?:[^?]*\?[bBqQ]|[^?\s]*\?[^?\s]*)\?.*?\?=")
_HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,74}")
_RESERVED = frozenset(
    ("from", "sender", "to", "cc", "bcc", "subject", "date", "message-id", "mime-version", "received", "return-path")
)
_RESERVED_PREFIXES = ("content-", "dkim-", "resent-")

REORDERING = "\u202a-\u202e\u2066-\u2069"
"""Characters that show their neighbours in another order, for use inside a regular expression's class."""

DIRECTIONAL = "\u061c\u200e\u200f" + REORDERING
"""These and the plain direction marks, which honest names in right-to-left scripts may need."""


def check_value(field: str, value: str) -> None:
    """Refuse whatever could end the line, hide in it or be decoded into something else."""
    # Printable is decided in C and is true of nearly every value; it knows no control, format or surrogate characters.
    if not (value.isprintable() and "=?" not in value and len(value) <= LONGEST_VALUE):
        _check_closely(field, value)


def _check_closely(field: str, value: str) -> None:
    if len(value) > LONGEST_VALUE:
        raise InvalidEmail(field, f"has {len(value):,} characters", f"shorten it to {LONGEST_VALUE:,}")
    if match := _CONTROL.search(value):
        raise InvalidEmail(field, f"contains the {describe(match[0])}", "remove it; a header is a single line of text")
    if _ENCODED_WORD.search(value):
        raise InvalidEmail(
            field,
            "contains an encoded word (=?charset?encoding?text?=)",
            "give the plain text; Postroom encodes it for the wire",
        )


def check_is_text(field: str, value: object) -> None:
    """Refuse what type checkers would have refused, where nobody asked one."""
    if not isinstance(value, str):
        raise InvalidEmail(field, f"expected str, got {type(value).__name__}", "give it as text")


def check_header(name: str, value: str) -> None:
    """Refuse a header that is malformed, unsafe, or written by Postroom itself."""
    field = f"headers[{name!r}]"
    check_is_text(field, name)
    check_is_text(field, value)
    if not _HEADER_NAME.fullmatch(name):
        raise InvalidEmail(field, "is not a header name", "use up to 75 letters, digits and hyphens, such as X-Thing")
    lowered = name.lower()
    if lowered in _RESERVED or lowered.startswith(_RESERVED_PREFIXES):
        raise InvalidEmail(field, "is written by Postroom itself", "use the field of Email that stands for it, if any")
    check_value(field, value)
    if value.isascii() and any(len(word) > LONGEST_WORD for word in value.split(" ")):
        raise InvalidEmail(
            field, "has a word too long for one line", f"put a space at least every {LONGEST_WORD} characters"
        )


def check_body(field: str, body: str) -> None:
    """Refuse what no database or mail server will carry: NUL and lone surrogates. Other characters are encoded."""
    check_is_text(field, body)
    if "\0" in body:
        raise InvalidEmail(field, "contains a NUL character", "remove it, or send binary content as an attachment")
    if not body.isascii():
        try:
            body.encode()
        except UnicodeEncodeError as error:
            found = describe(body[error.start])
            raise InvalidEmail(
                field, f"contains a {found}", "decode the text rightly, or with errors='replace'"
            ) from error


def describe(character: str) -> str:
    """Name a character that had better not be printed."""
    code = ord(character)
    kind = "lone surrogate" if 0xD800 <= code <= 0xDFFF else "control character"
    names = {"\r": "carriage return", "\n": "line feed", "\0": "NUL character"}
    return names.get(character, f"{kind} U+{code:04X}")
