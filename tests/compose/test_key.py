from __future__ import annotations

from typing import Any

import pytest

from postroom.compose import check_key
from postroom.errors import InvalidEmail


@pytest.mark.parametrize("key", ["a", "memo-7:created:ada@example.org", "Schlüssel 7", "x" * 256])
def test_a_printable_key_of_up_to_256_characters_is_given_back(key: str) -> None:
    assert check_key(key) == key


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("", "empty"),
        ("x" * 257, "257 characters"),
        ("a\nb", "cannot be printed"),
        ("a\0", "cannot be printed"),
        ("a\u200b", "cannot be printed"),
        ("a\ud800", "cannot be printed"),
        (7, "got int"),
    ],
)
def test_any_other_key_is_refused(key: Any, problem: str) -> None:
    with pytest.raises(InvalidEmail) as refusal:
        check_key(key)

    assert refusal.value.field == "key"
    assert problem in refusal.value.problem


def test_the_longest_key_is_a_setting() -> None:
    assert check_key("x" * 300, longest=300) == "x" * 300
    with pytest.raises(InvalidEmail, match="shorten it to 3"):
        check_key("four", longest=3)
