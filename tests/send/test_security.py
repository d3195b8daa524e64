"""TLS and AUTH: verified, never downgraded, never in the clear unless the user says so (C8)."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from postroom.send.contract import FaultKind, Phase, Report
from postroom.send.smtp import SmtpTransport
from postroom.testing import FaultProxy, ScriptedSmtp
from tests.send.conftest import QUICK, tls_for
from tests.send.letters import letter, message_id

Connect = Callable[..., SmtpTransport]


def url_of(server: ScriptedSmtp, credentials: str = "") -> str:
    return server.url.replace("://", f"://{credentials}@" if credentials else "://")


def ended(report: Report) -> tuple[FaultKind | None, Phase | None]:
    return (report.fault and report.fault.kind, report.fault and report.fault.phase)


def code(report: Report) -> int | None:
    return report.reply and report.reply.code


async def test_starttls_is_used_where_it_is_offered(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path
) -> None:
    with ScriptedSmtp(tls=server_tls) as server:
        report = await connect(server.url, f"ca={ca_file}").send(letter())

        assert code(report) == 250
        assert [command.split()[0] for command in server.commands[:4]] == ["EHLO", "STARTTLS", "EHLO", "MAIL"]
        assert list(report.milliseconds) == ["connect", "greeting", "hello", "tls", "mail", "body", "dot"]


async def test_implicit_tls_is_spoken_from_the_first_byte(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path
) -> None:
    with ScriptedSmtp(tls=server_tls, implicit_tls=True) as server:
        transport = connect(server.url, f"ca={ca_file}")
        reports = [await transport.send(letter(number)) for number in range(3)]

        assert [code(report) for report in reports] == [250, 250, 250]
        assert server.connections == 1


async def test_a_large_message_survives_tls(connect: Connect, server_tls: ssl.SSLContext, ca_file: Path) -> None:
    text = b"0123456789abcde\r\n" * 200_000
    with ScriptedSmtp(tls=server_tls) as server:
        report = await connect(server.url, f"ca={ca_file}").send(letter(text=text))

        assert code(report) == 250
        assert server.messages[0].data == letter(text=text).message


async def test_required_tls_that_is_not_offered_is_a_fault(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    report = await connect(smtp_server.url, "starttls=required").send(letter())

    assert ended(report) == (FaultKind.TLS, Phase.TLS)
    assert report.capabilities_known
    assert smtp_server.messages == []


async def test_required_tls_and_a_server_that_knows_only_helo_is_a_fault(connect: Connect) -> None:
    with ScriptedSmtp(esmtp=False) as server:
        report = await connect(server.url, "starttls=required").send(letter())

    assert ended(report) == (FaultKind.TLS, Phase.TLS)


@pytest.mark.parametrize("policy", ["required", "offered"])
async def test_a_refused_starttls_is_never_a_reason_to_go_on_in_the_clear(
    connect: Connect, server_tls: ssl.SSLContext, policy: str
) -> None:
    with ScriptedSmtp(tls=server_tls) as server:
        server.script(at="starttls", reply="454 4.7.0 TLS not available")
        report = await connect(server.url, f"starttls={policy}").send(letter())

        assert (code(report), report.reply and report.reply.phase) == (454, Phase.TLS)
        assert server.messages == []


async def test_starttls_can_be_turned_off(connect: Connect, server_tls: ssl.SSLContext) -> None:
    with ScriptedSmtp(tls=server_tls) as server:
        report = await connect(server.url, "starttls=off").send(letter())

        assert code(report) == 250
        assert "STARTTLS" not in server.commands


@pytest.mark.parametrize("implicit", [True, False], ids=["smtps", "starttls"])
@pytest.mark.parametrize("flaw", ["unknown authority", "expired", "another host"])
async def test_a_flawed_certificate_is_refused(
    connect: Connect, authority: trustme.CA, ca_file: Path, flaw: str, implicit: bool
) -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    context = {
        "unknown authority": lambda: tls_for(trustme.CA(), "127.0.0.1"),
        "expired": lambda: tls_for(authority, "127.0.0.1", not_before=long_ago.replace(year=2019), not_after=long_ago),
        "another host": lambda: tls_for(authority, "mail.example.org"),
    }[flaw]()
    with ScriptedSmtp(tls=context, implicit_tls=implicit) as server:
        report = await connect(server.url, f"ca={ca_file}").send(letter())

        assert ended(report) == (FaultKind.TLS, Phase.TLS)
        assert report.fault is not None
        assert "certificate" in report.fault.text
        assert server.messages == []


@pytest.mark.parametrize(
    "injected", [b"250 Ok\r\n", b"250-PIPELINING\r\n", b"250 Ok"], ids=["a reply", "a line", "a part of a line"]
)
async def test_nothing_said_in_the_clear_counts_after_tls(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path, injected: bytes
) -> None:
    """A man in the middle who adds replies behind the 220 must not have them read as the server's own."""
    with ScriptedSmtp(tls=server_tls) as server:
        server.script(at="starttls", reply=b"220 go ahead\r\n" + injected)
        report = await connect(server.url, f"ca={ca_file}").send(letter())

        assert report.fault is not None
        assert report.fault.phase is Phase.TLS
        assert report.fault.kind in (FaultKind.TLS, FaultKind.PROTOCOL)
        assert server.messages == []


