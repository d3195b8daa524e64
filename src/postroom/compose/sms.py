"""A text message as the application says it: a number and a text. Checked when it is made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from json.encoder import encode_basestring as in_quotes

from postroom.compose.frozen import Frozen, write_envelope
from postroom.compose.limits import Limits
from postroom.compose.safety import check_body, check_is_text
from postroom.compose.segments import segments_of
from postroom.errors import InvalidEmail
from postroom.vocabulary import EmailId

MOST_SEGMENTS = 10
LONGEST_TEXT = 1_600
"""Characters: more than that the gateway refuses (its error 21617)."""

_E164 = re.compile(r"\+[1-9][0-9]{6,14}")


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Sms:
    """One text message to one phone. Making it checks it: an `Sms` that exists can be stored and sent."""

    to: str
    """In the international form of E.164: `+4915112345678`."""
    text: str

    def __init__(self, *, to: str, text: str) -> None:
        keep = object.__setattr__
        keep(self, "to", _checked_number(to))
        keep(self, "text", _checked_text(text))

    @property
    def segments(self) -> int:
        """In how many pieces it travels, and is charged."""
        return segments_of(self.text).count

    def freeze(self, *, id: EmailId, date: datetime, limits: Limits) -> Frozen:
        """As a store keeps it. The subject tells nothing of the text, which is often a code that no list may show."""
        size = len(self.text.encode())
        if size > limits.bytes:
            raise InvalidEmail("text", f"has {size:,} bytes", f"bring it under {limits.bytes:,}")
        segments = self.segments
        return Frozen(
            subject="SMS" if segments == 1 else f"SMS in {segments} segments",
            message_id=f"sms_{id.replace('-', '')}",
            envelope=write_envelope(date, f'{{"to":[{in_quotes(self.to)}]}}'),
            text=self.text,
            html=None,
            size=size,
            recipients=(self.to,),
            attachments=(),
            tags=(),
        )


def _checked_number(number: str) -> str:
    check_is_text("to", number)
    if not _E164.fullmatch(number):
        raise InvalidEmail(
            "to",
            f"{number[:30]!r} is not a number in international form",
            "write it like +4915112345678, without spaces",
        )
    return number


def _checked_text(text: str) -> str:
    check_body("text", text)
    if not text.strip():
        raise InvalidEmail("text", "is empty", "say something")
    found = segments_of(text)
    if found.count > MOST_SEGMENTS or len(text) > LONGEST_TEXT:
        raise InvalidEmail(
            "text",
            f"has {len(text):,} characters, which take {found.count} segments of {found.alphabet}",
            f"shorten it to {MOST_SEGMENTS} segments and {LONGEST_TEXT:,} characters",
        )
    return text
