"""What a receiver's answer to a webhook means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from postroom.send.contract import Fault, FaultKind, Phase, Reply, Report
from postroom.settle.attempt import Attempted, Outcome, RecipientState
from postroom.settle.http import classify
from postroom.settle.outcome import settle
from postroom.settle.policy import PRESETS
from postroom.settle.verdict import OK, About, Fate
from postroom.vocabulary import DeadReason, OnDoubt, Status

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
URL = "https://hooks.example.org/a"


def answered(code: int, text: str = "", retry_after: float | None = None) -> Report:
    reply = Reply(phase=Phase.ANSWER, code=code, text=text, retry_after=retry_after)
    return Report(recipients=(reply,), reply=reply, dot_left=True, capabilities_known=True)


def failed(phase: Phase, kind: FaultKind, *, left: bool = False) -> Report:
    fault = Fault(phase=phase, kind=kind, text="as it happened")
    return Report(recipients=(None,), fault=fault, dot_left=left)


def settled(report: Report, **known: object) -> Outcome:
    email = Attempted(
        status=Status.PENDING,
        attempts=0,
        due_at=NOW,
        policy=PRESETS["patient"],
        recipients=(RecipientState(address=URL),),
        **known,  # type: ignore[arg-type]
    )
    return settle(email, report, classify=classify, now=NOW, jitter=0.5)


@pytest.mark.parametrize(
    ("code", "fate"),
    [
        *((code, Fate.ACCEPTED) for code in (200, 201, 202, 204, 299)),
        *((code, Fate.DEFERRED) for code in (408, 425, 429, 500, 502, 503, 504, 599)),
        *((code, Fate.REFUSED) for code in (101, 301, 302, 304, 308, 400, 401, 403, 404, 410, 413, 422, 451)),
    ],
)
def test_the_status_decides(code: int, fate: Fate) -> None:
    meaning = classify(answered(code))

    assert [heard.fate for heard in meaning.recipients] == [fate]


def test_an_accepted_webhook_is_sent() -> None:
    assert settled(answered(204)).status is Status.SENT


def test_a_refusal_is_dead_with_the_beginning_of_the_body() -> None:
    outcome = settled(answered(422, "no such order"))

    assert (outcome.status, outcome.dead_reason) == (Status.DEAD, DeadReason.PERMANENT)
    assert outcome.last_error == "answered with 422 no such order"
    assert outcome.reply_code == 422


def test_gone_ends_it_for_good() -> None:
    assert settled(answered(410, "Gone")).status is Status.DEAD


def test_retry_after_is_the_least_wait() -> None:
    usual, asked = settled(answered(503)).due_at, settled(answered(503, retry_after=7200.0)).due_at

    assert usual is not None
    assert asked == NOW + timedelta(hours=2)
    assert settled(answered(503, retry_after=0.0)).due_at == usual


def test_nobody_is_put_off_for_longer_than_a_day() -> None:
    assert settled(answered(429, retry_after=1e9)).due_at == NOW + timedelta(days=1)


def test_a_lost_answer_is_in_doubt() -> None:
    outcome = settled(failed(Phase.ANSWER, FaultKind.CUT, left=True))

    assert outcome.status is Status.IN_DOUBT
    assert outcome.last_error == "the connection was cut while waiting for the answer: as it happened"
    held = settled(failed(Phase.ANSWER, FaultKind.TIMEOUT, left=True), on_doubt=OnDoubt.HOLD)
    assert (held.status, held.due_at) == (Status.IN_DOUBT, None)


@pytest.mark.parametrize(
    ("phase", "kind"),
    [
        (Phase.CONNECT, FaultKind.REFUSED),
        (Phase.CONNECT, FaultKind.TIMEOUT),
        (Phase.TLS, FaultKind.TLS),
        (Phase.BODY, FaultKind.CUT),
    ],
)
def test_what_fails_before_the_request_has_left_is_tried_again(phase: Phase, kind: FaultKind) -> None:
    outcome = settled(failed(phase, kind))

    assert (outcome.status, outcome.attempts) == (Status.RETRYING, 1)


def test_what_our_settings_forbid_is_dead_at_once() -> None:
    outcome = settled(failed(Phase.CONNECT, FaultKind.FORBIDDEN))

    assert (outcome.status, outcome.dead_reason) == (Status.DEAD, DeadReason.PERMANENT)
    assert outcome.last_error == "not allowed while connecting: as it happened"


def test_an_abandoned_webhook_has_cost_no_attempt() -> None:
    assert settled(failed(Phase.BODY, FaultKind.ABANDONED)).attempts == 0


@pytest.mark.parametrize(
    "report",
    [
        *(answered(code) for code in (302, 401, 404, 429, 500, 503)),
        failed(Phase.CONNECT, FaultKind.REFUSED),
        failed(Phase.CONNECT, FaultKind.FORBIDDEN),
        failed(Phase.TLS, FaultKind.TLS),
        failed(Phase.ANSWER, FaultKind.TIMEOUT, left=True),
    ],
)
def test_a_receivers_trouble_is_never_the_routes(report: Report) -> None:
    meaning = classify(report)

    assert (meaning.transport, meaning.about) == (None, About.RECIPIENT)


def test_an_acceptance_speaks_for_the_route() -> None:
    assert classify(answered(200)).transport is OK
