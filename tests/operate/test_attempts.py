"""Recipients × attempts: what each of them got each time, also of rows that were written before it was kept."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from postroom import Outbox, Status
from postroom.operate import AsyncOperations
from postroom.operate.attempts import attempts_of, rows_of
from postroom.operate.values import AttemptView
from postroom.store.contract import HistoryEntry, Recipient, StoredEmail
from postroom.store.overview import Version
from tests.operate.test_sentences import EMAIL, NOW
from tests.store.journey import Clock, claim, dead, email, retrying, sent, settle

ADA, BEN, CID = "ada@example.org", "ben@example.org", "cid@example.org"


def told(*details: dict[str, Any], to: tuple[str, ...] = (ADA, BEN), **fields: Any) -> StoredEmail:
    """An email whose history says this."""
    history = tuple(
        HistoryEntry(at=NOW, what=detail.pop("what", "failed"), attempt=number, actor=None, detail=detail)
        for number, detail in enumerate(details, 1)
    )
    recipients = tuple(Recipient(address=address, status="open") for address in to)
    return replace(EMAIL, recipients=recipients, history=history, **fields)


def first_version(*recipients: str) -> Version:
    return Version(number=1, subject="Hi", recipients=recipients, size=1)


def grid(email: StoredEmail, *versions: Version) -> dict[str, list[str | None]]:
    """The fates, by recipient."""
    rows = rows_of(email, attempts_of(email, versions))
    return {row.address: [cell and cell.fate for cell in row.cells] for row in rows}


def test_each_recipient_has_a_cell_for_each_attempt_they_were_in() -> None:
    """(B4)"""
    first = {"outcome": "retrying", "results": [["accepted", 250, "2.0.0", "ok"], ["deferred", 450, None, "busy"]]}
    second = {"outcome": "dead", "results": [None, ["refused", 550, "5.1.1", "gone"]]}
    stored = told(first, second)

    assert grid(stored) == {ADA: ["accepted", None], BEN: ["deferred", "refused"]}
    [_, ben] = rows_of(stored, attempts_of(stored, ()))
    assert ben.cells[1] is not None
    assert (ben.cells[1].code, ben.cells[1].enhanced, ben.cells[1].text) == (550, "5.1.1", "gone")


def test_what_was_said_to_all_stands_in_every_row() -> None:
    entry = {"outcome": "retrying", "phase": "dot", "code": 451, "text": "later", "recipients": {"deferred": 2}}
    [attempt] = attempts_of(told(entry), ())

    assert [(result.address, result.fate, result.code, result.text) for result in attempt.results] == [
        (ADA, "deferred", 451, "later"),
        (BEN, "deferred", 451, "later"),
    ]


def test_of_an_email_to_many_those_who_were_kept_are_found_by_their_place() -> None:
    entry = {"outcome": "retrying", "recipients": {"accepted": 2, "refused": 1}, "results": {"1": ["refused", 550]}}

    assert grid(told(entry, to=(ADA, BEN, CID))) == {ADA: [None], BEN: ["refused"], CID: [None]}


def test_a_history_from_before_results_were_kept_says_what_it_can() -> None:
    mixed = {"outcome": "retrying", "phase": "rcpt", "code": 450, "recipients": {"accepted": 1, "deferred": 1}}

    assert grid(told(mixed)) == {ADA: [None], BEN: [None]}
    for entry, fate in (
        ({"outcome": "dead", "phase": "rcpt", "code": 550, "about": "recipient"}, "refused"),
        ({"outcome": "retrying", "phase": "auth", "code": 535, "about": "transport"}, "deferred"),
        ({"outcome": "retrying", "phase": "connect", "fault": "refused"}, "deferred"),
        ({"outcome": "in_doubt", "phase": "dot", "fault": "cut"}, "unknown"),
    ):
        assert grid(told(entry, to=(ADA,))) == {ADA: [fate]}


def test_an_attempt_that_never_spoke_to_a_server_says_nothing_of_anybody() -> None:
    stored = told({"outcome": "dead", "dead_reason": "expired"}, {"outcome": "in_doubt", "takeover": 1}, to=(ADA,))
    [late, taken] = attempts_of(stored, ())

    assert grid(stored) == {ADA: [None, None]}
    assert (late.dead_reason, late.takeover, taken.takeover) == ("expired", False, True)


def test_an_attempt_that_the_database_had_forgotten_says_so() -> None:
    stored = told({"outcome": "sent", "phase": "dot", "code": 250, "settled_from": "journal"}, to=(ADA,))
    [attempt] = attempts_of(stored, ())

    assert (attempt.outcome, attempt.from_journal) == ("sent", True)
    assert grid(stored) == {ADA: ["accepted"]}


def test_attempts_from_before_a_correction_are_told_of_those_they_went_to() -> None:
    """(B5)"""
    stored = told(
        {"outcome": "dead", "results": [["accepted", 250], ["refused", 550]]},
        {"what": "replayed", "version": 2},
        {"outcome": "retrying", "results": [None, ["deferred", 450]]},
        to=(ADA, CID),
        version=2,
    )
    versions = (first_version(ADA, BEN), Version(number=2, subject="Hi", recipients=(ADA, CID), size=1))

    assert grid(stored, *versions) == {ADA: ["accepted", None], CID: [None, "deferred"], BEN: ["refused", None]}
    assert [row.stands is not None for row in rows_of(stored, attempts_of(stored, versions))] == [True, True, False]


async def test_the_attempt_that_sent_it_is_among_the_attempts(
    outbox: Outbox, operations: AsyncOperations, clock: Clock
) -> None:
    """(B4) It left no line in the history: its reply is on the email itself."""
    id = outbox.enqueue(email()).id
    [claimed] = claim(outbox)
    failure = {"outcome": "retrying", "phase": "rcpt", "code": 451, "recipients": {"deferred": 1}}
    settle(outbox, [retrying(claimed, clock.now, detail=json.dumps(failure))])
    [claimed] = claim(outbox)
    success = {"outcome": "sent", "phase": "dot", "code": 250, "text": "ok", "milliseconds": {"dot": 2.5}}
    settle(outbox, [sent(claimed, reply=json.dumps(success))])

    view = await operations.email(id)

    assert [(each.number, each.outcome, each.code) for each in view.attempts] == [
        (1, "retrying", 451),
        (2, "sent", 250),
    ]
    assert view.attempts[-1].total_milliseconds == 2.5
    [row] = view.rows
    assert [cell and cell.fate for cell in row.cells] == ["deferred", "accepted"]


async def test_an_attempt_that_is_in_the_history_is_not_told_twice(outbox: Outbox, operations: AsyncOperations) -> None:
    id = outbox.enqueue(email()).id
    [claimed] = claim(outbox)
    success = json.dumps({"outcome": "sent", "phase": "dot", "code": 250, "possible_second_copy": True})
    settle(outbox, [sent(claimed, reply=success, event="sent", detail=success)])

    attempts: tuple[AttemptView, ...] = (await operations.email(id)).attempts

    assert [attempt.possible_second_copy for attempt in attempts] == [True]


async def test_a_dead_email_that_was_never_built_has_no_conversation(
    outbox: Outbox, operations: AsyncOperations, clock: Clock
) -> None:
    id = outbox.enqueue(email()).id
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed, detail=json.dumps({"outcome": "dead", "dead_reason": "invalid"}))])
    clock.advance(minutes=1)

    view = await operations.email(id)

    assert (view.email.status, view.attempts[0].milliseconds, view.rows[0].cells) == (Status.DEAD, {}, (None,))
    assert view.at - view.attempts[0].at == timedelta(minutes=1)
