"""Encoded words as RFC 2047 has them: short, whole, and alone in being encoded."""

from __future__ import annotations

import re
from base64 import b64decode
from quopri import decodestring

import pytest
from hypothesis import example, given

from postroom.compose import Address
from postroom.compose.headers import address_header, custom_header, fallback_name, text_header
from tests.compose.strategies import header_texts, names

WORD = re.compile(r"=\?utf-8\?([bq])\?([!->@-~]*)\?=")


def _decoded(encoding: str, text: str) -> str:
    """Strictly, so that a character split between two words is an error."""
    octets = b64decode(text, validate=True) if encoding == "b" else decodestring(text.encode(), header=True)
    return octets.decode()


@given(value=header_texts)
@example(value="🎉" * 100)
@example(value="é" * 200)
@example(value="mostly ASCII, é " * 20)
@example(value="漢" * 99)
def test_no_encoded_word_is_too_long_or_splits_a_character(value: str) -> None:
    line = text_header("Subject", value)
    words = list(WORD.finditer(line))

    assert all(len(word[0]) <= 75 for word in words)
    if words:
        assert "".join(_decoded(word[1], word[2]) for word in words) == value
        assert all(len(each) <= 76 for each in line.split("\r\n"))


@given(name=names)
@example(name="Zoë " * 40)
@example(name="李" * 100)
def test_a_name_is_encoded_in_words_that_fit_behind_any_address_header(name: str) -> None:
    line = address_header("Reply-To", (Address(name, "a@example.org"),))
    words = list(WORD.finditer(line))

    assert all(len(word[0]) <= 75 for word in words)
    assert all(len(each) <= 76 for each in line.split("\r\n") if "=?utf-8?" in each and "@" not in each)
    if words:
        assert "".join(_decoded(word[1], word[2]) for word in words) == name


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Ada Lovelace", "Ada Lovelace <a@example.org>"),
        ("Lovelace, Ada", '"Lovelace, Ada" <a@example.org>'),
        ('Ada "The" \\ L', '"Ada \\"The\\" \\\\ L" <a@example.org>'),
        ("Two  spaces", '"Two  spaces" <a@example.org>'),
        ("Zoë", "=?utf-8?q?Zo=C3=AB?= <a@example.org>"),
        ("李", "=?utf-8?b?5p2O?= <a@example.org>"),
        ("", "a@example.org"),
    ],
)
def test_a_name_is_written_as_plainly_as_it_can_be(name: str, written: str) -> None:
    assert address_header("To", (Address(name, "a@example.org"),)) == f"To: {written}"


def test_ascii_of_the_callers_own_is_never_encoded() -> None:
    """An encoded URL or message id would be useless to those who look for it."""
    url = "<https://example.org/unsubscribe?token=" + "x" * 200 + ">"

    assert custom_header("List-Unsubscribe", url) == f"List-Unsubscribe: {url}"


@pytest.mark.parametrize(
    ("filename", "fallback"),
    [
        ("Übersicht.pdf", "Ubersicht.pdf"),
        ("报告.docx", "attachment.docx"),
        ('a"b;c.txt', "a_b_c.txt"),
        ("報", "attachment"),
    ],
)
def test_old_readers_get_a_name_in_ascii(filename: str, fallback: str) -> None:
    assert fallback_name(filename) == fallback