async def test_extensions_offered_in_the_clear_are_forgotten(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path
) -> None:
    with ScriptedSmtp(tls=server_tls, extensions=()) as server:
        server.script(at="ehlo", reply=b"250-evil\r\n250-PIPELINING\r\n250-SIZE 1\r\n250 STARTTLS\r\n", times=1)
        report = await connect(server.url, f"ca={ca_file}").send(letter())

        assert code(report) == 250
        assert server.violations == []


async def test_tls_towards_a_server_that_speaks_in_the_clear_is_a_fault(
    connect: Connect, smtp_server: ScriptedSmtp
) -> None:
    report = await connect(f"smtps://127.0.0.1:{smtp_server.port}", QUICK).send(letter())

    assert ended(report) == (FaultKind.TLS, Phase.TLS)


async def test_a_handshake_that_stands_still_ends_with_the_limit(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path
) -> None:
    with ScriptedSmtp(tls=server_tls) as server:
        server.script(at="tls", stall=True)
        report = await connect(server.url, f"ca={ca_file}&command=200ms").send(letter())

    assert ended(report) == (FaultKind.TIMEOUT, Phase.TLS)


async def test_a_handshake_that_is_cut_is_reported_as_such(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path
) -> None:
    with ScriptedSmtp(tls=server_tls) as server:
        server.script(at="tls", cut=True)
        report = await connect(server.url, f"ca={ca_file}").send(letter())

    assert ended(report) == (FaultKind.CUT, Phase.TLS)


async def test_a_reply_to_the_dot_lost_under_tls_leaves_the_fate_open(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path
) -> None:
    with ScriptedSmtp(tls=server_tls) as server:
        server.script(at="dot", cut=True)
        report = await connect(server.url, f"ca={ca_file}").send(letter())

        assert ended(report) == (FaultKind.CUT, Phase.DOT)
        assert report.dot_left
        assert server.copies(message_id()) == 1


async def test_an_upload_under_tls_that_is_cut_has_not_sent_the_dot(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path
) -> None:
    with ScriptedSmtp(tls=server_tls) as server, FaultProxy(target_port=server.port) as network:
        network.cut_after(client_bytes=200_000)
        transport = connect(f"smtp://127.0.0.1:{network.port}", f"ca={ca_file}&{QUICK}")
        report = await transport.send(letter(text=b"x" * 10_000_000 + b"\r\n"))

    assert ended(report) == (FaultKind.CUT, Phase.BODY)
    assert not report.dot_left


