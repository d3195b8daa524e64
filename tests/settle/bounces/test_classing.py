"""Whether what bounced can ever arrive."""

from __future__ import annotations

import pytest

from postroom.settle.bounces.classing import bounce_class
from postroom.settle.bounces.saying import Phase, Saying, saying
from postroom.vocabulary import BounceClass


@pytest.mark.parametrize(
    "text",
    [
        "550 5.1.1 <ada@example.org>: Recipient address rejected: User unknown",
        "550-5.1.1 The email account that you tried to reach does not exist. 550 5.1.1 gsmtp",
        "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup",
        "550 5.1.6 mailbox has moved",
        "550 5.4.4 Invalid domain",
        "550 5.1.2 bad destination system: no such domain",
        "556 5.1.10 domain does not accept mail (nullMX)",
        "host mail.example.org said: 550 no such user (in reply to RCPT TO command)",
        "550 5.1.0 sorry, no mailbox here by that name",
        "550 5.1.1 Destinataire inconnu",
        "550 5.1.1 <ada@example.org>: Recipient address rejected: User unknown in relay recipient table",
        "521 5.3.2 system not accepting network messages",
        "550 5.4.1 Recipient address rejected: Access denied (in reply to RCPT TO command)",
        "550 5.4.1 Recipient address rejected: Access denied",
        "550 5.4.1 [ada@example.org]: Recipient address rejected: Access denied",
        "5.1.0 - Unknown address error 550-'5.4.1 Recipient address rejected: Access denied'",
        "550 #5.1.0 Address rejected.",
        "550 5.5.0 Adresse destinataire invalide. Invalid recipient.",
        "550 5.5.0 Adresse d'au moins un destinataire invalide (in reply to RCPT TO command)",
        "Sorry, I couldn't find any host named example.invalid. (#5.1.2)",
        "551 the user has moved to another company",
        "550 No such user (in reply to RCPT TO command)",
        "550 Requested action not taken: mailbox unavailable",
        "550-Requested action not taken: mailbox unavailable 550 For explanation visit https://example.org/case?c=r1 "
        "(in reply to RCPT TO command)",
        "550 5.7.1 No such user! (in reply to RCPT TO command)",
        "550 5.7.27 Host does not accept mail",
        "Unknown user: ada@example.org",
        "550 5.1.1 Not our Customer",
        "550 5.1.1 User unknown. Please verify the address and try again.",
        "550 5.1.1 The recipient does not exist. The sender should check the address of the recipient.",
        "550 5.1.1 Recipient unknown; message from bulk sender",
        "550 5.1.1 Marble and Mimesis Rulers: no such user here",
        "550 Unrouteable address (in reply to RCPT TO command)",
        "SMTP error from remote mail server after RCPT TO:<ada@example.org>: 550 not accepted -- invalid mailbox. "
        "Local mailbox ada@example.org is unavailable: user not found",
        "550 User not found: ada@example.org (in reply to RCPT TO command)",
        "550 User not found:ada@example.org (in reply to RCPT TO command)",
        "550 No such user;ada@example.org (in reply to RCPT TO command)",
        "550 not a local user (in reply to RCPT TO command)",
        "553 5.7.1 no such mail-box (in reply to RCPT TO command)",
        "550 There is no mail box of that name (in reply to RCPT TO command)",
        "550 5.7.1 No mailbox found (in reply to RCPT TO command)",
        "554 ada@example.org dosn't exist (in reply to RCPT TO command)",
        "550 Mailbox is unavailable (user not found) (in reply to RCPT TO command)",
        "550 Account not found: please verify the address and try again (in reply to RCPT TO command)",
        "550 5.1.1 <ada@example.org>: Address is not configured to receive emails (in reply to RCPT TO command)",
        "553 5.3.0 <ada@example.org>... Address does not exist (in reply to RCPT TO command)",
        "554 RCPT <ada@example.org> does not exist",
        "RCPT TO generated following response: 550 no such user",
        "551 not our customer (in reply to RCPT TO command)",
        "550 User not registered (in reply to RCPT TO command)",
        "550 Usuario no encontrado (in reply to RCPT TO command)",
        "550 Utente non trovato (in reply to RCPT TO command)",
        "550 Usuário não encontrado (in reply to RCPT TO command)",
        "550 사용자를 찾을 수 없습니다 (in reply to RCPT TO command)",
        "550 kullanıcı yok (in reply to RCPT TO command)",
        "550 Mottagaren finns inte (in reply to RCPT TO command)",
        "Ihre Nachricht wurde nicht an ada@example.org zugestellt, weil die Adresse nicht gefunden wurde.",
        "DNS Error: DNS type 'mx' lookup of example.org responded with code NXDOMAIN Domain name not found",
        "DNS Error: Address resolution of example.org. failed: Domain name not found",
        "DNS Error: Address resolution of example.org failed: Domain name not found",
        "<ada@example.org>: No MX or A records for example.org",
        "Your message wasn't delivered because the domain example.org couldn't be found. "
        "Check for typos or unnecessary spaces and try again.",
    ],
)
def test_an_address_that_does_not_exist_is_permanent(text: str) -> None:
    assert bounce_class(saying(text)) is BounceClass.PERMANENT


