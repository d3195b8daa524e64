"""What one attempt means for the email: its next status, its next due time, and what is said about it.

Guarantees:
- A permanent refusal is never tried again, and an unknown fate is never guessed: it is `in_doubt`.
- Recipients keep their own states. The email is `sent` when none is open and at least one was accepted, `dead`
  (`permanent`) when none is open and none was. Giving up (`max_attempts`, `expired`) is always `dead`, even when some
  recipients have it, for the others need a person.
- Another attempt is never asked for once `max_attempts` have counted, nor at a time past `expires_at`: an email that
  could only leave late is `dead` (`expired`) at once.
- What concerns the transport costs at most the attempt that found out (`found_out`), and never the last one when no
  email can have caused it. The others go back as they came: same status, same attempts, same due time.
- An email stays `in_doubt` through every further failure until it is sent or dead: an earlier copy may have arrived.
- An inline attempt is not counted; after it the delay before attempt 1 applies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from postroom.send.contract import Reply, Report
from postroom.settle.attempt import Attempted, Outcome, RecipientState, RecipientStatus
from postroom.settle.classification import Classification, Classify, Heard, accepted_by_all
from postroom.settle.history import event, event_of_acceptance
from postroom.settle.verdict import OK, Fate, Health
from postroom.settle.wording import MAY_HAVE_ARRIVED, describe, describe_partial, given_up_because, without_addresses
from postroom.vocabulary import DeadReason, OnDoubt, Status

__all__ = ["Attempted", "Outcome", "RecipientState", "RecipientStatus", "expired", "settle", "settle_expired"]

_WAITING = frozenset({Status.PENDING, Status.RETRYING, Status.IN_DOUBT})
_RECIPIENT_STATUS = {Fate.ACCEPTED: RecipientStatus.SENT, Fate.REFUSED: RecipientStatus.DEAD}


def settle(
    email: Attempted, report: Report, *, classify: Classify, now: datetime, jitter: float, found_out: bool = True
) -> Outcome:
    """Decide what one attempt means. `classify` knows the kind of conversation it was.

    `found_out`: until now the transport was thought to be well.
    """
    reply = report.reply
    if reply is not None and len(report.recipients) == len(email.recipients) and accepted_by_all(report):
        return _sent_to_all(email, report, reply)
    meaning = classify(_complete(report, email.open_recipients))
    return _settle(email, report, meaning, now=now, jitter=jitter, found_out=found_out)


def _sent_to_all(email: Attempted, report: Report, reply: Reply) -> Outcome:
    """The way nearly every email goes, cut short. The long way comes to the same, in twice the time."""
    text = _text(reply)
    return Outcome(
        status=Status.SENT,
        due_at=None,
        attempts=email.attempts + (not email.inline),
        takeovers=email.takeovers,
        recipients=tuple(
            RecipientState(address=state.address, status=RecipientStatus.SENT, code=reply.code, text=text)
            for state in email.recipients
        ),
        reply_code=reply.code,
        transport=OK,
        event=event_of_acceptance(email, report, reply),
    )


def _settle(
    email: Attempted, report: Report, meaning: Classification, *, now: datetime, jitter: float, found_out: bool
) -> Outcome:
    after = replace(email, recipients=tuple(_merge(email.recipients, meaning.recipients)))
    outcome = _decide(after, meaning, now=now, jitter=jitter, found_out=found_out)
    return replace(outcome, event=event(email, report, meaning, outcome), transport=meaning.transport)


def settle_expired(email: Attempted) -> Outcome:
    """The email was found past its time before an attempt was made."""
    outcome = give_up(email, DeadReason.EXPIRED, error=None)
    return replace(outcome, event={"outcome": outcome.status.value, "dead_reason": DeadReason.EXPIRED.value})


def expired(now: datetime, expires_at: datetime | None) -> bool:
    """Too late to send."""
    return expires_at is not None and now >= expires_at


def in_doubt(email: Attempted, *, error: str, now: datetime, jitter: float) -> Outcome:
    """The dot left, or may have left, and no reply is known."""
    attempts = email.attempts + (not email.inline)
    email = replace(email, status=Status.IN_DOUBT, attempts=attempts)
    if email.on_doubt is OnDoubt.HOLD:
        return _outcome(email, Status.IN_DOUBT, due_at=None, error=f"{error}; {MAY_HAVE_ARRIVED}, held for a person")
    if email.policy.exhausted(attempts) and not email.inline:
        return give_up(email, DeadReason.MAX_ATTEMPTS, error=error)
    return go_back(email, _next_due(email, now, jitter), error=error, now=now)


def _decide(email: Attempted, meaning: Classification, *, now: datetime, jitter: float, found_out: bool) -> Outcome:
    error = _error(meaning)
    if meaning.unknown:
        return in_doubt(email, error=error or MAY_HAVE_ARRIVED, now=now, jitter=jitter)
    if not email.open_recipients:
        return _finished(email, meaning, error)
    if not (email.inline or _counted(meaning, found_out)):
        return _unchanged(email, meaning, error, now)
    return _retry(email, meaning, error, now, jitter)


def _finished(email: Attempted, meaning: Classification, error: str | None) -> Outcome:
    """No recipient is open any more."""
    email = replace(email, attempts=email.attempts + (not email.inline))
    if any(state.status is RecipientStatus.SENT for state in email.recipients):
        return _outcome(email, Status.SENT, due_at=None, error=error, code=_code(meaning))
    return replace(give_up(email, DeadReason.PERMANENT, error=error), reply_code=_code(meaning))


def _counted(meaning: Classification, found_out: bool) -> bool:
    troubled = meaning.transport is not None and meaning.transport.health is not Health.OK
    return meaning.counts and (found_out or not troubled)


def _unchanged(email: Attempted, meaning: Classification, error: str | None, now: datetime) -> Outcome:
    """It was no attempt: the email goes back as it came, though never earlier than a named wait."""
    due_at = email.due_at if meaning.wait is None else max(email.due_at, now + meaning.wait)
    return replace(go_back(email, due_at, error=error, now=now), reply_code=_code(meaning))


def _retry(email: Attempted, meaning: Classification, error: str | None, now: datetime, jitter: float) -> Outcome:
    attempts = email.attempts + (not email.inline)
    if email.policy.exhausted(attempts) and not email.inline:
        if not meaning.blameless:
            dead = give_up(replace(email, attempts=attempts), DeadReason.MAX_ATTEMPTS, error=error)
            return replace(dead, reply_code=_code(meaning))
        attempts = email.attempts
    status = email.status if email.inline or email.status is Status.IN_DOUBT else Status.RETRYING
    email = replace(email, status=status, attempts=attempts)
    due_at = max(_next_due(email, now, jitter), now + (meaning.wait or timedelta(0)))
    return replace(go_back(email, due_at, error=error, now=now), reply_code=_code(meaning))


def _next_due(email: Attempted, now: datetime, jitter: float) -> datetime:
    if email.inline:
        return now + email.policy.first_delay(after_inline_failure=True, jitter=jitter)
    return email.policy.due_after(email.attempts, now, jitter)


def go_back(email: Attempted, due_at: datetime, *, error: str | None, now: datetime) -> Outcome:
    """Another attempt at `due_at`, unless that is too late."""
    if expired(max(due_at, now), email.expires_at):
        return give_up(email, DeadReason.EXPIRED, error=error)
    status = email.status
    if status not in _WAITING:
        # It came through the broker, which no longer has it.
        status = Status.RETRYING if email.attempts else Status.PENDING
    return _outcome(email, status, due_at=due_at, error=error)


def give_up(email: Attempted, reason: DeadReason, *, error: str | None) -> Outcome:
    """Dead: those who do not have it by now will not get it."""
    parts = [
        error,
        given_up_because(reason, email.attempts),
        MAY_HAVE_ARRIVED if email.status is Status.IN_DOUBT else None,
    ]
    given_up = tuple(
        replace(state, status=RecipientStatus.DEAD) if state.status is RecipientStatus.OPEN else state
        for state in email.recipients
    )
    email = replace(email, recipients=given_up)
    words = "; ".join(part for part in parts if part) or None
    return replace(_outcome(email, Status.DEAD, due_at=None, error=words), dead_reason=reason)


def _outcome(
    email: Attempted, status: Status, *, due_at: datetime | None, error: str | None, code: int | None = None
) -> Outcome:
    return Outcome(
        status=status,
        due_at=due_at,
        attempts=email.attempts,
        takeovers=email.takeovers,
        last_error=error,
        reply_code=code,
        recipients=email.recipients,
    )


def _complete(report: Report, recipients: int) -> Report:
    missing = recipients - len(report.recipients)
    return replace(report, recipients=report.recipients + (None,) * missing) if missing > 0 else report


def _merge(states: tuple[RecipientState, ...], heard: tuple[Heard, ...]) -> Iterator[RecipientState]:
    """The report is about the open recipients, in their order; the others stay as they are."""
    news = iter(heard)
    for state in states:
        yield _merged(state, next(news)) if state.status is RecipientStatus.OPEN else state


def _merged(state: RecipientState, heard: Heard) -> RecipientState:
    status = _RECIPIENT_STATUS.get(heard.fate, state.status)
    if heard.fate is Fate.UNKNOWN:
        return replace(state, status=status, code=None, text=None)  # what was said before is not how it stands now
    if heard.reply is None:
        return replace(state, status=status)
    return replace(state, status=status, code=heard.reply.code, text=_text(heard.reply))


def _text(reply: Reply) -> str:
    return without_addresses(f"{reply.enhanced} {reply.text}" if reply.enhanced else reply.text)


def _code(meaning: Classification) -> int | None:
    return getattr(meaning.cause, "code", None)


def _error(meaning: Classification) -> str | None:
    if meaning.cause is None or meaning.about is None:
        return None
    accepted = sum(heard.fate is Fate.ACCEPTED for heard in meaning.recipients)
    words = describe(meaning.cause)
    return describe_partial(words, len(meaning.recipients) - accepted, len(meaning.recipients)) if accepted else words
