"""What the API answers: the values of `operate` as JSON, in camelCase. Instants are ISO 8601 in UTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from postroom.accounts.values import AuditPage
from postroom.operate.values import (
    ActResult,
    AttemptView,
    Dashboard,
    EmailView,
    FailureGroup,
    FoundPage,
    RouteView,
    Series,
    WorkerView,
)
from postroom.store.changes import Events
from postroom.store.contract import Receipt, StoredEmail
from postroom.store.dismissals import Dismissed
from postroom.store.records import event_record
from postroom.vocabulary import BounceClass, Change, DeadReason, OnDoubt, Return, Status
from postroom.work.breaker import BreakerState


class Shape(BaseModel):
    """Names in Python's way here, in JSON's way outside."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


class ErrorBody(Shape):
    """What went wrong, under a name that programs can trust, and what to do next."""

    code: str
    message: str
    remedy: str


class ErrorShape(Shape):
    """Every error."""

    error: ErrorBody


class ReturnedShape(Shape):
    """The strongest that came back about a recipient. `return_id` names the return that says so."""

    what: Return
    bounce_class: BounceClass | None = None
    status: str = ""
    code: int | None = None
    at: datetime
    return_id: str


class RecipientShape(Shape):
    """Where one recipient stands. `returned` is given for one email, and null in lists."""

    address: str
    status: str
    code: int | None = None
    text: str | None = None
    returned: ReturnedShape | None = None


class EditionShape(Shape):
    """The template that an email's words are from. `version` ends in `*` where a person has changed them since."""

    portal: str
    template: str
    version: str
    language: str


class EmailShape(Shape):
    """One email, without its content and its history."""

    id: str
    status: Status
    priority: str
    kind: str
    workspace: str
    route: str
    channel: str
    key: str | None
    subject: str
    message_id: str
    recipients: list[RecipientShape]
    attempts: int
    max_attempts: int
    next_attempt_at: datetime | None
    last_error: str | None
    dead_reason: DeadReason | None
    reply_code: int | None
    policy: str
    on_doubt: OnDoubt
    sensitive: bool
    tags: list[str]
    size: int
    version: int
    edition: EditionShape | None
    late: bool
    doubts: int
    takeovers: int
    worker: str | None
    leased_until: datetime | None
    created_at: datetime
    expires_at: datetime | None
    last_attempt_at: datetime | None
    last_queued_at: datetime | None
    sent_at: datetime | None
    finished_at: datetime | None
    refused_recipients: int
    erased_at: datetime | None = None
    unreadable: str | None = None

    @classmethod
    def of(cls, email: StoredEmail) -> EmailShape:
        return cls(**_fields_of(email))


class PageShape(Shape):
    """Some emails, newest first. With `next`, older ones remain, also when this page holds few or none."""

    emails: list[EmailShape]
    next: str | None
    understood: str | None
    looked_back_to: datetime | None

    @classmethod
    def of(cls, page: FoundPage) -> PageShape:
        return cls(
            emails=[EmailShape.of(email) for email in page.emails],
            next=page.next,
            understood=page.understood,
            looked_back_to=page.looked_back_to,
        )


class ResultShape(Shape):
    """What one recipient got in one attempt. `fate`: accepted, deferred, refused or unknown."""

    address: str
    fate: str
    code: int | None
    enhanced: str | None
    text: str | None


class AttemptShape(Shape):
    """One attempt: how far it came, what was said to whom, and how long each step took."""

    number: int
    at: datetime
    outcome: str
    version: int
    phase: str | None
    code: int | None
    enhanced: str | None
    text: str | None
    fault: str | None
    about: str | None
    counted: bool
    inline: bool
    takeover: bool
    from_journal: bool
    dead_reason: str | None
    possible_second_copy: bool
    recipients: dict[str, int]
    results: list[ResultShape]
    milliseconds: dict[str, float]

    @classmethod
    def of(cls, attempt: AttemptView) -> AttemptShape:
        return cls(**asdict(attempt))