@pytest.mark.parametrize(
    "text",
    [
        "552 5.2.2 mailbox full",
        "550 5.1.1 <ada@example.org> full mailbox",
        "550 5.1.1 mail-box full",
        "550 5.1.1 over quota:ada@example.org",
        "550 5.1.1 mailbox lleno",
        "550 5.1.1 <ada@example.org> casilla llena",
        "550 5.1.1 the recipient does not have enough space",
        "550 5.1.1 <ada@example.org>: user is over quota",
        "550 5.1.1 <ada@example.org> - 203.0.113.7 has exceeded its sending limit",
        "550 5.7.1 message blocked as spam",
        "550 5.1.1 rejected: listed at zen.spamhaus.org; see our policy",
        "554 5.7.26 unauthenticated email is not accepted due to the domain's DMARC policy",
        "552 5.3.4 message too large",
        "550 5.2.1 account is disabled",
        "550 5.1.1 this account is inactive",
        "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
        "550 5.1.1 we have suppressed sending to this address, which was invalid",
        "550 relaying denied (in reply to RCPT TO command)",
        "451 4.7.1 greylisted, try again later",
        "421 4.4.2 connection timed out",
        "550 5.1.8 sender's domain does not exist",
        "550 no such user here (in reply to MAIL FROM command)",
        "450 4.1.1 <ada@example.org>: user unknown",
        "450 <ada@example.org>: no such user (in reply to RCPT TO command)",
        "450 5.1.1 <ada@example.org>: no such user (in reply to RCPT TO command)",
        "5.1.0 - Unknown address error 550-'blocked by our policy'",
        "554 5.3.2 system not accepting network messages",
        "550 5.7.1 Requested action not taken: mailbox unavailable",
        "550 5.4.1 All recipient addresses rejected : Access denied",
        "550 5.4.1 Recipient address rejected: Access denied (in reply to end of DATA command)",
        "450 5.4.1 Recipient address rejected: Access denied (in reply to RCPT TO command)",
        "550 5.1.0 Recipient address rejected: Access denied (in reply to RCPT TO command)",
        "Host or domain name not found. Name service error for name=example.org: Host not found, try again",
        "550 5.1.1 <ada@example.org> recipient rejected. IB607",
        "550-Requested action not taken: mailbox unavailable 550 invalid DNS MX or A/AAAA resource record",
        "550 5.1.1 message from bulk sender",
        "550 5.1.1 mailbox unavailable: message from bulk sender",
        "550 5.1.1 Please verify your sender domain",
        "550 5.1.1 listed on an RBL",
        "551 you are not our customer (in reply to RCPT TO command)",
        "550 this server is not configured to receive your mail (in reply to RCPT TO command)",
        "550 The return address does not exist. Please verify the address (in reply to RCPT TO command)",
        "550-Callout verification failed: 550 550 unknown user (in reply to RCPT TO command)",
        "550-Callback failed for <grace@shop.example> 550 No such user here (in reply to RCPT TO command)",
        "DNS Error: DNS type 'mx' lookup of example.org responded with code SERVFAIL",
        "DNS Error: Address resolution of example.org. failed: Server failure",
        "550 5.7.1 DNS Error: Address resolution of example.org. failed: Domain name not found",
        "550 5.7.1 No MX or A records for example.org",
    ],
)
def test_what_the_same_address_may_take_the_next_time_is_transient(text: str) -> None:
    assert bounce_class(saying(text)) is BounceClass.TRANSIENT


