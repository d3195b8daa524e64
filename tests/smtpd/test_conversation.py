"""The server side of SMTP and LMTP, spoken to over real sockets by clients that others wrote, and by rude ones."""

from __future__ import annotations

import asyncio
import smtplib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from postroom.errors import ConfigurationError
from postroom.smtpd import MailServer, Protocol, Received, Reception
from postroom.smtpd.server import Place

OURS = "bounces@example.org"
MESSAGE = b"Subject: Hi\r\n\r\n.hidden\r\n..\r\nend\r\n"


class Desk:
    """Keeps messages, or says why not."""

    def __init__(self, answer: str | Exception = "250 2.0.0 taken") -> None:
        self.answer = answer
        self.kept: list[Received] = []

    async def keep(self, received: Received) -> str:
        if isinstance(self.answer, Exception):
            raise self.answer
        self.kept.append(received)
        return self.answer


@asynccontextmanager
async def listening(desk: Desk, protocol: Protocol, **given: object) -> AsyncIterator[int]:
    reception = Reception(protocol=protocol, takes=lambda it: it == OURS, keep=desk.keep, **given)  # type: ignore[arg-type]
    server = MailServer(reception, Place())
    await server.open()
    try:
        yield server.place.port
    finally:
        await server.close()


async def converse(desk: Desk, protocol: Protocol, talk: Callable[[int], object], **given: object) -> object:
    async with listening(desk, protocol, **given) as port:
        return await asyncio.to_thread(talk, port)


