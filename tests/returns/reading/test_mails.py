"""What is read out of messages in the manner of many mail systems."""

from __future__ import annotations

from datetime import date

import pytest

from postroom.returns.reading import Unclear, flufl, read
from postroom.vocabulary import BounceClass, Return
from tests.returns.reading.mailbag import MAILS, ORIGINAL, octets_of, reading_of

DEAD, SOFT, UNSAID = BounceClass.PERMANENT, BounceClass.TRANSIENT, BounceClass.UNDETERMINED

BOUNCES = {
    "postfix-unknown": [("ada@example.org", DEAD, "5.0.0", 550)],
    "postfix-content": [("ada@example.org", UNSAID, "5.0.0", 550)],
    "postfix-no-domain": [("ada@example.org", DEAD, "5.4.4", None)],
    "postfix-two": [("ada@example.org", DEAD, "5.1.1", 550), ("bo@example.org", SOFT, "5.2.2", 552)],
    "sendmail-blocked": [("ada@example.org", SOFT, "5.7.1", 554)],
    "sendmail-guessed": [("ada@example.org", UNSAID, "5.1.1", 550)],
    "sendmail-denied": [("ada@example.org", UNSAID, "", 550)],
    "sendmail-asked": [("ada@example.org", DEAD, "5.7.1", 550)],
    "sendmail-expanded": [("ada@mail.example.org", DEAD, "5.1.1", 550)],
    "exchange-unknown": [("ada@example.org", DEAD, "5.1.10", 550)],
    "gmail-unknown": [("ada@example.org", DEAD, "5.1.1", 550)],
    "receiving-rule": [("ada@example.org", UNSAID, "5.1.1", 550)],
    "sender-refused": [("ada@example.org", SOFT, "5.1.8", 550)],
    "international": [("grüße@bücher.example", DEAD, "5.1.1", 550)],
    "inline-report": [("ada@example.org", DEAD, "5.1.1", None)],
    "qmail-unknown": [("ada@example.org", DEAD, "", 550)],
    "exim-full": [("ada@example.org", SOFT, "5.2.2", 552)],
    "exim-generated": [("ada@mail.example.org", DEAD, "", None)],
    "domino-unknown": [("ada@example.org", DEAD, "", None)],
    "x400-unknown": [("ada@example.org", DEAD, "", None)],
    "russian-unknown": [("ada@example.org", DEAD, "", 550)],
    "japanese-full": [("ada@example.jp", SOFT, "", None)],
    "chinese-refused": [("ada@example.cn", SOFT, "", 550)],
    "html-only": [("ada@example.org", DEAD, "5.1.1", 550)],
    "old-sendmail": [("ada@example.org", DEAD, "", 554), ("bo@example.net", SOFT, "", 554)],
    "notice": [("ada@example.org", DEAD, "5.1.1", 550)],
}

OTHERS = {
    "delayed": (Return.DEFERRED, "ada@example.org", "dsn"),
    "exim-delayed": (Return.DEFERRED, "ada@example.org", "flufl"),
    "gmail-delayed": (Return.DEFERRED, "ada@example.org", "flufl"),
    "delivered": (Return.DELIVERED, "ada.lovelace@mail.example.org", "dsn"),
    "complaint": (Return.COMPLAINED, "ada@example.org", "arf"),
    "complaint-redacted": (Return.COMPLAINED, "ada@example.org", "arf"),
    "complaint-outlook": (Return.COMPLAINED, "ada@hotmail.example", "arf"),
    "authentication": (Return.COMPLAINED, "ada@example.org", "arf"),
    "not-spam": (Unclear.IRRELEVANT, "ada@example.org", "arf"),
    "receipt": (Unclear.IRRELEVANT, "", "receipt"),
    "reply": (Return.REPLIED, "ada@example.org", "thread"),
    "reply-no-thread": (Return.REPLIED, "ada@example.org", "thread"),
    "away-english": (Return.AUTORESPONDED, "ada@example.org", "thread"),
    "away-german": (Return.AUTORESPONDED, "bo@example.org", "thread"),
    "away-french": (Return.AUTORESPONDED, "cy@example.org", "thread"),
    "ticket": (Return.AUTORESPONDED, "help@example.org", "thread"),
    "leaving": (Return.UNSUBSCRIBED, "ada@example.org", "leaving"),
    "forwarded": (Unclear.UNREADABLE, "", ""),
    "newsletter": (Unclear.UNREADABLE, "", ""),
    "nobody-named": (Unclear.UNREADABLE, "", ""),
    "own": (Unclear.OWN, "", "own"),
}


