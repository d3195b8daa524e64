"""What each page of campaigns is given. Templates look at these values and ask nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from postroom.admin.addresses import plain
from postroom.admin.campaign_charts import Calendar, Piece, WeekDay, progress_pieces
from postroom.admin.campaign_entries import Entries
from postroom.admin.campaign_findings import Finding
from postroom.admin.campaign_funnel import Funnel, funnel_of
from postroom.admin.campaign_places import Place, segment
from postroom.admin.campaign_wording import Explained
from postroom.campaigns.arithmetic.impasse import Impasse
from postroom.campaigns.arithmetic.window import Opening
from postroom.campaigns.drafts.checking import Checked, Severity
from postroom.campaigns.drafts.forecasting import Forecast, Outlook
from postroom.campaigns.drafts.rendering import Words
from postroom.campaigns.drafts.sequences import SequenceOutline
from postroom.campaigns.importing.batches import Imported, RowReport
from postroom.campaigns.looking.pages import FoundEnrolments, Progress
from postroom.campaigns.values import Sender, Sequence, WorkspaceSettings
from postroom.errors import InvalidCampaign
from postroom.operate.campaign_looks import InCampaign, ListedCampaign, Numbers
from postroom.operate.campaigns import WholeCampaign
from postroom.operate.wording import count_of
from postroom.vocabulary import CampaignStatus, EnrolmentStatus

ACTS: Mapping[CampaignStatus, tuple[str, ...]] = {
    CampaignStatus.DRAFT: ("launch", "cancel"),
    CampaignStatus.RUNNING: ("pause", "cancel"),
    CampaignStatus.PAUSED: ("resume", "cancel"),
    CampaignStatus.COMPLETED: (),
    CampaignStatus.CANCELLED: ("launch",),
}
"""What a person can do to a campaign."""
_ORDER = tuple(ACTS)
MAILS = ("waiting", "in_doubt", "sent", "stopped", "dead")
"""What people are looked for by: where a mail of theirs stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleAddress:
    """The query that narrows the people of a campaign. Empty means: not narrowed."""

    q: str = ""
    status: str = ""
    mail: str = ""
    """Where a mail of theirs stands."""
    after: str = ""
    waiting: str = ""
    """Behind which waiting mail the list of those goes on."""

    @classmethod
    def read(cls, given: Mapping[str, object]) -> PeopleAddress:
        """A status that is none is left out, and a place that is none is the first page."""
        known = {each.name: plain(given.get(each.name)) for each in fields(cls)}
        if known["status"] not in set(EnrolmentStatus):
            known["status"] = ""
        if known["mail"] not in MAILS:
            known["mail"] = ""
        for name in ("after", "waiting"):
            known[name] = known[name] if _is_number(known[name]) else ""
        return cls(**known)

    def unread(self, given: Mapping[str, object]) -> tuple[str, ...]:
        """What the query says and `read` has left out, for whoever typed it: nobody is to believe that it narrows."""
        typed = {name: plain(given.get(name)) for name in ("status", "mail", "after", "waiting")}
        return tuple(f"{name}={value}" for name, value in typed.items() if value and not getattr(self, name))

    @property
    def number(self) -> int:
        return int(self.after or 0)

    @property
    def narrowed(self) -> bool:
        return bool(self.q or self.status or self.mail)

    def path(self, place: Place, id: str, **changes: object) -> str:
        """The address with something else; from the first page unless told otherwise."""
        told = replace(self, **{"after": "", **{name: str(value) for name, value in changes.items()}})
        query = {each.name: value for each in fields(told) if (value := getattr(told, each.name))}
        return f"{place.root}/admin/campaigns/{segment(id)}?{urlencode({'workspace': place.workspace, **query})}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignsPage:
    """`/admin/campaigns`."""

    place: Place
    workspaces: tuple[str, ...]
    """Those to choose from."""
    free: bool
    """Whether another one may be named."""
    listed: tuple[ListedCampaign, ...]
    outlook: Outlook
    zone: ZoneInfo
    """The workspace's clock."""
    wait: Explained | None
    """Why no mail of the workspace leaves now; None where it does."""
    held: Impasse | None
    """Why none will ever leave; None where one may."""
    next: str
    """The id to go on behind, where there are more."""
    sequences: tuple[SequenceOutline, ...] = ()
    senders: tuple[Sender, ...] = ()
    form: Mapping[str, str] = field(default_factory=dict)
    chosen: tuple[str, ...] | None = None
    """Senders that are ticked; None: all."""
    problem: InvalidCampaign | None = None

    @property
    def groups(self) -> tuple[tuple[CampaignStatus, tuple[ListedCampaign, ...]], ...]:
        """What runs first, then what waits for somebody, then what is over."""
        order = (CampaignStatus.RUNNING, CampaignStatus.PAUSED, CampaignStatus.DRAFT, *_ORDER[3:])
        grouped = ((status, tuple(each for each in self.listed if each.campaign.status is status)) for status in order)
        return tuple((status, those) for status, those in grouped if those)

    def pieces(self, progress: Progress) -> tuple[Piece, ...]:
        return progress_pieces(progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of a file that was just imported."""

    imported: Imported
    rows: tuple[RowReport, ...]
    """Those to look at: refused, twice there, or different from what is stored."""
    count: int
    """How many there are, shown or not."""
    filed: int
    """How many of them are in the file, the first."""
    file: str
    """The same as CSV, to be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMail:
    """One mail that has not left, and why."""

    number: int
    step: int
    prospect: str
    address: str
    why: Explained


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingList:
    """Mails that have not left, a page of them; and those that never will, in numbers."""

    mails: tuple[WaitingMail, ...] = ()
    after: int | None = None
    """Where the list goes on; None where it ends."""
    reasons: tuple[str, ...] = ()
    """How many wait for what: `117 window closed`."""
    counted: int | None = None
    """So many were looked at for that, the first; None: all."""
    stopped: Mapping[str, int] = field(default_factory=dict)
    """Mails that will not leave, by reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPage:
    """`/admin/campaigns/{id}`."""

    place: Place
    whole: WholeCampaign
    numbers: Numbers
    outlook: Outlook
    calendar: Calendar | None
    forecast: Forecast | None
    """Of a draft."""
    checked: Checked | None
    findings: tuple[Finding, ...]
    """What that check has found."""
    waiting: WaitingList
    people: FoundEnrolments
    entries: Entries
    address: PeopleAddress
    impasses: tuple[Impasse, ...] = ()
    """Why nothing of it will ever leave, though it waits to."""
    unread: tuple[str, ...] = ()
    """What the query says and nobody could read."""
    report: Report | None = None
    problem: InvalidCampaign | None = None

    @property
    def id(self) -> str:
        return self.whole.campaign.id

    @property
    def status(self) -> CampaignStatus:
        return self.whole.campaign.status

    @property
    def draft(self) -> bool:
        return self.status is CampaignStatus.DRAFT

    @property
    def acts(self) -> tuple[str, ...]:
        return ACTS[self.status]

    @property
    def wrong(self) -> frozenset[str]:
        """The parts of a draft in which its check has found an error."""
        return frozenset(each.part for each in self.findings if each.severity is Severity.ERROR)

    @property
    def launched(self) -> bool:
        """Whether it ever was; what was cancelled as a draft has neither mails nor days."""
        return self.whole.campaign.launched_at is not None

    @property
    def live(self) -> bool:
        """Whether there is news to look for, that somebody else resumes it, too; one of many thousands of mails is not
        counted every few seconds."""
        under_way = self.status in (CampaignStatus.RUNNING, CampaignStatus.PAUSED)
        return under_way and self.numbers.progress.total <= 30_000

    @property
    def statuses(self) -> tuple[EnrolmentStatus, ...]:
        """Of people, to look for."""
        return tuple(EnrolmentStatus)

    @property
    def mails(self) -> tuple[str, ...]:
        """The same of mails."""
        return MAILS

    @property
    def held(self) -> str:
        """Why nothing is planned, though mails wait; empty where they are, or none waits."""
        waiting = self.numbers.progress.waiting
        told = f"{count_of(waiting, 'mail')} wait{'s' if waiting == 1 else ''}"
        if waiting and self.status is CampaignStatus.PAUSED:
            return f"{told}; nothing is planned while it is paused."
        if waiting and self.status is CampaignStatus.RUNNING and self.outlook.unseen:
            return f"{told}; when they leave is not worked out here."
        return ""

    @property
    def unplanned(self) -> int:
        """Mails that wait for somebody who is paused, and have no place in the calendar."""
        progress = self.numbers.progress
        if self.status is not CampaignStatus.RUNNING or self.held or not progress.people.get("paused"):
            return 0
        return max(0, progress.waiting - (self.calendar.planned if self.calendar else 0))

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return progress_pieces(self.numbers.progress)

    @property
    def funnel(self) -> Funnel:
        return funnel_of(self.whole.draft.sequence, self.numbers.by_step)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignConfirmPage:
    """Asked before a campaign is launched or cancelled, and before a prospect is stopped."""

    place: Place
    act: str
    whole: WholeCampaign
    action: str
    """Where the answer goes."""
    back: str
    progress: Progress
    checked: Checked | None = None
    findings: tuple[Finding, ...] = ()
    forecast: Forecast | None = None
    who: str = ""
    """The prospect, if it is about one."""

    @property
    def again(self) -> bool:
        return self.act == "launch" and self.whole.campaign.status is CampaignStatus.CANCELLED

    @property
    def relaunch(self) -> bool:
        """Of what was launched before; a draft that was cancelled is launched as any other."""
        return self.again and not self.whole.campaign.unlaunched


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMail:
    """One step to one prospect."""

    step: int
    state: str
    subject: str
    """As it was or will be; `Re:` where it goes on in the thread."""
    email: str
    """The id of its email, where there is one to be looked at."""
    status: str
    """Of that email, or where the mail stands."""
    at: datetime | None
    """When it was handed over last."""
    why: Explained | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProspectPage:
    """One prospect in a campaign."""

    place: Place
    found: InCampaign
    thread: tuple[ThreadMail, ...]
    entries: Entries

    @property
    def waits(self) -> bool:
        """Whether a mail tells when it leaves, or until when it waits."""
        return any(mail.why and (mail.why.planned or mail.why.when) for mail in self.thread)

    @property
    def acts(self) -> tuple[str, ...]:
        match self.found.enrolment.status:
            case EnrolmentStatus.ENROLLED | EnrolmentStatus.ACTIVE:
                return ("pause", "stop")
            case EnrolmentStatus.PAUSED:
                return ("resume", "stop")
            case _:
                return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepForm:
    """A step as it stands in the form."""

    number: int
    delay_days: str = "3"
    subject: str = ""
    text: str = ""
    html: str = ""
    template: str = ""
    problems: Mapping[str, str] = field(default_factory=dict)
    """What is wrong, by part."""
    preview: Words | None = None
    html_preview: str = ""
    """A document for a frame without rights."""
    stand_in: str = ""
    """What stands in the preview for the reader's own link to unsubscribe, if the words have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencePage:
    """`/admin/sequences/{id}`: the editor."""

    place: Place
    sequence: Sequence
    name: str
    steps: tuple[StepForm, ...]
    campaign: str
    """From which somebody came."""
    prospect: str
    """For whom it is shown: an address."""
    previewed: bool
    """Whether a preview was asked for."""
    known: tuple[str, ...]
    """Words that templates may use, of that prospect; of the first of the campaign, where there is nobody like that."""
    problem: str = ""
    refused: bool = False
    """Whether it was not saved for what stands beside the steps."""

    @property
    def wrong(self) -> tuple[StepForm, ...]:
        """The steps that something is wrong with."""
        return tuple(step for step in self.steps if step.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One of the next windows."""

    opening: Opening
    allowed: int
    used: int
    """Mails that count against it already."""
    here: str
    """Its hours on the clock of the workspace."""
    utc: str

    @property
    def left(self) -> int:
        return max(0, self.allowed - self.used)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingPage:
    """`/admin/sending`: when a workspace sends, and who."""

    place: Place
    settings: WorkspaceSettings
    week: tuple[WeekDay, ...]
    windows: tuple[Window, ...]
    form: Mapping[str, str]
    days: tuple[str, ...]
    problems: Mapping[str, str]
    """By field, or of `version`."""
    labels: Mapping[str, str]
    """What the fields are called."""
    senders: tuple[Sender, ...]
    routes: tuple[str, ...]
    zones: tuple[str, ...]
    sender_form: Mapping[str, str] = field(default_factory=dict)
    sender_problem: InvalidCampaign | None = None
    editing: str = ""
    """The id of the sender whom the form changes; empty: it adds one."""
    sender_was: str = ""
    """What the form was filled with."""
    impasses: tuple[Impasse, ...] = ()
    """Why nothing will ever leave, of the workspace or of senders."""

    @property
    def taken(self) -> str:
        """The id under which somebody was to be added who is there already."""
        wanted, refused = self.sender_form.get("id", ""), self.sender_problem
        known = any(sender.id == wanted for sender in self.senders)
        return wanted if refused and refused.field == "sender.id" and known and not self.editing else ""


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 16
