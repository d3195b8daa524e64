"""Two parsers that know nothing of our writer, and of each other, read a message the way a recipient would."""

from __future__ import annotations

from dataclasses import dataclass
from email import message_from_bytes, message_from_string
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import getaddresses
from typing import Protocol, cast

import fast_mail_parser

from postroom.compose import Address

ADDRESS_FIELDS = ("From", "Reply-To", "To", "Cc")


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    filename: str
    content: bytes
    content_id: str | None
    disposition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a parser found in a message."""

    subject: str
    addresses: dict[str, tuple[Address, ...]]
    headers: dict[str, str]
    texts: dict[str, str]
    """By content type: the leaves that are not files."""
    files: tuple[File, ...]
    shape: object
    """Content types, nested as the parts are."""


class Judge(Protocol):
    def __call__(self, message: bytes) -> Seen: ...


def standard_library(message: bytes) -> Seen:
    """Python's own `email`."""
    if message.isascii():
        parsed = message_from_bytes(message, policy=SMTP)
    else:
        parsed = message_from_string(message.decode(), policy=SMTPUTF8)
    parts = [part for part in parsed.walk() if not part.is_multipart()]
    return Seen(
        subject=str(parsed["Subject"]),
        addresses={name: _addresses(value) for name, value in parsed.raw_items() if name in ADDRESS_FIELDS},
        headers={name: str(value) for name, value in parsed.items()},
        texts={part.get_content_type(): _text(part) for part in parts if part.get_content_disposition() is None},
        files=tuple(_file(part) for part in parts if part.get_content_disposition() is not None),
        shape=_shape(parsed),
    )


def _addresses(raw: str) -> tuple[Address, ...]:
    """By the older functions: the newer ones keep the space between two encoded words of a name until Python 3.13."""
    found = getaddresses(["".join(raw.splitlines())])
    return tuple(Address(str(make_header(decode_header(name))), address) for name, address in found)


def _text(part: EmailMessage) -> str:
    return cast(bytes, part.get_payload(decode=True)).decode()


def _file(part: EmailMessage) -> File:
    content_id = part["Content-ID"]
    return File(
        filename=part.get_filename() or "",
        content=cast(bytes, part.get_payload(decode=True)),
        content_id=str(content_id).strip("<>") if content_id else None,
        disposition=part.get_content_disposition() or "",
    )


def _shape(part: EmailMessage) -> object:
    if not part.is_multipart():
        return part.get_content_type()
    return [part.get_content_type(), *(_shape(cast(EmailMessage, child)) for child in part.iter_parts())]


def rust(message: bytes) -> Seen:
    """The mailparse crate, through fast-mail-parser."""
    mail = fast_mail_parser.parse_email(message)
    tree = fast_mail_parser.parse_email_tree(message)
    leaves = [part for part in fast_mail_parser.walk(tree) if not part.children and part.content is not None]
    # Of several authors this parser tells the first.
    fields = {"From": [mail.from_] if mail.from_ else [], "Reply-To": mail.reply_to, "To": mail.to, "Cc": mail.cc}
    return Seen(
        subject=mail.subject,
        addresses={
            field: tuple(Address(each.display_name or "", each.address) for each in found)
            for field, found in fields.items()
            if found
        },
        headers={name: values[0] for name, values in mail.headers.items()},
        texts={part.content_type: (part.content or b"").decode() for part in leaves if not part.disposition},
        files=tuple(
            File(
                filename=part.filename,
                content=part.content or b"",
                content_id=part.content_id.strip("<>") if part.content_id else None,
                disposition=part.disposition or "",
            )
            for part in leaves
            if part.disposition
        ),
        shape=_rust_shape(tree),
    )


def _rust_shape(part: fast_mail_parser.PyMimePart) -> object:
    if not part.children:
        return part.content_type
    return [part.content_type, *(_rust_shape(child) for child in part.children)]


JUDGES: tuple[Judge, ...] = (standard_library, rust)
