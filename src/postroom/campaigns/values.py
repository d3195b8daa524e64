"""What a workspace has for its campaigns. Values are checked when they are made; a prospect, of which there may be
millions, before it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from postroom.campaigns.arithmetic.keys import check_id
from postroom.campaigns.arithmetic.settings import RampUp, SendingSettings, known_zone
from postroom.campaigns.checks import line_of, mailbox, name_of, refuse, text_of, whole
from postroom.campaigns.fields import check_fields, check_printable
from postroom.errors import ConfigurationError, InvalidCampaign
from postroom.templates.languages import canonical, may_be_spoken
from postroom.vocabulary import DEFAULT_ROUTE, CampaignStatus, EnrolmentStatus

LONGEST_ID = 100
"""Characters: a prospect's id and a sequence's together are a key of an email, with room to spare."""
LONGEST_NAME = 200
LONGEST_SUBJECT = 998
LONGEST_BODY = 200_000
MOST_STEPS = 50
LONGEST_DELAY = 3_650


def named(what: str, id: object) -> str:
    """An id that may be part of a key."""
    known = check_id(what, text_of(what, id))
    if len(known) > LONGEST_ID:
        raise InvalidCampaign(what, f"has {len(known)} characters", f"shorten it to {LONGEST_ID}")
    return known


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSettings:
    """When and how much a workspace sends, and what makes a campaign pause itself."""

    sending: SendingSettings = field(default_factory=SendingSettings)
    person_hours: int = 0
    """A person gets at most one mail of campaigns within so many hours, over all campaigns; 0 is off."""
    bounce_limit: float | None = 0.05
    """The share of bounces among the mails sent at which a campaign pauses itself; None is never."""
    complaint_limit: float | None = 0.003
    """The same of complaints."""
    limit_after: int = 100
    """Both look at campaigns of which at least so many mails were sent."""
    version: int = 0
    """Counts the changes; 0 where nobody has said anything yet, and these are what holds then."""
    updated_at: datetime | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.sending, SendingSettings):
            refuse("sending", "SendingSettings", self.sending, "make them with SendingSettings(…)")
        whole("person_hours", self.person_hours, least=0, most=8_760)
        whole("limit_after", self.limit_after, least=1)
        for name in ("bounce_limit", "complaint_limit"):
            _check_share(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """From whom mails of campaigns are."""

    id: str
    address: str
    name: str = ""
    """Shown before the address."""
    reply_to: str | None = None
    route: str = DEFAULT_ROUTE
    daily_quota: int | None = None
    """Beside the workspace's, and never above it; None where only that one holds."""
    ramp_up: RampUp | None = None
    paused_at: datetime | None = None
    pause_reason: str | None = None

    def __post_init__(self) -> None:
        settle = object.__setattr__
        named("sender.id", self.id)
        settle(self, "address", mailbox("sender.address", self.address))
        line_of("sender.name", self.name, longest=LONGEST_NAME)
        line_of("sender.route", self.route, longest=LONGEST_NAME)
        if self.reply_to is not None:
            settle(self, "reply_to", mailbox("sender.reply_to", self.reply_to))
        if self.daily_quota is not None:
            whole("sender.daily_quota", self.daily_quota, least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """Somebody who can be written to. Who stores one has it `checked`; what was stored is read as it is."""

    id: str
    address: str
    name: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    """What else templates may say of them, by name."""
    timezone: str | None = None
    language: str | None = None

    def checked(self) -> Prospect:
        """The same as it is kept; what cannot be is refused, by the name of its field."""
        if self.name is not None:
            name_of("name", self.name, longest=LONGEST_NAME)
        if self.timezone is not None:
            known_zone(self.timezone)
        return Prospect(
            id=named("id", self.id),
            address=mailbox("address", self.address),
            name=self.name,
            fields=check_fields(self.fields),
            timezone=self.timezone,
            language=None if self.language is None else _language(self.language),
        )

    @property
    def normal_address(self) -> str:
        """By which two are the same person."""
        return self.address.lower()

    def variables(self) -> dict[str, str]:
        """What templates know of them. What is not known is missing, so that no template passes over it unasked."""
        known = {"name": self.name, "address": self.address, "timezone": self.timezone, "language": self.language}
        return {**self.fields, **{name: value for name, value in known.items() if value}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One mail of a sequence: its words as templates over the prospect, or the name of a portal's template."""

    number: int
    """From 1."""
    delay_days: int = 0
    """Days since the step before; of the first step it is not read."""
    subject: str | None = None
    """None goes on in the thread of the step before, as `Re:`."""
    text: str | None = None
    html: str | None = None
    template: str | None = None
    """Of a portal: `hub.welcome`."""

    def __post_init__(self) -> None:
        whole("number", self.number, least=1, most=MOST_STEPS)
        whole(f"steps[{self.number}].delay_days", self.delay_days, least=0, most=LONGEST_DELAY)
        if self.subject is not None:
            line_of(f"steps[{self.number}].subject", self.subject, longest=LONGEST_SUBJECT)
        for name in ("subject", "text", "html"):
            _check_words(f"steps[{self.number}].{name}", getattr(self, name))
        _check_step(self, f"steps[{self.number}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """Steps in their order, at one version, which never changes."""

    id: str
    name: str
    steps: tuple[Step, ...]
    version: int = 1
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        named("sequence.id", self.id)
        line_of("sequence.name", self.name, longest=LONGEST_NAME)
        object.__setattr__(self, "steps", check_steps(self.steps))

    @property
    def delay_days(self) -> tuple[int, ...]:
        """As the plan takes them."""
        return tuple(step.delay_days for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """A sequence on its way to some prospects."""

    id: str
    name: str
    sequence_id: str
    status: CampaignStatus = CampaignStatus.DRAFT
    created_at: datetime | None = None
    launched_at: datetime | None = None
    paused_at: datetime | None = None
    pause_reason: str | None = None
    finished_at: datetime | None = None
    launched_to: int = 0
    """The number of the last enrolment that a launch has gone through."""
    carried_to: int | None = None
    """The number of the last enrolment to which its being cancelled, or launched again, has come; None once it has to
    all."""

    @property
    def unlaunched(self) -> bool:
        """Nothing of it was launched yet, also where it was cancelled before that."""
        cancelled = self.status is CampaignStatus.CANCELLED and not self.launched_to
        return self.status is CampaignStatus.DRAFT or cancelled

    def __post_init__(self) -> None:
        named("campaign.id", self.id)
        line_of("campaign.name", self.name, longest=LONGEST_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """One prospect in one campaign."""

    number: int
    """The order of enrolment within the campaign."""
    prospect: Prospect
    status: EnrolmentStatus
    next_step: int
    sequence_version: int | None
    """Settled by the launch, as the sender is."""
    sender_id: str | None
    last_sent_on: date | None
    """The window day on which the step before `next_step` really left."""
    reason: str | None


def check_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Give the steps back if they can be a sequence."""
    if not steps:
        raise InvalidCampaign("steps", "there is none", "write at least one [[steps]] with a subject and a text")
    if len(steps) > MOST_STEPS:
        raise InvalidCampaign("steps", f"there are {len(steps)}", f"{MOST_STEPS} are the most")
    for place, step in enumerate(steps, 1):
        whole("steps.number", step.number, least=place, most=place)
    if steps[0].subject is None and steps[0].template is None:
        raise InvalidCampaign("steps[1].subject", "is missing", "only a follow-up can go on in a thread; write one")
    return tuple(steps)


def _check_words(name: str, given: object) -> None:
    if given is None:
        return
    text = check_printable(name, text_of(name, given))
    if not text.strip():
        raise InvalidCampaign(name, "is empty", "write it, or leave it out")
    if len(text) > LONGEST_BODY:
        raise InvalidCampaign(name, f"has {len(text):,} characters", f"shorten it to {LONGEST_BODY:,}")


def _check_step(step: Step, name: str) -> None:
    if step.template is not None:
        line_of(f"{name}.template", step.template, longest=LONGEST_NAME)
        if (step.subject, step.text, step.html) != (None, None, None):
            raise InvalidCampaign(f"{name}.template", "stands beside words of its own", "leave one of the two out")
        if "." not in step.template:
            raise InvalidCampaign(f"{name}.template", "names no portal", "write portal.template: hub.welcome")
    elif step.text is None:
        raise InvalidCampaign(f"{name}.text", "is missing", "write it; every mail has a text, also beside HTML")


def _check_share(name: str, given: object) -> None:
    if given is not None and (type(given) not in (int, float) or not 0 < given <= 1):  # type: ignore[operator]
        refuse(name, "a share above 0 and up to 1", given, "write 0.05 for one in twenty, or leave it out")


def _language(given: object) -> str:
    try:
        tag = canonical(text_of("language", given))
    except ConfigurationError:
        tag = ""
    if not may_be_spoken(tag):
        refuse("language", "the tag of a language", given, "write it like de, de-CH or zh-Hant")
    return tag