def spoken(port: int, *pieces: bytes) -> list[str]:
    """What the server says to these, one connection, to its end."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        for piece in pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        heard = b""
        while chunk := connection.recv(65_536):
            heard += chunk
    return heard.decode().splitlines()


@pytest.mark.parametrize("protocol", Protocol)
async def test_a_client_that_others_wrote_hands_a_message_over_as_it_is(protocol: Protocol) -> None:
    desk = Desk()

    def talk(port: int) -> None:
        client = smtplib.LMTP if protocol is Protocol.LMTP else smtplib.SMTP
        with client("127.0.0.1", port) as connection:
            connection.sendmail("", [OURS], MESSAGE)

    await converse(desk, protocol, talk)
    [received] = desk.kept

    assert (received.sender, received.recipients, received.content) == ("", (OURS,), MESSAGE)


async def test_lmtp_answers_for_each_recipient_and_relays_for_nobody() -> None:
    desk = Desk()
    said = await converse(
        desk,
        Protocol.LMTP,
        lambda port: spoken(
            port, b"LHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<bounces@example.org>\r\nRCPT TO:<ada@elsewhere.example>\r\n"
            b"RCPT TO:<bounces@example.org>\r\nDATA\r\nHi\r\n.\r\nQUIT\r\n",
        ),
    )  # fmt: skip
    assert isinstance(said, list)

    assert [line[:3] for line in said[-8:]] == ["250", "250", "550", "250", "354", "250", "250", "221"]
    assert desk.kept[0].recipients == (OURS, OURS)


@pytest.mark.parametrize("protocol", Protocol)
async def test_what_cannot_be_kept_is_to_come_again(protocol: Protocol) -> None:
    hello = b"LHLO x" if protocol is Protocol.LMTP else b"EHLO x"
    talk = hello + b"\r\nMAIL FROM:<>\r\nRCPT TO:<bounces@example.org>\r\nDATA\r\nHi\r\n.\r\nQUIT\r\n"
    said = await converse(Desk(RuntimeError("away")), protocol, lambda port: spoken(port, talk))
    assert isinstance(said, list)

    assert [line[:3] for line in said[-2:]] == ["451", "221"]
    assert "away" not in "".join(said)


async def test_bare_line_ends_never_end_a_message_nor_begin_a_command() -> None:
    desk = Desk()
    smuggled = b"Hi\n.\nMAIL FROM:<x@y>\r.\r\r\n.\nstill here\r\n"
    talk = b"EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<bounces@example.org>\r\nDATA\r\n" + smuggled + b".\r\nQUIT\r\n"
    await converse(desk, Protocol.SMTP, lambda port: spoken(port, talk))

    assert [each.content for each in desk.kept] == [smuggled.replace(b"\r\n.", b"\r\n")]


async def test_of_a_long_message_the_beginning_is_kept_and_the_next_is_understood() -> None:
    desk = Desk()
    envelope = b"MAIL FROM:<>\r\nRCPT TO:<bounces@example.org>\r\nDATA\r\n"
    long = b"Subject: x\r\n\r\n" + b"a" * 200_000 + b"\r\n"
    talk = b"EHLO x\r\n" + envelope + long + b".\r\n" + envelope + b"Short\r\n.\r\nQUIT\r\n"
    await converse(desk, Protocol.SMTP, lambda port: spoken(port, talk), kept=1_000)
    first, second = desk.kept

    assert (first.content, first.size) == (long[:1_000], len(long))
    assert (second.content, second.size) == (b"Short\r\n", 7)


async def test_a_message_beyond_the_largest_is_refused_whether_announced_or_not() -> None:
    desk = Desk()
    rest = b"RCPT TO:<bounces@example.org>\r\nDATA\r\n" + b"a" * 5_000 + b"\r\n.\r\n"
    talk = b"EHLO x\r\nMAIL FROM:<> SIZE=9999\r\nMAIL FROM:<>\r\n" + rest + b"QUIT\r\n"
    said = await converse(desk, Protocol.SMTP, lambda port: spoken(port, talk), kept=1_000, largest=4_000)
    assert isinstance(said, list)

    assert [line[:3] for line in said[-6:]] == ["552", "250", "250", "354", "552", "221"]
    assert desk.kept == []


@pytest.mark.parametrize(
    ("talk", "last"),
    [
        (b"MAIL FROM:<>\r\n", "503"),
        (b"LHLO x\r\n", "500"),
        (b"EHLO x\r\nRCPT TO:<bounces@example.org>\r\n", "503"),
        (b"EHLO x\r\nMAIL TO:<>\r\n", "501"),
        (b"EHLO x\r\nMAIL FROM:<>\r\nDATA\r\n", "503"),
        (b"EHLO x\r\nMAIL FROM:<>\r\nMAIL FROM:<>\r\n", "503"),
        (b"\0\xff\r\n", "500"),
        (b"X" * 10_000, "500"),
        (b"EHLO x\r\nVRFY ada\r\n", "252"),
    ],
)
async def test_a_command_out_of_place_is_refused(talk: bytes, last: str) -> None:
    said = await converse(Desk(), Protocol.SMTP, lambda port: spoken(port, talk))
    assert isinstance(said, list)

    assert said[-1][:3] == last


async def test_who_says_nothing_for_too_long_is_shown_the_door() -> None:
    def wait(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            heard = b""
            while chunk := connection.recv(1_000):
                heard += chunk
            return heard

    said = await converse(Desk(), Protocol.LMTP, wait, patience=0.05)
    assert isinstance(said, bytes)

    assert said.splitlines()[-1].startswith(b"421")


async def test_a_message_cut_off_in_the_middle_is_not_kept() -> None:
    desk = Desk()
    talk = b"EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<bounces@example.org>\r\nDATA\r\nHalf a mess"
    await converse(desk, Protocol.SMTP, lambda port: spoken(port, talk))

    assert desk.kept == []


async def test_a_socket_in_the_file_system_serves_as_well(tmp_path: Path) -> None:
    desk = Desk()
    path = tmp_path / "lmtp"
    server = MailServer(
        Reception(protocol=Protocol.LMTP, takes=lambda _: True, keep=desk.keep), Place.parse(f"unix:{path}")
    )
    await server.open()
    try:
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"LHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\nDATA\r\nHi\r\n.\r\nQUIT\r\n")
        await reader.read()
        writer.close()
    finally:
        await server.close()

    assert len(desk.kept) == 1


def test_places_are_written_as_people_write_them() -> None:
    assert Place.parse("2424") == Place(port=2424)
    assert Place.parse("0.0.0.0:25") == Place(host="0.0.0.0", port=25)
    assert str(Place.parse("[::1]:2424")) == "[::1]:2424"
    for wrong in ("", "host", "host:port", "1:99999"):
        with pytest.raises(ConfigurationError, match="no place to listen"):
            Place.parse(wrong)


async def test_a_place_that_is_taken_is_told_of() -> None:
    async with listening(Desk(), Protocol.LMTP) as port:
        second = MailServer(Reception(protocol=Protocol.LMTP, takes=lambda _: True, keep=Desk().keep), Place(port=port))
        with pytest.raises(ConfigurationError, match="cannot listen"):
            await second.open()
