"""How large a message will be, without writing it."""

from __future__ import annotations

from typing import Protocol

from postroom.compose.address import Address
from postroom.compose.attachment import Attachment
from postroom.compose.transfer import base64_size, text_size

_MESSAGE_OVERHEAD = 500
"""About what the headers of a plain message need."""
_PART_OVERHEAD = 250
"""About what the headers and boundaries of one more part need."""
_ADDRESS_OVERHEAD = 40


class Measurable(Protocol):
    """What an `Email` and a `Letter` have in common here."""

    @property
    def to(self) -> tuple[Address, ...]: ...
    @property
    def cc(self) -> tuple[Address, ...]: ...
    @property
    def subject(self) -> str: ...
    @property
    def text(self) -> str | None: ...
    @property
    def html(self) -> str | None: ...
    @property
    def attachments(self) -> tuple[Attachment, ...]: ...
    @property
    def headers(self) -> tuple[tuple[str, str], ...]: ...


def estimated_size(message: Measurable) -> int:
    """About how many octets the message has on the wire, attachments in base64. An invite is not counted."""
    size = _MESSAGE_OVERHEAD + len(message.subject) + _ADDRESS_OVERHEAD * (len(message.to) + len(message.cc))
    for body in (message.text, message.html):
        if body:
            size += text_size(body) + _PART_OVERHEAD
    for _, value in message.headers:
        size += len(value) + _ADDRESS_OVERHEAD
    for attachment in message.attachments:
        size += base64_size(len(attachment.content)) + _PART_OVERHEAD
    return size
