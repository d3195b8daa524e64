"""The server's words are read without trust: any bytes, in any pieces, within bounds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.send.contract import Phase
from postroom.send.smtp.capabilities import Capabilities, parse_capabilities
from postroom.send.smtp.replies import LONGEST_LINE, LONGEST_TEXT, MOST_LINES, ReplyReader, code_of, make_reply

CODES = st.integers(200, 599)
WORDS = st.binary(max_size=40).map(lambda text: text.translate(None, b"\r\n"))


def read(*pieces: bytes) -> ReplyReader:
    reader = ReplyReader()
    for piece in pieces:
        reader.feed(piece)
    return reader


def cut_up(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


@given(st.lists(st.tuples(CODES, st.lists(WORDS, min_size=1, max_size=4)), max_size=5), st.lists(st.integers(0, 999)))
def test_replies_are_the_same_however_they_are_cut(replies: list[tuple[int, list[bytes]]], places: list[int]) -> None:
    wire = b""
    for code, texts in replies:
        wire += b"".join(b"%d-%b\r\n" % (code, text) for text in texts[:-1]) + b"%d %b\r\n" % (code, texts[-1])
    reader = read(*cut_up(wire, places))

    assert reader.problem is None
    assert [(code_of(lines), [line[4:] for line in lines]) for lines in reader.ready] == replies


@given(st.lists(st.binary() | st.sampled_from([b"250-", b"250 ", b"\r\n", b"354", b"x" * 3000]), max_size=30))
def test_no_bytes_whatever_raise_or_pile_up(pieces: list[bytes]) -> None:
    reader = ReplyReader()
    for piece in pieces:
        reader.feed(piece)
        if reader.problem is not None:
            assert not reader._rest
            assert not reader._begun
        assert len(reader._rest) <= LONGEST_LINE
        assert len(reader._begun) < MOST_LINES
    for lines in reader.ready:
        reply = make_reply(Phase.MAIL, lines)
        assert 200 <= reply.code <= 599
        assert reply.text.isprintable()
        assert len(reply.text) <= LONGEST_TEXT


@pytest.mark.parametrize(
    ("wire", "problem"),
    [
        (b"hello\r\n", "not an SMTP reply: 'hello'"),
        (b"\r\n", "not an SMTP reply"),
        (b"150 wait\r\n", "not an SMTP reply"),
        (b"250x\r\n", "not an SMTP reply"),
        (b"250-a\r\n251 b\r\n", "different codes"),
        (b"250-a\r\n" * MOST_LINES, "more than"),
        (b"250 " + b"a" * LONGEST_LINE + b"\r\n", "longer than"),
        (b"a" * (LONGEST_LINE + 1), "longer than"),
    ],
)
def test_what_is_not_a_reply_is_a_problem(wire: bytes, problem: str) -> None:
    reader = read(wire, b"250 Ok\r\n")

    assert reader.problem is not None
    assert problem in reader.problem
    assert not reader.ready


def test_complete_replies_before_a_problem_can_still_be_taken() -> None:
    reader = read(b"250 Ok\r\nnonsense\r\n")

    assert list(reader.ready) == [(b"250 Ok",)]


@pytest.mark.parametrize(
    ("lines", "enhanced", "text"),
    [
        ((b"250 2.1.5 Ok",), "2.1.5", "Ok"),
        ((b"250 Ok",), None, "Ok"),
        ((b"250",), None, ""),
        ((b"550 5.7.26",), "5.7.26", ""),
        ((b"550-5.7.1 not", b"550 5.7.1 today"), "5.7.1", "not today"),
        ((b"550-5.7.1 not", b"550 today"), "5.7.1", "not today"),
        ((b"550 4.7.1 class and code differ",), None, "4.7.1 class and code differ"),
        ((b"250 2.1.5.6 no code",), None, "2.1.5.6 no code"),
        ((b"550 a\x1b[31mb\tc\xff",), None, "a [31mb c\ufffd"),
    ],
)
def test_a_reply_is_taken_apart(lines: tuple[bytes, ...], enhanced: str | None, text: str) -> None:
    reply = make_reply(Phase.DOT, lines)

    assert (reply.phase, reply.enhanced, reply.text) == (Phase.DOT, enhanced, text)


def test_extensions_are_read_in_any_case_and_unknown_ones_passed_over() -> None:
    lines = (
        b"250-mail.example.org PIPELINING",
        b"250-size 1000",
        b"250-Auth plain LOGIN",
        b"250-AUTH=XOAUTH2",
        b"250 X",
    )

    assert parse_capabilities(lines) == Capabilities(
        size=1000, size_offered=True, auth=frozenset({"PLAIN", "LOGIN", "XOAUTH2"})
    )


@pytest.mark.parametrize("size", [b"SIZE", b"SIZE 0", b"SIZE lots", b"SIZE -1"])
def test_a_size_that_says_nothing_is_no_limit(size: bytes) -> None:
    capabilities = parse_capabilities((b"250-hi", b"250 " + size))

    assert (capabilities.size, capabilities.size_offered) == (None, True)


@given(st.lists(st.binary(max_size=30).map(lambda text: b"250 " + text), min_size=1))
def test_any_ehlo_reply_can_be_read(lines: list[bytes]) -> None:
    assert isinstance(parse_capabilities(tuple(lines)), Capabilities)
