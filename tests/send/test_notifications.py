"""Delivery status notifications (RFC 3461): asked for when wanted and offered, never otherwise."""

from __future__ import annotations

import pytest

from postroom.send.contract import Envelope
from postroom.send.smtp import SmtpTransport
from postroom.testing import ScriptedSmtp

OFFERING = ("PIPELINING", "DSN")
LETTER = Envelope(
    sender="shop@example.com",
    recipients=("ada@example.org", "grace@example.org"),
    message=b"Subject: x\r\n\r\ny\r\n",
    id="0192-7",
)


async def _commands(extensions: tuple[str, ...], option: str) -> list[str]:
    with ScriptedSmtp(extensions=extensions) as server:
        transport = SmtpTransport(server.url + option)
        report = await transport.send(LETTER)
        await transport.close()

    assert report.reply is not None
    assert report.reply.code == 250
    return [line for line in server.commands if line.startswith(("MAIL", "RCPT"))]


@pytest.mark.parametrize("extensions", [OFFERING, ("DSN",)])
async def test_where_they_are_offered_and_wanted_failures_are_reported_under_our_id(
    extensions: tuple[str, ...],
) -> None:
    mail, *recipients = await _commands(extensions, "?dsn=yes")

    assert mail.endswith(" RET=HDRS ENVID=0192-7")
    assert [line.partition("> ")[2] for line in recipients] == ["NOTIFY=FAILURE,DELAY"] * 2


@pytest.mark.parametrize(("extensions", "option"), [(OFFERING, ""), (("PIPELINING",), "?dsn=yes")])
async def test_a_server_that_does_not_offer_them_or_a_user_who_does_not_want_them_sees_none(
    extensions: tuple[str, ...], option: str
) -> None:
    commands = await _commands(extensions, option)

    assert not any("NOTIFY" in line or "RET=" in line for line in commands)
