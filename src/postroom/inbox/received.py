"""A message taken apart for reading.

What comes in may be broken, by accident or on purpose, and the standard library's parser raises whatever it stumbles
over. Here nothing is raised: what cannot be understood is left out or shown as it is, and the source is always there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage, Message
from email.parser import BytesParser
from email.policy import default
from functools import partial
from typing import TypeVar, cast

from postroom.compose.plaintext import text_from_html
from postroom.inbox.invitation import Invitation, read_invitation

_T = TypeVar("_T")
_BODIES = ("text/plain", "text/html")
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """A file that travels with the message, or a picture within it."""

    number: int
    """Its place among the enclosures, from 1."""
    name: str
    media_type: str
    content: bytes
    content_id: str
    """Without its angle brackets; empty when nothing refers to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMessage:
    """One message as its reader sees it."""

    headers: tuple[tuple[str, str], ...] = ()
    """In order, encoded words decoded."""
    text: str | None = None
    html: str | None = None
    enclosures: tuple[Enclosure, ...] = ()
    invitation: Invitation | None = None
    pictures: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """Content-ID to media type and octets, for the HTML."""

    def header(self, name: str) -> str:
        """The first of that name; empty when there is none."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def plain_text(self) -> str:
        """The text, or else what the HTML says."""
        if self.text is not None or self.html is None:
            return self.text or ""
        return _asked(lambda: text_from_html(self.html or ""), "")


def read_message(source: bytes) -> ReadMessage:
    """Never raises; at worst a letter is empty, and its source is all there is to see."""
    return _asked(lambda: _read(BytesParser(EmailMessage, policy=default).parsebytes(source)), ReadMessage())


def _read(message: Message) -> ReadMessage:
    texts: dict[str, str] = {}
    enclosures: list[Enclosure] = []
    invitation: Invitation | None = None
    for part in _leaves(message):
        media_type = _asked(part.get_content_type, "application/octet-stream")
        if media_type in _BODIES and media_type not in texts and not _is_file(part):
            texts[media_type] = _text(part)
        elif media_type == "text/calendar" and invitation is None and (found := read_invitation(_octets(part))):
            invitation = found
        else:
            enclosures.append(_enclosure(part, media_type, len(enclosures) + 1))
    return ReadMessage(
        headers=tuple(_headers(message)),
        text=texts.get("text/plain"),
        html=texts.get("text/html"),
        enclosures=tuple(enclosures),
        invitation=invitation,
        pictures={each.content_id: (each.media_type, each.content) for each in enclosures if each.content_id},
    )


def _is_file(part: Message) -> bool:
    return _asked(lambda: part.get_content_disposition() == "attachment", False)


def _leaves(message: Message) -> Iterator[Message]:
    """The parts that hold something, in order. A message within the message is one part."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        if part.is_multipart() and part.get_content_maintype() == "multipart":
            waiting += reversed([each for each in part.get_payload() if isinstance(each, Message)])
        else:
            yield part


def _headers(message: Message) -> Iterator[tuple[str, str]]:
    for name, value in message.raw_items():
        # Parsed one by one: a header that the parser cannot bear is shown as it was written.
        yield name, _readable(_asked(partial(_decoded, name, value), str(value)))


def _decoded(name: str, value: str) -> str:
    return str(default.header_fetch_parse(name, value))


def _text(part: Message) -> str:
    octets = _octets(part)
    charset = _asked(lambda: part.get_content_charset("utf-8"), "utf-8")
    text = _asked(lambda: octets.decode(charset, "replace"), "") or octets.decode("utf-8", "replace")
    return _readable(text.replace("\r\n", "\n"))


def _octets(part: Message) -> bytes:
    if part.is_multipart():  # message/rfc822 and its like
        return _asked(lambda: b"".join(each.as_bytes() for each in part.get_payload()), b"")  # type: ignore[union-attr]
    return _asked(lambda: cast(bytes | None, part.get_payload(decode=True)), None) or b""


def _enclosure(part: Message, media_type: str, number: int) -> Enclosure:
    name = _UNFIT.sub("_", _readable(_asked(lambda: part.get_filename() or "", "")))[:200].strip()
    return Enclosure(
        number=number,
        name=name or f"part-{number}",
        media_type=media_type,
        content=_octets(part),
        content_id=_asked(lambda: str(part.get("Content-ID", "")).strip().strip("<>"), ""),
    )


def _readable(text: str) -> str:
    """Without halves of characters, which no page and no database takes."""
    return text.encode("utf-8", "replace").decode()


def _asked(question: Callable[[], _T], otherwise: _T) -> _T:
    try:
        return question()
    except Exception:  # noqa: BLE001 -- the standard library's parser raises all kinds of things for broken mail
        return otherwise