@pytest.mark.parametrize("mechanism", ["plain", "login", "xoauth2"])
async def test_each_mechanism_proves_who_we_are(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path, mechanism: str
) -> None:
    with ScriptedSmtp(tls=server_tls, users={"ada@example.org": "pässword/1"}) as server:
        url = url_of(server, "ada%40example.org:p%C3%A4ssword%2F1")
        report = await connect(url, f"ca={ca_file}&auth={mechanism}").send(letter())

        assert code(report) == 250
        assert f"AUTH {mechanism.upper()}" in server.commands


@pytest.mark.parametrize("mechanism", ["plain", "login", "xoauth2"])
async def test_a_wrong_password_is_a_refusal_of_the_session(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path, mechanism: str
) -> None:
    """XOAUTH2 refuses with a challenge first, which wants an empty answer."""
    with ScriptedSmtp(tls=server_tls, users={"ada": "right"}) as server:
        report = await connect(url_of(server, "ada:wrong"), f"ca={ca_file}&auth={mechanism}").send(letter())

    assert (code(report), report.reply and report.reply.phase) == (535, Phase.AUTH)
    assert "wrong" not in str(report).replace("wrong user or password", "")


async def test_without_a_wish_the_server_chooses_among_the_safe_mechanisms(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path
) -> None:
    with ScriptedSmtp(tls=server_tls, users={"ada": "right"}, mechanisms=["CRAM-MD5", "LOGIN"]) as server:
        report = await connect(url_of(server, "ada:right"), f"ca={ca_file}").send(letter())

        assert code(report) == 250
        assert "AUTH LOGIN" in server.commands


async def test_a_mechanism_that_is_not_offered_is_a_matter_of_settings(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path
) -> None:
    with ScriptedSmtp(tls=server_tls, users={"ada": "right"}, mechanisms=["CRAM-MD5"]) as server:
        report = await connect(url_of(server, "ada:right"), f"ca={ca_file}").send(letter())

    assert ended(report) == (FaultKind.CONFIGURATION, Phase.AUTH)
    assert report.fault is not None
    assert "CRAM-MD5" in report.fault.text


async def test_a_password_never_travels_in_the_clear(connect: Connect) -> None:
    with ScriptedSmtp(users={"ada": "right"}) as server:
        report = await connect(url_of(server, "ada:right")).send(letter())

        assert ended(report) == (FaultKind.CONFIGURATION, Phase.AUTH)
        assert not any(command.startswith("AUTH") for command in server.commands)


async def test_a_password_travels_in_the_clear_when_the_user_says_so(connect: Connect) -> None:
    with ScriptedSmtp(users={"ada": "right"}) as server:
        report = await connect(url_of(server, "ada:right"), "insecure_auth=yes").send(letter())

    assert code(report) == 250


@pytest.mark.parametrize(("reply", "expected"), [("454 4.7.0 later", 454), ("421 4.7.0 too many", 421)])
async def test_a_temporary_trouble_with_auth_is_a_reply(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path, reply: str, expected: int
) -> None:
    with ScriptedSmtp(tls=server_tls, users={"ada": "right"}) as server:
        server.script(at="auth", reply=reply)
        report = await connect(url_of(server, "ada:right"), f"ca={ca_file}").send(letter())

    assert (code(report), report.reply and report.reply.phase) == (expected, Phase.AUTH)


async def test_a_probe_goes_as_far_as_auth_and_sends_nothing(
    connect: Connect, server_tls: ssl.SSLContext, ca_file: Path
) -> None:
    with ScriptedSmtp(tls=server_tls, users={"ada": "right"}) as server:
        good = await connect(url_of(server, "ada:right"), f"ca={ca_file}").probe()
        bad = await connect(url_of(server, "ada:wrong"), f"ca={ca_file}").probe()

        assert (code(good), good.fault, good.recipients) == (235, None, ())
        assert (code(bad), bad.fault) == (535, None)
        assert not any(command.startswith("MAIL") for command in server.commands)
