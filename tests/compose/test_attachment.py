"""Attachments have names that cannot hurt the machine they arrive on."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from hashlib import sha256
from typing import Any

import pytest

from postroom.compose import Attachment
from postroom.errors import InvalidEmail


@pytest.mark.parametrize(
    ("filename", "content_type"),
    [
        ("report.pdf", "application/pdf"),
        ("photo.JPG", "image/jpeg"),
        ("unknown.zzz", "application/octet-stream"),
        ("none", "application/octet-stream"),
        ("archive.tar.gz", "application/octet-stream"),
        ("mail.eml", "application/octet-stream"),
    ],
)
def test_the_content_type_is_guessed_from_the_name(filename: str, content_type: str) -> None:
    assert Attachment(filename, b"x").content_type == content_type


def test_a_given_content_type_is_kept() -> None:
    assert Attachment("a.csv", b"x", "text/csv; charset=utf-8").content_type == "text/csv; charset=utf-8"


def test_a_content_id_is_kept_without_its_brackets() -> None:
    assert Attachment("a.png", b"x", content_id="<logo@example.org>").content_id == "logo@example.org"


def test_the_digest_is_that_of_the_content() -> None:
    attachment = Attachment("a.bin", b"content")

    assert attachment.digest == sha256(b"content").hexdigest()
    assert attachment.digest is attachment.digest, "computed once"


def test_an_attachment_is_a_value_whose_content_is_not_shown() -> None:
    attachment = Attachment("a.bin", b"secret")
    assert attachment.digest

    assert attachment == Attachment("a.bin", b"secret")
    assert "secret" not in repr(attachment)
    with pytest.raises(FrozenInstanceError):
        attachment.content = b"other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("filename", "problem"),
    [
        ("../etc/passwd", "path"),
        ("/etc/passwd", "path"),
        ("a/b.txt", "path"),
        ("C:\\windows\\x.exe", "path"),
        ("..", "path"),
        (".", "path"),
        ("", "not a file name"),
        (" a.txt", "not a file name"),
        ("a.txt ", "not a file name"),
        ("a\r\nb.txt", "carriage return"),
        ("a\0.txt", "NUL"),
        ("a\x1f.txt", "U+001F"),
        ("a\x9f.txt", "U+009F"),
        ("invoice\u202efdp.exe", "text-direction character U+202E"),
        ("a\u200fb.txt", "text-direction character U+200F"),
        ("a\u2066b.txt", "text-direction character U+2066"),
        ("a\ud800.txt", "lone surrogate"),
        ("=?utf-8?q?x?=.txt", "encoded word"),
        ("x" * 256, "longer than 255"),
        ("報" * 86, "longer than 255"),
        (7, "got int"),
    ],
)
def test_a_dangerous_name_is_refused(filename: Any, problem: str) -> None:
    with pytest.raises(InvalidEmail) as refusal:
        Attachment(filename, b"x")

    assert refusal.value.field == f"attachments[{filename!r}]"
    assert problem in refusal.value.problem
    assert refusal.value.remedy


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"content": "text"}, "attachments['a.txt']"),
        ({"content_type": "nonsense"}, "attachments['a.txt'].content_type"),
        ({"content_type": "text/plain\r\nBcc: x"}, "attachments['a.txt'].content_type"),
        ({"content_type": "text/plain; name=" + "x" * 200}, "attachments['a.txt'].content_type"),
        ({"content_type": "multipart/mixed"}, "attachments['a.txt'].content_type"),
        ({"content_type": "Message/RFC822"}, "attachments['a.txt'].content_type"),
        ({"content_id": ""}, "attachments['a.txt'].content_id"),
        ({"content_id": "a b"}, "attachments['a.txt'].content_id"),
        ({"content_id": "a>\r\nBcc: x"}, "attachments['a.txt'].content_id"),
        ({"content_id": "=?utf-8?q?x?="}, "attachments['a.txt'].content_id"),
    ],
)
def test_other_mistakes_are_refused_under_their_name(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidEmail) as refusal:
        Attachment(**({"filename": "a.txt", "content": b"x"} | arguments))

    assert refusal.value.field == field
    assert refusal.value.remedy
