"""A server that talks at length is heard out, and little of it is kept."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from postroom.send.contract import Phase
from postroom.send.smtp import SmtpTransport
from postroom.send.smtp.replies import LONGEST_TEXT, MOST_KEPT, ReplyReader, make_reply
from postroom.testing import ScriptedSmtp
from tests.send.letters import letter

Connect = Callable[..., SmtpTransport]

LONG_WINDED = b"550-5.1.1 " + b"x" * 2000 + b"\r\n"
MANY = tuple(f"person{n}@example.org" for n in range(1000))


async def peak_of(transport: SmtpTransport) -> int:
    """Bytes that a conversation with a thousand recipients takes at most, with what the server itself needs."""
    gc.collect()
    tracemalloc.start()
    try:
        report = await transport.send(letter(1, *MANY))
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report.recipients.count(None) == 0
    assert {said and said.code for said in report.recipients} == {550}
    assert all(said is not None and len(said.text) <= LONGEST_TEXT for said in report.recipients)
    return peak


@pytest.mark.parametrize(
    "reply",
    [
        LONG_WINDED * 99 + b"550 5.1.1 no\r\n",
        b"550-\r\n" * 99 + b"550 5.1.1 no\r\n",
        b"550 5.1.1 " + b"x" * 2000 + b"\r\n",
        "550-5.1.1 {}\r\n550 5.1.1 no\r\n".format("\N{GRINNING FACE}" * 400).encode(),
    ],
    ids=["long lines", "empty lines", "one long line", "wide letters"],
)
async def test_a_thousand_long_answers_take_little_memory(connect: Connect, reply: bytes) -> None:
    with ScriptedSmtp() as server:
        server.script(at="rcpt", reply=reply)
        peak = await peak_of(connect(server.url, "command=60s"))

        assert peak < 20_000_000  # it was 250 MB


def test_of_a_long_reply_the_beginning_is_kept_and_its_end_is_found() -> None:
    reader = ReplyReader()
    reader.brief = True
    reader.feed(LONG_WINDED * 100 + b"550 5.1.1 no\r\n" + b"250 Ok\r\n")
    long, short = reader.ready

    assert sum(map(len, long)) <= MOST_KEPT
    assert make_reply(Phase.RCPT, long).enhanced == "5.1.1"
    assert make_reply(Phase.RCPT, long).text.startswith("xxx")
    assert short == (b"250 Ok",)
    assert reader.problem is None


def test_a_letter_is_not_cut_in_two() -> None:
    reader = ReplyReader()
    reader.brief = True
    reader.feed(b"550 x" + "ü".encode() * 900 + b"\r\n")

    assert "\N{REPLACEMENT CHARACTER}" not in make_reply(Phase.RCPT, reader.ready[0]).text


def test_long_lines_are_not_remembered() -> None:
    """What is looked up is kept in a cache, and a hostile server could fill it with megabytes."""
    reader = ReplyReader()
    tracemalloc.start()
    try:
        for number in range(300):
            reader.feed(b"250 %d" % number + b"x" * 200_000 + b"\r\n")
            reader = ReplyReader()
        gc.collect()
        kept, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 1_000_000
