"""Codes and digests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroom.accounts.chance import digest, keyed, new_code, new_token, same, typed_code

KEY = b"k" * 32
words = st.text(max_size=8)


@given(number=st.integers(0, 999_999))
def test_a_code_is_any_six_digits_with_zeros_in_front(number: int) -> None:
    asked: list[int] = []

    def below(limit: int) -> int:
        asked.append(limit)
        return number

    code = new_code(below)

    assert (len(code), int(code), asked) == (6, number, [1_000_000])


def test_codes_and_tokens_differ_from_one_another() -> None:
    assert len({new_code() for _ in range(50)}) > 40
    assert len({new_token() for _ in range(50)}) == 50


@given(one=st.lists(words), other=st.lists(words))
def test_different_parts_never_give_the_same_keyed_hash(one: list[str], other: list[str]) -> None:
    assert (keyed(KEY, "code", *one) == keyed(KEY, "code", *other)) == (one == other)


def test_a_keyed_hash_depends_on_its_key_and_its_purpose() -> None:
    hashes = {keyed(KEY, "code", "1"), keyed(b"o" * 32, "code", "1"), keyed(KEY, "form", "1"), digest("1")}

    assert len(hashes) == 4


def test_same_compares_also_what_is_not_ascii() -> None:
    assert same("ä", "ä")
    assert not same("ä", "a")


def test_people_type_codes_with_blanks_and_dashes() -> None:
    assert [typed_code(text) for text in ("123 456", " 123456\t", "123-456", "123\u202f456")] == ["123456"] * 4
