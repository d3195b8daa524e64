"""What it means that a claim ran out: its worker is dead, cut off, or was stopped for too long.

Whether the final dot had left decides. If it is known that it had not, nothing happened and the email is simply due
again; a count of such take-overs ends an email that kills every worker which touches it. If it left, or nobody can
say, the email is in doubt.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from postroom.settle.attempt import Attempted, Outcome
from postroom.settle.outcome import expired, give_up, go_back, in_doubt, settle_expired
from postroom.vocabulary import DeadReason


def settle_takeover(email: Attempted, *, dot_left: bool | None, now: datetime, jitter: float) -> Outcome:
    """Decide what becomes of an email whose claim has expired. `dot_left` is None when nobody knows."""
    outcome = _untouched(email, now) if dot_left is False else _unknown(email, now, jitter)
    known = {} if dot_left is None else {"dot_left": dot_left}
    entry = {"outcome": outcome.status.value, "attempt": outcome.attempts, "takeover": outcome.takeovers, **known}
    return replace(outcome, event=entry)


def _untouched(email: Attempted, now: datetime) -> Outcome:
    if expired(now, email.expires_at):
        return settle_expired(email)
    email = replace(email, takeovers=email.takeovers + 1)
    if email.takeovers >= email.policy.max_attempts:
        error = f"taken over {email.takeovers} times from a worker that did not come to the end of it"
        return give_up(email, DeadReason.MAX_ATTEMPTS, error=error)
    return go_back(email, email.due_at, error="taken over: its worker stopped before it was sent", now=now)


def _unknown(email: Attempted, now: datetime, jitter: float) -> Outcome:
    # An inline send that died with its process is counted like any other: a poison email must come to an end.
    email = replace(email, takeovers=email.takeovers + 1, inline=False)
    error = "its worker stopped before the reply to the final dot was recorded"
    return in_doubt(email, error=error, now=now, jitter=jitter)
