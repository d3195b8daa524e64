"""What each page is given. Templates look at these values and ask nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from postroom.admin.addresses import QueueAddress
from postroom.admin.charts import Chart
from postroom.admin.letters import LetterView
from postroom.desk.values import AttemptView, Dashboard, EmailView, FoundPage
from postroom.store.contract import StoredEmail
from postroom.vocabulary import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewPage:
    """`/admin`."""

    dashboard: Dashboard
    charts: tuple[Chart, ...]
    """Empty for somebody who may not see every workspace."""

    @property
    def queue_tone(self) -> str:
        """Of the email-queue card (A8): muted when healthy, emphasised when emails wait or have failed."""
        if self.dashboard.failed_email_count:
            return "failed"
        return "pending" if self.dashboard.pending_email_count else "muted"

    @property
    def workers_alive(self) -> int:
        return sum(worker.alive for worker in self.dashboard.workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """Emails of one status, or all of them."""

    status: str
    label: str
    count: int | None
    """None for «all»."""
    capped: bool
    """There are at least that many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """`/admin/email-queue`."""

    address: QueueAddress
    found: FoundPage
    tabs: tuple[Tab, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailPage:
    """`/admin/email-queue/{id}`."""

    view: EmailView
    letter: LetterView | None
    """None when it is sensitive: no body anywhere, for anyone."""
    shown: str
    """Which view of the letter: `html`, `text`, `source`, `headers`, `attachments` or `invite`."""
    version: int
    remote_images: bool
    """Whether they were asked for."""

    @property
    def attempts(self) -> tuple[AttemptView, ...]:
        """Oldest first. The history tells of attempts that failed; the one that succeeded left its reply."""
        accepted = _accepted(self.view.email)
        return (*self.view.attempts, accepted) if accepted else self.view.attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPage:
    """`/admin/email-queue/{id}/replay`: the correction beside the original."""

    view: EmailView
    letter: LetterView | None
    corrections: Mapping[str, str]
    """What the form holds."""
    problem: str = ""
    """Why it was not accepted, if it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmPage:
    """Asked before many emails are acted upon at once."""

    act: str
    address: QueueAddress | None
    """All emails found there …"""
    ids: tuple[str, ...]
    """… or these."""
    count: int
    capped: bool
    next: str


def _accepted(email: StoredEmail) -> AttemptView | None:
    """The attempt that sent it, unless the history has it already."""
    reply = email.reply
    if email.status is not Status.SENT or email.sent_at is None or not reply:
        return None
    if any(entry.detail.get("outcome") == Status.SENT for entry in email.history):
        return None
    known = {each.name for each in fields(AttemptView)} - {"number", "at", "outcome"}
    said = {name: value for name, value in reply.items() if name in known}
    return AttemptView(number=email.attempts, at=email.sent_at, outcome=email.status, **said)
