"""Text messages are checked when they are made, and their segments are counted as they will be charged."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import Limits, Sms
from postroom.compose.frozen import decode
from postroom.compose.segments import segments_of
from postroom.errors import InvalidEmail
from postroom.vocabulary import EmailId

PHONE = "+4915112345678"


@pytest.mark.parametrize(
    ("text", "alphabet", "units", "count"),
    [
        ("", "GSM-7", 0, 0),
        ("a" * 160, "GSM-7", 160, 1),
        ("a" * 161, "GSM-7", 161, 2),
        ("a" * 306, "GSM-7", 306, 2),
        ("a" * 307, "GSM-7", 307, 3),
        ("€" * 80, "GSM-7", 160, 1),
        ("€" * 81, "GSM-7", 162, 2),
        ("a" * 152 + "€" + "a" * 152, "GSM-7", 306, 3),  # the pair is not torn apart, and leaves a gap
        ("Grüße, ß, Ø, Ω\r\n@£$¥", "GSM-7", 20, 1),
        ("ç" * 70, "UCS-2", 70, 1),  # only the capital is in the alphabet
        ("ç" * 71, "UCS-2", 71, 2),
        ("я" * 134, "UCS-2", 134, 2),
        ("я" * 135, "UCS-2", 135, 3),
        ("😀" * 35, "UCS-2", 70, 1),
        ("😀" * 36, "UCS-2", 72, 2),
        ("😀" * 66, "UCS-2", 132, 2),
        ("😀" * 67, "UCS-2", 134, 3),  # 33 of them to a segment of 67
        ("`", "UCS-2", 1, 1),
    ],
)
def test_segments_are_counted_as_phones_join_them(text: str, alphabet: str, units: int, count: int) -> None:
    found = segments_of(text)

    assert (found.alphabet, found.units, found.count) == (alphabet, units, count)


@given(st.text(min_size=1, max_size=400))
def test_a_longer_text_never_takes_fewer_segments(text: str) -> None:
    assert segments_of(text).count >= segments_of(text[:-1]).count >= 0
    assert segments_of(text).count >= 1


def test_a_message_knows_what_it_costs() -> None:
    assert Sms(to=PHONE, text="Your code is 123456").segments == 1
    assert Sms(to=PHONE, text="x" * 200).segments == 2


def test_the_subject_tells_nothing_of_the_text() -> None:
    """It stands in lists, and the text is often a code."""
    sms = Sms(to=PHONE, text="Your code is 123456")
    kept = sms.freeze(id=EmailId("0192-01"), date=datetime(2026, 11, 1, tzinfo=UTC), limits=Limits())

    assert (kept.subject, kept.message_id, kept.text) == ("SMS", "sms_019201", "Your code is 123456")
    assert decode(kept.envelope)["to"] == [PHONE]
    assert kept.envelope.startswith('{"date":')
    assert kept.recipients == (PHONE,)


@pytest.mark.parametrize(
    "number", ["015112345678", "+0151123", "+49 151 12345", "+123456", "+1234567890123456", "+٤٩", ""]
)
def test_a_number_that_is_not_in_international_form_is_refused(number: str) -> None:
    with pytest.raises(InvalidEmail, match="international form") as caught:
        Sms(to=number, text="Hi")

    assert caught.value.field == "to"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("a" * 1531, "11 segments of GSM-7"),
        ("я" * 671, "11 segments of UCS-2"),
        ("a\0", "NUL"),
        (7, "expected str"),
    ],
)
def test_a_text_that_cannot_be_sent_is_refused(text: Any, problem: str) -> None:
    with pytest.raises(InvalidEmail, match=problem) as caught:
        Sms(to=PHONE, text=text)

    assert caught.value.field == "text"


def test_ten_segments_are_taken() -> None:
    assert Sms(to=PHONE, text="a" * 1530).segments == 10
