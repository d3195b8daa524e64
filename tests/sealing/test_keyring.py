"""A box opens for whoever has its key, under the email it was closed for, and for nobody and nowhere else."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import config
from postroom.errors import ConfigurationError, UnreadableEmail
from postroom.sealing import NO_KEYS, Keyring
from postroom.sealing.keyring import BEGINNING, PLAIN, SEALED
from postroom.vocabulary import EmailId

SECRET, OTHER, THIRD = "a" * 40, "b" * 40, "c" * 40
ADA, BOB = EmailId("0197-ada"), EmailId("0197-bob")

contents = st.binary(max_size=300)
versions = st.integers(1, 9)
ids = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=40).map(EmailId)


@given(contents, ids, versions)
def test_what_was_closed_is_opened_again(content: bytes, id: EmailId, version: int) -> None:
    for keyring in (Keyring(SECRET), NO_KEYS):
        box = keyring.close(content, id=id, version=version)

        assert keyring.open(box, id=id, version=version) == content


@given(st.binary(min_size=12, max_size=300))
def test_a_sealed_box_shows_nothing_of_what_is_in_it_and_never_looks_the_same_twice(content: bytes) -> None:
    first, second = (Keyring(SECRET).close(content, id=ADA, version=1) for _ in range(2))

    assert content not in first
    assert first[BEGINNING:] != second[BEGINNING:]


@given(contents, st.data())
def test_one_flipped_bit_anywhere_is_noticed(content: bytes, data: st.DataObject) -> None:
    box = bytearray(Keyring(SECRET).close(content, id=ADA, version=1))
    place = data.draw(st.integers(0, 8 * len(box) - 1))
    box[place // 8] ^= 1 << (place % 8)

    if not box.startswith(PLAIN):  # SEALED and PLAIN differ in one bit: see the next test
        with pytest.raises(UnreadableEmail):
            Keyring(SECRET).open(bytes(box), id=ADA, version=1)


def test_a_sealed_box_that_says_it_is_plain_gives_nothing_away() -> None:
    """Whoever can write to the database can put anything there; what was sealed they still cannot read."""
    box = Keyring(SECRET).close(b"the code is 123456", id=ADA, version=1)

    assert b"123456" not in NO_KEYS.open(PLAIN + box[len(SEALED) :], id=ADA, version=1)


@given(contents, st.data())
def test_a_box_that_was_cut_short_is_noticed(content: bytes, data: st.DataObject) -> None:
    box = Keyring(SECRET).close(content, id=ADA, version=1)
    length = data.draw(st.integers(0, len(box) - 1))

    with pytest.raises(UnreadableEmail):
        Keyring(SECRET).open(box[:length], id=ADA, version=1)


@given(contents, ids, ids, versions, versions)
def test_a_box_opens_under_its_own_email_and_version_only(
    content: bytes, id: EmailId, other: EmailId, version: int, later: int
) -> None:
    box = Keyring(SECRET).close(content, id=id, version=version)

    if (id, version) != (other, later):
        with pytest.raises(UnreadableEmail, match="changed or damaged"):
            Keyring(SECRET).open(box, id=other, version=later)


def test_after_a_change_of_the_secret_old_boxes_open_and_new_ones_are_sealed_anew() -> None:
    old = Keyring(OTHER).close(b"old", id=ADA, version=1)
    rotated = Keyring(SECRET, (THIRD, OTHER))
    new = rotated.close(b"new", id=BOB, version=1)

    assert rotated.open(old, id=ADA, version=1) == b"old"
    assert Keyring(SECRET).open(new, id=BOB, version=1) == b"new"
    assert rotated.knows(old[:BEGINNING])
    assert not Keyring(SECRET).knows(old[:BEGINNING])


def test_without_its_key_a_box_stays_closed_and_the_error_names_the_remedy() -> None:
    box = Keyring(SECRET).close(b"content", id=ADA, version=1)

    for keyring in (NO_KEYS, Keyring(OTHER)):
        with pytest.raises(UnreadableEmail, match="POSTROOM_PREVIOUS_SECRETS, then retry") as told:
            keyring.open(box, id=ADA, version=1)
        assert SECRET not in str(told.value)


def test_former_secrets_open_although_there_is_none_to_seal_with() -> None:
    box = Keyring(SECRET).close(b"content", id=ADA, version=1)
    keyring = Keyring(None, (SECRET,))

    assert keyring.open(box, id=ADA, version=1) == b"content"
    assert keyring.close(b"plain", id=ADA, version=1).startswith(PLAIN)


@pytest.mark.parametrize("keyring", [Keyring("short"), Keyring(SECRET, ("short",))])
def test_a_secret_that_could_be_guessed_seals_nothing(keyring: Keyring) -> None:
    with pytest.raises(ConfigurationError, match="at least 32"):
        keyring.close(b"content", id=ADA, version=1)


def test_without_the_package_nothing_sensitive_is_stored_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Keyring(SECRET).close(b"content", id=ADA, version=1)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)

    with pytest.raises(ConfigurationError, match=r"postroom\[encryption\]"):
        Keyring(SECRET).close(b"content", id=ADA, version=1)
    with pytest.raises(UnreadableEmail, match=r"postroom\[encryption\]"):
        Keyring(SECRET).open(box, id=ADA, version=1)
    assert NO_KEYS.close(b"content", id=ADA, version=1) == PLAIN + b"content"


def test_a_keyring_does_not_tell_its_secrets() -> None:
    assert SECRET not in repr(Keyring(SECRET, (OTHER,)))


def test_a_former_secret_that_is_too_short_is_told_of_with_the_email() -> None:
    box = Keyring(SECRET).close(b"content", id=ADA, version=1)

    with pytest.raises(UnreadableEmail, match="has 5 characters"):
        Keyring(SECRET, ("short",)).open(box, id=ADA, version=1)


@pytest.mark.parametrize(
    "given", [f"{OTHER} {THIRD}", f"{OTHER}\n{THIRD}\n", f'["{OTHER}", "{THIRD}"]', [OTHER, THIRD]]
)
def test_former_secrets_are_given_as_a_line_or_as_a_list(given: object) -> None:
    keyring = config.load(secret=SECRET, previous_secrets=given).keyring()

    for secret in (SECRET, OTHER, THIRD):
        box = Keyring(secret).close(b"content", id=ADA, version=1)
        assert keyring.open(box, id=ADA, version=1) == b"content"
