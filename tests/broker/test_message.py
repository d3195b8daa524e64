"""What travels over the broker: read back as it was written, and anything else refused without being repeated."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import DeadReason, EmailId
from postroom.broker.message import LARGEST, Poison, decode, encode, message_key, obituary, without_addresses
from postroom.store.contract import Claim
from postroom.store.dispatch import Died, Named
from postroom.vocabulary import LeaseToken

ID = "01890000-0000-7000-8000-000000000001"

NO_KEYS = (
    *(None, 1, "", ID, f"{ID}:", f"{ID}:0", f"{ID}:-1", f"{ID}:01", f"{ID}:1.0", f"{ID}:1 ", f"{ID}:1\n"),
    *(f"{ID}:9999999999", f"{ID}:²", f"{ID}:١", f"{ID[:-1]}2:1", f" {ID}:1"),
)

ids = st.uuids().map(lambda uuid: EmailId(str(uuid)))
named = st.builds(Named, ids, st.integers(1, 999_999_999))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)

atoms = st.text("abcXYZ019!#$%&'*+-/=?^_`{|}~éß", min_size=1, max_size=8)
local_parts = st.lists(atoms, min_size=1, max_size=3).map(".".join) | st.text("ab c@,;:<>()[]'.", max_size=8).map(
    lambda text: f'"{text}"'
)
domains = st.from_regex(r"\A[a-zé]{1,8}(\.[a-z]{2,5}){1,2}\Z") | st.sampled_from(
    ["[192.0.2.1]", "[IPv6:2001:db8::1]", "localhost", "xn--bcher-kva.example"]
)
addresses = st.tuples(local_parts, domains).map("@".join)
SURROUNDINGS = ("<{}>", "{}", "({})", "{}:", "to={}", "'{}'", '"{}"', "{},")


@given(named)
def test_a_message_is_read_back_as_it_was_written(message: Named) -> None:
    assert decode(encode(message)) == message


@given(named)
def test_a_message_is_json_with_the_two_members_that_were_agreed_on(message: Named) -> None:
    """(D3)"""
    assert json.loads(encode(message)) == {
        "emailId": message.id,
        "messageKey": message_key(message.id, message.attempt),
    }


@given(named, st.dictionaries(st.text(), json_values, max_size=3))
def test_members_that_nobody_knows_are_left_alone(message: Named, others: dict[str, Any]) -> None:
    body = json.dumps(others | json.loads(encode(message))).encode()

    assert len(body) > LARGEST or decode(body) == message


@given(named, named)
def test_a_key_names_one_attempt_of_one_email(one: Named, other: Named) -> None:
    same = message_key(one.id, one.attempt) == message_key(other.id, other.attempt)

    assert same == (one == other)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON"),
        (b"hello", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"\x00" * 100, "not JSON"),
        (b"[" * 4_000, "not JSON"),
        (b"1" * 4_000, "not an object"),
        (b'{"emailId":', "not JSON"),
        (b"x" * (LARGEST + 1), "larger than 4,096 bytes"),
        (encode(Named(EmailId(ID), 1)) + b" " * LARGEST, "larger than 4,096 bytes"),
        (b"null", "not an object"),
        (b"[]", "not an object"),
        (f'"{ID}"'.encode(), "not an object"),
        (b"{}", "emailId is not an email's id"),
        (json.dumps({"emailId": 7, "messageKey": "7:1"}).encode(), "emailId is not an email's id"),
        (json.dumps({"emailId": ID + "\n", "messageKey": f"{ID}\n:1"}).encode(), "emailId is not an email's id"),
        (json.dumps({"emailId": "' OR 1", "messageKey": "' OR 1:1"}).encode(), "emailId is not an email's id"),
        (json.dumps({"emailId": ID}).encode(), "messageKey does not name an attempt of that email"),
        *(
            (json.dumps({"emailId": ID, "messageKey": key}).encode(), "messageKey does not name an attempt")
            for key in NO_KEYS
        ),
    ],
)
def test_what_makes_no_sense_is_poison_with_a_reason(body: bytes, reason: str) -> None:
    with pytest.raises(Poison, match=reason):
        decode(body)


@given(st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
def test_whatever_arrives_is_a_name_or_poison(body: bytes) -> None:
    """A sender must not fall over a message, whoever published it."""
    message = None
    with suppress(Poison):
        message = decode(body)

    assert message is None or UUID(message.id)


@given(st.text(min_size=12, max_size=300))
def test_the_reason_does_not_repeat_the_message(content: str) -> None:
    """Nobody knows what it is, so it does not belong into a log."""
    with pytest.raises(Poison) as poison:
        decode(json.dumps({"emailId": content, "messageKey": content}).encode())

    assert content not in str(poison.value)


@given(addresses, st.sampled_from(SURROUNDINGS), st.sampled_from(["550 5.1.1 {} unknown", "{}", "User {}\nnot here"]))
def test_no_address_is_left_in_what_a_server_said(address: str, around: str, said: str) -> None:
    """Neither the address, nor who it is for."""
    text = without_addresses(said.format(around.format(address)))
    local = address.rpartition("@")[0]

    assert address not in text
    assert len(local) < 4 or local not in text


@given(st.text("abc 019-_.:;,<>()[]\"'"))
def test_what_holds_no_address_stays_as_it_is(text: str) -> None:
    assert without_addresses(text) == text


def test_several_addresses_go_and_the_words_around_them_stay() -> None:
    said = "550 <ada@example.org>, bob@example.com: no such users (see o'brien@[192.0.2.1])"

    assert without_addresses(said) == "550 <[address]>, [address]: no such users (see [address])"


@pytest.mark.parametrize("last_error", [None, "451 try later", "550 <ada@example.org> is unknown"])
def test_the_news_of_a_death_says_who_and_why_without_an_address(last_error: str | None) -> None:
    """(D5)"""
    died = Died(
        claim=Claim(EmailId(ID), LeaseToken(3)),
        reason=DeadReason.MAX_ATTEMPTS,
        attempts=8,
        last_error=last_error,
        at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )

    assert json.loads(obituary(died)) == {
        "emailId": ID,
        "reason": "max_attempts",
        "attempts": 8,
        "lastError": last_error and last_error.replace("ada@example.org", "[address]"),
        "at": "2026-01-02T03:04:05+00:00",
    }


@given(named)
def test_a_message_of_another_deployment_is_refused(message: Named) -> None:
    """A copy of the database has emails of the same ids: a shared broker would have them sent from there too."""
    written = encode(message, deployment="a1b2")

    assert decode(written, deployment="a1b2") == message
    for other in ("", "c3d4"):
        with pytest.raises(Poison, match="of another deployment"):
            decode(written, deployment=other)


@given(named)
def test_a_message_that_names_no_deployment_is_anybody_s(message: Named) -> None:
    """As schedulers of the version before write them."""
    assert decode(encode(message), deployment="a1b2") == message
