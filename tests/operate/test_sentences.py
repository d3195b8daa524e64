"""The state of the house, and of one email, in words: pure functions of what is known and of the time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from postroom import DeadReason, OnDoubt, Priority, Status
from postroom.operate.outlook import outlook
from postroom.operate.sentences import house_in_words
from postroom.operate.values import RouteView, WorkerView
from postroom.store.contract import Recipient, StoredEmail
from postroom.store.heartbeats import WorkerSeen
from postroom.vocabulary import EmailId
from postroom.work.breaker import BreakerState

NOW = datetime(2026, 5, 17, 3, 0, tzinfo=UTC)
TRANSPORT = RouteView(
    name="smtp.example.org:587", state=BreakerState.OK, reason="", since=None, next_probe_at=None, held=False
)
WORKER = WorkerView(
    seen=WorkerSeen(name="w", role="worker", host="h", version="1", started_at=NOW, seen_at=NOW, in_flight=0, rate=0),
    silence=timedelta(0),
)
EMAIL = StoredEmail(
    id=EmailId("01890000-0000-7000-8000-000000000000"),
    status=Status.PENDING,
    priority=Priority.NORMAL,
    kind="",
    workspace="",
    route="default",
    channel="email",
    key=None,
    subject="Hi",
    message_id="<m@example.org>",
    recipients=(Recipient(address="ada@example.org", status="open"),),
    attempts=0,
    max_attempts=8,
    next_attempt_at=NOW,
    last_error=None,
    dead_reason=None,
    reply_code=None,
    policy="patient",
    on_doubt=OnDoubt.RESEND,
    sensitive=False,
    tags=(),
    size=100,
    version=1,
    doubts=0,
    takeovers=0,
    worker=None,
    leased_until=None,
    created_at=NOW,
    expires_at=None,
    last_attempt_at=None,
    last_queued_at=None,
    sent_at=None,
    finished_at=None,
    erased_at=None,
)


def said(
    counts: dict[str, int],
    *transports: RouteView,
    workers: tuple[WorkerView, ...] = (WORKER,),
    due_for: timedelta | None = None,
) -> tuple[str, str]:
    oldest = None if due_for is None else NOW - due_for
    return house_in_words(counts, routes=transports, workers=workers, oldest_due=oldest, now=NOW)


def test_a_quiet_house_is_well() -> None:
    assert said({}) == ("No mail yet", "well")
    assert said({"sent": 5}, TRANSPORT) == ("All mail has gone out", "well")
    assert said({"pending": 2, "sent": 5}, TRANSPORT) == ("All mail is moving", "well")


def test_a_refused_password_is_told_with_its_transport_its_time_and_what_waits() -> None:
    ill = replace(
        TRANSPORT,
        state=BreakerState.PAUSED,
        reason="refused while signing in (AUTH): 535 5.7.8 bad credentials",
        since=NOW - timedelta(minutes=46),
        next_probe_at=NOW + timedelta(minutes=1),
    )

    assert said({"pending": 1_200, "retrying": 4}, TRANSPORT, ill) == (
        "smtp.example.org:587 refuses our password since 02:14 UTC — 1,204 emails wait",
        "trouble",
    )


def test_an_outage_is_told_with_what_was_seen_of_it() -> None:
    ill = replace(TRANSPORT, state=BreakerState.OPEN, reason="no connection while connecting", since=NOW)

    sentence, tone = said({"pending": 1}, ill)

    assert sentence == (
        "smtp.example.org:587 cannot be reached since 03:00 UTC: no connection while connecting — 1 email waits"
    )
    assert tone == "trouble"


def test_an_outage_names_its_server_once() -> None:
    reason = "no connection while connecting: smtp.example.org:587: Connection refused"
    ill = replace(TRANSPORT, state=BreakerState.OPEN, reason=reason, since=NOW)
    slow = "no answer in time while connecting: no connection to smtp.example.org:587 within 5 s"

    assert said({"pending": 2}, ill)[0] == (
        "smtp.example.org:587 cannot be reached since 03:00 UTC: Connection refused — 2 emails wait"
    )
    assert replace(ill, reason=slow).cause == "no answer in time while connecting: no connection within 5 s"
    assert outlook(EMAIL, obstacle=ill, now=NOW).count("smtp.example.org:587") == 1


def test_a_route_is_called_by_its_name_where_it_is_one_among_others() -> None:
    only = replace(TRANSPORT, name="default", server="smtp.example.org:587")

    assert (only.title, replace(only, server="").title) == ("smtp.example.org:587", "default")
    assert replace(only, name="bulk").title == "bulk (smtp.example.org:587)"


def test_an_outage_that_a_fallback_covers_needs_attention_and_tells_by_which_way_emails_leave() -> None:
    backup = replace(TRANSPORT, name="backup")
    ill = replace(
        TRANSPORT, name="default", server="mx:25", state=BreakerState.OPEN, reason="mx:25: away", fallback="backup"
    )

    assert said({"pending": 2}, backup, ill) == (
        "mx:25 cannot be reached: away — its due emails leave by backup",
        "attention",
    )
    assert said({"pending": 2}, replace(backup, state=BreakerState.OPEN), ill)[1] == "trouble"
    assert said({"pending": 2}, backup, replace(ill, state=BreakerState.PAUSED, held=True))[1] == "trouble"
    assert outlook(EMAIL, obstacle=ill, now=NOW) == "Due: it leaves by backup, because mx:25 is out of reach."


def test_of_several_routes_only_what_waits_for_the_one_in_trouble_is_counted() -> None:
    ill = replace(TRANSPORT, state=BreakerState.OPEN, reason="away", waiting=3)

    assert said({"pending": 20}, replace(TRANSPORT, name="bulk", waiting=17), ill)[0].endswith("— 3 emails wait")


def test_a_pause_by_a_person_is_told_as_one() -> None:
    held = replace(TRANSPORT, state=BreakerState.PAUSED, reason="moving house (grace)", held=True)

    assert said({"pending": 2}, held)[0].startswith("smtp.example.org:587 was paused by a person: moving house (grace)")


def test_a_rest_needs_attention_only_while_it_lasts() -> None:
    resting = replace(TRANSPORT, state=BreakerState.THROTTLED, next_probe_at=NOW + timedelta(minutes=5))

    assert said({"pending": 2}, resting) == (
        "smtp.example.org:587 asks for a rest until 03:05 UTC — 2 emails wait",
        "attention",
    )
    assert said({"pending": 2}, replace(resting, next_probe_at=NOW))[1] == "well"


def test_late_mail_is_trouble_and_tells_whether_anybody_works() -> None:
    late = timedelta(minutes=4, seconds=10)

    assert said({"pending": 2}, due_for=late) == (
        "Mail is late: the oldest due email has waited for 4 minutes — 2 emails wait",
        "trouble",
    )
    assert said({"pending": 2}, workers=(replace(WORKER, silence=timedelta(minutes=1)),), due_for=late) == (
        "No worker is running, and mail has been due for 4 minutes — 2 emails wait",
        "trouble",
    )
    assert said({"pending": 2}, due_for=timedelta(seconds=59))[1] == "well"


def test_that_nobody_works_is_told_as_soon_as_anything_is_due() -> None:
    gone = replace(WORKER, silence=timedelta(minutes=1))
    told = "No worker is running, and mail has been due for 2 seconds — 1 email waits", "trouble"

    assert said({"pending": 1}, workers=(), due_for=timedelta(seconds=2)) == told
    assert said({"pending": 1}, workers=(gone,), due_for=timedelta(seconds=2)) == told
    assert said({"pending": 1}, workers=()) == ("All mail is moving", "well")


def test_that_nobody_works_is_told_before_what_the_last_worker_thought_of_the_server() -> None:
    ill = replace(TRANSPORT, state=BreakerState.OPEN, reason="no connection while connecting", since=NOW)

    assert said({"pending": 1}, ill, workers=(), due_for=timedelta(0))[0].startswith("No worker is running")


def test_the_dead_and_the_doubtful_need_a_person() -> None:
    assert said({"sent": 1, "dead": 1, "in_doubt": 2}) == (
        "All mail has gone out; 1 email was given up and needs a person; 2 emails are in doubt",
        "attention",
    )
    assert said({"dead": 23})[0] == "All mail has gone out; 23 emails were given up and need a person"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({}, "Due now: the next free worker takes it."),
        (
            {"next_attempt_at": NOW + timedelta(hours=2)},
            "Next, the first attempt is due in 2 hours (05:00 UTC).",
        ),
        (
            {
                "status": Status.RETRYING,
                "attempts": 2,
                "last_error": "deferred at RCPT: 451 try later",
                "next_attempt_at": NOW + timedelta(minutes=5),
            },
            "Attempt 2 of 8 failed: deferred at RCPT: 451 try later. "
            "Next, attempt 3 of 8 is due in 5 minutes (03:05 UTC).",
        ),
        (
            {"status": Status.SENDING, "worker": "w-1", "leased_until": NOW + timedelta(seconds=30)},
            "Being sent by worker w-1; should it die, another takes over after 03:00 UTC.",
        ),
        (
            {"status": Status.IN_DOUBT, "next_attempt_at": None},
            "The server may have taken it: the message left and no answer came back. It is held for a person: "
            "retry sends it again, at the risk of a second copy; dismiss lets it be.",
        ),
        (
            {"status": Status.IN_DOUBT, "next_attempt_at": NOW + timedelta(minutes=1)},
            "The server may have taken it: the message left and no answer came back. "
            "It is sent again in 1 minute (03:01 UTC), at the risk of a second copy.",
        ),
        (
            {"status": Status.DEAD, "dead_reason": DeadReason.PERMANENT, "last_error": "550 no such user"},
            "Given up: the server refused it for good (550 no such user). "
            "Nothing more happens until a person retries, corrects or dismisses it.",
        ),
        (
            {"status": Status.CANCELLED},
            "Stopped by a person before it left. It is not sent unless somebody replays it.",
        ),
        (
            {
                "status": Status.SENT,
                "sent_at": NOW - timedelta(days=1),
                "recipients": (Recipient(address="a@b.c", status="sent"), Recipient(address="d@e.f", status="dead")),
            },
            "Accepted by the server 1 day ago (16 May 2026, 03:00 UTC) for 1 of 2 recipients; the others were refused.",
        ),
    ],
)
def test_an_email_says_why_it_is_not_sent_and_what_happens_next(change: dict[str, object], sentence: str) -> None:
    email = replace(EMAIL, **change)  # type: ignore[arg-type]

    assert outlook(email, obstacle=None, now=NOW) == sentence


def test_a_due_email_behind_a_stopped_transport_says_what_it_waits_for() -> None:
    held = replace(TRANSPORT, state=BreakerState.PAUSED, reason="moving house", held=True)
    probed = replace(held, held=False, next_probe_at=NOW + timedelta(seconds=30))

    assert outlook(EMAIL, obstacle=held, now=NOW) == (
        "Due, and waits because smtp.example.org:587 is paused: moving house. It goes on when a person resumes it."
    )
    assert outlook(EMAIL, obstacle=probed, now=NOW).endswith("It is looked at again in 30 seconds (03:00 UTC).")


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_a_sentence(status: Status) -> None:
    assert outlook(replace(EMAIL, status=status), obstacle=None, now=NOW).endswith(".")
