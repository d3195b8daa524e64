"""What each page is given. Templates look at these values and ask nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from postroom.accounts.factors import Factors
from postroom.accounts.values import AuditPage
from postroom.admin.addresses import AuditAddress, QueueAddress, ReturnsAddress, SuppressionsAddress
from postroom.admin.charts import Chart
from postroom.admin.contents import ContentView
from postroom.admin.qr import Drawing
from postroom.operate.broker import at_work
from postroom.operate.came_back import ReturnPage, WholeReturn
from postroom.operate.suppressing import SuppressionPage
from postroom.operate.suppression_lists import ImportReport
from postroom.operate.suppression_rights import SAID_BY_THE_PERSON, is_theirs
from postroom.operate.values import Dashboard, EmailView, FoundPage, Workspaces
from postroom.operate.wording import count_of
from postroom.store.dismissals import Dismissed
from postroom.store.suppressions import Suppression, normal_address
from postroom.vocabulary import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewPage:
    """`/admin`."""

    dashboard: Dashboard
    charts: tuple[Chart, ...]
    """Empty for somebody who may not see every workspace."""
    workspaces: frozenset[str] | None = None
    """Which they may see; None: all."""

    @property
    def workspaces_in_words(self) -> str:
        """`hotel, bakery`."""
        return ", ".join(name or "the workspace without a name" for name in sorted(self.workspaces or ())) or "none"

    @property
    def queue_tone(self) -> str:
        """Of the email-queue card (A8): muted when healthy, emphasised when emails wait or have failed."""
        if self.dashboard.failed_email_count:
            return "failed"
        return "pending" if self.dashboard.pending_email_count else "muted"

    @property
    def workers_alive(self) -> int:
        """Those who need no broker."""
        return sum(worker.alive for worker in self.dashboard.own_workers)

    @property
    def staff(self) -> str:
        """`2 workers at work`; with a broker also `2 schedulers and 3 senders are at work`."""
        workers = f"{count_of(self.workers_alive, 'worker')} at work" if self.workers_alive else "No worker is at work"
        if (broker := self.dashboard.broker) is None:
            return workers
        services = at_work(broker)
        return f"{workers}, {services}" if self.workers_alive else services[0].upper() + services[1:]


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
    letter: ContentView | None
    """None when it is sensitive (no body anywhere, for anyone), or cannot be read."""
    shown: str
    """Which view of the letter: `html`, `text`, `source`, `headers`, `attachments` or `invite`."""
    version: int
    remote_images: bool
    """Whether they were asked for."""
    unreadable: str = ""
    """Why there is no letter, where it cannot be read."""
    suppressed: Mapping[str, Suppression] = field(default_factory=dict)
    """Recipients who would not get it now, and the entry that says so."""

    def suppression(self, address: str) -> Suppression | None:
        """Of one recipient."""
        return self.suppressed.get(normal_address(address))

    @property
    def finished(self) -> bool:
        """Nothing can happen to it any more, so there is no news to look for."""
        return self.view.email.status == Status.SENT and not self.view.acts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPage:
    """`/admin/email-queue/{id}/replay`: the correction beside the original."""

    view: EmailView
    letter: ContentView | None
    corrections: Mapping[str, str]
    """What the form holds."""
    problem: str = ""
    """Why it was not accepted, if it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmPage:
    """Asked before an email is dismissed, and before several are acted upon at once."""

    act: str
    address: QueueAddress | None
    """All emails found there …"""
    ids: tuple[str, ...]
    """… or these."""
    count: int
    capped: bool
    next: str
    undo: timedelta
    """How long a dismissal can be undone."""
    subject: str = ""
    """Of the one email, if it is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DismissedPage:
    """`/admin/dismissed`."""

    emails: tuple[Dismissed, ...]
    more: bool
    """There are earlier ones."""
    undo: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressionsPage:
    """`/admin/suppressions`: who is not to be mailed."""

    address: SuppressionsAddress
    found: SuppressionPage
    workspaces: Workspaces
    """Which the person may see; None: all."""
    known: tuple[str, ...] = ()
    """Those to choose from."""
    form: Mapping[str, str] = field(default_factory=dict)
    """What the form to add one holds."""
    list_form: Mapping[str, str] = field(default_factory=dict)
    """The same of the form to import a list."""
    problem: str = ""
    """Why it was not accepted, if it was not."""
    report: ImportReport | None = None
    """What became of a list that was just imported."""

    def removable(self, entry: Suppression) -> bool:
        return is_theirs(entry, self.workspaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsuppressPage:
    """Asked before an entry is removed."""

    entry: Suppression
    next: str

    @property
    def said_by_the_person(self) -> bool:
        return self.entry.reason in SAID_BY_THE_PERSON


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnsPage:
    """`/admin/returns`: what came back."""

    address: ReturnsAddress
    found: ReturnPage


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnDetailPage:
    """`/admin/returns/{id}`."""

    whole: WholeReturn
    source: str
    """The message, or its beginning, as text that does nothing; empty where there is none to be shown."""
    cut: bool
    """There is more of the message than `source`."""
    back: str
    """The list from which somebody came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLogPage:
    """`/admin/audit`."""

    address: AuditAddress
    found: AuditPage


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage:
    """`/admin/account`: one's own way in."""

    factors: Factors
    codes: tuple[str, ...] = ()
    """Recovery codes, shown this once."""
    drawing: Drawing | None = None
    """The QR code of an authenticator that is to be confirmed."""
    uri: str = ""
    """What it says."""
    secret: str = ""
    """The same to be typed."""
    done: str = ""
    problem: str = ""
