from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.send.contract import Fault, FaultKind, Phase, Reply, Report
from postroom.settle.outcome import (
    Attempted,
    Outcome,
    RecipientState,
    RecipientStatus,
    _settle,
    expired,
    settle,
    settle_expired,
)
from postroom.settle.policy import PRESETS, RetryPolicy
from postroom.settle.smtp.classify import classify
from postroom.settle.takeover import settle_takeover
from postroom.settle.verdict import Health
from postroom.vocabulary import DeadReason, OnDoubt, Status

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ADA, BEN, CID = (RecipientState(address=f"{name}@example.org") for name in ("ada", "ben", "cid"))
YES = Reply(phase=Phase.RCPT, code=250, text="ok")
QUEUED = Reply(phase=Phase.DOT, code=250, enhanced="2.0.0", text="queued as 4711")
SENT = Report(recipients=(YES,), reply=QUEUED, dot_left=True, milliseconds={"dot": 12.34})
NO_SUCH_USER = Reply(phase=Phase.RCPT, code=550, enhanced="5.1.1", text="<ada@example.org> unknown")
BUSY = Reply(phase=Phase.RCPT, code=450, enhanced="4.2.1", text="mailbox busy")
LATER = Report(recipients=(YES,), reply=Reply(phase=Phase.DOT, code=451, text="later"), dot_left=True)
SPAM = Report(recipients=(YES,), reply=Reply(phase=Phase.DOT, code=554, text="spam"), dot_left=True)
CUT_AT_DOT = Report(
    recipients=(YES,), fault=Fault(phase=Phase.DOT, kind=FaultKind.CUT, text="connection reset"), dot_left=True
)
NO_SERVER = Report(recipients=(), fault=Fault(phase=Phase.CONNECT, kind=FaultKind.REFUSED, text="refused"))
WRONG_PASSWORD = Report(recipients=(None,), reply=Reply(phase=Phase.AUTH, code=535, text="wrong password"))
QUOTA = Report(recipients=(YES,), reply=Reply(phase=Phase.DOT, code=454, text="Daily message quota exceeded"))
BAD_SENDER = Report(recipients=(None,), reply=Reply(phase=Phase.MAIL, code=550, enhanced="5.7.1", text="not you"))
ABANDONED = Report(recipients=(YES,), fault=Fault(phase=Phase.DOT, kind=FaultKind.ABANDONED, text="lease lost"))


def an_email(**changes: Any) -> Attempted:
    email = Attempted(
        status=Status.PENDING,
        attempts=0,
        due_at=NOW - timedelta(minutes=1),
        policy=PRESETS["patient"],
        recipients=(ADA,),
    )
    return replace(email, **changes)


def settled(email: Attempted, report: Report, **options: Any) -> Outcome:
    return settle(email, report, classify=classify, now=NOW, jitter=0.0, **options)


def statuses(outcome: Outcome) -> list[str]:
    return [state.status.value for state in outcome.recipients]


def test_an_accepted_email_is_sent() -> None:
    outcome = settled(an_email(), SENT)

    assert (outcome.status, outcome.attempts, outcome.due_at, outcome.last_error) == (Status.SENT, 1, None, None)
    assert outcome.recipients == (replace(ADA, status=RecipientStatus.SENT, code=250, text="2.0.0 queued as 4711"),)
    assert outcome.event["milliseconds"] == {"dot": 12.3}


def test_a_temporary_failure_is_tried_again_by_the_policy() -> None:
    outcome = settled(an_email(attempts=1), LATER)

    assert (outcome.status, outcome.attempts, outcome.reply_code) == (Status.RETRYING, 2, 451)
    assert outcome.due_at == NOW + timedelta(minutes=5)
    assert outcome.last_error == "deferred at the final dot: 451 later"


def test_a_permanent_refusal_is_never_tried_again() -> None:
    """(D6)"""
    outcome = settled(an_email(), SPAM)

    assert (outcome.status, outcome.dead_reason, outcome.due_at) == (Status.DEAD, DeadReason.PERMANENT, None)
    assert statuses(outcome) == ["dead"]


@pytest.mark.parametrize("kind", [FaultKind.TOO_LARGE, FaultKind.NEEDS_SMTPUTF8])
def test_what_the_server_can_never_take_is_dead_before_the_upload(kind: FaultKind) -> None:
    outcome = settled(an_email(), Report(recipients=(None,), fault=Fault(phase=Phase.MAIL, kind=kind, text="")))

    assert (outcome.status, outcome.dead_reason) == (Status.DEAD, DeadReason.PERMANENT)
    assert outcome.last_error


