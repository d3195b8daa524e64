"""Every metric by name: what it is, what it means, and how it is told apart. No label ever holds an address."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """How a metric behaves."""

    GAUGE = "gauge"
    """Goes up and down."""
    COUNTER = "counter"
    """Only grows; its name ends in `_total`."""
    HISTOGRAM = "histogram"
    """Counts by size; scraped as `_bucket`, `_sum` and `_count`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric."""

    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    """What it is told apart by. Every one has few values, however many emails there are."""

    @property
    def scraped(self) -> tuple[str, ...]:
        """The names that it has for Prometheus."""
        if self.kind is Kind.HISTOGRAM:
            return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))
        return (self.name,)


def _gauge(name: str, meaning: str, *labels: str) -> Metric:
    return Metric(name=f"postroom_{name}", kind=Kind.GAUGE, meaning=meaning, labels=labels)


def _counter(name: str, meaning: str, *labels: str) -> Metric:
    return Metric(name=f"postroom_{name}_total", kind=Kind.COUNTER, meaning=meaning, labels=labels)


def _histogram(name: str, meaning: str) -> Metric:
    return Metric(name=f"postroom_{name}_seconds", kind=Kind.HISTOGRAM, meaning=meaning)


EMAILS = _gauge("emails", "Emails in the outbox, by status.", "status")
DUE = _gauge("due_emails", "Emails that are due and nobody has taken yet.")
OLDEST_DUE = _gauge("oldest_due_seconds", "How long the oldest due email has waited; 0 when nothing is due.")
TRANSPORT_STATE = _gauge(
    "transport_state", "1 for the state that the circuit breaker of a route is in, 0 for the others.",
    "route", "state",
)  # fmt: skip
WAITING = _gauge("route_waiting_emails", "Emails that wait for a route, due now or later.", "route")
WORKERS = _gauge(
    "workers", "Those who have signed on, by what they do and whether they were heard of lately.",
    "role", "state",
)  # fmt: skip
HEARTBEAT_AGE = _gauge("worker_heartbeat_age_seconds", "Since the last sign of life of a worker on this host.", "host")
IN_FLIGHT = _gauge("worker_in_flight", "Emails that the workers on this host hold, as they last said.", "host")
BROKER_SERVICES = _gauge(
    "broker_services", "Schedulers and senders at work, by whether they say that they reach the broker.",
    "role", "state",
)  # fmt: skip
BROKER_MESSAGES = _gauge(
    "broker_messages", "Messages that wait in the broker, as a scheduler saw them last; absent while none can tell.",
    "queue",
)  # fmt: skip

TOTALS = {
    "enqueued": _counter("emails_enqueued", "Emails taken into the outbox."),
    "sent": _counter("emails_sent", "Emails accepted by a mail server."),
    "retried": _counter("emails_retried", "Attempts that failed and will be made again."),
    "doubted": _counter("emails_doubted", "Attempts after which nobody can know whether the email arrived."),
    "died": _counter("emails_died", "Emails given up."),
    "taken_over": _counter("emails_taken_over", "Emails taken over from workers that were gone."),
    "cancelled": _counter("emails_cancelled", "Emails stopped by a person before they left."),
    "dismissed": _counter("emails_dismissed", "Dead or doubtful emails deleted by a person."),
    "moved": _counter("emails_moved", "Emails that were moved to another region."),
    "pruned": _counter("emails_pruned", "Finished emails removed after their keep."),
}
"""By the names of the database's tallies."""

OF_THE_DATABASE = (
    EMAILS, DUE, OLDEST_DUE, TRANSPORT_STATE, WAITING, WORKERS, HEARTBEAT_AGE, IN_FLIGHT, BROKER_SERVICES,
    BROKER_MESSAGES, *TOTALS.values(),
)  # fmt: skip
"""At `/metrics` of the admin app: the same from whichever process they are scraped."""

ATTEMPTS = _counter(
    "attempts", "Attempts by this worker, by the status they led to and how far the conversation came.",
    "route", "channel", "outcome", "phase",
)  # fmt: skip
TAKEOVERS = _counter("lease_takeovers", "Emails that this worker took over from workers that were gone.")
CLAIMED = _counter("claimed_emails", "Emails that this worker claimed.")
SETTLED = _counter("settled_emails", "Emails of which this worker committed what came of them.")
SUPPRESSED = _counter("suppressed_emails", "Emails that this worker did not send: nobody was left who may be mailed.")
SEND = _histogram("send", "One attempt, from the first octet to the last reply; with connecting, where it had to.")
CLAIM = _histogram("claim", "One claim of a batch of emails: the database's answer.")
SETTLE = _histogram("settle", "One commit of a batch of outcomes: the database's answer.")
QUEUE_LAG = _histogram("queue_lag", "From when an email was due to when this worker claimed it.")

OF_A_WORKER = (ATTEMPTS, TAKEOVERS, CLAIMED, SETTLED, SUPPRESSED, SEND, CLAIM, SETTLE, QUEUE_LAG)
"""At the port of `postroom worker --metrics-port`: of that process, since it started."""

PUBLISHED = _counter("dispatch_published", "Messages that this scheduler published, whatever came of them.")
CONFIRMED = _counter("dispatch_confirmed", "Messages that the broker confirmed.")
RETURNED = _counter("dispatch_returned", "Messages that came back because no queue takes them; their emails stay due.")
UNCONFIRMED = _counter(
    "dispatch_unconfirmed", "Messages that the broker refused or did not confirm; their emails are due again.",
    "fate",
)  # fmt: skip
REQUEUED = _counter("dispatch_requeued", "Emails that are due again because their message was not heard of.")
GAVE_UP = _counter("dispatch_gave_up", "Due emails that had no attempt left, and are dead.")
ANNOUNCED = _counter("dispatch_announced", "Deaths of emails that were announced to the broker.")
STALE = _counter("dispatch_stale", "Messages about an email that was not queued for that attempt; nothing was sent.")
POISON = _counter("dispatch_poison", "Messages that make no sense and were put aside.")
BROKER_CONNECTED = _gauge("broker_connected", "1 while this process is connected to the broker, 0 while it is not.")

OF_DISPATCH = (
    PUBLISHED, CONFIRMED, RETURNED, UNCONFIRMED, REQUEUED, GAVE_UP, ANNOUNCED, STALE, POISON, BROKER_CONNECTED,
)  # fmt: skip
"""At the port of `postroom scheduler --metrics-port`, and of `postroom sender` beside those of a worker."""

CATALOGUE = (*OF_THE_DATABASE, *OF_A_WORKER, *OF_DISPATCH)
