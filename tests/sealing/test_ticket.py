"""A token is read by whoever has its secret, as it was written, and tells nobody else anything."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.errors import ConfigurationError
from postroom.sealing import NO_KEYS, Keyring, Ticket, sealed, unsealed
from postroom.sealing.keyring import Key
from postroom.sealing.ticket import PURPOSE
from postroom.store.ids import new_id

SECRET, OTHER, THIRD = "a" * 40, "b" * 40, "c" * 40
HERE = Keyring(SECRET)
TICKET = Ticket(
    email_id=new_id(), address="ada.lovelace@example.org", workspace="hill-house", kind="hub.newsletter",
    language="de-CH", region="deu1",
)  # fmt: skip

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
tickets = st.builds(
    Ticket,
    email_id=st.uuids().map(str),
    address=words,
    workspace=words,
    kind=words,
    language=words,
    region=words,
)


def octets(token: str) -> bytes:
    return urlsafe_b64decode(token + "=" * (-len(token) % 4))


def written(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


@given(tickets)
def test_what_was_sealed_is_read_again(ticket: Ticket) -> None:
    assert unsealed(sealed(ticket, HERE), HERE) == ticket


@given(tickets, st.data())
def test_one_flipped_bit_anywhere_makes_it_worthless(ticket: Ticket, data: st.DataObject) -> None:
    content = bytearray(octets(sealed(ticket, HERE)))
    place = data.draw(st.integers(0, 8 * len(content) - 1))
    content[place // 8] ^= 1 << (place % 8)

    assert unsealed(written(bytes(content)), HERE) is None


@given(st.data())
def test_a_part_of_a_token_is_worthless(data: st.DataObject) -> None:
    token = sealed(TICKET, HERE)
    start = data.draw(st.integers(0, len(token) - 1))
    end = data.draw(st.integers(start, len(token)))

    assert (unsealed(token[start:end], HERE) is None) == (end - start < len(token))


@given(
    st.one_of(
        st.text(), st.binary(max_size=400).map(written), st.binary(max_size=400).map(lambda b: written(b"\1" + b))
    )
)
def test_whatever_else_stands_there_is_worthless_and_raises_nothing(token: str) -> None:
    assert unsealed(token, HERE) is None


@pytest.mark.parametrize("change", ["{}=", "{}==", "{} ", " {}", "{}\n", "{}.", "{}A"])
def test_a_token_is_written_in_one_way_only(change: str) -> None:
    token = sealed(TICKET, HERE)

    assert unsealed(token, HERE) == TICKET
    assert unsealed(change.format(token), HERE) is None


def test_idle_bits_of_the_last_character_are_not_free() -> None:
    """Base64 ignores them, so that several texts would be one token."""
    tokens = (sealed(replace(TICKET, kind=kind), HERE) for kind in ("", "a", "ab"))
    token = next(each for each in tokens if len(each) % 4)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twin = token[:-1] + alphabet[alphabet.index(token[-1]) + 1]

    assert octets(twin) == octets(token)
    assert unsealed(twin, HERE) is None


def test_a_token_of_another_secret_is_worthless_and_one_of_a_former_secret_is_not() -> None:
    token = sealed(TICKET, Keyring(OTHER))

    assert unsealed(token, HERE) is None
    assert unsealed(token, NO_KEYS) is None
    assert unsealed(token, Keyring(SECRET, (THIRD, OTHER))) == TICKET
    assert unsealed(token, Keyring(None, (OTHER,))) == TICKET


def test_after_a_change_of_the_secret_the_new_one_seals() -> None:
    assert unsealed(sealed(TICKET, Keyring(SECRET, (OTHER,))), HERE) == TICKET


def test_nothing_can_be_read_in_it_and_no_two_are_alike() -> None:
    first, second = (sealed(TICKET, HERE) for _ in range(2))
    name = 1 + 8

    assert first != second
    assert octets(first)[:name] == octets(second)[:name]
    assert octets(first)[name : name + 16] != octets(second)[name : name + 16]
    for word in ("ada", "example", "hill", "newsletter", "deu1"):
        assert word.encode() not in octets(first)


def test_a_link_of_a_usual_email_is_short() -> None:
    usual = replace(TICKET, address="maximiliane.mustermann-schmidt@marketing.example-company.co.uk")

    assert len(f"https://mail.example-company.co.uk/u/{sealed(usual, HERE)}") < 300


def test_what_seals_boxes_opens_no_tokens() -> None:
    [key] = HERE.keys_for(PURPOSE)

    assert key.name != Key.of(SECRET).name
    assert key.value != Key.of(SECRET).value


def test_a_secret_that_is_too_short_is_told() -> None:
    with pytest.raises(ConfigurationError, match="at least 32"):
        sealed(TICKET, Keyring("short"))
