"""Addresses are understood in every form people write them in, and refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.compose import Address, parse_address, parse_addresses
from postroom.errors import InvalidEmail
from tests.compose.strategies import addresses

ADA = Address("Ada Lovelace", "ada@example.org")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ada@example.org", Address("", "ada@example.org")),
        (" ada@example.org ", Address("", "ada@example.org")),
        ("Ada Lovelace <ada@example.org>", ADA),
        ('"Ada Lovelace" <ada@example.org>', ADA),
        ('"Lovelace, \\"Ada\\"" <ada@example.org>', Address('Lovelace, "Ada"', "ada@example.org")),
        ("<ada@example.org>", Address("", "ada@example.org")),
        ("ada@example.org <ada@example.org>", Address("ada@example.org", "ada@example.org")),
        (ADA, ADA),
        (("Ada Lovelace", "ada@example.org"), ADA),
        (("Lovelace, Ada", "ada@example.org"), Address("Lovelace, Ada", "ada@example.org")),
        ("Ada+tag.x_y@Sub.EXAMPLE.Org", Address("", "Ada+tag.x_y@sub.example.org")),
        ("ada@localhost", Address("", "ada@localhost")),
        ("x@example.test", Address("", "x@example.test")),
        ("a@b.internal", Address("", "a@b.internal")),
        ("o'neil@example.org", Address("", "o'neil@example.org")),
        ("jürgen@example.org", Address("", "jürgen@example.org")),
        ("ada@münchen.de", Address("", "ada@xn--mnchen-3ya.de")),
        ("ada@müller.test", Address("", "ada@xn--mller-kva.test")),
        ("Jürgen Groß <j@example.org>", Address("Jürgen Groß", "j@example.org")),
        ("a" * 64 + "@example.org", Address("", "a" * 64 + "@example.org")),
    ],
)
def test_an_address_is_understood(value: Any, expected: Address) -> None:
    assert parse_address("to", value) == expected


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "not an email address"),
        ("ada", "not an email address"),
        ("ada@", "not an email address"),
        ("@example.org", "not an email address"),
        ("ada@@example.org", "not an email address"),
        ("ada..x@example.org", "not an email address"),
        (".ada@example.org", "not an email address"),
        ("ada@-example.org", "not an email address"),
        ("ada@example..org", "not an email address"),
        ("ada@exa_mple.org", "not an email address"),
        ("ada@127.0.0.1", "not an email address"),
        ("a@x.org,b@x.org", "several addresses"),
        ("=?utf-8?q?ada?=@example.org", "encoded word"),
        ("=?x@example.org", "not an email address"),
        ("ada lovelace@example.org", "a space"),
        ("ada@exam ple.org", "a space"),
        ("ada@[127.0.0.1]", "'['"),
        ("<ada>@example.org", "'<'"),
        ("ada(comment)@example.org", "'('"),
        ('"ada"@example.org', "'\"'"),
        ("ada\r\n@example.org", "carriage return"),
        ("ada@example.org\nBcc: x@example.org", "line feed"),
        ("ada\0@example.org", "NUL"),
        ("ada\x7f@example.org", "U+007F"),
        ("ada\u200b@example.org", "'\\u200b'"),
        ("ada\u202e@example.org", "'\\u202e'"),
        ("ada\u00a0@example.org", "a space"),
        ("ada\ud800@example.org", "lone surrogate"),
        ("ü@exa\u00admple.org", "'\\xad'"),
        ("ü@-.org", "not an email address"),
        ("a" * 65 + "@example.org", "longer than 64"),
        ("ü" * 33 + "@example.org", "longer than 64"),
        ("a@" + "b." * 127 + "org", "longer than 255"),
        ("a@" + "b" * 64 + ".org", "not an email address"),
        ("a" * 60 + "@" + "b.c" * 63 + ".example", "longer than 254"),
        ("a@x.org, Bob <bob@example.org>", "several addresses"),
        ("a@x.org Bob <bob@example.org>", "several addresses"),
        ("Bob <b@example.org>, Eve <e@example.org>", "several addresses"),
        ("Ada\r\nBcc: x <ada@example.org>", "carriage return"),
        (("Ada\nBcc: x", "ada@example.org"), "line feed"),
        (("=?utf-8?q?=0A?=Bcc: x", "ada@example.org"), "encoded word"),
        (("Ada \u202egro.live", "ada@example.org"), "text-direction character U+202E"),
        (("A" * 257, "ada@example.org"), "257 characters"),
        (("Ada", "not an address"), "a space"),
        (7, "got int"),
        (None, "got NoneType"),
        (("Ada", "ada@example.org", "x"), "got tuple"),
        (b"ada@example.org", "got bytes"),
    ],
)
def test_an_address_is_refused_with_field_problem_and_remedy(value: Any, problem: str) -> None:
    with pytest.raises(InvalidEmail) as refusal:
        parse_address("cc", value)

    assert refusal.value.field == "cc"
    assert problem in refusal.value.problem
    assert refusal.value.remedy


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ([], []),
        ("ada@example.org", ["ada@example.org"]),
        (ADA, ["ada@example.org"]),
        (("Ada", "ada@example.org"), ["ada@example.org"]),
        ((ADA, Address("", "bob@example.org")), ["ada@example.org", "bob@example.org"]),
        ([("Ada", "ada@example.org"), "Bob <bob@example.org>"], ["ada@example.org", "bob@example.org"]),
        ((each for each in ("a@x.org", "b@x.org", "c@x.org")), ["a@x.org", "b@x.org", "c@x.org"]),
    ],
)
def test_one_or_many_addresses_are_understood(value: Any, expected: list[str]) -> None:
    assert [each.address for each in parse_addresses("to", value)] == expected


@given(address=addresses)
def test_the_shown_form_is_understood_again(address: Address) -> None:
    assert parse_address("to", str(address)) == address


@given(text=st.text(max_size=40))
def test_any_text_is_either_an_address_or_refused(text: str) -> None:
    """Nothing else comes out, and what is accepted is safe to write on a line."""
    try:
        address = parse_address("to", text)
    except InvalidEmail:
        return
    assert str(address).isprintable() or "\u200d" in text or "\u200c" in text
    assert address.address.count("@") == 1


def test_a_domain_can_be_asked_for() -> None:
    assert ADA.domain == "example.org"
