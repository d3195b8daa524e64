"""The short way to record an accepted email says what the long way says, and knows when it must not be taken."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from postroom.send.contract import Envelope, Phase, Reply, Report
from postroom.settle.outcome import settle
from postroom.settle.smtp.classify import classify
from postroom.store.contract import Claim, Claimed, Settlement
from postroom.vocabulary import EmailId, LeaseToken, OnDoubt, Priority
from postroom.work.acceptance import accepted
from postroom.work.parcel import Parcel, left_in_doubt, settlement

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_parcel(recipients: int = 1, *, inline: bool = False, **changes: Any) -> Parcel:
    fields: dict[str, Any] = {
        "claim": Claim(id=EmailId("019685b1-2c00-7000-8000-00000000abcd"), token=LeaseToken(3)),
        "attempts": 0,
        "max_attempts": 8,
        "policy": "patient",
        "on_doubt": OnDoubt.RESEND,
        "doubts": 0,
        "takeovers": 0,
        "priority": Priority.NORMAL,
        "kind": "welcome",
        "workspace": "",
        "channel": "email",
        "route": "default",
        "sensitive": False,
        "outcomes": None,
        "expires_at": None,
        "due_at": NOW,
        "created_at": NOW,
        "leased_until": NOW,
        "dot_noted": False,
        "version": 1,
        "subject": "",
        "message_id": "",
        "envelope": "",
        "text": "",
        "html": None,
        "claimed_at": NOW,
    }
    claimed = Claimed(**fields | changes, inline=inline)
    addresses = tuple(f"somebody{number}@example.net" for number in range(recipients))
    envelope = Envelope(sender="shop@example.com", recipients=addresses, message=b"")
    return Parcel(claimed, claimed.claim, envelope, addresses)


def the_long_way(parcel: Parcel, report: Report) -> Settlement:
    outcome = settle(parcel.attempted, report, classify=classify, now=NOW, jitter=0.5)
    return settlement(parcel.claimed, outcome, doubt=left_in_doubt(report))


def as_stored(settled: Settlement) -> Any:
    """What the database is given."""
    return json.loads(settled.written or json.dumps(settled.as_row()))


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)
successes = st.integers(200, 299)
acceptances = st.builds(
    Reply, phase=st.just(Phase.DOT), code=successes, text=texts, enhanced=st.none() | st.just("2.0.0")
)
spent = st.dictionaries(st.sampled_from([phase.value for phase in Phase]), st.floats(0, 1e9), max_size=10)


@st.composite
def all_accepted(draw: st.DrawFn) -> Report:
    yes = st.builds(Reply, phase=st.just(Phase.RCPT), code=successes, text=texts)
    return Report(
        recipients=tuple(draw(st.lists(yes, min_size=1, max_size=4))),
        reply=draw(acceptances),
        dot_left=True,
        milliseconds=draw(spent),
        capabilities_known=draw(st.booleans()),
    )


@given(all_accepted(), st.integers(0, 7), st.integers(0, 3))
@example(
    Report(
        recipients=(Reply(phase=Phase.RCPT, code=250, text="ok"),),
        reply=Reply(phase=Phase.DOT, code=250, text='queued for <ada@example.org> as "4711"\\'),
        dot_left=True,
        milliseconds={"mail": 0.25, "body": 0.05, "dot": 1e9},
    ),
    0,
    0,
)
def test_what_all_accepted_is_recorded_as_the_long_way_records_it(
    report: Report, attempts: int, takeovers: int
) -> None:
    parcel = a_parcel(len(report.recipients), attempts=attempts, takeovers=takeovers)

    short, long = accepted(parcel, report), the_long_way(parcel, report)

    assert short is not None
    assert short == long
    assert as_stored(short) == as_stored(long)
    assert short.written is not None


@given(all_accepted(), st.booleans())
def test_it_also_does_so_when_everybody_was_deferred_before(report: Report, known: bool) -> None:
    before = json.dumps([["open", 450, "busy"]] * len(report.recipients)) if known else None
    parcel = a_parcel(len(report.recipients), attempts=1, outcomes=before)

    assert accepted(parcel, report) == the_long_way(parcel, report)


@given(all_accepted())
def test_the_long_way_is_left_to_those_who_have_more_to_tell(report: Report) -> None:
    many = len(report.recipients)

    assert accepted(a_parcel(many, doubts=1), report) is None
    assert accepted(a_parcel(many, inline=True), report) is None
    assert accepted(a_parcel(many + 1), report) is None


codes = st.integers(200, 599)
replies = st.none() | st.builds(Reply, phase=st.sampled_from(Phase), code=codes, text=texts)
reports = st.builds(
    Report,
    recipients=st.lists(replies, min_size=1, max_size=3).map(tuple),
    reply=replies,
    dot_left=st.booleans(),
    milliseconds=spent,
)


@given(reports)
def test_whatever_was_said_the_short_way_claims_nothing_that_the_long_way_does_not(report: Report) -> None:
    parcel = a_parcel(len(report.recipients))
    short = accepted(parcel, report)

    assert short is None or short == the_long_way(parcel, report)
