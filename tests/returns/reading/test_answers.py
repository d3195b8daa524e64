"""A person's answer, or a program's; when somebody is back; and our own copies."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from postroom import Address, Email
from postroom.compose.letter import Letter
from postroom.returns.reading import Unclear, read
from postroom.vocabulary import BounceClass, EmailId, Return
from tests.returns.reading.mailbag import message, octets_of

THREAD = "In-Reply-To: <order@shop.example.com>"


@pytest.mark.parametrize(
    "header",
    [
        "Auto-Submitted: auto-replied",
        "Auto-Submitted: auto-generated (vacation)",
        "Return-Path: <>",
        "Return-Path: <MAILER-DAEMON>",
        "Return-Path: <MAILER-DAEMON@mx.example.net>",
        "X-Autoreply: yes",
        "X-Autorespond: away",
        "Precedence: auto_reply",
        "Precedence: bulk",
        "Precedence: junk",
        "Subject: Out of Office: Your order",
        "Subject: Automatic reply: Your order",
        "Subject: Abwesenheitsnotiz",
        "Subject: Automatische Antwort: Ihre Bestellung",
        "Subject: =?utf-8?q?R=C3=A9ponse_automatique_=3A_commande?=",
        "Subject: Respuesta automática: pedido",
        "Subject: 自動応答: 注文",
        "Subject: 自动回复：你好",
        "Subject: AUTO: Ada is out of the office (returning 30.11.2026)",
        "Subject: OOO: Your order",
        "Subject: [Auto-Reply] Your order",
        "Subject: Automatisk svar: Din bestilling",
        "Subject: Automatyczna odpowiedź: Zamówienie",
        "Subject: Автоматична відповідь: Замовлення",
        "Subject: Αυτόματη απάντηση: Παραγγελία",
        "Subject: Automatski odgovor: Narudžba",
        "Subject: Samodejni odgovor: Naročilo",
    ],
)
def test_a_program_that_answers_is_known_by_one_sign(header: str) -> None:
    assert read(message(THREAD, header, body="I am away.")).kind is Return.AUTORESPONDED


@pytest.mark.parametrize(
    "header",
    ["X-Auto-Response-Suppress: OOF", "List-Id: <all.example.org>", "Mailing-List: list all", "Precedence: list"],
)
def test_what_lists_and_ticket_systems_add_takes_another_sign(header: str) -> None:
    """They pass on what people write: a wish in it would be lost, and that person be mailed again."""
    quoting = "I am away.\n\nOn Wed, 18 Nov 2026 desk wrote:\n> Hello"

    assert read(message(THREAD, header, body="Please stop.")).kind is Return.REPLIED
    assert read(message(THREAD, header, "Return-Path: <>", body="I am away.")).kind is Return.AUTORESPONDED
    assert read(message(THREAD, header, "Subject: Automatic reply: Hi", body=quoting)).kind is Return.AUTORESPONDED
    assert read(message(THREAD, "Subject: Automatic reply: Hi", body=quoting)).kind is Return.REPLIED


def test_who_has_written_a_letter_of_their_own_is_told_and_no_more() -> None:
    """Whether it is an answer, only somebody can tell who knows to whom we write."""
    reading = read(message("Subject: Your letter", body="Please do not write to me again."))
    program = read(message("Subject: Your letter", "Auto-Submitted: auto-generated", body="We have it."))

    assert (reading.kind, reading.author, reading.recipients) == (Unclear.UNREADABLE, "ada@example.org", ())
    assert (program.kind, program.author) == (Unclear.UNREADABLE, "")


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("Subject: Re: out of office hours", "Call me then."),
        ("Subject: Out of office hours", "Call me then."),
        ("Subject: Re: Automatic reply: Your order", "I am back."),
        ("Subject: Out of office: next week", "I shall be away.\n\nOn Wed, 18 Nov 2026 desk wrote:\n> When?"),
        ("Auto-Submitted: no", "It was I."),
        ("Subject: Auto: which one?", "The red one."),
        ("Subject: [Vacation] our plans", "See you."),
        ("Subject: Vacations in spring", "Lovely."),
    ],
)
def test_a_person_is_taken_for_a_person(header: str, body: str) -> None:
    assert read(message(THREAD, header, body=body)).kind is Return.REPLIED


@pytest.mark.parametrize(
    "subject", ["Re: Hello", "RE: Hello", "AW: Hello", "Antw: Hello", "SV: Hello", "回复：Hello", "Re[2]: Hello"]
)
def test_an_answer_without_a_thread_is_known_by_its_subject(subject: str) -> None:
    assert read(message(f"Subject: {subject}", body="Yes.")).kind is Return.REPLIED


def test_a_report_of_a_failure_is_no_answer() -> None:
    octets = message("Subject: failure notice", "Return-Path: <>", THREAD).replace(b"ada@", b"mailer-daemon@")

    assert read(octets + b"<bo@example.org>:\n550 5.1.1 no such user").kind is Return.BOUNCED


def test_an_answer_of_a_postmaster_is_no_report() -> None:
    octets = message("Subject: Re: Your offer", THREAD, body="We rejected bo@example.org").replace(
        b"ada@", b"postmaster@"
    )

    assert read(octets).kind is Return.REPLIED


QUOTED = (
    "Your mail to bo@example.org came back:\n\n> <bo@example.org>: 550 5.1.1 no such user (in reply to RCPT TO command)"
)


@pytest.mark.parametrize("author", ["ada@", "postmaster@"])
@pytest.mark.parametrize("subject", ["Delivery failed?", "Your order was rejected", "bounce", "Undelivered mail"])
def test_whoever_answers_and_can_be_answered_writes_no_report(subject: str, author: str) -> None:
    """Even where they quote one: the address in it is somebody else's."""
    octets = message(f"Subject: {subject}", THREAD, f"Return-Path: <{author}example.org>", body=QUOTED)

    assert read(octets.replace(b"From: Ada <ada@", f"From: Ada <{author}".encode())).kind is Return.REPLIED


