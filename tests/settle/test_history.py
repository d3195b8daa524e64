"""What the history keeps of an attempt for each recipient: enough to tell them apart, and no more."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from postroom.send.contract import Fault, FaultKind, Phase, Reply, Report
from postroom.settle.history import KEPT, LONGEST, MANY
from postroom.settle.outcome import Attempted, RecipientState, RecipientStatus, settle
from postroom.settle.policy import PRESETS
from postroom.settle.smtp.classify import classify
from postroom.vocabulary import Status

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
YES = Reply(phase=Phase.RCPT, code=250, text="ok")
NO = Reply(phase=Phase.RCPT, code=550, enhanced="5.1.1", text="<ben@example.org> is unknown here")
BUSY = Reply(phase=Phase.RCPT, code=450, text="busy")
QUEUED = Reply(phase=Phase.DOT, code=250, enhanced="2.0.0", text="queued")
NO_SERVER = Fault(phase=Phase.CONNECT, kind=FaultKind.REFUSED, text="refused")
STOPPED = Fault(phase=Phase.DOT, kind=FaultKind.CUT, text="reset")


def to(count: int, *, finished: int = 0) -> Attempted:
    """An email to so many, of whom the first few already have it."""
    states = tuple(RecipientState(address=f"guest{number}@example.org") for number in range(count))
    having = tuple(replace(state, status=RecipientStatus.SENT) for state in states[:finished])
    return Attempted(
        status=Status.PENDING,
        attempts=0,
        due_at=NOW,
        policy=PRESETS["patient"],
        recipients=(*having, *states[finished:]),
    )


def kept(email: Attempted, *said: Reply | None, reply: Reply | None = QUEUED, fault: Fault | None = None) -> Any:
    report = Report(recipients=said, reply=None if fault else reply, fault=fault, dot_left=fault is not NO_SERVER)
    return settle(email, report, classify=classify, now=NOW, jitter=0.0).event


def test_what_each_recipient_was_told_is_kept_in_their_order() -> None:
    """(B4)"""
    event = kept(to(3), YES, NO, BUSY)

    assert event["results"] == [
        ["accepted", 250, "2.0.0", "queued"],
        ["refused", 550, "5.1.1", "(address) is unknown here"],
        ["deferred", 450, None, "busy"],
    ]


def test_who_was_not_asked_this_time_has_no_result_of_it() -> None:
    event = kept(to(3, finished=2), NO, reply=None)

    assert event["results"] == [None, None, ["refused", 550, "5.1.1", "(address) is unknown here"]]


def test_nothing_is_kept_twice_where_all_were_told_the_same() -> None:
    refused = Reply(phase=Phase.DOT, code=554, text="spam")

    for event in (
        kept(to(1), NO, reply=None),
        kept(to(2), YES, YES),
        kept(to(2), YES, YES, reply=refused),
        kept(to(2), fault=NO_SERVER),
    ):
        assert "results" not in event, event
    assert kept(to(2), fault=NO_SERVER)["recipients"] == {"deferred": 2}
    assert kept(to(1), NO, reply=None)["recipients"] == {"refused": 1}


def test_a_recipient_of_whom_nobody_knows_is_told_apart_from_one_who_was_refused() -> None:
    event = kept(to(2), YES, NO, fault=STOPPED)

    assert event["results"] == [["unknown"], ["refused", 550, "5.1.1", "(address) is unknown here"]]


def test_a_long_reply_is_cut() -> None:
    [_, [*_, text]] = kept(to(2), YES, replace(NO, text="x" * 450))["results"]

    assert text == "x" * LONGEST


def test_of_an_email_to_many_only_those_who_were_not_accepted_are_kept_by_their_place() -> None:
    said = [YES] * (MANY + 1)
    said[7] = NO
    said[40] = BUSY

    assert kept(to(MANY + 1), *said)["results"] == {
        "7": ["refused", 550, "5.1.1", "(address) is unknown here"],
        "40": ["deferred", 450, None, "busy"],
    }


def test_however_many_are_refused_the_history_stays_small() -> None:
    said = [replace(NO, text=f"{number} {'x' * 400}") for number in range(1_000)]
    event = kept(to(1_000), *said, reply=None)

    assert len(event["results"]) == KEPT
    assert event["recipients"] == {"refused": 1_000}
