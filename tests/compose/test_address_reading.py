"""Whatever text is accepted goes to exactly the address that a person reads there.

Three judges who do not know each other: the standard library's parser, email-validator, and the eye, which takes
whatever stands around an @ for an address.
"""

from __future__ import annotations

import re
import unicodedata
from email.utils import getaddresses
from typing import Any

import pytest
from email_validator import validate_email
from hypothesis import given
from hypothesis import strategies as st

from postroom import Email, Limits
from postroom.compose import Address, Letter, parse_address, parse_addresses
from postroom.errors import InvalidEmail
from postroom.vocabulary import EmailId
from tests.compose.strategies import DATE

_PIECES = [
    *("alice", "bob", "Ada", "example.org", "evil.com", "localhost", "127.0.0.1", "xn--mnchen-3ya.de", "münchen"),
    *("@", "@", "<", ">", "(", ")", "[", "]", ",", ";", ":", '"', "\\", " ", ".", "-", "+", "_", "'", "=?", "?=", "%"),
    *("ａ", "ｅｘａｍｐｌｅ", "＠", "．", "。", "é", "ß", "ﬁ", "²", "\u0301", "\t", "\u3000", "µ", "а", "K"),
]
_piece = st.sampled_from(_PIECES)
_scraps = st.lists(_piece, max_size=4).map("".join)
_address = st.tuples(
    st.sampled_from(["alice", "bob", "a.b", "é"]),
    st.just("") | _piece,
    st.just("@"),
    st.sampled_from(["example.org", "evil.com", "münchen.de"]),
    st.just("") | _piece,
).map("".join)
_name = (
    _scraps
    | _address
    | st.tuples(_scraps, _address, _scraps).map("".join)
    | _scraps.map('"{}"'.format)
    | st.sampled_from(["Ada", "Dr. Ada", "Ada (Sales)", "Group: Ada"])
)
_texts = (
    st.tuples(_name, st.sampled_from(["", " "]), st.just("<"), _address, st.just(">"), st.just("") | _scraps)
    | st.tuples(_scraps, _address, _scraps)
).map("".join)

_IN_QUOTES = re.compile(r'"(?:[^"\\]|\\.)*"')
_AROUND_AN_AT = re.compile(r"""[^\s<>()\[\],;:"\\@]+@[^\s<>()\[\],;:"\\@]+""")


def _normal(address: str) -> str:
    found = validate_email(address, check_deliverability=False, test_environment=True, globally_deliverable=False)
    return f"{found.local_part}@{found.ascii_domain}"


@given(text=_texts)
def test_whatever_is_accepted_goes_where_everybody_reads_it(text: str) -> None:
    try:
        accepted = parse_address("to", text)
    except InvalidEmail:
        return

    assert _normal(accepted.address) == accepted.address
    by_library = {address for _name, address in getaddresses([text]) if address}
    by_eye = set(_AROUND_AN_AT.findall(_IN_QUOTES.sub("", text)))
    assert {_normal(unicodedata.normalize("NFC", address)) for address in by_library | by_eye} == {accepted.address}


@pytest.mark.parametrize(
    "text",
    [
        "alice@example.org(<bob@example.org>",
        "alice@example.org <bob@example.org>",
        "(alice@example.org) <bob@example.org>",
        "[alice@example.org] <bob@example.org>",
        "Friends: alice <bob@example.org>",
        "Ada \\<alice <bob@example.org>",
        "Ada ( <bob@example.org>",
    ],
)
def test_a_text_that_can_be_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(InvalidEmail):
        parse_address("to", text)


@pytest.mark.parametrize(
    "text",
    ["ａ@example.com", "a@ｅｘａｍｐｌｅ.com", "oﬃce@example.org", "ada＠example.org", "x²@example.org"],
)
def test_letters_that_only_look_like_others_are_refused_and_the_plain_form_is_named(text: str) -> None:
    with pytest.raises(InvalidEmail) as refusal:
        parse_address("to", text)

    assert unicodedata.normalize("NFKC", text) in refusal.value.remedy


def test_harmless_names_need_no_quotes() -> None:
    for name in ("Ada (Sales)", "Dr. Ada", "Jürgen Groß", "O'Neil"):
        assert parse_address("to", f"{name} <ada@example.org>") == Address(name, "ada@example.org")


# ---------------------------------------------------------------- pairs and lists


@pytest.mark.parametrize("field", ["to", "cc", "bcc", "sender", "reply_to"])
def test_a_pair_is_a_name_and_an_address_whatever_the_name_looks_like(field: str) -> None:
    given: Any = {"to": "x@example.org"} | {field: ("mallory@evil.org", "ada@example.org")}

    assert getattr(Email(**given), field) == (Address("mallory@evil.org", "ada@example.org"),)


@pytest.mark.parametrize(
    "value",
    [
        ("a@example.org", "b@example.org", "c@example.org"),
        (("Ada", "a@example.org"), ("Bob", "b@example.org")),
        (Address("", "a@example.org"), "b@example.org"),
        ("a@example.org",),
        ("Ada", None),
        ("Ada", 7),
    ],
)
def test_any_other_tuple_is_refused_with_what_a_tuple_is(value: Any) -> None:
    with pytest.raises(InvalidEmail) as refusal:
        parse_addresses("to", value)

    assert f"a tuple of {len(value)}" in refusal.value.problem
    assert "(name, address)" in refusal.value.remedy
    assert "list" in refusal.value.remedy


def test_a_list_of_two_texts_is_two_recipients() -> None:
    assert len(Email(to=["ada@example.org", "bob@example.org"], text="Hi").to) == 2


def test_the_fields_of_one_email_can_be_given_to_another() -> None:
    first = Email(to=["ada@example.org", "bob@example.org", ("Kay", "kay@example.org")], text="Hi")

    assert Email(to=first.to, cc=first.cc, text="Hi").to == first.to


# ---------------------------------------------------------------- domains without a dot


def _frozen(limits: Limits, **email: Any) -> None:
    letter = Letter.compose(
        Email(**{"to": "ada@example.org", "text": "Hi"} | email),
        id=EmailId("01890a5d-ac96-774b-bcce-b302099a8057"),
        date=DATE,
        default_sender=Address("", "postroom@localhost"),
    )
    letter.freeze_within(limits)


@pytest.mark.parametrize("field", ["to", "cc", "bcc", "reply_to"])
@pytest.mark.parametrize("address", ["root@localhost", "user@intranet", "Ada <ada@intranet>"])
def test_a_domain_without_a_dot_is_refused_unless_a_setting_allows_it(field: str, address: str) -> None:
    with pytest.raises(InvalidEmail, match="POSTROOM_DOTLESS_DOMAINS") as refusal:
        _frozen(Limits(), **{field: address})

    assert refusal.value.field == field
    _frozen(Limits(dotless_domains=True), **{field: address})