@pytest.mark.parametrize("told", ["", "Final-Recipient: rfc822; bo@example.org\nAction: failed\nStatus: 5.1.1\n"])
def test_nobody_is_dead_by_the_words_of_a_person(told: str) -> None:
    """They may look like a report's; that they are one takes a sender, a path or a header of a system."""
    person = message("Subject: Delivery failed", "Return-Path: <ada@example.org>", body=f"{told}\n{QUOTED}")
    system = person.replace(b"Return-Path: <ada@example.org>", b"Return-Path: <>")
    handed = person.replace(b"Return-Path: <ada@example.org>", b"Return-Path: <MAILER-DAEMON>")

    found = [[each.bounce_class for each in read(octets).recipients] for octets in (person, system, handed)]

    assert found == [[BounceClass.UNDETERMINED], [BounceClass.PERMANENT], [BounceClass.PERMANENT]]


@pytest.mark.parametrize(
    ("author", "headers"),
    [
        ("ada@", ["Return-Path: <>"]),
        ("ada@", ["Return-Path: <ada@example.org>", "X-Failed-Recipients: bo@example.org"]),
        ("mailer-daemon@", ["Return-Path: <root@mx.example.org>"]),
    ],
)
def test_a_report_in_a_thread_is_one_where_a_system_wrote_it(author: str, headers: list[str]) -> None:
    octets = message("Subject: Undelivered mail", THREAD, *headers, body=QUOTED).replace(b"ada@", author.encode(), 1)

    assert read(octets).recipients[0].bounce_class is BounceClass.PERMANENT


def test_somebody_away_who_names_another_address_is_no_report() -> None:
    """It comes from nobody, and names addresses, as reports do."""
    octets = message(
        "Return-Path: <>", "Subject: Out of office", body="Please write to the following address: bo@example.org"
    )

    reading = read(octets)

    assert (reading.kind, reading.recipients[0].address) == (Return.AUTORESPONDED, "ada@example.org")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I will be back on 2026-11-30.", date(2026, 11, 30)),
        ("I will be back in the office on Monday, November 30th, 2026", date(2026, 11, 30)),
        ("I return on 30 November.", date(2026, 11, 30)),
        ("I am out of office until 12/31/2026.", date(2026, 12, 31)),
        ("I am away through 28 Nov 2026", date(2026, 11, 29)),
        ("I'm on leave until January 7", date(2027, 1, 7)),
        ("Ich bin bis zum 27.11.2026 im Urlaub.", date(2026, 11, 28)),
        ("Ich bin ab dem 1.12.2026 wieder erreichbar.", date(2026, 12, 1)),
        ("Ich bin am 30. November wieder im Büro.", date(2026, 11, 30)),
        ("Je serai de retour le 7 janvier 2027.", date(2027, 1, 7)),
        ("Estaré fuera hasta el 30 de noviembre de 2026.", date(2026, 11, 30)),
        ("Rientro in ufficio il 1 dicembre 2026", date(2026, 12, 1)),
        ("Ik ben afwezig t/m 27 november 2026", date(2026, 11, 28)),
    ],
)
def test_a_day_of_return_is_read_where_it_is_said_plainly(text: str, day: date) -> None:
    assert read(message(THREAD, "Auto-Submitted: auto-replied", body=text)).until == day


@pytest.mark.parametrize(
    "text",
    [
        "I am away.",
        "I am away since 1 November 2026.",
        "I was away until 2 November 2026.",  # past
        "I am away until 30 November 2029.",  # more than a year
        "I am away until 05/04/2027.",  # April, or May
        "I am away until 31 February 2027.",
        "I am back at 12.",
        "Our fair opens on 30 November 2026.",
        "Feedback on 99.99.9999",
    ],
)
def test_a_day_that_is_past_far_or_doubtful_is_not_taken(text: str) -> None:
    assert read(message(THREAD, "Auto-Submitted: auto-replied", body=text)).until is None


def test_no_day_is_read_from_a_message_without_a_date_nor_from_a_person() -> None:
    undated = message(THREAD, "Auto-Submitted: auto-replied", body="Back on 2026-11-30").replace(b"Date:", b"X-Date:")
    person = message(THREAD, body="Back on 2026-11-30")

    assert (read(undated).until, read(person).until) == (None, None)


def letter(id: str, at: datetime) -> Letter:
    email = Email(to="ada@example.org", subject="Hi", text="Hello")
    return Letter.compose(email, id=EmailId(id), date=at, default_sender=Address("", "desk@shop.example.com"))


def test_a_copy_of_an_email_of_ours_is_known_by_the_way_it_is_written() -> None:
    at = datetime(2026, 11, 18, 9, tzinfo=UTC)
    ours = letter("01a1ede2-6680-7abc-8def-0123456789ab", at).as_bytes()
    long_ago = letter("0123ede2-6680-7abc-8def-0123456789ab", at).as_bytes()

    assert (read(ours).kind, read(long_ago).kind) == (Unclear.OWN, Unclear.UNREADABLE)


def test_who_can_ask_a_database_tells_which_emails_are_ours() -> None:
    octets = message("Message-ID: <known@shop.example.com>", "Subject: Re: Hi")

    assert read(octets, ours={"<known@shop.example.com>"}.__contains__).kind is Unclear.OWN
    assert read(octets, ours=lambda _: False).kind is Return.REPLIED


def test_what_was_redirected_is_ours() -> None:
    assert read(b"X-Postroom-Delivery: redirect\n" + octets_of("reply")).kind is Unclear.OWN
