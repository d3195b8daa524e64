"""What a message is known by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from postroom.returns.intake.identity import identity
from tests.returns.intake.post import bounce

MESSAGE = bounce()


@pytest.mark.parametrize(
    "same",
    [
        MESSAGE.replace(b"\r\n", b"\n"),
        b"From MAILER-DAEMON Mon Mar  9 12:00:00 2026\n" + MESSAGE,
        b"Return-Path: <>\r\n" + MESSAGE,
        b"X-Original-To: a@b\r\nDelivered-To: c@d\r\nReceived: from x\r\n\tby y; Mon\r\n" + MESSAGE,
        b"From x y\nreturn-path: <>\nRECEIVED: from z\n  by w\n" + MESSAGE,
        MESSAGE + b"\r\n",
    ],
)
def test_what_is_added_on_the_way_makes_no_other_message(same: bytes) -> None:
    assert identity(same) == identity(MESSAGE)


@pytest.mark.parametrize(
    "other",
    [
        bounce(number=2),
        bounce(recipient="grace@example.org"),
        b"Subject: other\r\n" + MESSAGE,
        MESSAGE.replace(b"sorry", b"glad"),
        b"",
    ],
)
def test_what_says_something_else_is_another_message(other: bytes) -> None:
    assert identity(other) != identity(MESSAGE)


@given(some.binary(max_size=200))
def test_every_octets_have_an_identity(octets: bytes) -> None:
    assert len(identity(octets)) == 64
