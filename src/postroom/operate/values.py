"""What `Operations` is asked, and what it answers: the same values for pages, API, command line and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from postroom.errors import PostroomError
from postroom.operate.broker import BrokerView
from postroom.store.contract import Filter, Recipient, StoredEmail
from postroom.store.heartbeats import WorkerSeen
from postroom.store.overview import Version
from postroom.vocabulary import DEFAULT_ROUTE, DeadReason, EmailId, Status
from postroom.work.breaker import BreakerState

Workspaces = frozenset[str] | None
"""The workspaces somebody may see; None for all of them."""

WORKER = "worker"
"""The role of those who need no broker."""

HAPPENINGS = (
    "enqueued", "sent", "retried", "doubted", "died", "taken_over", "cancelled", "dismissed", "moved", "pruned",
)  # fmt: skip
"""What is counted whenever it happens, by the names of the database's tallies."""

SILENT = timedelta(seconds=30)
"""A worker not heard of for longer is taken for dead; workers show themselves every five seconds."""

_PENDING = (Status.PENDING, Status.QUEUED, Status.SENDING, Status.RETRYING, Status.IN_DOUBT)
"""Neither sent nor given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Filter):
    """Which emails somebody looks for, or acts on: the one value that every form, query and option is turned into.

    It is a filter of the store and what only people say. What is None does not narrow; several narrow together.
    `workspaces` is what the person who asks may see.
    """

    q: str = ""
    """Free text: recipient, key, id, Message-ID, kind, tag or reply code, recognised by shape; else a subject. What
    emails of a template share is asked for by name: `template:hub.welcome`, `version:9f2c1a83b0de`, `language:de`."""
    cause: str | None = None
    """One group of failures, by its `FailureGroup.cause`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """Some emails, newest first. A page with few emails, or none, may still have a next one: older emails remain."""

    emails: tuple[StoredEmail, ...]
    next: EmailId | None
    """Give it as `before` to go on; None when everything has been looked at."""
    understood: str | None = None
    """What `q` was taken for: `id`, `message_id`, `recipient`, `reply_code`, `key`, `kind`, `tag` or `subject`;
    or `route`, `portal`, `template`, `version` or `language`, where it says so itself."""
    looked_back_to: datetime | None = None
    """How far back this page has looked, when it stopped before the end for the sake of speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What happened in one step of a chart."""

    at: datetime
    enqueued: int = 0
    sent: int = 0
    retried: int = 0
    died: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A chart: one point for every step, also where nothing happened; oldest first."""

    step: timedelta
    points: tuple[Point, ...]

    @property
    def highest(self) -> int:
        """Of everything in it, for the scale."""
        return max((max(p.enqueued, p.sent, p.retried, p.died) for p in self.points), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteView:
    """A named way out, its circuit breaker, and what waits for it."""

    name: str
    state: BreakerState
    reason: str
    since: datetime | None
    next_probe_at: datetime | None
    """When a worker looks at it again; None while it is ok, or held by a person."""
    held: bool
    """Paused by a person: only a person resumes it."""
    server: str = ""
    """Where it leads, as people know it: `host:port`; empty while nobody has said."""
    waiting: int | None = None
    """How many emails wait for it; None where that is not told, or not for somebody who may not see all of them."""
    used: bool = True
    """Somebody has sent by it, or tried to: what else is known of it comes from the settings."""
    fallback: str | None = None
    """The route that takes its due emails while it is in trouble; None where there is none, or none is known here."""
    rate: str | None = None
    """How much may leave by it, over all workers, such as `14/s`; None where nothing is said of it here."""
    channel: str | None = None
    """What it carries, such as `email`; None where only workers know."""

    @property
    def falls_back(self) -> bool:
        """Its due emails leave by the other one now: it is in trouble, and nobody holds it on purpose."""
        return self.fallback is not None and not self.held and self.state in (BreakerState.OPEN, BreakerState.PAUSED)

    @property
    def state_in_words(self) -> str:
        """As people say it."""
        if self.held:
            return "held by a person"
        return "unreachable" if self.state is BreakerState.OPEN else self.state.value

    @property
    def title(self) -> str:
        """What people call it: the only way out by its server, a way out among others by its name."""
        if self.name == DEFAULT_ROUTE:
            return self.server or self.name
        return f"{self.name} ({self.server})" if self.server else self.name

    @property
    def cause(self) -> str:
        """The reason, without the server, which always stands beside it."""
        where = self.server or self.name
        return self.reason.replace(f"{where}: ", "").replace(f" to {where}", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """A worker and whether it has been heard of lately."""

    seen: WorkerSeen
    silence: timedelta
    """Since its last sign of life."""

    @property
    def alive(self) -> bool:
        return self.silence <= SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureGroup:
    """Dead emails that failed alike."""

    cause: str
    """Names the group in URLs and in `Search.cause`; the same for the same failure, always."""
    reason: DeadReason
    reply_code: int | None
    words: str
    """The failure in its first words, without what differs from one email to the next."""
    count: int
    newest: EmailId
    """An example."""

    @property
    def search(self) -> Search:
        """What finds exactly these: give it to `Operations.act` to retry them all."""
        return Search(status=Status.DEAD, cause=self.cause)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """How the house stands: the same words and numbers for the overview, `stats`, `doctor` and `/metrics`."""

    at: datetime
    """By the database's clock."""
    sentence: str
    """In one line."""
    tone: str
    """Of the sentence: `well`, `attention` (a person should look) or `trouble` (mail does not move)."""
    counts: Mapping[str, int]
    """By status, and `dismissed` and `pruned`."""
    counts_capped: Mapping[str, bool]
    """Where there are at least that many."""
    oldest_due: datetime | None
    """Since when the oldest due email waits."""
    workers: tuple[WorkerView, ...]
    """Schedulers and senders among them."""
    broker: BrokerView | None
    """None where neither has signed on."""
    broker_sentence: str
    """The broker in one line; empty without one."""
    routes: tuple[RouteView, ...]

    @property
    def alive(self) -> tuple[WorkerView, ...]:
        """Who was heard of lately."""
        return tuple(worker for worker in self.workers if worker.alive)

    @property
    def heard_last_first(self) -> tuple[WorkerView, ...]:
        """Those heard of last come first."""
        return tuple(sorted(self.workers, key=lambda worker: worker.silence))

    @property
    def own_workers(self) -> tuple[WorkerView, ...]:
        """Those who claim straight from the database: schedulers and senders belong to the broker."""
        return tuple(worker for worker in self.workers if worker.seen.role == WORKER)

    @property
    def pending_email_count(self) -> int:
        """Everything that is neither sent nor given up (A7)."""
        return sum(self.counts.get(status, 0) for status in _PENDING)

    @property
    def pending_capped(self) -> bool:
        """There are at least that many."""
        return any(self.counts_capped.get(status, False) for status in _PENDING)

    @property
    def failed_email_count(self) -> int:
        """Everything that was given up and waits for a person (A7)."""
        return self.counts.get(Status.DEAD, 0)

    @property
    def in_doubt(self) -> int:
        return self.counts.get(Status.IN_DOUBT, 0)

    @property
    def oldest_due_age(self) -> timedelta | None:
        return None if self.oldest_due is None else max(self.at - self.oldest_due, timedelta(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(House):
    """The house and what has ever happened in it, for those who watch it go on."""

    totals: Mapping[str, int]
    """Since the beginning, by the names of `HAPPENINGS`; never less than before."""
    due: int
    """How many emails are due."""

    @property
    def oldest_due_seconds(self) -> float:
        return age.total_seconds() if (age := self.oldest_due_age) is not None else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard(House):
    """The house with its charts and its failures."""

    last_hour: Series | None
    """Per minute; None for those who may not see every workspace, because it cannot be told apart by workspace."""
    last_day: Series | None
    """Per hour; likewise."""
    failures: tuple[FailureGroup, ...]
    """The largest group first."""
    failures_capped: bool
    """Only the newest dead emails were looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView:
    """What one recipient got in one attempt."""

    address: str
    fate: str
    """`accepted`, `deferred`, `refused` or `unknown`."""
    code: int | None = None
    enhanced: str | None = None
    text: str | None = None
    """What was said about them, or what happened instead; written by somebody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One attempt as the history kept it: the SMTP conversation in short."""

    number: int
    at: datetime
    outcome: str
    """The status it led to."""
    version: int = 1
    """Of the content that was sent."""
    phase: str | None = None
    code: int | None = None
    enhanced: str | None = None
    text: str | None = None
    """What the server said, or what happened instead; written by somebody else, so never to be trusted as markup."""
    fault: str | None = None
    about: str | None = None
    """`email`, `recipient`, `sender` or `transport`."""
    counted: bool = True
    inline: bool = False
    takeover: bool = False
    """Its worker died: another one found what had become of it."""
    from_journal: bool = False
    """The database had forgotten that it was sent, and was told again."""
    dead_reason: str | None = None
    """Why it was given up then, if it was."""
    possible_second_copy: bool = False
    recipients: Mapping[str, int] = field(default_factory=dict)
    """How many met which fate."""
    results: tuple[ResultView, ...] = ()
    """What each of them got, as far as it was kept: of an email to many, of those who were not accepted only."""
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    """Per step of the conversation."""

    @property
    def total_milliseconds(self) -> float:
        return sum(self.milliseconds.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientRow:
    """One recipient through all attempts."""

    address: str
    stands: Recipient | None
    """Where they stand now; None when a correction has taken them away."""
    cells: tuple[ResultView | None, ...]
    """What they got in each attempt, oldest first; None where they were not in it, or it was not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailView:
    """One email with everything there is to know about it but its content."""

    at: datetime
    email: StoredEmail
    """With its history, oldest line first: who did what when."""
    sentence: str
    """Why it is not sent yet, what happens next, and when."""
    route: RouteView | None
    """How its way out is doing; None where nobody here knows that route."""
    attempts: tuple[AttemptView, ...]
    """Oldest first, with the one that sent it."""
    recipients: tuple[Recipient, ...]
    rows: tuple[RecipientRow, ...]
    """Recipients × attempts."""
    versions: tuple[Version, ...]
    """Of its content, the first one first; more than one when it was corrected."""
    acts: tuple[str, ...]
    """What may be done to it now: of `retry`, `dismiss`, `cancel`, `replay`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActResult:
    """What an act did."""

    matched: int
    """How many emails it was about."""
    done: int = 0
    skipped: int = 0
    """Matched, and yet not done: the act does not apply to their status, or they changed meanwhile."""
    by_status: Mapping[Status, int] = field(default_factory=dict)
    """What was matched, by the status it was in."""
    refused: Mapping[EmailId, PostroomError] = field(default_factory=dict)
    """Why not, of each that was named and of each that was found and not done."""
    capped: bool = False
    """There are more than were counted (of a dry run only; an act does them all)."""
    tie: str = ""
    """What its lines in the audit log share, and by which a dismissal is taken back; of a dry run, nothing."""