class HistoryShape(Shape):
    """One line of an email's story: who did what when."""

    at: datetime
    what: str
    attempt: int
    actor: str | None
    detail: dict[str, Any]


class VersionShape(Shape):
    number: int
    subject: str
    recipients: list[str]
    size: int


class WholeEmailShape(EmailShape):
    """One email with everything but its content."""

    sentence: str
    acts: list[str]
    conversations: list[AttemptShape]
    history: list[HistoryShape]
    versions: list[VersionShape]

    @classmethod
    def of_view(cls, view: EmailView) -> WholeEmailShape:
        return cls(
            **_fields_of(view.email),
            sentence=view.sentence,
            acts=list(view.acts),
            conversations=[AttemptShape.of(attempt) for attempt in view.attempts],
            history=[HistoryShape(**asdict(entry)) for entry in view.email.history],
            versions=[VersionShape(**asdict(version)) for version in view.versions],
        )


class PointShape(Shape):
    at: datetime
    enqueued: int
    sent: int
    retried: int
    died: int


class SeriesShape(Shape):
    """A chart: one point for every step, oldest first."""

    step_seconds: int
    points: list[PointShape]

    @classmethod
    def of(cls, series: Series | None) -> SeriesShape | None:
        if series is None:
            return None
        points = [PointShape(**asdict(point)) for point in series.points]
        return cls(step_seconds=int(series.step.total_seconds()), points=points)


class WorkerShape(Shape):
    name: str
    role: str
    host: str
    version: str
    started_at: datetime
    seen_at: datetime
    in_flight: int
    rate: float
    alive: bool

    @classmethod
    def of(cls, worker: WorkerView) -> WorkerShape:
        return cls(**asdict(worker.seen), alive=worker.alive)


class BrokerShape(Shape):
    """The broker as schedulers and senders last told of it. `away` of those at work do not reach it."""

    name: str
    sentence: str
    connected: bool
    since: datetime | None
    reason: str
    blocked: str
    refused: str
    waiting: int
    depths: dict[str, int]
    dead_letters: dict[str, int]
    schedulers: int
    senders: int
    away: int

    @classmethod
    def of(cls, dashboard: Dashboard) -> BrokerShape | None:
        if (broker := dashboard.broker) is None:
            return None
        told = {name: getattr(broker, name) for name in cls.model_fields if name != "sentence"}
        return cls(**told, sentence=dashboard.broker_sentence)


class TransportShape(Shape):
    """A way out. `waiting` is null for those who may not see every workspace."""

    name: str
    state: BreakerState
    reason: str
    since: datetime | None
    next_probe_at: datetime | None
    held: bool
    server: str
    waiting: int | None
    fallback: str | None
    rate: str | None
    channel: str | None

    @classmethod
    def of(cls, route: RouteView) -> TransportShape:
        return cls(**asdict(route))


class FailureShape(Shape):
    """Dead emails that failed alike. `cause` is a filter of lists and bulk acts."""

    cause: str
    reason: DeadReason
    reply_code: int | None
    words: str
    count: int
    newest: str

    @classmethod
    def of(cls, group: FailureGroup) -> FailureShape:
        return cls(**asdict(group))


