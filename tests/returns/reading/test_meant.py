"""Whose name stands in the words of a refusal: somebody else's non-existence is not the recipient's."""

from __future__ import annotations

import pytest

from postroom.returns.reading import read
from postroom.vocabulary import BounceClass

RECIPIENT = "kijitora@example.org"
SENDER = "sender@shop.example.com"


def report(
    diagnostic: str,
    status: str = "5.0.0",
    *,
    recipient: str = RECIPIENT,
    sender: str = SENDER,
    to: str = SENDER,
    first: str = "",
) -> bytes:
    """A standard report; `first` stands before its recipient."""
    return f"""Return-Path: <>
From: MAILER-DAEMON@mx.example.net
To: {to}
Subject: Undelivered Mail Returned to Sender
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.net

{first}Final-Recipient: rfc822; {recipient}
Action: failed
Status: {status}
Diagnostic-Code: smtp; {diagnostic}

--b
Content-Type: text/rfc822-headers

Return-Path: <{sender}>
From: {sender}
To: {recipient}
Subject: Hi

--b--
""".encode()


def class_of(octets: bytes) -> BounceClass | None:
    [recipient] = read(octets).recipients
    return recipient.bounce_class


OF_THE_SENDER = [
    ("550 5.1.1 <sender@shop.example.com>: User unknown", "5.1.1"),
    ("550 5.1.1 <SENDER@Shop.Example.com> does not exist (in reply to RCPT TO command)", "5.1.1"),
    ("550 <sender@shop.example.com> no such user (in reply to RCPT TO command)", "5.0.0"),
    ("550 5.1.1 no such user: postmaster@shop.example.com (in reply to RCPT TO command)", "5.1.1"),
    ("550 mx.example.org: no such user 'sender@shop.example.com' (in reply to RCPT TO command)", "5.0.0"),
    ("550 The domain shop.example.com does not exist", "5.0.0"),
    ("550 shop.example.com: host not found", "5.0.0"),
    ("550 5.1.1 unknown domain shop.example.com.", "5.1.1"),
    ("The domain shop.example.com does not exist", "5.0.0"),
    ("DNS Error: Address resolution of shop.example.com. failed: Domain name not found", "5.0.0"),
    ("No MX or A records for shop.example.com", "5.0.0"),
]


@pytest.mark.parametrize(("diagnostic", "status"), OF_THE_SENDER)
def test_a_sender_who_does_not_exist_is_not_the_recipient(diagnostic: str, status: str) -> None:
    assert class_of(report(diagnostic, status)) is BounceClass.UNDETERMINED


@pytest.mark.parametrize(
    ("diagnostic", "status"),
    [
        (f"550 5.1.1 <{RECIPIENT}>: User unknown", "5.1.1"),
        (f"550 5.1.1 <{RECIPIENT}>: User unknown; mail from <{SENDER}>", "5.1.1"),
        (f"550 5.1.1 {RECIPIENT} said shop.example.com: no such user", "5.1.1"),
        ("550 5.1.1 User unknown", "5.1.1"),
        ("550 5.1.1 User unknown at mx.shop.example.com", "5.1.1"),
        ("550 5.1.1 User unknown, see https://shop.example.com/help", "5.1.1"),
        ("550 5.1.1 tabby@example.org: User unknown, told to shop.example.com", "5.1.1"),
        ("550 5.1.1 asked by shop.example.com: no such user in example.org", "5.1.1"),
    ],
)
def test_who_is_named_beside_the_recipient_or_in_passing_changes_nothing(diagnostic: str, status: str) -> None:
    assert class_of(report(diagnostic, status)) is BounceClass.PERMANENT


def test_the_sender_is_also_whom_the_report_is_written_to() -> None:
    """A return address with a token stands in no header of the original."""
    said = report(
        "550 5.1.1 <bounces+t0k3n@mail.example.com>: User unknown", "5.1.1", to="bounces+T0k3n@mail.example.com"
    )

    assert class_of(said) is BounceClass.UNDETERMINED


@pytest.mark.parametrize("field", ["Original-Recipient", "X-Actual-Recipient"])
def test_where_an_email_went_on_to_is_the_recipient_too(field: str) -> None:
    """Also where the address that forwards it is at the sender's own domain."""
    was = f"{field}: rfc822; ada@shop.example.com\n"

    for named in ("ada@shop.example.com", "shop.example.com", RECIPIENT):
        assert class_of(report(f"550 5.1.1 {named}: User unknown", first=was)) is BounceClass.PERMANENT
    assert class_of(report(f"550 5.1.1 {SENDER}: User unknown", first=was)) is BounceClass.UNDETERMINED


@pytest.mark.parametrize("recipient", ["ada@shop.example.com", "ada@de.shop.example.com", "ada@example.com"])
def test_among_people_of_one_organisation_only_an_address_tells_who_is_meant(recipient: str) -> None:
    domain = "550 5.1.1 User unknown in shop.example.com"

    assert class_of(report(domain, recipient=recipient)) is BounceClass.PERMANENT
    assert class_of(report(f"550 5.1.1 <{SENDER}>: User unknown", recipient=recipient)) is BounceClass.UNDETERMINED


def test_who_writes_to_themselves_is_the_recipient() -> None:
    assert class_of(report(f"550 5.1.1 <{SENDER}>: User unknown", recipient=SENDER)) is BounceClass.PERMANENT


EXIM = f"""Return-Path: <>
From: Mail Delivery System <Mailer-Daemon@mx.example.net>
To: {SENDER}
Subject: Mail delivery failed: returning message to sender
X-Failed-Recipients: {RECIPIENT}

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  {RECIPIENT}
    host mx.example.org [192.0.2.9]
    SMTP error from remote mail server after RCPT TO:<{RECIPIENT}>:
    SAID
"""


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (f"550-Callback failed for <{SENDER}>\n    550 No such user here", BounceClass.TRANSIENT),
        (f"550 <{SENDER}>: no such user", BounceClass.UNDETERMINED),
        (f"550 <{RECIPIENT}>: no such user", BounceClass.PERMANENT),
        ("550 No such user here", BounceClass.PERMANENT),
    ],
)
def test_in_plain_words_the_other_ends_own_name_who_is_meant(said: str, verdict: BounceClass) -> None:
    """What the reporting system writes before them names the recipient whatever was said."""
    assert class_of(EXIM.replace("SAID", said).encode()) is verdict


def test_a_notification_names_its_sender_itself() -> None:
    told = f'"emailAddress": "{RECIPIENT}", "status": "5.1.1", "diagnosticCode": "smtp; 550 5.1.1 <NAME>: User unknown"'
    notice = (
        f'{{"notificationType": "Bounce", "mail": {{"source": "Desk <{SENDER}>"}},'
        f' "bounce": {{"bouncedRecipients": [{{{told}}}]}}}}'
    )
    octets = f"From: no-reply@sns.example.com\nTo: operations@example.com\n\n{notice}"

    assert class_of(octets.replace("NAME", SENDER).encode()) is BounceClass.UNDETERMINED
    assert class_of(octets.replace("NAME", RECIPIENT).encode()) is BounceClass.PERMANENT
