"""What a refusal in the session says of an address: what a report would have said of it."""

from __future__ import annotations

import pytest

from postroom.send.contract import Phase, Reply
from postroom.settle.bounces.session import class_of_refusal
from postroom.vocabulary import BounceClass


def refused(text: str, phase: Phase = Phase.RCPT, *, code: int = 550, enhanced: str | None = None) -> Reply:
    return Reply(phase=phase, code=code, enhanced=enhanced, text=text)


@pytest.mark.parametrize(
    "reply",
    [
        refused("no such user", enhanced="5.1.1"),
        refused("(address): Recipient address rejected: User unknown in virtual mailbox table", enhanced="5.1.1"),
        refused("mailbox (address) does not exist"),
        refused("sorry, no mailbox here by that name (#5.1.1)"),
        refused("The email account that you tried to reach does not exist. gsmtp", enhanced="5.1.1"),
        refused("Recipient address rejected: Access denied", enhanced="5.4.1"),
        refused("Recipient not found by SMTP address lookup", enhanced="5.1.10"),
        refused("domain does not accept mail (nullMX)", code=556, enhanced="5.1.10"),
        refused("Recipient address rejected: Domain not found", enhanced="5.1.2"),
        refused("Requested action not taken: mailbox unavailable"),
        refused("no such user", Phase.DATA, enhanced="5.1.1"),
        refused("no such user", Phase.DOT, enhanced="5.1.1"),
    ],
    ids=str,
)
def test_a_mailbox_that_its_server_does_not_know_is_permanent(reply: Reply) -> None:
    assert class_of_refusal(reply) is BounceClass.PERMANENT


@pytest.mark.parametrize(
    "reply",
    [
        refused("message refused by policy", enhanced="5.7.1"),
        refused("Service unavailable; client host blocked using zen.spamhaus.org", code=554, enhanced="5.7.1"),
        refused("rejected: listed at zen.spamhaus.org; see our policy", enhanced="5.1.1"),
        refused("mailbox full", code=552, enhanced="5.2.2"),
        refused("(address): user is over quota", enhanced="5.1.1"),
        refused("relaying denied"),
        refused("(address): Relay access denied", code=554, enhanced="5.7.1"),
        refused("sender's domain does not exist", enhanced="5.1.8"),
        refused("no such user here", Phase.MAIL, enhanced="5.1.1"),
        refused("account is disabled", enhanced="5.2.1"),
        refused("user unknown", Phase.DOT),
        refused("denied", Phase.DOT, enhanced="5.1.1"),
        refused("spam", Phase.DOT, code=554, enhanced="5.7.1"),
        refused("too big", Phase.MAIL, code=552, enhanced="5.3.4"),
        refused("user unknown", code=450, enhanced="4.1.1"),
        refused("no such user", Phase.ANSWER, enhanced="5.1.1"),
    ],
    ids=str,
)
def test_whatever_else_is_refused_says_nothing_of_the_mailbox(reply: Reply) -> None:
    assert class_of_refusal(reply) is not BounceClass.PERMANENT
