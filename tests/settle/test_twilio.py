"""What the SMS gateway's answers mean."""

from __future__ import annotations

from datetime import timedelta

import pytest

from postroom.send.contract import Fault, FaultKind, Phase, Reply, Report
from postroom.settle.twilio import classify
from postroom.settle.verdict import OK, About, Fate, Health


def answered(status: int, code: str | None = None, retry_after: float | None = None) -> Report:
    reply = Reply(phase=Phase.ANSWER, code=status, enhanced=code, text="so", retry_after=retry_after)
    return Report(recipients=(reply,), reply=reply, dot_left=True)


def failed(phase: Phase, kind: FaultKind, *, left: bool = False) -> Report:
    return Report(recipients=(None,), fault=Fault(phase=phase, kind=kind, text="so"), dot_left=left)


def test_a_created_message_is_accepted() -> None:
    meaning = classify(answered(201))

    assert ([heard.fate for heard in meaning.recipients], meaning.about, meaning.transport) == (
        [Fate.ACCEPTED],
        None,
        OK,
    )


@pytest.mark.parametrize("code", ["21211", "21614", "21610", "21408", "21635", "21612"])
@pytest.mark.parametrize("status", [400, 403])
def test_what_is_wrong_with_the_number_is_the_recipients(status: int, code: str) -> None:
    """A 403 that speaks of one region or one person is no reason to stop the route."""
    meaning = classify(answered(status, code))

    assert ([heard.fate for heard in meaning.recipients], meaning.about, meaning.transport) == (
        [Fate.REFUSED],
        About.RECIPIENT,
        OK,
    )


@pytest.mark.parametrize("code", [None, "21602", "21617", "99999"])
def test_any_other_refusal_is_the_messages(code: str | None) -> None:
    meaning = classify(answered(400, code))

    assert ([heard.fate for heard in meaning.recipients], meaning.about) == ([Fate.REFUSED], About.EMAIL)
    assert meaning.transport is OK


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "20003"), (401, None), (403, None), (404, "20404"), (400, "21606"), (400, "21659"), (403, "20005")],
)
def test_what_is_wrong_with_our_account_pauses_the_route(status: int, code: str | None) -> None:
    meaning = classify(answered(status, code))

    assert [heard.fate for heard in meaning.recipients] == [Fate.DEFERRED]
    assert meaning.transport is not None
    assert (meaning.transport.health, meaning.blameless, meaning.about) == (Health.PAUSE, True, About.TRANSPORT)


@pytest.mark.parametrize(("status", "code"), [(429, "20429"), (429, None), (400, "21611"), (429, "14107")])
def test_too_much_makes_the_route_rest(status: int, code: str | None) -> None:
    meaning = classify(answered(status, code, retry_after=90.0))

    assert meaning.transport is not None
    assert (meaning.transport.health, meaning.transport.wait) == (Health.THROTTLE, timedelta(seconds=90))
    assert meaning.wait == timedelta(seconds=90)


def test_the_days_limit_is_left_alone_for_an_hour() -> None:
    meaning = classify(answered(429, "63038"))

    assert meaning.transport is not None
    assert meaning.transport.wait == timedelta(hours=1)


@pytest.mark.parametrize("status", [302, 408, 500, 503])
def test_a_gateway_in_trouble_is_suspected(status: int) -> None:
    meaning = classify(answered(status))

    assert [heard.fate for heard in meaning.recipients] == [Fate.DEFERRED]
    assert meaning.transport is not None
    assert meaning.transport.health is Health.SUSPECT


def test_a_lost_answer_is_never_guessed() -> None:
    meaning = classify(failed(Phase.ANSWER, FaultKind.TIMEOUT, left=True))

    assert (meaning.unknown, meaning.transport) == (True, None)


@pytest.mark.parametrize(
    ("phase", "kind", "health"),
    [
        (Phase.CONNECT, FaultKind.REFUSED, Health.SUSPECT),
        (Phase.CONNECT, FaultKind.TIMEOUT, Health.SUSPECT),
        (Phase.TLS, FaultKind.TIMEOUT, Health.SUSPECT),
        (Phase.TLS, FaultKind.TLS, Health.PAUSE),
        (Phase.BODY, FaultKind.CUT, None),
        (Phase.BODY, FaultKind.ABANDONED, None),
    ],
)
def test_what_fails_before_the_request_has_left_is_tried_again(
    phase: Phase, kind: FaultKind, health: Health | None
) -> None:
    meaning = classify(failed(phase, kind))

    assert [heard.fate for heard in meaning.recipients] == [Fate.DEFERRED]
    assert (meaning.transport and meaning.transport.health) == health
    assert meaning.counts == (kind is not FaultKind.ABANDONED)


def test_a_probe_without_a_recipient_is_judged_like_any_other() -> None:
    reply = Reply(phase=Phase.ANSWER, code=401, enhanced="20003", text="Authenticate")
    meaning = classify(Report(recipients=(), reply=reply))

    assert meaning.transport is not None
    assert meaning.transport.reason == "answered with 401 20003 Authenticate"
