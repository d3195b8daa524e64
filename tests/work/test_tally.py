"""The count itself: it sees what it is there to see."""

from __future__ import annotations

import smtplib

from tests.work.diary import Diary, Errand
from tests.work.office import Office
from tests.work.tally import take

ERRAND = Errand(tag="memo-7", keyed=True, on_doubt="resend")
HELD = Errand(tag="memo-8", keyed=True, on_doubt="hold")


def send_behind_everybodys_back(office: Office, errand: Errand) -> None:
    with smtplib.SMTP("127.0.0.1", office.server.port) as smtp:
        smtp.sendmail("desk@example.org", ["ada@example.org"], f"Subject: {errand.tag}\r\n\r\nGood morning.\r\n")


def stored_and_sent(office: Office, errand: Errand) -> str:
    receipt = office.outbox.enqueue(errand.email(), key=errand.key, on_doubt=errand.on_doubt)
    office.finish()
    return receipt.id


def test_what_an_application_was_about_to_send_and_nobody_has_was_never_promised(sqlite_office: Office) -> None:
    Diary(sqlite_office.diaries).about(ERRAND)

    tally = take(sqlite_office, [])
    assert (tally.emails, tally.violations) == (0, 0)


def test_a_promise_that_neither_the_outbox_nor_the_server_knows_of_is_lost(sqlite_office: Office) -> None:
    diary = Diary(sqlite_office.diaries)
    diary.about(ERRAND)
    diary.returned(ERRAND, "an id without a row")

    assert take(sqlite_office, []).lost == 1


def test_a_copy_under_another_message_id_is_a_second_copy_nobody_owns_up_to(sqlite_office: Office) -> None:
    for errand in (ERRAND, HELD):
        diary = Diary(sqlite_office.diaries)
        diary.about(errand)
        diary.returned(errand, stored_and_sent(sqlite_office, errand))
        send_behind_everybodys_back(sqlite_office, errand)

    tally = take(sqlite_office, [])
    assert (tally.emails, tally.inline, tally.sent) == (2, 2, 2)
    assert (tally.second_copies, tally.unrecorded, tally.despite_hold) == (2, 2, 1)


def test_a_receipt_for_an_email_that_has_another_id_is_a_fault(sqlite_office: Office) -> None:
    diary = Diary(sqlite_office.diaries)
    diary.about(ERRAND)
    diary.returned(ERRAND, "an id without a row")
    stored_and_sent(sqlite_office, ERRAND)

    tally = take(sqlite_office, [])
    assert (tally.lost, tally.false_receipts, tally.violations) == (0, 1, 1)
