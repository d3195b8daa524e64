"""The message as octets (RFC 5322, 2045–2047, 2231, 6532).

Written from a letter whose parts were checked before, so this is mostly joining. The nesting is only as deep as the
content asks for:

    multipart/mixed            with attachments or an invite
    └── multipart/related      with images that the HTML shows
        └── multipart/alternative
            ├── text/plain
            ├── text/html
            └── text/calendar  the invite, for calendars; it is attached as a file as well

The same letter gives the same octets each time: boundaries are made from the Message-ID.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from postroom.compose.headers import (
    address_header,
    custom_header,
    date_at,
    date_value,
    disposition_header,
    fallback_name,
    is_quotable,
    text_header,
)
from postroom.compose.transfer import encode_base64, encode_text

if TYPE_CHECKING:
    from postroom.compose.address import Mailbox
    from postroom.compose.attachment import Attachment
    from postroom.compose.frozen import CalendarObject
    from postroom.compose.letter import Letter


class Part(NamedTuple):
    """A MIME entity: its Content headers, each line ended by CRLF, and its encoded body, ended by CRLF.

    The body is in pieces until the whole message is joined, once: a large one is not copied for each level it is in.
    """

    head: str
    body: list[bytes]


class Bodies(NamedTuple):
    """What an email says, as text or as its UTF-8: of a large one the octets are at hand, and a text would be more."""

    text: str | bytes | None
    html: str | bytes | None


def write_message(letter: Letter, bodies: Bodies | None = None) -> bytes:
    """Every octet between DATA and the final dot, before dots are stuffed. Bcc is not among them.

    `bodies` are those of a letter that was thawed without its own.
    """
    content = _content(letter, bodies or Bodies(letter.text, letter.html))
    head = f"{_headers(letter)}MIME-Version: 1.0\r\n{content.head}\r\n"
    return b"".join([head.encode(), *content.body])


def write_note(
    *,
    message_id: str,
    seconds: int,
    sender: Mailbox,
    recipient: Mailbox,
    subject: str,
    text: str | bytes,
    html: str | bytes,
) -> bytes:
    """The same for a letter that is a text and its HTML, from one to another, with its date in seconds since 1970."""
    (of_plain, plain), (of_html, shown) = encode_text(text), encode_text(html)
    boundary = _boundary(message_id, plain + shown) + "a"
    head = (
        f"{address_header('From', (sender,))}\r\n{address_header('To', (recipient,))}\r\n"
        f"{text_header('Subject', subject)}\r\nDate: {date_at(seconds)}\r\nMessage-ID: {message_id}\r\n"
        f'MIME-Version: 1.0\r\nContent-Type: multipart/alternative;\r\n boundary="{boundary}"\r\n\r\n'
        f"--{boundary}\r\n{_text_head('plain', of_plain)}\r\n"
    )
    between = f"\r\n--{boundary}\r\n{_text_head('html', of_html)}\r\n"
    return b"".join([head.encode(), *plain, between.encode(), *shown, f"\r\n--{boundary}--\r\n".encode()])


def _headers(letter: Letter) -> str:
    lines = [address_header("From", letter.senders)]
    if len(letter.senders) > 1:
        lines.append(address_header("Sender", letter.senders[:1]))
    if letter.reply_to:
        lines.append(address_header("Reply-To", letter.reply_to))
    if letter.to:
        lines.append(address_header("To", letter.to))
    elif not letter.cc:
        lines.append("To: undisclosed-recipients:;")
    if letter.cc:
        lines.append(address_header("Cc", letter.cc))
    lines.append(text_header("Subject", letter.subject))
    lines.append(f"Date: {date_value(letter.date)}")
    lines.append(f"Message-ID: {letter.message_id}")
    lines.extend([custom_header(name, value) for name, value in letter.headers])
    lines.append("")
    return "\r\n".join(lines)


def _content(letter: Letter, bodies: Bodies) -> Part:
    alternatives = _alternatives(letter, bodies)
    boundary = _boundary(letter.message_id, [piece for part in alternatives for piece in part.body])
    content = _joined("alternative", alternatives, boundary + "a")
    if not letter.attachments and not letter.calendar:
        return content
    images = [each for each in letter.attachments if _is_shown(each, bodies)]
    if images:
        related = [content, *[_file(each, "inline") for each in images]]
        content = _joined("related", related, boundary + "r", _related_type(content))
    files = [_file(each, "attachment") for each in letter.attachments if not _is_shown(each, bodies)]
    if letter.calendar:
        files.append(_calendar_file(letter.calendar))
    return _joined("mixed", [content, *files], boundary + "m")


def _alternatives(letter: Letter, bodies: Bodies) -> list[Part]:
    """The same content in several forms, the plainest first."""
    parts = []
    if bodies.text or not bodies.html:
        parts.append(_text("plain", bodies.text or ""))
    if bodies.html:
        parts.append(_text("html", bodies.html))
    if letter.calendar:
        parts.append(_text("calendar", letter.calendar.ics, f"; method={letter.calendar.method}"))
    return parts


def _text(subtype: str, text: str | bytes, parameters: str = "") -> Part:
    encoding, body = encode_text(text)
    return Part(_text_head(subtype, encoding, parameters), body)


def _text_head(subtype: str, encoding: str, parameters: str = "") -> str:
    return f"Content-Type: text/{subtype}; charset=utf-8{parameters}\r\nContent-Transfer-Encoding: {encoding}\r\n"


def _is_shown(attachment: Attachment, bodies: Bodies) -> bool:
    """An image of the HTML. Without HTML there is nothing to show it in, and it becomes an ordinary file."""
    return attachment.content_id is not None and bodies.html is not None


def _file(attachment: Attachment, disposition: str) -> Part:
    filename = attachment.filename
    fallback = "" if is_quotable(filename) else f';\r\n name="{fallback_name(filename)}"'
    lines = [
        f"Content-Type: {attachment.content_type}{fallback}",
        "Content-Transfer-Encoding: base64",
        disposition_header(disposition, filename),
    ]
    if attachment.content_id is not None:
        lines.append(f"Content-ID: <{attachment.content_id}>")
    lines.append("")
    return Part("\r\n".join(lines), encode_base64(attachment.content))


def _calendar_file(calendar: CalendarObject) -> Part:
    head = (
        'Content-Type: application/ics; name="invite.ics"\r\n'
        "Content-Transfer-Encoding: base64\r\n"
        'Content-Disposition: attachment; filename="invite.ics"\r\n'
    )
    return Part(head, encode_base64(calendar.ics.encode()))


def _related_type(root: Part) -> str:
    """RFC 2387: a related multipart names the type of its root."""
    content_type = root.head.removeprefix("Content-Type: ").partition(";")[0]
    return f' type="{content_type}";'


def _joined(subtype: str, parts: list[Part], boundary: str, parameters: str = "") -> Part:
    """Several parts as one; a single part stays as it is."""
    if len(parts) == 1:
        return parts[0]
    head = f'Content-Type: multipart/{subtype};{parameters}\r\n boundary="{boundary}"\r\n'
    pieces: list[bytes] = []
    before = f"--{boundary}\r\n"
    for part in parts:
        pieces.append(f"{before}{part.head}\r\n".encode())
        pieces += part.body
        # The line end before a boundary belongs to the boundary; the body has one of its own.
        before = f"\r\n--{boundary}\r\n"
    pieces.append(f"\r\n--{boundary}--\r\n".encode())
    return Part(head, pieces)


def _boundary(message_id: str, texts: list[bytes]) -> str:
    """The stem of this message's boundaries: the same each time, and in none of its texts.

    `=_` cannot occur in base64 or quoted-printable, so only a text that travels bare can hold one, by chance or malice.
    """
    seed = message_id[1:33]
    if not (seed.isalnum() and seed.isascii()):
        seed = sha256(message_id.encode()).hexdigest()[:32]
    stem = f"=_{seed}_"
    attempt = 0
    while _occurs(stem.encode(), texts):
        attempt += 1
        stem = f"=_{sha256(f'{attempt}{message_id}'.encode()).hexdigest()[:32]}_"
    return stem


def _occurs(stem: bytes, texts: list[bytes]) -> bool:
    for text in texts:  # noqa: SIM110  several times quicker than a generator
        if stem in text:
            return True
    return False
