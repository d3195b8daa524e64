"""The mail server of the dev inbox, asked by the standard library's client."""

from __future__ import annotations

import smtplib
import socket
import sqlite3
import sys
from pathlib import Path

import pytest

from postroom.errors import ConfigurationError
from postroom.inbox import DevInbox, reception
from postroom.inbox.shelf import Room
from tests.inbox.post import plain, post


def test_what_is_sent_is_kept_with_its_envelope(inbox: DevInbox) -> None:
    post(inbox, plain("Welcome"))
    (message,) = inbox.wait_for(1)

    assert message.sender == "grace@example.org"
    assert message.recipients == ("ada@example.org",)
    assert message.author == "Grace <grace@example.org>"
    assert message.subject == "Welcome"
    assert message.snippet == "Good to see you."
    assert inbox.copies("<welcome@example.org>") == 1
    assert inbox.letter(message.id).text == "Good to see you.\n"


def test_the_extensions_that_clients_hope_for_are_offered(inbox: DevInbox) -> None:
    with smtplib.SMTP("127.0.0.1", inbox.smtp_port, timeout=30) as client:
        client.ehlo()

        assert {"pipelining", "size", "8bitmime", "smtputf8", "enhancedstatuscodes", "auth"} <= set(
            client.esmtp_features
        )


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
def test_any_user_and_password_will_do(inbox: DevInbox, mechanism: str) -> None:
    with smtplib.SMTP("127.0.0.1", inbox.smtp_port, timeout=30) as client:
        client.ehlo()
        client.user, client.password = "anybody", "anything"
        code, _ = client.auth(mechanism, getattr(client, f"auth_{mechanism.lower()}"))

        assert code == 235


def test_a_lone_dot_in_the_text_arrives_as_it_was(inbox: DevInbox) -> None:
    post(inbox, plain(text="one\n.\n..two\n"))
    (message,) = inbox.wait_for(1)

    assert inbox.letter(message.id).text == "one\n.\n..two\n"


def test_a_message_that_says_it_is_too_large_is_refused_before_it_is_sent() -> None:
    with DevInbox(room=Room(message_octets=10_000)) as inbox:
        with pytest.raises(smtplib.SMTPSenderRefused) as refused:
            post(inbox, plain(text="long " * 5_000))

        assert refused.value.smtp_code == 552
        assert inbox.messages() == []


def test_a_message_that_turns_out_too_large_is_refused_and_the_next_is_taken() -> None:
    with DevInbox(room=Room(message_octets=10_000)) as inbox:
        with smtplib.SMTP("127.0.0.1", inbox.smtp_port, timeout=30) as client:
            client.helo()  # an old client, which does not tell the size
            with pytest.raises(smtplib.SMTPDataError) as refused:
                client.sendmail("a@example.org", ["b@example.org"], b"Subject: x\r\n\r\n" + b"long\r\n" * 5_000)
            client.sendmail("a@example.org", ["b@example.org"], b"Subject: short\r\n\r\nHi\r\n")

        assert refused.value.smtp_code == 552
        assert [message.subject for message in inbox.messages()] == ["short"]


def test_a_line_that_never_ends_ends_the_conversation(inbox: DevInbox) -> None:
    """A client cannot fill the server's memory."""
    with socket.create_connection(("127.0.0.1", inbox.smtp_port), timeout=30) as client:
        client.sendall(b"x" * 70_000)
        heard = b""
        while piece := client.recv(1000):
            heard += piece

        assert b"500 5.5.2 line too long\r\n" in heard


def test_a_message_that_cannot_be_kept_is_not_accepted(inbox: DevInbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full: the client keeps its message and tries again later."""

    def full(_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(inbox.shelf, "keep", full)
    with pytest.raises(smtplib.SMTPDataError) as refused:
        post(inbox, plain())

    assert refused.value.smtp_code == 452


def test_a_port_in_use_is_told_with_what_to_do(inbox: DevInbox) -> None:
    with pytest.raises(ConfigurationError, match=rf"cannot listen on port {inbox.smtp_port}: .*--smtp-port"):
        DevInbox(smtp_port=inbox.smtp_port).start()
    with pytest.raises(ConfigurationError, match=rf"cannot listen on port {inbox.port}: .*--port"):
        DevInbox(port=inbox.port).start()


def test_mail_in_a_file_is_there_after_a_restart(tmp_path: Path) -> None:
    inbox = DevInbox(file=tmp_path / "inbox.db")
    with inbox:
        post(inbox, plain("Kept"))
        ports = inbox.smtp_port, inbox.port
    with inbox:
        assert [message.subject for message in inbox.messages()] == ["Kept"]
        assert (inbox.smtp_port, inbox.port) == ports


def test_it_listens_on_this_machine_only_unless_told_otherwise(inbox: DevInbox) -> None:
    assert inbox.smtp_url.startswith("smtp://127.0.0.1:")
    assert inbox.url.startswith("http://127.0.0.1:")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", inbox.smtp_port), timeout=5)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", inbox.port), timeout=5)


def test_beyond_so_many_connections_none_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reception, "MAX_CONNECTIONS", 1)
    with DevInbox() as inbox, socket.create_connection(("127.0.0.1", inbox.smtp_port), timeout=30) as first:
        greeting = first.recv(1000)
        with socket.create_connection(("127.0.0.1", inbox.smtp_port), timeout=30) as second:
            nothing = second.recv(1000)

        assert greeting.startswith(b"220 postroom-inbox ")
        assert nothing == b""


def test_what_is_missing_of_the_web_extra_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'postroom\[web\]'"):
        DevInbox().start()
