"""The scripted server does as it is told, judged by the standard library's client."""

from __future__ import annotations

import smtplib
import socket
import threading

import pytest

from postroom.send.script import Moment
from postroom.testing import Hold, ScriptedSmtp
from tests.work.office import wait_until

MESSAGE = b"Message-ID: <1@example.com>\r\n\r\nHello.\r\n.\r\n..two\r\n"


def client_of(server: ScriptedSmtp) -> smtplib.SMTP:
    return smtplib.SMTP("127.0.0.1", server.port, timeout=10)


def send(server: ScriptedSmtp, message: bytes = MESSAGE) -> None:
    with client_of(server) as client:
        client.sendmail("a@example.com", ["b@example.org", "c@example.org"], message)


def test_a_message_is_recorded_as_it_was_sent(smtp_server: ScriptedSmtp) -> None:
    send(smtp_server)
    (message,) = smtp_server.messages

    assert (message.sender, message.recipients) == ("a@example.com", ("b@example.org", "c@example.org"))
    assert (message.data, message.message_id, message.connection) == (MESSAGE, "<1@example.com>", 1)
    assert message.accepted


def test_copies_are_counted_by_message_id(smtp_server: ScriptedSmtp) -> None:
    send(smtp_server)
    send(smtp_server)

    assert (smtp_server.copies("<1@example.com>"), smtp_server.copies("<2@example.com>")) == (2, 0)
    assert smtp_server.copies_of_all() == {"<1@example.com>": 2}


def test_a_hold_keeps_conversations_waiting_until_it_is_released(smtp_server: ScriptedSmtp) -> None:
    hold = Hold()
    smtp_server.script(at="dot", hold=hold)
    sending = threading.Thread(target=send, args=(smtp_server,))
    sending.start()
    smtp_server.wait_for(1)
    wait_until(lambda: hold.waiting == 1)
    assert sending.is_alive()
    hold.release()
    sending.join(10)
    send(smtp_server)

    assert (hold.waiting, len(smtp_server.messages)) == (0, 2)


def test_a_hold_keeps_nobody_whose_client_has_gone(smtp_server: ScriptedSmtp) -> None:
    hold = Hold()
    smtp_server.script(at="mail", hold=hold)
    with socket.create_connection(("127.0.0.1", smtp_server.port), timeout=10) as client:
        client.sendall(b"EHLO here\r\nMAIL FROM:<a@example.com>\r\n")
        wait_until(lambda: hold.waiting == 1)
    wait_until(lambda: hold.waiting == 0)


def test_a_rule_holds_as_often_as_it_says(smtp_server: ScriptedSmtp) -> None:
    smtp_server.script(at="dot", reply="451 4.3.0 later", times=2)
    for _ in range(2):
        with pytest.raises(smtplib.SMTPDataError, match="later"):
            send(smtp_server)
    send(smtp_server)

    assert (len(smtp_server.messages), len(smtp_server.refused)) == (1, 2)


def test_the_newest_rule_that_fits_is_used(smtp_server: ScriptedSmtp) -> None:
    smtp_server.script(at="rcpt", reply="450 4.0.0 all busy")
    smtp_server.script(at="rcpt", argument="b@example.org", reply="550 5.1.1 gone")
    with client_of(smtp_server) as client, pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
        client.sendmail("a@example.com", ["b@example.org", "c@example.org"], MESSAGE)

    assert {address: code for address, (code, _) in refused.value.recipients.items()} == {
        "b@example.org": 550,
        "c@example.org": 450,
    }


def test_a_rule_may_decide_by_itself(smtp_server: ScriptedSmtp) -> None:
    def second_connection(moment: Moment) -> bool:
        return moment.connection == 2

    smtp_server.script(at="mail", reply="550 5.7.1 no", when=second_connection)
    send(smtp_server)
    with pytest.raises(smtplib.SMTPSenderRefused):
        send(smtp_server)

    assert len(smtp_server.messages) == 1


def test_a_message_whose_reply_was_cut_off_was_received(smtp_server: ScriptedSmtp) -> None:
    smtp_server.script(at="dot", cut=True)
    with pytest.raises(smtplib.SMTPServerDisconnected):
        send(smtp_server)

    assert smtp_server.copies("<1@example.com>") == 1


def test_a_message_can_be_cut_off_and_not_received(smtp_server: ScriptedSmtp) -> None:
    smtp_server.script(at="dot", cut=True, accept=False)
    with pytest.raises(smtplib.SMTPServerDisconnected):
        send(smtp_server)

    assert smtp_server.copies("<1@example.com>") == 0


def test_the_script_can_be_forgotten(smtp_server: ScriptedSmtp) -> None:
    smtp_server.script(at="greeting", reply="554 5.3.2 closed")
    smtp_server.clear_script()
    send(smtp_server)

    assert len(smtp_server.messages) == 1


def test_a_moment_that_does_not_exist_is_refused(smtp_server: ScriptedSmtp) -> None:
    with pytest.raises(ValueError, match="no moment is called 'lunch'"):
        smtp_server.script(at="lunch")  # type: ignore[arg-type]


def test_stopped_it_refuses_and_started_again_it_is_back(smtp_server: ScriptedSmtp) -> None:
    send(smtp_server)
    smtp_server.stop()
    with pytest.raises(ConnectionRefusedError):
        client_of(smtp_server)
    smtp_server.start()
    send(smtp_server)

    assert len(smtp_server.messages) == 2


def test_waiting_ends_with_the_message_that_was_waited_for(smtp_server: ScriptedSmtp) -> None:
    sender = threading.Thread(target=lambda: [send(smtp_server) for _ in range(3)])
    sender.start()
    messages = smtp_server.wait_for(3)
    sender.join()

    assert len(messages) == 3


def test_waiting_in_vain_says_how_many_came(smtp_server: ScriptedSmtp) -> None:
    send(smtp_server)

    with pytest.raises(TimeoutError, match="1 of 2"):
        smtp_server.wait_for(2, timeout=0.05)


def test_pipelining_without_the_offer_is_noticed() -> None:
    with ScriptedSmtp(extensions=()) as server, socket.create_connection(("127.0.0.1", server.port), 10) as raw:
        stream = raw.makefile("rwb")
        stream.readline()
        stream.write(b"NOOP\r\nNOOP\r\n")
        stream.flush()
        stream.readline()
        stream.readline()
        stream.close()

        assert server.violations == ["pipelined behind NOOP without PIPELINING"]


@pytest.mark.parametrize(("password", "code"), [("right", 235), ("wrong", 535)])
def test_credentials_are_checked(password: str, code: int) -> None:
    with ScriptedSmtp(users={"ada": "right"}) as server, client_of(server) as client:
        client.ehlo()
        client.user, client.password = "ada", password
        answers = []
        for mechanism, prove in (("PLAIN", client.auth_plain), ("LOGIN", client.auth_login)):
            try:
                answers.append(client.auth(mechanism, prove)[0])
            except smtplib.SMTPAuthenticationError as error:
                answers.append(error.smtp_code)

        assert answers == [code, code]
        assert not any(password in command for command in server.commands)


def test_without_authentication_mail_is_refused() -> None:
    with ScriptedSmtp(users={"ada": "right"}) as server, pytest.raises(smtplib.SMTPSenderRefused) as refused:
        send(server)

    assert refused.value.smtp_code == 530
