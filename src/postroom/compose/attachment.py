"""A file that travels with an email, or an image shown inside it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from mimetypes import guess_type

from postroom.compose.safety import DIRECTIONAL, check_is_text, check_value
from postroom.errors import InvalidEmail

LONGEST_FILENAME = 255
"""Octets in UTF-8: what file systems take. Percent-encoded, that still fits a line."""

_WORD = r"[A-Za-z0-9!#$&^_.+-]{1,127}"
_CONTENT_TYPE = re.compile(rf'{_WORD}/{_WORD}(?:; ?{_WORD}=(?:{_WORD}|"[A-Za-z0-9 _.:/+-]{{1,127}}"))*')
_CONTENT_ID = re.compile(r"[A-Za-z0-9!#$%&'*+/^_`{|}~.@-]{1,200}")
_DIRECTIONAL = re.compile(rf"[{DIRECTIONAL}]")
_OPAQUE = "application/octet-stream"


@dataclass(frozen=True, slots=True, init=False)
class Attachment:
    """Content under a file name, checked when made. With a `content_id`, HTML can show it: `<img src="cid:logo">`."""

    filename: str
    """A bare name: no path, no control or text-direction characters."""
    content: bytes = field(repr=False)
    content_type: str
    """Guessed from the name when not given."""
    content_id: str | None
    """Without angle brackets; None for an ordinary attachment."""
    _digest: str | None = field(repr=False, compare=False)

    def __init__(
        self, filename: str, content: bytes, content_type: str | None = None, content_id: str | None = None
    ) -> None:
        _check_filename(filename)
        if not isinstance(content, bytes):
            raise InvalidEmail(
                f"attachments[{filename!r}]", f"expected bytes, got {type(content).__name__}", "encode the content"
            )
        _fill(
            self,
            filename,
            content,
            _guessed(filename) if content_type is None else _checked_type(filename, content_type),
            None if content_id is None else _checked_id(filename, content_id),
        )

    @classmethod
    def thawed(
        cls, *, filename: str, content: bytes, content_type: str, content_id: str | None, digest: str
    ) -> Attachment:
        """One that was checked when it was stored and is not checked again."""
        attachment = cls.__new__(cls)
        _fill(attachment, filename, content, content_type, content_id, digest)
        return attachment

    @property
    def digest(self) -> str:
        """SHA-256 of the content, in hexadecimal. Computed once, so that one file sent to many costs one pass."""
        if self._digest is None:
            object.__setattr__(self, "_digest", sha256(self.content).hexdigest())
        assert self._digest is not None
        return self._digest


def _fill(
    attachment: Attachment,
    filename: str,
    content: bytes,
    content_type: str,
    content_id: str | None,
    digest: str | None = None,
) -> None:
    values = (filename, content, content_type, content_id, digest)
    for name, value in zip(("filename", "content", "content_type", "content_id", "_digest"), values, strict=True):
        object.__setattr__(attachment, name, value)


def _check_filename(filename: str) -> None:
    field_name = f"attachments[{filename!r}]"
    check_is_text(field_name, filename)
    if not filename or filename != filename.strip():
        raise InvalidEmail(field_name, "is not a file name", "give a name without spaces around it, such as report.pdf")
    check_value(field_name, filename)
    if "/" in filename or "\\" in filename or filename in (".", ".."):
        raise InvalidEmail(field_name, "is a path", "give the bare name, such as report.pdf")
    if match := _DIRECTIONAL.search(filename):
        code = f"U+{ord(match[0]):04X}"
        raise InvalidEmail(field_name, f"contains the text-direction character {code}", "remove it from the name")
    if len(filename.encode()) > LONGEST_FILENAME:
        raise InvalidEmail(field_name, f"is longer than {LONGEST_FILENAME} octets", "shorten the name")


def _guessed(filename: str) -> str:
    guessed, compression = guess_type(filename)
    # RFC 2046 forbids encoding a message or a multipart; as opaque octets the file arrives as it is.
    if guessed is None or compression is not None or guessed.startswith(("message/", "multipart/")):
        return _OPAQUE
    return guessed


def _checked_type(filename: str, content_type: str) -> str:
    field_name = f"attachments[{filename!r}].content_type"
    if len(content_type) > 200 or not _CONTENT_TYPE.fullmatch(content_type):
        raise InvalidEmail(field_name, f"{content_type!r} is not a content type", "write it like application/pdf")
    if content_type.lower().startswith(("message/", "multipart/")):
        raise InvalidEmail(field_name, f"{content_type!r} cannot be attached encoded", f"use {_OPAQUE}")
    return content_type


def _checked_id(filename: str, content_id: str) -> str:
    bare = content_id.removeprefix("<").removesuffix(">")
    if not _CONTENT_ID.fullmatch(bare):
        raise InvalidEmail(
            f"attachments[{filename!r}].content_id",
            f"{content_id!r} is not a content id",
            "use letters, digits and hyphens, as in cid:logo",
        )
    return bare
