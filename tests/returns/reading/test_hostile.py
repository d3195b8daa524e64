"""Messages that somebody wrote to keep us busy. What they cost is counted, not timed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.returns.reading import Unclear, limits, read
from postroom.returns.reading.opening import opened
from postroom.returns.reading.reader import STUMBLED
from tests.returns.reading.mailbag import MAILS, octets_of

HEAD = b"From: mailer-daemon@example.org\nSubject: failure notice\nReturn-Path: <>\n"
REPORT = HEAD + b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n"

GROWING: dict[str, Callable[[int], bytes]] = {
    "signs": lambda n: HEAD + b"\n" + b"@" * n,
    "addresses": lambda n: HEAD + b"\n" + b"<a@b.example>\n" * n,
    "one address": lambda n: HEAD + b"\n" + b"a@" * n,
    "codes": lambda n: HEAD + b"\n" + b"550 " * n,
    "statuses": lambda n: HEAD + b"\n" + b"5.1.1." * n,
    "tags": lambda n: HEAD + b"Content-Type: text/html\n\n" + b"<a <style " * n,
    "brackets": lambda n: HEAD + b"\n" + b"<" * n,
    "lines": lambda n: HEAD + b"\n" + b"\n" * n,
    "headers within": lambda n: HEAD + b"\n" + b"To: a\n" * n,
    "objects": lambda n: HEAD + b"\n" + b'{"a":' * n,
    "blocks": lambda n: (
        REPORT + b"--b\nContent-Type: message/delivery-status\n\n" + b"Final-Recipient: a@b.c\nAction: failed\n\n" * n
    ),
    "one block": lambda n: (
        REPORT + b"--b\nContent-Type: message/delivery-status\n\n" + b"Final-Recipient: a@b.c\nAction: failed\n" * n
    ),
    "parts": lambda n: REPORT + b"--b\n" * n,
    "nested": lambda n: (
        HEAD + b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(n))
    ),
    "messages": lambda n: REPORT + b"--b\nContent-Type: message/rfc822\n\n" * n,
    "header": lambda n: HEAD + b"To: " + b"=?utf-8?q?a?= <" * n + b"\n\n",
    "everybody": lambda n: HEAD + b"To: a@b.example\n" * n + b"\n" + b"<a@b.example>\n" * n,
    "others": lambda n: HEAD + b"\n" + b"".join(b"<a%d@b.example>: 550 no\n" % i for i in range(n)),
    "transcript": lambda n: HEAD + b"\n" + b"<<< 550 no\n550 5.1.1 <a@b.example>... User unknown\n" * n,
    "many headers": lambda n: HEAD + b"References: <a@b>\n" * n + b"\n",
    "away": lambda n: (
        b"Auto-Submitted: auto-replied\nDate: Wed, 18 Nov 2026 09:00:05 +0000\n\n" + b"back on until 1 " * n
    ),
}


@contextmanager
def counting() -> Iterator[list[int]]:
    """How many functions are called, ours and Python's."""
    calls = [0]

    def count(frame: Any, event: str, argument: Any) -> None:
        calls[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def work(octets: bytes) -> int:
    read(octets)  # what is made once is made
    with counting() as calls:
        read(octets)
    return calls[0]


@pytest.mark.parametrize("shape", GROWING)
def test_twice_the_message_is_at_most_twice_the_work(shape: str) -> None:
    once, twice = work(GROWING[shape](1_000)), work(GROWING[shape](2_000))

    assert twice <= 2.2 * once + 200


@pytest.mark.parametrize("shape", GROWING)
def test_work_ends_with_the_limits_however_long_a_message_is(shape: str) -> None:
    """Only the octets themselves are passed over, by functions that are called as often for few as for many."""
    long, longer = work(GROWING[shape](100_000)), work(GROWING[shape](200_000))

    assert longer <= 1.1 * long + 200


def in_parts(count: int, block: Callable[[int], bytes]) -> bytes:
    """A report in so many parts, each of a thousand blocks."""
    parts = (b"".join(block(1_000 * part + n) for n in range(1_000)) for part in range(count))
    return REPORT + b"".join(b"--b\nContent-Type: message/delivery-status\n\n" + part for part in parts)


BLOCKS: dict[str, Callable[[int], bytes]] = {
    "recipients": lambda n: b"Final-Recipient: a%d@b.c\nAction: failed\n\n" % n,
    "nobody": lambda n: b"Action: failed\nX-Number: %d\n\n" % n,
    "nothing": lambda n: b"X-Number: %d\n\n" % n,
}


@pytest.mark.parametrize("shape", BLOCKS)
def test_a_report_in_many_parts_is_no_more_work_than_one_in_few(shape: str) -> None:
    few, many = in_parts(4, BLOCKS[shape]), in_parts(80, BLOCKS[shape])

    assert work(many) <= 1.1 * work(few) + 5_000
    assert len(read(many).recipients) <= limits.RECIPIENTS


def test_whom_an_email_was_for_is_read_once_for_all_who_are_not_named() -> None:
    def report(addresses: int) -> bytes:
        to = b"To: " + b"<a@b.example>, " * addresses + b"\n"
        return in_parts(1, BLOCKS["nobody"]) + b"--b\nContent-Type: text/rfc822-headers\n\n" + to * 20

    assert work(report(100)) <= work(report(1)) + 100_000


@pytest.mark.parametrize("shape", GROWING)
def test_no_text_is_searched_beyond_its_limit(shape: str) -> None:
    message = opened(GROWING[shape](300_000))

    assert len(message.parts) <= limits.PARTS
    assert all(len(part.text) <= limits.TEXT for part in message.parts)
    assert len(message.report) <= limits.TEXT
    assert all(len(value) <= limits.HEADERS for value in message.headers.values())


def test_a_message_beyond_the_limit_is_read_as_far_as_it_goes() -> None:
    octets = octets_of("postfix-two") + b"x" * 5_000

    reading = read(octets, limit=len(octets_of("postfix-two")))

    assert [each.address for each in reading.recipients] == ["ada@example.org", "bo@example.org"]
    assert read(octets, limit=700).reader == "words"  # the report is cut off, its first text is there


def test_a_large_attachment_does_not_hide_the_report_before_it() -> None:
    octets = octets_of("postfix-unknown").replace(b"Good morning.", b"QUJD" * 3_000_000)

    reading = read(octets)

    assert len(octets) > limits.OCTETS
    assert [each.address for each in reading.recipients] == ["ada@example.org"]


def test_what_one_message_does_to_us_does_not_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(_: str) -> bool:
        raise RecursionError

    reading = read(octets_of("reply"), ours=stumble)

    assert (reading.kind, STUMBLED in reading.problem) == (Unclear.UNREADABLE, True)


ALL = sorted(MAILS.glob("*.eml"))
PIECES = [line + b"\n" for path in ALL for line in path.read_bytes().split(b"\n")]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(
        st.binary(max_size=400),
        st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=30)), max_size=60).map(b"".join),
    )
)
def test_whatever_comes_is_read_and_read_the_same_again(octets: bytes) -> None:
    reading = read(octets)

    assert STUMBLED not in reading.problem
    assert read(octets) == reading


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ALL), st.data())
def test_a_broken_message_is_read_too(path: Any, data: st.DataObject) -> None:
    octets = path.read_bytes()
    at = data.draw(st.integers(0, len(octets)))
    until = data.draw(st.integers(at, min(len(octets), at + 300)))

    reading = read(octets[:at] + data.draw(st.binary(max_size=20)) + octets[until:])

    assert STUMBLED not in reading.problem
    assert all(each.address == each.address.lower() and "\n" not in each.text for each in reading.recipients)