def test_every_message_of_the_mailbag_is_spoken_of() -> None:
    assert {path.stem for path in MAILS.glob("*.eml")} == BOUNCES.keys() | OTHERS.keys()


@pytest.mark.parametrize("name", BOUNCES)
def test_a_bounce_tells_who_did_not_get_it_and_whether_they_ever_can(name: str) -> None:
    reading = reading_of(name)

    found = [(each.address, each.bounce_class, each.status, each.code) for each in reading.recipients]
    assert (reading.kind, found) == (Return.BOUNCED, BOUNCES[name])


@pytest.mark.parametrize("name", BOUNCES)
def test_a_bounce_is_read_alike_without_the_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flufl, "scanner", lambda: None)

    reading = reading_of(name)

    found = [(each.address, each.bounce_class, each.status, each.code) for each in reading.recipients]
    assert (reading.kind, found) == (Return.BOUNCED, BOUNCES[name])
    assert reading.reader in ("dsn", "notice", "words")


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_bounce_is_told_apart(name: str) -> None:
    reading = reading_of(name)

    kind, address, reader = OTHERS[name]
    assert (reading.kind, reading.reader) == (kind, reader)
    assert [each.address for each in reading.recipients] == ([address] if address else [])


@pytest.mark.parametrize("name", ["delayed", "exim-delayed", "gmail-delayed"])
def test_what_is_tried_again_has_not_bounced_with_the_extra_or_without(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`flufl.bounce` calls who is still waited for in such a warning failed."""
    known = reading_of(name)
    monkeypatch.setattr(flufl, "scanner", lambda: None)

    assert reading_of(name).kind is known.kind is Return.DEFERRED
    assert reading_of(name).recipients == known.recipients
    assert [(each.address, each.bounce_class) for each in known.recipients] == [("ada@example.org", SOFT)]


@pytest.mark.parametrize("name", [*BOUNCES, *OTHERS])
def test_line_ends_do_not_matter(name: str) -> None:
    octets = octets_of(name)

    assert read(octets.replace(b"\n", b"\r\n")) == read(octets) == read(octets.replace(b"\n", b"\r"))


@pytest.mark.parametrize(
    "name", ["postfix-two", "delivered", "qmail-unknown", "domino-unknown", "complaint", "notice", "reply", "ticket"]
)
def test_the_email_that_is_spoken_of_is_named_first(name: str) -> None:
    assert reading_of(name).about[0] == ORIGINAL


def test_a_thread_is_told_from_the_last_to_the_first() -> None:
    assert reading_of("reply").about == (ORIGINAL, "<first@shop.example.com>")


def test_a_message_tells_its_own_id_and_whom_it_was_delivered_to() -> None:
    octets = b"Delivered-To: desk+token@shop.example.com\n" + octets_of("reply")

    reading = read(octets)

    assert reading.message_id == "<reply@mx.example.net>"
    assert reading.envelope_to == ("desk+token@shop.example.com", "desk@shop.example.com")


def test_what_it_was_sent_to_stands_beside_where_it_went() -> None:
    [recipient] = reading_of("delivered").recipients

    assert (recipient.address, recipient.aliases) == ("ada.lovelace@mail.example.org", ("ada@example.org",))


@pytest.mark.parametrize("name", ["exim-generated", "sendmail-expanded"])
def test_what_a_recipient_was_made_from_stands_beside_it(name: str) -> None:
    """It is no second recipient: the other members of a list have got their copies."""
    [recipient] = reading_of(name).recipients

    assert (recipient.address, recipient.aliases) == ("ada@mail.example.org", ("all@example.org",))


@pytest.mark.parametrize(
    ("action", "kind"),
    [("expanded", Return.DELIVERED), ("relayed", Unclear.IRRELEVANT), ("Delivered (to mailbox)", Return.DELIVERED)],
)
def test_what_was_handed_on_is_not_called_delivered(action: str, kind: Return | Unclear) -> None:
    reading = read(octets_of("delivered").replace(b"Action: delivered", f"Action: {action}".encode()))

    assert (reading.kind, reading.recipients[0].bounce_class) == (kind, None)


REPLY = b"<<< 550 5.7.1 No such user at this site\n"


@pytest.mark.parametrize("commands", [b">>> DATA\n", b">>> RCPT To:<ada@example.org>\n" + REPLY + b">>> DATA\n", b""])
def test_a_transcript_tells_the_command_where_only_one_got_that_reply(commands: bytes) -> None:
    """With 5.7.1, «no such user» is believed in reply to the recipient alone."""
    octets = octets_of("sendmail-asked").replace(b">>> RCPT To:<ada@example.org>\n", commands)

    assert [each.bounce_class for each in read(octets).recipients] == [SOFT]


def test_the_words_of_the_other_end_are_kept_on_one_line() -> None:
    [recipient] = reading_of("postfix-no-domain").recipients

    assert recipient.text.startswith("Host or domain name not found. Name service error for name=example.org")
    assert "\n" not in recipient.text


def test_only_a_reader_who_complains_has_objected() -> None:
    """A receiver reports failed signatures in the same form, and the recipient knows nothing of it."""
    objected = {name: reading_of(name).objected for name in OTHERS}

    assert [name for name, yes in objected.items() if yes] == ["complaint", "complaint-redacted", "complaint-outlook"]
    assert reading_of("authentication").feedback == "auth-failure"


def test_recipients_are_told_apart_without_an_empty_line_between_them() -> None:
    """Only where it is plain whose every field is."""
    octets = octets_of("postfix-two")
    first, last = octets.index(b"Final-Recipient: rfc822; ada"), octets.index(b"Final-Recipient: rfc822; bo")
    joined = octets[:last].rstrip(b"\n") + b"\n" + octets[last:]
    mixed = joined[: last - 1] + b"Original-Recipient: rfc822; cy@example.org\n" + joined[last - 1 :]
    before = octets[:first].rstrip(b"\n") + b"\n" + joined[first:]

    found = [[(each.address, each.bounce_class) for each in read(each).recipients] for each in (joined, before, mixed)]
    assert found[:2] == [[("ada@example.org", DEAD), ("bo@example.org", SOFT)]] * 2
    assert found[2] == [("ada@example.org", DEAD)]


def test_a_mailbox_within_one_system_stands_behind_the_address_it_was_sent_to() -> None:
    named = b"Original-Recipient: rfc822; ada@example.org\nFinal-Recipient: rfc822; "

    for within in (b"@mx.example.net:ada@ims_daemon", b"ada@mail-store-daemon"):
        told = octets_of("postfix-unknown").replace(b"Final-Recipient: rfc822; ada@example.org", named + within)
        [recipient] = read(told).recipients
        assert (recipient.address, recipient.aliases) == ("ada@example.org", (within.decode(),))


@pytest.mark.parametrize(
    ("written", "address"),
    [
        (r"utf-8; gr\x{FC}\x{DF}e@b\x{FC}cher.example", "grüße@bücher.example"),
        (r"utf-8; a\x{2B}b@example.org", "a+b@example.org"),
        (r"utf-8; a\x{1F600}@example.org", "a\U0001f600@example.org"),
        (r"utf-8; a\x{0A}\x{202E}\x{D800}\x{FFFFFF}@example.org", r"a\x{0a}\x{202e}\x{d800}\x{ffffff}@example.org"),
        (r"rfc822; a\x{FC}@example.org", r"a\x{fc}@example.org"),
    ],
)
def test_letters_that_a_report_had_to_describe_are_read(written: str, address: str) -> None:
    told = octets_of("international").replace("utf-8; grüße@bücher.example".encode(), written.encode())

    assert [each.address for each in read(told).recipients] == [address]


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [
        ("failed", "delayed", {"ada": (Return.BOUNCED, DEAD), "bo": (Return.DEFERRED, SOFT)}),
        ("delayed", "failed", {"bo": (Return.BOUNCED, SOFT), "ada": (Return.DEFERRED, SOFT)}),
        ("delivered", "failed", {"bo": (Return.BOUNCED, SOFT), "ada": (Return.DELIVERED, None)}),
        ("delivered", "delayed", {"bo": (Return.DEFERRED, SOFT), "ada": (Return.DELIVERED, None)}),
        ("relayed", "failed", {"bo": (Return.BOUNCED, SOFT)}),
        ("relayed", "relayed", {"ada": (Unclear.IRRELEVANT, None), "bo": (Unclear.IRRELEVANT, None)}),
    ],
)
def test_each_recipient_of_a_report_has_a_fate_of_their_own(
    first: str, second: str, kinds: dict[str, tuple[Return | Unclear, BounceClass | None]]
) -> None:
    """The message is called after the worst, and those that fared worst stand first."""
    head, ada, bo = octets_of("postfix-two").split(b"Action: failed")
    reading = read(head + f"Action: {first}".encode() + ada + f"Action: {second}".encode() + bo)

    found = [(each.address.partition("@")[0], reading.kind_of(each), each.bounce_class) for each in reading.recipients]
    assert found == [(name, *kind) for name, kind in kinds.items()]
    assert reading.kind is found[0][1]


def test_a_recipient_of_whom_two_things_are_told_has_the_worse_of_them() -> None:
    head, ada, bo = octets_of("postfix-two").replace(b"bo@", b"ada@").split(b"Action: failed")
    reading = read(head + b"Action: delivered" + ada + b"Action: failed" + bo)

    assert [(each.address, reading.kind_of(each)) for each in reading.recipients] == [
        ("ada@example.org", Return.BOUNCED)
    ]


@pytest.mark.parametrize(
    ("name", "day"),
    [("away-english", date(2026, 11, 30)), ("away-german", date(2026, 11, 28)), ("away-french", date(2026, 12, 1))],
)
def test_an_answer_of_somebody_away_tells_when_they_are_back(name: str, day: date) -> None:
    assert reading_of(name).until == day


@pytest.mark.parametrize(
    ("octets", "problem"),
    [
        (b"", "empty"),
        (b"\r\n\r\n", "empty"),
        (b"\x00\xff\xfe no headers at all", "no headers"),
        (octets_of("nobody-named"), "names nobody"),
        (octets_of("newsletter"), "no answer"),
    ],
)
def test_what_cannot_be_read_tells_why(octets: bytes, problem: str) -> None:
    reading = read(octets)

    assert (reading.kind, problem in reading.problem) == (Unclear.UNREADABLE, True)


@pytest.mark.parametrize(
    ("told", "kind", "feedback"),
    [
        ('"complaintFeedbackType": "abuse",', Return.COMPLAINED, "abuse"),
        ("", Return.COMPLAINED, "abuse"),
        ('"complaintFeedbackType": "not-spam",', Unclear.IRRELEVANT, "not-spam"),
    ],
)
def test_a_notification_may_be_a_complaint(told: str, kind: Return | Unclear, feedback: str) -> None:
    named = '"complainedRecipients": [{"emailAddress": "Ada@example.org"}]'
    notice = f'{{"notificationType": "Complaint", "complaint": {{{told} {named}}}}}'

    reading = read(f"From: no-reply@sns.example.com\n\n{notice}".encode())

    assert (reading.kind, reading.feedback, reading.reader) == (kind, feedback, "notice")
    assert [each.address for each in reading.recipients] == ["ada@example.org"]


def test_a_notification_may_be_a_delivery_within_another() -> None:
    within = '{\\"notificationType\\": \\"Delivery\\", \\"delivery\\": {\\"recipients\\": [\\"ada@example.org\\"]}}'

    reading = read(f'From: no-reply@sns.example.com\n\n{{"Type": "Notification", "Message": "{within}"}}'.encode())

    assert (reading.kind, [each.address for each in reading.recipients]) == (Return.DELIVERED, ["ada@example.org"])


def test_a_report_that_a_provider_wraps_is_read() -> None:
    wrapped = (
        b"From: mailer-daemon@example.net\nReturn-Path: <>\nSubject: Delivery failure\n"
        b"Content-Type: multipart/mixed; boundary=w\n\n--w\n\nIt could not be delivered; ask support@example.net\n"
        b"--w\nContent-Type: message/rfc822\n\n" + octets_of("postfix-unknown") + b"\n--w--\n"
    )

    reading = read(wrapped)

    assert (reading.reader, [each.address for each in reading.recipients]) == ("dsn", ["ada@example.org"])


FOREIGN = [
    ("Onbestelbaar: Hallo", "Bezorging is mislukt voor deze geadresseerden:"),
    ("Nie można dostarczyć: Witam", "Nie powiodło się dostarczenie do tych adresatów:"),
    ("Не удается доставить: Привет", "Сбой доставки этим получателям:"),
    ("Kan ikke leveres: Hej", "Levering til disse modtagere mislykkedes:"),
    ("Recapito non riuscito: Ciao", "Recapito non riuscito per questi destinatari:"),
    ("İletilemiyor: Merhaba", "Bu alıcılara teslim başarısız oldu:"),
    ("无法送达: 你好", "未能向这些收件人传递邮件:"),
    ("Ní féidir é a sheachadadh", "Theip ar sheachadadh:"),
]
"""Whoever reads none of these words sees numbers and an address."""


def foreign(subject: str, text: str, said: str, *, author: str = "postmaster@mx.example.org", path: str = "") -> bytes:
    told = f"{text}\n\nbo@example.org\n\n{said}\n"
    return f"{path}From: {author}\nTo: desk@shop.example.com\nSubject: {subject}\n\n{told}".encode()


@pytest.mark.parametrize(("subject", "text"), FOREIGN)
def test_a_report_is_known_by_its_numbers_in_any_language(subject: str, text: str) -> None:
    reading = read(foreign(subject, text, "#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found ##"))

    [recipient] = reading.recipients
    assert (reading.kind, recipient.address, recipient.bounce_class) == (Return.BOUNCED, "bo@example.org", DEAD)
    assert (recipient.status, recipient.code) == ("5.1.1", 550)


def test_a_report_from_nobody_is_known_by_its_numbers() -> None:
    said = {"author": "Ada <ada@example.org>", "path": "Return-Path: <>\n"}

    assert read(foreign("Theip", "Theip:", "mx: 550 5.1.1 gan", **said)).kind is Return.BOUNCED


def test_numbers_of_a_failure_that_may_pass_say_no_more_than_that() -> None:
    reading = read(foreign("Moill", "Moill ar sheachadadh:", "mx: 451 4.4.2 moill"))

    assert (reading.kind, reading.recipients[0].bounce_class) == (Return.DEFERRED, SOFT)


@pytest.mark.parametrize(
    "octets",
    [
        foreign("Theip", "Theip:", "#550 5.1.1 gan", author="ada@example.org"),  # a person
        foreign("Re: Theip", "Theip:", "#550 5.1.1 gan"),  # of a report
        foreign("Theip", "Theip:", "leagan 5.1.10, 4.12.26, teil. 550 112"),  # a version, a date, a telephone
        foreign("Theip", "Theip:", "#550 5.1.1 gan").replace(b"bo@example.org", b"duine"),  # nobody is named
        foreign("Theip", "Theip:", "x" * 700 + " #550 5.1.1 gan"),  # far from the address
    ],
)
def test_numbers_alone_are_no_report(octets: bytes) -> None:
    assert read(octets).kind in (Unclear.UNREADABLE, Return.REPLIED)
