"""One email in a sentence: why it is not sent yet, what happens next, and when. Pure: time is an argument."""

from __future__ import annotations

from datetime import datetime

from postroom.operate.values import RouteView
from postroom.operate.wording import ago, clock_time, count_of, from_now
from postroom.send.guarded import CAPTURED, REDIRECTED
from postroom.store.contract import StoredEmail
from postroom.vocabulary import DeadReason, Status
from postroom.work.breaker import BreakerState

_REASONS = {
    DeadReason.MAX_ATTEMPTS: "all attempts failed",
    DeadReason.PERMANENT: "the server refused it for good",
    DeadReason.EXPIRED: "it could no longer be sent in time",
    DeadReason.SUPPRESSED: "its recipient is suppressed",
    DeadReason.INVALID: "it could not be built",
}


def outlook(email: StoredEmail, *, obstacle: RouteView | None, now: datetime) -> str:
    """Why this email is not sent yet and what happens next; `obstacle` is a route that does not send just now."""
    match email.status:
        case Status.PENDING | Status.RETRYING:
            return _waiting(email, obstacle, now)
        case Status.QUEUED:
            return _queued(email, now)
        case Status.SENDING:
            return _sending(email, now)
        case Status.IN_DOUBT:
            return _in_doubt(email, now)
        case Status.SENT:
            return _sent(email, now)
        case Status.DEAD:
            return _dead(email)
        case Status.CANCELLED:
            return "Stopped by a person before it left. It is not sent unless somebody replays it."
        case unknown:
            return f"It is {unknown}, which this version does not know: look at it with the version that wrote it."


def _waiting(email: StoredEmail, obstacle: RouteView | None, now: datetime) -> str:
    due = email.next_attempt_at
    failed = _failed(email)
    if due is not None and due > now:
        what = f"attempt {email.attempts + 1} of {email.max_attempts}" if email.attempts else "the first attempt"
        return f"{failed}Next, {what} is due {from_now(due, now)}."
    if obstacle is not None and obstacle.falls_back:
        return f"{failed}Due: it leaves by {obstacle.fallback}, because {obstacle.title} is {_state(obstacle)}."
    if obstacle is not None:
        return f"{failed}Due, and waits because {obstacle.title} is {_state(obstacle)}: {_look(obstacle, now)}"
    return f"{failed}Due now: the next free worker takes it."


def _failed(email: StoredEmail) -> str:
    if not email.last_error:
        return ""
    which = f"Attempt {email.attempts} of {email.max_attempts}" if email.attempts else "The last attempt"
    return f"{which} failed: {email.last_error.rstrip('.')}. "


def _state(route: RouteView) -> str:
    known = {BreakerState.OPEN: "out of reach", BreakerState.THROTTLED: "asking for a rest"}
    return known.get(route.state, "paused")


def _look(route: RouteView, now: datetime) -> str:
    reason = route.cause.rstrip(".") or "no reason given"
    if route.next_probe_at is None:
        return f"{reason}. It goes on when a person resumes it."
    return f"{reason}. It is looked at again {from_now(route.next_probe_at, now)}."


def _queued(email: StoredEmail, now: datetime) -> str:
    otherwise = (
        f"by {clock_time(email.leased_until, now)}, it is due again" if email.leased_until else "it is due again"
    )
    if email.last_queued_at is None:
        return f"On its way to the broker. If nobody has heard of it {otherwise}."
    return f"Handed to the broker {ago(email.last_queued_at, now)}; a sender takes it. If none does {otherwise}."


def _sending(email: StoredEmail, now: datetime) -> str:
    holder = f"worker {email.worker}" if email.worker else "a worker"
    until = (
        f"; should it die, another takes over after {clock_time(email.leased_until, now)}" if email.leased_until else ""
    )
    return f"Being sent by {holder}{until}."


def _in_doubt(email: StoredEmail, now: datetime) -> str:
    doubt = "The server may have taken it: the message left and no answer came back."
    if email.next_attempt_at is None:
        return (
            f"{doubt} It is held for a person: retry sends it again, at the risk of a second copy; dismiss lets it be."
        )
    return f"{doubt} It is sent again {from_now(email.next_attempt_at, now)}, at the risk of a second copy."


def _sent(email: StoredEmail, now: datetime) -> str:
    accepted = sum(recipient.status == "sent" for recipient in email.recipients)
    everybody = len(email.recipients)
    whom = (
        ""
        if accepted == everybody
        else f" for {accepted} of {count_of(everybody, 'recipient')}; the others were refused"
    )
    when = f" {ago(email.sent_at, now)}" if email.sent_at else ""
    return _under_a_mode(email, when) or f"Accepted by the server{when}{whom}."


def _under_a_mode(email: StoredEmail, when: str) -> str:
    """What became of it where a delivery mode has kept it from its recipients, or from some; else nothing."""
    said = str((email.reply or {}).get("text", ""))
    if said.startswith(CAPTURED):
        return f"Captured{when}: it counts as sent and was delivered to nobody, as POSTROOM_DELIVERY said."
    if said.startswith(REDIRECTED):
        return f"Accepted by the server{when} for another address than its own, as POSTROOM_DELIVERY said."
    if captured := sum((each.text or "").startswith(CAPTURED) for each in email.recipients):
        others = len(email.recipients) - captured
        return f"Accepted by the server{when} for {count_of(others, 'recipient')}; {captured} captured, not delivered."
    return ""


def _dead(email: StoredEmail) -> str:
    why = _REASONS.get(email.dead_reason, email.dead_reason) if email.dead_reason else "no reason is on record"
    error = f" ({email.last_error.rstrip('.')})" if email.last_error else ""
    return f"Given up: {why}{error}. Nothing more happens until a person retries, corrects or dismisses it."
