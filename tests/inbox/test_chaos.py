"""Each trouble, and how an outbox copes with it."""

from __future__ import annotations

import smtplib

import pytest

from postroom import Email, Outbox, Status
from postroom.inbox import DevInbox, Trouble
from postroom.inbox.chaos import COUNTED, Chaos
from postroom.send.script import At, Moment
from postroom.work.thread import WorkerThread
from tests.inbox.post import plain, post

EMAIL = Email(to="ada@example.org", subject="Hello", text="Good to see you.")


def test_a_server_that_refuses_connections_loses_no_email(inbox: DevInbox, outbox: Outbox) -> None:
    inbox.switch_on("refuse")
    sending = outbox.send(EMAIL, policy="impatient")
    with pytest.raises(ConnectionRefusedError):
        post(inbox, plain())
    with WorkerThread(outbox.settings):
        inbox.switch_off("refuse")
        inbox.wait_for(1)

    assert sending.queued
    assert inbox.copies(outbox.get(sending.id).message_id) == 1


@pytest.mark.parametrize(("trouble", "code"), [("temporary", 451), ("permanent", 554)])
def test_a_refused_message_is_not_kept(inbox: DevInbox, trouble: str, code: int) -> None:
    inbox.switch_on(trouble)
    with pytest.raises(smtplib.SMTPDataError) as refused:
        post(inbox, plain())

    assert refused.value.smtp_code == code
    assert inbox.messages() == []


def test_a_refusal_for_good_makes_an_email_dead_and_one_for_now_does_not(inbox: DevInbox, outbox: Outbox) -> None:
    inbox.switch_on("temporary", times=1)
    waits = outbox.send(EMAIL)
    inbox.switch_on("permanent", times=1)
    dead = outbox.send(EMAIL)

    assert outbox.get(waits.id).status is Status.PENDING
    assert outbox.get(dead.id).status is Status.DEAD
    assert inbox.chaos.state() == {}


def test_a_message_dropped_after_the_dot_is_kept_and_its_sender_is_in_doubt(inbox: DevInbox, outbox: Outbox) -> None:
    """The one case in which nobody can know; held here, so that it can be looked at."""
    inbox.switch_on("drop", times=1)
    sending = outbox.send(EMAIL, on_doubt="hold")
    stored = outbox.get(sending.id)

    assert stored.status is Status.IN_DOUBT
    assert inbox.copies(stored.message_id) == 1


def test_a_slow_server_takes_its_time_before_every_reply_and_the_message_in_the_end(inbox: DevInbox) -> None:
    inbox.switch_on("slow")
    post(inbox, plain())
    script = inbox.chaos.script()
    moments: tuple[At, ...] = ("greeting", "ehlo", "mail", "rcpt", "data", "dot")
    rules = [script.rule_for(Moment(at=at)) for at in moments]

    assert len(inbox.messages()) == 1
    assert [rule and rule.delay for rule in rules] == [0.01] * 6


def test_a_trouble_for_one_message_lets_the_next_one_pass(inbox: DevInbox) -> None:
    inbox.switch_on("temporary", times=1)
    with pytest.raises(smtplib.SMTPDataError):
        post(inbox, plain("first"))
    post(inbox, plain("second"))

    assert [message.subject for message in inbox.messages()] == ["second"]


def test_of_several_troubles_at_the_dot_one_strikes(inbox: DevInbox) -> None:
    for trouble in COUNTED:
        inbox.switch_on(trouble, times=1)
    with pytest.raises(smtplib.SMTPServerDisconnected):
        post(inbox, plain())

    assert inbox.chaos.state() == {Trouble.TEMPORARY: 1, Trouble.PERMANENT: 1}


def test_calm_switches_everything_off(inbox: DevInbox) -> None:
    for trouble in Trouble:
        inbox.switch_on(trouble)
    inbox.calm()
    post(inbox, plain())

    assert inbox.chaos.state() == {}
    assert len(inbox.messages()) == 1


@pytest.mark.parametrize(("trouble", "times"), [(Trouble.REFUSE, 1), (Trouble.SLOW, 2), (Trouble.DROP, 0)])
def test_only_what_befalls_messages_can_be_counted_in_messages(trouble: Trouble, times: int) -> None:
    with pytest.raises(ValueError, match="leave `times` out"):
        Chaos().switch_on(trouble, times=times)


def test_every_change_and_every_strike_changes_the_number_that_the_page_looks_at() -> None:
    chaos = Chaos()
    seen = [chaos.changes]
    chaos.switch_on(Trouble.DROP, times=2)
    seen.append(chaos.changes)
    chaos.strikes(Trouble.DROP)
    seen.append(chaos.changes)
    chaos.switch_off(Trouble.DROP)
    seen.append(chaos.changes)

    assert len(set(seen)) == 4