def test_the_last_attempt_of_the_budget_ends_in_dead() -> None:
    """(D5) The last error is kept."""
    outcome = settled(an_email(attempts=7), LATER)

    assert (outcome.status, outcome.dead_reason, outcome.attempts) == (Status.DEAD, DeadReason.MAX_ATTEMPTS, 8)
    assert outcome.last_error == "deferred at the final dot: 451 later; given up after 8 attempts"


def test_quick_after_a_failed_inline_send_follows_its_timetable_to_the_end() -> None:
    """(A3) T+30 s with no attempt counted, then 60/120/240/480 s, dead after the fifth failure of the worker."""
    email = an_email(policy=PRESETS["quick"], inline=True)
    outcome = settled(email, NO_SERVER)
    story = [(outcome.status, outcome.attempts, outcome.due_at)]
    for _ in range(5):
        assert outcome.due_at is not None
        email = replace(email, inline=False, status=outcome.status, attempts=outcome.attempts, due_at=outcome.due_at)
        outcome = settled(email, NO_SERVER)
        story.append((outcome.status, outcome.attempts, outcome.due_at))

    assert story == [
        (Status.PENDING, 0, NOW + timedelta(seconds=30)),
        (Status.RETRYING, 1, NOW + timedelta(seconds=60)),
        (Status.RETRYING, 2, NOW + timedelta(seconds=120)),
        (Status.RETRYING, 3, NOW + timedelta(seconds=240)),
        (Status.RETRYING, 4, NOW + timedelta(seconds=480)),
        (Status.DEAD, 5, None),
    ]
    assert outcome.dead_reason is DeadReason.MAX_ATTEMPTS


def test_each_recipient_keeps_its_own_state() -> None:
    report = Report(recipients=(YES, NO_SUCH_USER, BUSY), reply=QUEUED, dot_left=True)
    outcome = settled(an_email(recipients=(ADA, BEN, CID)), report)

    assert outcome.status is Status.RETRYING
    assert statuses(outcome) == ["sent", "dead", "open"]
    assert [state.code for state in outcome.recipients] == [250, 550, 450]
    assert outcome.event["recipients"] == {"accepted": 1, "deferred": 1, "refused": 1}


def test_only_the_open_recipients_are_tried_again() -> None:
    before = (replace(ADA, status=RecipientStatus.SENT), replace(BEN, status=RecipientStatus.DEAD), CID)
    outcome = settled(an_email(recipients=before, attempts=1, status=Status.RETRYING), SENT)

    assert outcome.status is Status.SENT
    assert outcome.recipients[:2] == before[:2]
    assert statuses(outcome) == ["sent", "dead", "sent"]


def test_an_email_is_sent_when_none_is_open_and_one_was_accepted_before() -> None:
    before = (replace(ADA, status=RecipientStatus.SENT), BEN)
    outcome = settled(an_email(recipients=before), Report(recipients=(NO_SUCH_USER,)))

    assert (outcome.status, outcome.dead_reason) == (Status.SENT, None)
    assert outcome.last_error == "refused at RCPT: 550 5.1.1 (address) unknown"


def test_an_email_that_nobody_wants_is_dead() -> None:
    outcome = settled(an_email(recipients=(ADA, BEN)), Report(recipients=(NO_SUCH_USER, NO_SUCH_USER)))

    assert (outcome.status, outcome.dead_reason) == (Status.DEAD, DeadReason.PERMANENT)


def test_giving_up_on_some_recipients_is_dead_though_others_have_it() -> None:
    before = (replace(ADA, status=RecipientStatus.SENT), BEN)
    outcome = settled(an_email(recipients=before, attempts=7), Report(recipients=(BUSY,)))

    assert (outcome.status, outcome.dead_reason) == (Status.DEAD, DeadReason.MAX_ATTEMPTS)
    assert statuses(outcome) == ["sent", "dead"]


def test_an_envelope_that_was_too_full_goes_on_at_once_without_counting() -> None:
    full = Reply(phase=Phase.RCPT, code=452, enhanced="4.5.3", text="too many recipients")
    email = an_email(recipients=(ADA, BEN))
    outcome = settled(email, Report(recipients=(YES, full), reply=QUEUED, dot_left=True))

    assert (outcome.status, outcome.attempts, outcome.due_at) == (Status.PENDING, 0, email.due_at)
    assert statuses(outcome) == ["sent", "open"]


def test_a_dot_without_a_reply_is_in_doubt_and_sent_again_later() -> None:
    outcome = settled(an_email(), CUT_AT_DOT)

    assert (outcome.status, outcome.attempts) == (Status.IN_DOUBT, 1)
    assert outcome.due_at == NOW + timedelta(minutes=1)
    assert statuses(outcome) == ["open"]


