"""The key of a step (P13, E2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.campaigns import StepKey
from postroom.errors import InvalidCampaign

ids = st.text(st.characters(exclude_characters=":"), min_size=1, max_size=100).filter(str.isprintable)


def test_p13_a_key_names_prospect_sequence_and_step() -> None:
    key = StepKey(prospect_id="p7", sequence_id="spring", step_number=2)

    assert str(key) == "p7:spring:2"
    assert StepKey.parse("p7:spring:2") == key


@given(prospect=ids, sequence=ids, step=st.integers(1, 10**9))
def test_p13_what_is_generated_is_read_as_it_was(prospect: str, sequence: str, step: int) -> None:
    key = StepKey(prospect_id=prospect, sequence_id=sequence, step_number=step)

    assert StepKey.parse(str(key)) == key


@given(st.text(max_size=300) | st.builds("{}:{}:{}".format, ids, ids, st.text(max_size=5)))
def test_p13_a_text_has_one_reading_or_none(text: str) -> None:
    try:
        key = StepKey.parse(text)
    except InvalidCampaign:
        return

    assert str(key) == text


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"prospect_id": "a:b"}, "prospect_id: 'a:b' contains «:»"),
        ({"sequence_id": "s:"}, "sequence_id: 's:' contains «:»"),
        ({"prospect_id": ""}, "prospect_id: is empty"),
        ({"sequence_id": ""}, "sequence_id: is empty"),
        ({"prospect_id": "a\nb"}, "prospect_id: 'a\\nb' contains characters that cannot be printed"),
        ({"prospect_id": "\ud800"}, "prospect_id: "),
        ({"sequence_id": 7}, "sequence_id: expected a text, got 7"),
        ({"prospect_id": "x" * 253}, "prospect_id: has 253 characters"),
        ({"prospect_id": "x" * 200, "sequence_id": "y" * 100}, "prospect_id: makes a key of 303 characters"),
        ({"prospect_id": "x" * 100, "sequence_id": "y" * 200}, "sequence_id: makes a key of 303 characters"),
        ({"step_number": 0}, "step_number: expected a whole number from 1, got 0"),
        ({"step_number": "1"}, "step_number: "),
        ({"step_number": True}, "step_number: "),
    ],
)
def test_p13_ids_that_would_spoil_a_key_are_refused_by_their_field(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidCampaign) as refused:
        StepKey(**{"prospect_id": "p", "sequence_id": "s", "step_number": 1} | changed)

    assert str(refused.value).startswith(told)


def test_p13_a_key_may_have_256_characters() -> None:
    assert len(str(StepKey(prospect_id="x" * 252, sequence_id="s", step_number=1))) == 256


@pytest.mark.parametrize(
    ("text", "field"),
    [
        *(
            (f"p:s:{step}", "step_number")
            for step in ("0", "01", "+1", "-1", " 1", "1 ", "1_0", "1.0", "", "x", "١", "²")
        ),
        ("p:s:" + "9" * 5000, "step_number"),
        ("p:s", "key"),
        ("p:s:1:2", "key"),
        ("", "key"),
        (None, "key"),
        (":s:1", "prospect_id"),
        ("p::1", "sequence_id"),
        ("p:s\x00:1", "sequence_id"),
    ],
)
def test_p13_what_was_never_generated_is_not_read(text: str, field: str) -> None:
    with pytest.raises(InvalidCampaign) as refused:
        StepKey.parse(text)

    assert refused.value.field == field