class DashboardShape(Shape):
    """The state of the house. Charts are null for those who may not see every workspace."""

    at: datetime
    sentence: str
    tone: str
    pending_email_count: int
    failed_email_count: int
    in_doubt_count: int
    counts: dict[str, int]
    counts_capped: dict[str, bool]
    oldest_due_at: datetime | None
    oldest_due_seconds: float | None
    last_hour: SeriesShape | None
    last_day: SeriesShape | None
    workers: list[WorkerShape]
    broker: BrokerShape | None
    transports: list[TransportShape]
    failures: list[FailureShape]
    failures_capped: bool

    @classmethod
    def of(cls, dashboard: Dashboard) -> DashboardShape:
        age = dashboard.oldest_due_age
        return cls(
            at=dashboard.at,
            sentence=dashboard.sentence,
            tone=dashboard.tone,
            pending_email_count=dashboard.pending_email_count,
            failed_email_count=dashboard.failed_email_count,
            in_doubt_count=dashboard.in_doubt,
            counts=dict(dashboard.counts),
            counts_capped=dict(dashboard.counts_capped),
            oldest_due_at=dashboard.oldest_due,
            oldest_due_seconds=None if age is None else age.total_seconds(),
            last_hour=SeriesShape.of(dashboard.last_hour),
            last_day=SeriesShape.of(dashboard.last_day),
            workers=[WorkerShape.of(worker) for worker in dashboard.workers],
            broker=BrokerShape.of(dashboard),
            transports=[TransportShape.of(route) for route in dashboard.routes],
            failures=[FailureShape.of(group) for group in dashboard.failures],
            failures_capped=dashboard.failures_capped,
        )


class ActResultShape(Shape):
    """How many emails matched, and with how many it was done; `capped` when a dry run stopped counting."""

    matched: int
    done: int
    skipped: int
    capped: bool
    undo: str | None
    """What takes it back, of a dismissal."""

    @classmethod
    def of(cls, result: ActResult, *, undo: str | None = None) -> ActResultShape:
        return cls(matched=result.matched, done=result.done, skipped=result.skipped, capped=result.capped, undo=undo)


class DismissedEmailShape(EmailShape):
    """An email that can still be reinstated."""

    dismissed_at: datetime
    dismissed_by: str | None
    undo: str
    """Shared by those that were dismissed by one press."""
    until: datetime


class DismissedShape(Shape):
    """What was dismissed, the latest first."""

    emails: list[DismissedEmailShape]

    @classmethod
    def of(cls, found: Sequence[Dismissed]) -> DismissedShape:
        return cls(
            emails=[
                DismissedEmailShape(
                    **_fields_of(each.email),
                    dismissed_at=each.at,
                    dismissed_by=each.by,
                    undo=each.act,
                    until=each.until,
                )
                for each in found
            ]
        )


class ReinstatedShape(Shape):
    """How many emails are back."""

    done: int


class ReceiptShape(Shape):
    """What became of an enqueue. A duplicate is a result, not an error."""

    id: str
    duplicate: bool
    content_differs: bool

    @classmethod
    def of(cls, receipt: Receipt) -> ReceiptShape:
        return cls(**asdict(receipt))


class BreakerShape(Shape):
    """How a route stands after a person paused or resumed it."""

    name: str
    state: BreakerState
    reason: str


class AuditEntryShape(Shape):
    """Somebody did something, or was kept from it."""

    id: int
    at: datetime
    actor: str
    what: str
    address: str
    detail: dict[str, Any]


class AuditShape(Shape):
    """Lines of the audit log, newest first. With `next`, older ones remain, also when this page holds few or none."""

    entries: list[AuditEntryShape]
    next: int | None

    @classmethod
    def of(cls, page: AuditPage) -> AuditShape:
        return cls(entries=[AuditEntryShape(**asdict(entry)) for entry in page.entries], next=page.next)


class EventShape(Shape):
    """One change of an email. Route, channel and key are those it has now; null when it is gone."""

    id: str
    at: datetime
    event: Change
    email_id: str
    attempts: int
    kind: str
    workspace: str
    route: str | None
    channel: str | None
    key: str | None


class EventsShape(Shape):
    """A piece of the stream, oldest first. Ask for what is behind `next`: at once where there is `more`."""

    events: list[EventShape]
    next: str
    more: bool

    @classmethod
    def of(cls, piece: Events) -> EventsShape:
        return cls(
            events=[EventShape(**event_record(each)) for each in piece.events], next=str(piece.next), more=piece.more
        )


class HealthShape(Shape):
    """`ok`, or an error in its place."""

    status: str


def _fields_of(email: StoredEmail) -> dict[str, Any]:
    fields = asdict(email)
    fields["priority"] = email.priority.label
    del fields["history"], fields["reply"]
    return fields