def test_an_email_in_doubt_is_held_for_a_person_when_asked_to() -> None:
    outcome = settled(an_email(on_doubt=OnDoubt.HOLD, attempts=7), CUT_AT_DOT)

    assert (outcome.status, outcome.due_at, outcome.attempts) == (Status.IN_DOUBT, None, 8)


def test_an_email_in_doubt_with_a_spent_budget_is_dead_and_says_that_it_may_have_arrived() -> None:
    outcome = settled(an_email(attempts=7), CUT_AT_DOT)

    assert (outcome.status, outcome.dead_reason) == (Status.DEAD, DeadReason.MAX_ATTEMPTS)
    assert "it may have arrived" in str(outcome.last_error)


def test_every_second_copy_is_recorded_as_such() -> None:
    doubtful = an_email(status=Status.IN_DOUBT, attempts=1)

    assert settled(doubtful, SENT).event["possible_second_copy"] is True
    assert "possible_second_copy" not in settled(an_email(), SENT).event
    assert "possible_second_copy" not in settled(doubtful, NO_SERVER).event


def test_an_email_stays_in_doubt_until_it_is_sent_or_dead() -> None:
    doubtful = an_email(status=Status.IN_DOUBT, attempts=1)
    refused = settled(doubtful, SPAM)

    assert settled(doubtful, LATER).status is Status.IN_DOUBT
    assert settled(doubtful, WRONG_PASSWORD, found_out=False).status is Status.IN_DOUBT
    assert refused.status is Status.DEAD
    assert "it may have arrived" in str(refused.last_error)


def test_an_inline_send_in_doubt_counts_no_attempt() -> None:
    outcome = settled(an_email(inline=True, policy=PRESETS["quick"]), CUT_AT_DOT)

    assert (outcome.status, outcome.attempts) == (Status.IN_DOUBT, 0)
    assert outcome.due_at == NOW + timedelta(seconds=30)


@pytest.mark.parametrize("report", [LATER, CUT_AT_DOT, NO_SERVER])
def test_an_email_that_could_only_leave_late_is_dead_at_once(report: Report) -> None:
    outcome = settled(an_email(expires_at=NOW + timedelta(seconds=30)), report)

    assert (outcome.status, outcome.dead_reason) == (Status.DEAD, DeadReason.EXPIRED)
    assert "no longer be sent in time" in str(outcome.last_error)
    assert len(str(outcome.last_error)) > len("it can no longer be sent in time")


def test_an_email_accepted_after_its_time_is_still_sent() -> None:
    assert settled(an_email(expires_at=NOW - timedelta(seconds=30)), SENT).status is Status.SENT


def test_an_email_found_past_its_time_is_dead_without_an_attempt() -> None:
    outcome = settle_expired(an_email(expires_at=NOW))

    assert (outcome.status, outcome.dead_reason, outcome.attempts) == (Status.DEAD, DeadReason.EXPIRED, 0)
    assert [expired(NOW, moment) for moment in (None, NOW + timedelta(microseconds=1), NOW)] == [False, False, True]


@pytest.mark.parametrize("report", [NO_SERVER, WRONG_PASSWORD, QUOTA, BAD_SENDER])
def test_a_transport_fault_costs_only_the_attempt_that_found_out(report: Report) -> None:
    email = an_email(attempts=2, status=Status.RETRYING)
    finder, follower = settled(email, report), settled(email, report, found_out=False)

    assert (finder.status, finder.attempts) == (Status.RETRYING, 3)
    assert (follower.status, follower.attempts) == (Status.RETRYING, 2)
    assert finder.transport == follower.transport
    assert finder.transport is not None
    assert finder.transport.health is not Health.OK


def test_a_follower_goes_back_as_it_came() -> None:
    email = an_email()
    outcome = settled(email, WRONG_PASSWORD, found_out=False)

    assert (outcome.status, outcome.due_at, outcome.attempts) == (email.status, email.due_at, email.attempts)
    assert outcome.event["counted"] is False


@pytest.mark.parametrize("report", [WRONG_PASSWORD, QUOTA])
def test_what_no_email_can_have_caused_never_costs_the_last_attempt(report: Report) -> None:
    """(E5) A wrong password or a spent quota stops the transport, not the emails."""
    outcome = settled(an_email(attempts=7, status=Status.RETRYING), report)

    assert (outcome.status, outcome.attempts) == (Status.RETRYING, 7)