OF_THE_SENDER = [
    "550 5.7.1 Unknown host",
    "550 5.7.1 <203.0.113.7>: Host not found in reverse",
    "550 5.7.1 The envelope domain does not exist",
    "550 5.7.27 Return path has no MX: domain not found",
    "550 5.7.1 selector of signature domain not found",
    "550 5.7.1 name or service not known (milter)",
    "554 5.3.0 unknown mailer error: name or service not known",
    "550 5.5.0 domain does not exist",
    "553 5.3.0 domain does not exist",
    "550 5.7.1 This service has moved to a new platform",
    "550 5.7.1 Our terms: address has changed format",
    "550 5.7.1 our domain accepts no attachments",
    "550 5.7.1 The From address does not exist in our directory",
    "550 5.7.1 the key does not exist",
    "554 5.6.0 Referenced object does not exist",
]
"""And to everybody whom that sender writes to: one record that is broken would have them all called dead."""


@pytest.mark.parametrize("text", OF_THE_SENDER)
@pytest.mark.parametrize("command", ["", " (in reply to RCPT TO command)", " (in reply to end of DATA command)"])
def test_what_is_not_there_beside_a_status_of_policy_is_not_the_recipient(text: str, command: str) -> None:
    assert bounce_class(saying(f"{text}{command}")) is BounceClass.TRANSIENT


@pytest.mark.parametrize(
    "text",
    [
        "550 domain not found (in reply to end of DATA command)",
        "550 5.1.2 link points to a nonexistent domain (in reply to end of DATA command)",
        "550 the user has moved (in reply to end of DATA command)",
        "550 Unknown host (in reply to RCPT TO command)",  # by the very host of that domain
        "550 No MX or A records for example.org (in reply to RCPT TO command)",
        "550 this system has moved (in reply to RCPT TO command)",
        "550 No such user. Please verify your records (in reply to RCPT TO command)",
        "550 domaine de l'expéditeur inexistant (in reply to RCPT TO command)",
        "550 die Domain des Absenders existiert nicht (in reply to RCPT TO command)",
        "550 our address has changed (in reply to RCPT TO command)",
        "550 #5.1.0 Address rejected (in reply to end of DATA command)",
        "550 #5.1.0 Address rejected (in reply to MAIL FROM command)",
        "550 #5.7.1 Address rejected (in reply to RCPT TO command)",
        "550 5.1.0 your address rejected (in reply to RCPT TO command)",
        "550 destinataire invalide (in reply to end of DATA command)",
    ],
)
def test_what_may_be_said_of_something_else_proves_nothing(text: str) -> None:
    assert bounce_class(saying(text)) is not BounceClass.PERMANENT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "550",
        "550 no",
        "550 5.0.0 we are sorry",
        "550 user unknown",
        "550 unknown user: ada",
        "550 user unknown (in reply to end of DATA command)",
        "550 5.1.1 Denied (in reply to end of DATA command)",
        "550 5.1.10 RESOLVER.ADR.RecipientNotFound (in reply to end of DATA command)",
        "550 5.1.2 invalid domain (in reply to end of DATA command)",
        "ticket 10554 rcpt 3: user unknown",
        "delivery failed",
        "550-Requested action not taken: mailbox unavailable 550 For explanation visit https://example.org/case?c=r1",
    ],
)
def test_what_nobody_explains_is_undetermined(text: str) -> None:
    assert bounce_class(saying(text)) is BounceClass.UNDETERMINED


