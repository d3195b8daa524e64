"""Who gets what under a delivery mode: the decision, and the transport that keeps to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.errors import ConfigurationError
from postroom.send.contract import Envelope, FaultKind, Phase
from postroom.send.delivery_mode import DeliveryMode, Mode, mode_in, sentence_in
from postroom.send.guarded import CAPTURED, GuardedTransport, guarded
from postroom.send.memory import MemoryTransport
from postroom.send.smtp import SmtpTransport
from postroom.testing import ScriptedSmtp

ENVELOPE = Envelope(
    sender="desk@example.org", recipients=("ada@example.org", "bob@example.com"), message=b"Subject: Hi\r\n\r\nHi\r\n"
)


def only(*domains: str) -> DeliveryMode:
    return DeliveryMode(mode=Mode.ONLY, domains=domains)


@pytest.mark.parametrize(
    ("written", "delivery"),
    [
        ("deliver", DeliveryMode()),
        (" capture ", DeliveryMode(mode=Mode.CAPTURE)),
        ("redirect:dev@example.org", DeliveryMode(mode=Mode.REDIRECT, to="dev@example.org")),
        ("redirect:Dev Team <dev@example.org>", DeliveryMode(mode=Mode.REDIRECT, to="dev@example.org")),
        ("only:example.org", only("example.org")),
        (
            "only:Example.ORG, müller.example",
            DeliveryMode(mode=Mode.ONLY, domains=("example.org", "xn--mller-kva.example")),
        ),
    ],
)
def test_a_mode_is_read_as_it_is_written(written: str, delivery: DeliveryMode) -> None:
    assert DeliveryMode.parse(written) == delivery
    assert mode_in(written) == delivery.mode


@pytest.mark.parametrize(
    "written",
    ["", "Deliver", "DELIVER", "true", "deliver:all", "capture:", "redirect", "redirect:", "redirect:dev", "only",
     "only:", "only:example.org,", "only:ada@example.org", "only:*.example.org", "redirect:a@b.example,c@d.example"],
)  # fmt: skip
def test_what_cannot_be_read_is_never_guessed(written: str) -> None:
    with pytest.raises(ConfigurationError, match="so nothing is delivered"):
        DeliveryMode.parse(written)
    assert mode_in(written) == "unreadable"
    assert "nothing is delivered" in sentence_in(written)


@pytest.mark.parametrize("address", ["dev@example.org", "ada+tag@example.org"])
def test_what_is_shown_to_everybody_names_no_address(address: str) -> None:
    assert address not in sentence_in(f"redirect:{address}")


@pytest.mark.parametrize(
    ("address", "reached"),
    [
        ("ada@example.org", True),
        ("ada@EXAMPLE.org", True),
        ("ada@sub.example.org", False),
        ("ada@notexample.org", False),
        ("ada@example.org.evil.example", False),
        ("ada@example.org.", False),
        ('"ada@example.org"@evil.example', False),
        ("ada@example.org@evil.example", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_only_the_domain_itself_opens_the_way(address: str, reached: bool) -> None:
    assert only("example.org").may_reach([address]) == ((address,) if reached else ())


@given(recipients=st.lists(st.emails(), max_size=5), mode=st.sampled_from(["capture", "redirect", "only"]))
def test_nobody_but_those_who_are_allowed_is_ever_on_an_envelope(recipients: list[str], mode: str) -> None:
    delivery = DeliveryMode(mode=Mode(mode), to="dev@example.net", domains=("example.org",))
    envelope = Envelope(sender="", recipients=tuple(recipients), message=b"Subject: Hi\r\n\r\n")
    leaving = guarded(envelope, delivery) if mode != "capture" else None

    for each in leaving.recipients if leaving else ():
        assert each == "dev@example.net" if mode == "redirect" else each.endswith("@example.org")


async def test_capturing_connects_to_nothing_and_probes_nothing() -> None:
    inner = MemoryTransport()
    inner.script(at="connect", cut=True)
    transport = GuardedTransport(inner, DeliveryMode(mode=Mode.CAPTURE), email=True)
    async with transport.connection() as line:
        report = await line.deliver(ENVELOPE, before_dot=lambda: True)

    assert (report.reply and report.reply.text, report.dot_left, inner.attempts) == (CAPTURED, True, 0)
    assert (await transport.probe()).fault is None


@pytest.mark.parametrize("mode", [Mode.REDIRECT, Mode.ONLY, Mode.CAPTURE])
async def test_what_is_no_email_is_captured_under_every_mode(mode: Mode) -> None:
    inner = MemoryTransport()
    transport = GuardedTransport(
        inner, DeliveryMode(mode=mode, to="dev@example.net", domains=("example.org",)), email=False
    )
    async with transport.connection() as line:
        report = await line.deliver(ENVELOPE)

    assert inner.attempts == 0
    assert report.reply is not None
    assert (report.reply.phase, report.reply.code) == (Phase.ANSWER, 200)


async def test_what_is_no_longer_ours_is_not_captured_either() -> None:
    transport = GuardedTransport(MemoryTransport(), DeliveryMode(mode=Mode.CAPTURE), email=True)
    async with transport.connection() as line:
        report = await line.deliver(ENVELOPE, before_dot=lambda: False)

    assert report.fault is not None
    assert (report.fault.kind, report.dot_left) == (FaultKind.ABANDONED, False)


async def test_an_envelope_that_follows_behind_a_dot_is_redirected_too() -> None:
    """It is written to the server together with the one before: what is announced is what is sent."""
    second = Envelope(sender="desk@example.org", recipients=("eve@example.org",), message=b"Subject: 2\r\n\r\nHi\r\n")
    with ScriptedSmtp() as server:
        inner = SmtpTransport(server.url)
        transport = GuardedTransport(inner, DeliveryMode(mode=Mode.REDIRECT, to="dev@example.net"), email=True)
        async with transport.connection() as line:
            await line.deliver(ENVELOPE, following=second)
            await line.deliver(second)
        await transport.close()

        assert [message.recipients for message in server.messages] == [("dev@example.net",)] * 2
        assert all(b"X-Postroom-Redirected-From: " in message.data for message in server.messages)
        assert server.violations == []


async def test_a_follower_who_is_captured_is_not_announced() -> None:
    second = Envelope(sender="desk@example.org", recipients=("eve@example.org",), message=b"Subject: 2\r\n\r\nHi\r\n")
    with ScriptedSmtp() as server:
        inner = SmtpTransport(server.url)
        transport = GuardedTransport(inner, DeliveryMode(mode=Mode.ONLY, domains=("example.com",)), email=True)
        async with transport.connection() as line:
            first = await line.deliver(ENVELOPE, following=second)
            then = await line.deliver(second)
        await transport.close()

        assert [message.recipients for message in server.messages] == [("bob@example.com",)]
        assert not [command for command in server.commands if "eve@" in command or "ada@" in command]
    assert [reply and reply.code for reply in first.recipients] == [0, 250]
    assert then.reply is not None
    assert then.reply.text == CAPTURED