def test_a_sender_whom_the_server_never_takes_ends_dead_instead_of_pausing_the_transport_for_ever() -> None:
    outcome = settled(an_email(attempts=7, status=Status.RETRYING), BAD_SENDER)

    assert (outcome.status, outcome.dead_reason) == (Status.DEAD, DeadReason.MAX_ATTEMPTS)


@pytest.mark.parametrize("found_out", [True, False])
def test_a_named_time_is_waited_for(found_out: bool) -> None:
    reply = Reply(phase=Phase.MAIL, code=451, enhanced="4.7.1", text="slow down, try again in 2 hours")
    outcome = settled(an_email(), Report(recipients=(None,), reply=reply), found_out=found_out)

    assert outcome.due_at == NOW + timedelta(hours=2)


def test_a_named_time_does_not_hurry_the_policy() -> None:
    grey = Reply(phase=Phase.RCPT, code=451, enhanced="4.7.1", text="greylisted, try again in 60 seconds")
    outcome = settled(an_email(attempts=3), Report(recipients=(grey,)))

    assert outcome.due_at == NOW + timedelta(hours=1)


def test_a_failed_inline_send_follows_its_policy_even_when_the_transport_was_known_to_be_down() -> None:
    outcome = settled(an_email(inline=True, policy=PRESETS["quick"]), NO_SERVER, found_out=False)

    assert (outcome.attempts, outcome.due_at) == (0, NOW + timedelta(seconds=30))


def test_an_email_given_back_after_its_time_is_expired() -> None:
    outcome = settled(an_email(expires_at=NOW - timedelta(microseconds=1)), ABANDONED)

    assert (outcome.status, outcome.dead_reason) == (Status.DEAD, DeadReason.EXPIRED)


def test_an_abandoned_message_was_no_attempt() -> None:
    email = an_email(attempts=1, status=Status.RETRYING)
    outcome = settled(email, ABANDONED)

    assert (outcome.status, outcome.attempts, outcome.due_at) == (Status.RETRYING, 1, email.due_at)
    assert outcome.transport is None


@pytest.mark.parametrize(("attempts", "status"), [(0, Status.PENDING), (1, Status.RETRYING)])
def test_an_email_that_came_through_the_broker_does_not_go_back_there(attempts: int, status: Status) -> None:
    assert settled(an_email(attempts=attempts, status=Status.QUEUED), ABANDONED).status is status


def test_jitter_moves_the_due_time_of_a_policy_that_has_it() -> None:
    email = an_email(policy=PRESETS["standard"])

    assert settle(email, LATER, classify=classify, now=NOW, jitter=1.0).due_at == NOW + timedelta(seconds=66)


def test_a_worker_that_died_before_the_dot_gives_the_email_back() -> None:
    email = an_email(attempts=2, status=Status.RETRYING)
    outcome = settle_takeover(email, dot_left=False, now=NOW, jitter=0.0)

    assert (outcome.status, outcome.attempts, outcome.takeovers) == (Status.RETRYING, 2, 1)
    assert outcome.due_at == email.due_at


def test_an_email_that_kills_its_workers_ends_dead() -> None:
    outcome = settle_takeover(an_email(takeovers=7), dot_left=False, now=NOW, jitter=0.0)

    assert (outcome.status, outcome.dead_reason, outcome.takeovers) == (Status.DEAD, DeadReason.MAX_ATTEMPTS, 8)
    assert outcome.last_error == "taken over 8 times from a worker that did not come to the end of it"


@pytest.mark.parametrize("dot_left", [True, None])
def test_a_worker_that_died_after_the_dot_or_nobody_knows_when_leaves_doubt(dot_left: bool | None) -> None:
    resent = settle_takeover(an_email(), dot_left=dot_left, now=NOW, jitter=0.0)
    held = settle_takeover(an_email(on_doubt=OnDoubt.HOLD), dot_left=dot_left, now=NOW, jitter=0.0)

    assert (resent.status, resent.attempts, resent.due_at) == (Status.IN_DOUBT, 1, NOW + timedelta(minutes=1))
    assert (held.status, held.due_at) == (Status.IN_DOUBT, None)


def test_an_inline_send_whose_process_died_after_the_dot_counts() -> None:
    outcome = settle_takeover(an_email(inline=True), dot_left=None, now=NOW, jitter=0.0)

    assert (outcome.status, outcome.attempts, outcome.takeovers) == (Status.IN_DOUBT, 1, 1)


def test_an_email_in_doubt_that_is_taken_over_before_the_next_dot_stays_in_doubt() -> None:
    outcome = settle_takeover(an_email(status=Status.IN_DOUBT), dot_left=False, now=NOW, jitter=0.0)

    assert outcome.status is Status.IN_DOUBT