@pytest.mark.parametrize(
    "text",
    [
        "550 5.1.1 user unknown (in reply to end of DATA command)",
        "SMTP error from remote mail server after end of data: 550 5.1.1 no such user",
        "SMTP error from remote mail server after pipelined end of data: 550 5.1.1 no such user",
        "192.0.2.9 failed after I sent the message. Remote host said: 550 5.1.1 no such user",
    ],
)
def test_a_recipient_who_is_looked_up_after_the_content_is_dead_by_status_and_words(text: str) -> None:
    """Exchange does so; by one of the two alone nobody is."""
    assert bounce_class(saying(text)) is BounceClass.PERMANENT


@pytest.mark.parametrize(
    "text",
    [
        "550 5.1.1 user unknown (in reply to DATA command)",
        ">>> DATA <<< 550 5.1.1 user unknown",
        "550 5.1.1 user unknown",
    ],
)
def test_before_the_content_a_refusal_may_still_be_of_the_recipient(text: str) -> None:
    """Whoever says everything at once hears of a recipient when the commands have got as far as DATA."""
    assert bounce_class(saying(text)) is BounceClass.PERMANENT


def test_a_status_that_the_reporting_system_guessed_is_no_proof() -> None:
    """Some write 5.1.1 for every 550 that came without a status."""
    guessed = Saying(text="550 go away", reply="550 go away", status="5.1.1", code=550, phase=Phase.RECIPIENT)
    told = Saying(text="550 5.1.1 go away", reply="550 5.1.1 go away", status="5.1.1", code=550)

    assert (bounce_class(guessed), bounce_class(told)) == (BounceClass.UNDETERMINED, BounceClass.PERMANENT)


@pytest.mark.parametrize("status", ["5.4.7", "5.0.0", "5.1.1"])
def test_a_code_of_what_may_pass_is_believed_beside_any_status(status: str) -> None:
    """Who tries for days and gives up reports 5.4.7; the other end has never said that it is for good."""
    given_up = Saying(text="450 no such user", reply="450 no such user", status=status, code=450, phase=Phase.RECIPIENT)

    assert bounce_class(given_up) is BounceClass.TRANSIENT


@pytest.mark.parametrize(
    "text",
    [
        "550 5.1.1 <spam-blocked@example.org>: user unknown",
        "550 5.1.1 user unknown at mx.spamfilter.example.org",
        "550 5.1.1 user unknown, see https://example.org/blocked/policy",
    ],
)
def test_names_of_people_hosts_and_pages_are_no_reasons(text: str) -> None:
    assert bounce_class(saying(text)) is BounceClass.PERMANENT


def test_status_code_and_phase_are_found_in_a_text() -> None:
    said = saying(
        "host mx.example.org[192.0.2.250] said: 550-5.1.1 no\n 550 5.1.1 such user (in reply to RCPT TO command)"
    )

    assert (said.status, said.code, said.phase) == ("5.1.1", 550, Phase.RECIPIENT)
    assert said.reply.startswith("550-5.1.1 no")


def test_a_code_is_found_before_its_status_whatever_stands_before_it() -> None:
    assert (saying("ERROR CODE :550-5.1.1 - gone").code, saying("at 10:550 gone").code) == (550, None)


def test_numbers_that_are_no_reply_are_not_taken_for_one() -> None:
    said = saying("message 550.5.1.1.2 of 192.5.1.1 was put off, ticket 4550")

    assert (said.status, said.code) == ("", None)
