"""A worker's own numbers, counted while it works.

Whole numbers and lists, written by the worker's event loop alone and read by the thread that answers a scrape. Nobody
locks anything: a scrape may see an email in one number and not yet in another, and never a number that goes back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from postroom.claim.meter import Meter, Tally
from postroom.send.contract import Phase, Report
from postroom.settle.attempt import Outcome
from postroom.store.contract import Claimed
from postroom.vocabulary import Status

OUTCOMES = (Status.SENT, Status.RETRYING, Status.PENDING, Status.IN_DOUBT, Status.DEAD)
"""What an attempt may lead to; `pending` when it was not counted and was the first."""

DATABASE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
SEND_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
LAG_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)


_DOT, _ANSWER = Phase.DOT.value, Phase.ANSWER.value
_SENT = Status.SENT.value


class Buckets:
    """A histogram: how many values lie in which range, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        """Upper ends, each within its range; what is greater goes into one more range."""
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class WorkerMeter(Meter):
    """Counts what one worker process does, from its start."""

    __slots__ = (
        "attempts",
        "channels",
        "claim",
        "claimed_emails",
        "queue_lag",
        "send",
        "settle",
        "settled_emails",
        "suppressed_emails",
        "takeovers",
    )

    def __init__(self) -> None:
        self.attempts: dict[tuple[str, str, str], int] = {}
        """By route, outcome and phase."""
        self.channels: dict[str, str] = {}
        """By route."""
        self.takeovers = 0
        self.claimed_emails = 0
        self.settled_emails = 0
        self.suppressed_emails = 0
        self.send = Buckets(SEND_SECONDS)
        self.claim = Buckets(DATABASE_SECONDS)
        self.settle = Buckets(DATABASE_SECONDS)
        self.queue_lag = Buckets(LAG_SECONDS)

    def serves(self, route: str, channel: str) -> None:
        # All there from the beginning: Prometheus does not see a number grow whose first value is not zero.
        self.channels[route] = channel
        for outcome in OUTCOMES:
            for phase in Phase:
                self.attempts.setdefault((route, outcome.value, phase.value), 0)

    def claimed(self, emails: Sequence[Claimed], seconds: float) -> None:
        self.claim.add(seconds)
        self.claimed_emails += len(emails)
        for email in emails:
            if email.due_at is not None:
                self.queue_lag.add(max((email.claimed_at - email.due_at).total_seconds(), 0.0))

    def attempted(self, route: str, outcome: Outcome, report: Report) -> None:
        made = route, outcome.status, outcome.event.get("phase", _DOT)  # a status hashes as its own spelling does
        self.attempts[made] = self.attempts.get(made, 0) + 1
        self.send.add(sum(report.milliseconds.values()) / 1000)

    def sent(self, route: str, report: Report) -> None:
        reply = report.reply
        self.attempts[route, _SENT, _DOT if reply is None or reply.phase == _DOT else _ANSWER] += 1
        self.send.add(sum(report.milliseconds.values()) / 1000)

    def tally(self) -> Tally:
        made = sum(self.attempts.values())
        sent = sum(count for (_, outcome, _), count in self.attempts.items() if outcome == _SENT)
        return Tally(sent, made - sent)

    def settled(self, emails: int, seconds: float) -> None:
        self.settle.add(seconds)
        self.settled_emails += emails

    def suppressed(self) -> None:
        self.suppressed_emails += 1

    def took_over(self, emails: int) -> None:
        self.takeovers += emails