def test_a_taken_over_email_past_its_time_is_expired_unless_it_may_have_left() -> None:
    email = an_email(expires_at=NOW)
    held = settle_takeover(replace(email, on_doubt=OnDoubt.HOLD), dot_left=None, now=NOW, jitter=0.0)

    assert settle_takeover(email, dot_left=False, now=NOW, jitter=0.0).dead_reason is DeadReason.EXPIRED
    assert held.status is Status.IN_DOUBT


phases = st.sampled_from(list(Phase))
texts = st.text(st.characters(codec="utf-8", exclude_characters="@"), max_size=20) | st.just("not <ada@example.org>")
replies = st.builds(Reply, phase=phases, code=st.integers(200, 599), text=texts)
rcpt_replies = st.builds(Reply, phase=st.just(Phase.RCPT), code=st.integers(200, 599), text=texts)
faults = st.builds(Fault, phase=phases, kind=st.sampled_from(list(FaultKind)), text=texts)
recipient_states = st.lists(
    st.sampled_from(RecipientStatus).map(lambda status: replace(ADA, status=status)), min_size=1, max_size=4
).filter(lambda states: any(state.status is RecipientStatus.OPEN for state in states))
emails = st.builds(
    Attempted,
    status=st.sampled_from([Status.PENDING, Status.QUEUED, Status.RETRYING, Status.IN_DOUBT]),
    attempts=st.integers(0, 4),
    due_at=st.just(NOW - timedelta(seconds=5)),
    policy=st.just(RetryPolicy(steps=["0s", "1m", "5m"], max_attempts=5)),
    recipients=recipient_states.map(tuple),
    on_doubt=st.sampled_from(OnDoubt),
    expires_at=st.sampled_from([None, NOW - timedelta(minutes=1), NOW + timedelta(minutes=2)]),
    inline=st.booleans(),
)


@st.composite
def attempts_made(draw: st.DrawFn) -> tuple[Attempted, Report]:
    email = draw(emails)
    size = email.open_recipients
    said = draw(st.lists(st.none() | rcpt_replies, min_size=size, max_size=size))
    ending = draw(st.tuples(replies, st.none()) | st.tuples(st.none(), faults) | st.just((None, None)))
    return email, Report(recipients=tuple(said), reply=ending[0], fault=ending[1], dot_left=draw(st.booleans()))


@given(attempts_made(), st.booleans())
def test_after_every_attempt_the_email_is_in_one_visible_state(made: tuple[Attempted, Report], found_out: bool) -> None:
    """Whatever was said: finished, due at a time, or held for a person; and never an address in what is told."""
    email, report = made
    outcome = settled(email, report, found_out=found_out)
    open_left = RecipientStatus.OPEN in [state.status for state in outcome.recipients]
    held = outcome.status is Status.IN_DOUBT and email.on_doubt is OnDoubt.HOLD

    assert outcome.status in {Status.PENDING, Status.RETRYING, Status.IN_DOUBT, Status.SENT, Status.DEAD}
    assert (outcome.dead_reason is not None) == (outcome.status is Status.DEAD)
    assert open_left == (outcome.status not in {Status.SENT, Status.DEAD})
    assert outcome.due_at is not None or held or not open_left
    assert email.attempts <= outcome.attempts <= min(email.attempts + (not email.inline), 5)
    assert "@" not in f"{outcome.last_error}{json.dumps(outcome.event)}"


@given(attempts_made(), st.booleans())
def test_no_attempt_is_ever_due_past_the_expiry(made: tuple[Attempted, Report], found_out: bool) -> None:
    email, report = made
    outcome = settled(email, report, found_out=found_out)

    assert outcome.due_at is None or not expired(max(outcome.due_at, NOW), email.expires_at)


@given(attempts_made(), st.booleans())
def test_a_held_email_in_doubt_is_due_only_if_its_fate_was_known_this_time(
    made: tuple[Attempted, Report], found_out: bool
) -> None:
    email, report = made
    outcome = settled(replace(email, on_doubt=OnDoubt.HOLD, status=Status.PENDING), report, found_out=found_out)

    assert outcome.status is not Status.IN_DOUBT or outcome.due_at is None


@given(emails, st.integers(200, 299))
def test_the_short_way_of_an_accepted_email_comes_to_the_same_as_the_long_way(email: Attempted, code: int) -> None:
    reply = replace(QUEUED, code=code, text="queued for ada@example.org")
    report = replace(SENT, recipients=(YES,) * email.open_recipients, reply=reply)

    assert settled(email, report) == _settle(email, report, classify(report), now=NOW, jitter=0.0, found_out=True)
