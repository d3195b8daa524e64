"""What the API takes: query parameters and bodies, checked before anything is done."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel

from postroom.admin.described import (
    Addresses,
    BodyText,
    ContentId,
    FileContent,
    FileName,
    HeaderName,
    HeaderText,
    Label,
    MailAddress,
    MediaType,
    PolicyName,
    RouteName,
    SomeAddresses,
    Tag,
    limited,
    somebody_gets_it,
)
from postroom.compose import Attachment, Email
from postroom.operate.values import Search, Workspaces
from postroom.outbox.submission import Submission, Wishes, read_priority
from postroom.store.changes import BEGINNING, Cursor, Wanted
from postroom.vocabulary import Change, OnDoubt, Status

_LONGEST = 200
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]")
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)

Why = Annotated[str, StringConstraints(max_length=_LONGEST, pattern=r"^[^\x00-\x1f\x7f]*$")]
Line = Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""One line of text without control characters, which no database would take."""


def within_reach(at: datetime) -> datetime:
    """An instant that every database can compare; before the first and after the last nothing happens."""
    if at.replace(tzinfo=UTC) >= _LAST:
        return _LAST
    return max(at, _FIRST)


def _as_described(value: Any) -> Any:
    """Only what the description calls a date-time: a bare number would otherwise be seconds since 1970."""
    if not isinstance(value, str) or not _DATE_TIME.match(value):
        raise ValueError("an instant reads like 2026-05-17T09:30:00Z")
    return value


Instant = Annotated[AwareDatetime, BeforeValidator(_as_described), AfterValidator(within_reach)]


class Request(BaseModel):
    """Unknown names are refused: a misspelt filter would otherwise mean «all»."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class FilterRequest(Request):
    """Which emails. Several fields narrow together; `q` is free text, recognised by its shape."""

    q: Line | None = None
    status: Status | None = None
    kind: Line | None = None
    workspace: Annotated[str, StringConstraints(max_length=_LONGEST, pattern=r"^[^\x00-\x1f\x7f]*$")] | None = None
    route: Line | None = None
    tag: Line | None = None
    portal: Line | None = None
    template: Line | None = None
    version: Line | None = None
    language: Line | None = None
    recipient: Line | None = None
    reply_code: Annotated[int, Field(ge=200, le=599)] | None = None
    cause: Line | None = None
    since: Instant | None = None
    until: Instant | None = None

    def as_search(self, *, workspaces: Workspaces) -> Search:
        given = self.model_dump(include=set(FilterRequest.model_fields), exclude_none=True)
        return Search(**given, workspaces=workspaces)


class ListRequest(FilterRequest):
    """Which page of which emails."""

    before: UUID | None = None
    """The `next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class AuditRequest(Request):
    """Which lines of the audit log."""

    actor: Line | None = None
    what: Line | None = None
    before: Annotated[int, Field(ge=1, le=2**62)] | None = None
    """The `next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=500)] = 100


class EventsRequest(Request):
    """Which piece of the stream of events."""

    after: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,19}\.[0-9]{1,18}\.[0-9]{1,9}$")] | None = None
    """The `next` of the piece before, or the id of an event."""
    of: list[Change] = []
    kind: Line | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100

    @property
    def place(self) -> Cursor:
        return BEGINNING if self.after is None else Cursor.parse(self.after)

    def as_wanted(self) -> Wanted:
        return Wanted(of=frozenset(self.of) or None, kind=self.kind)


def _a_number(value: Any) -> Any:
    """In a body a number is a number; in a query everything is text."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError("a reply code is a number")
    return value


def _something_is_given(schema: dict[str, Any]) -> None:
    """At least one field, and none of them null: what is not meant is left out."""
    schema["minProperties"] = 1
    for field in schema["properties"].values():
        [given] = [each for each in field.pop("anyOf") if each != {"type": "null"}]
        field.pop("default")
        field |= given


class SomeFilter(FilterRequest):
    """A filter that narrows."""

    model_config = ConfigDict(json_schema_extra=_something_is_given)

    reply_code: Annotated[int, Field(ge=200, le=599), BeforeValidator(_a_number)] | None = None

    @model_validator(mode="after")
    def _narrows(self) -> Self:
        given = [getattr(self, name) for name in self.model_fields_set]
        if not given or None in given:
            raise ValueError("name at least one field, such as status, and leave out what does not narrow")
        return self


class ActOnFound(Request):
    """All emails that match and that the act applies to; `dryRun` only counts them."""

    filter: SomeFilter
    dry_run: StrictBool = False
    reason: Why = ""


class ActOnThese(Request):
    """The emails of these ids that the act applies to."""

    ids: Annotated[list[UUID], Field(min_length=1, max_length=1_000)]
    dry_run: StrictBool = False
    reason: Why = ""


class ReplayRequest(Request):
    """What to correct; what is not given stays as it was."""

    to: SomeAddresses | None = None
    cc: Addresses | None = None
    bcc: Addresses | None = None
    subject: HeaderText | None = None
    text: BodyText | None = None
    html: BodyText | None = None


class PauseRequest(Request):
    """Why a route is to stop."""

    reason: Line = "paused at the desk"


class AttachmentRequest(Request):
    """A file: its content in Base64."""

    filename: FileName
    content: FileContent
    content_type: MediaType | None = None
    content_id: ContentId | None = None


class EnqueueRequest(Request):
    """An email to be sent, and how."""

    model_config = ConfigDict(json_schema_extra=somebody_gets_it)

    to: Addresses | None = None
    cc: Addresses | None = None
    bcc: Addresses | None = None
    reply_to: Addresses | None = None
    sender: MailAddress | None = None
    subject: HeaderText = ""
    text: BodyText | None = None
    html: BodyText | None = None
    headers: Annotated[dict[HeaderName, HeaderText], limited("headers")] = {}
    tags: list[Tag] = []
    attachments: list[AttachmentRequest] = []
    kind: Label = ""
    workspace: Label = ""
    route: RouteName | None = None
    priority: Annotated[str, Field(json_schema_extra={"enum": ["urgent", "normal", "bulk"]})] = "normal"
    policy: PolicyName | None = None
    not_before: Instant | None = None
    expires_at: Instant | None = None
    sensitive: StrictBool = False
    unsubscribable: StrictBool = False
    on_doubt: OnDoubt = OnDoubt.RESEND

    def submission(self, key: str | None) -> Submission:
        """The email with all this, under the key of the request."""
        return Submission(self._email(), key, self._wishes())

    def _email(self) -> Email:
        return Email(
            to=self.to,
            cc=self.cc,
            bcc=self.bcc,
            reply_to=self.reply_to,
            sender=self.sender,
            subject=self.subject,
            text=self.text,
            html=self.html,
            headers=self.headers,
            tags=self.tags,
            attachments=[
                Attachment(each.filename, each.content, each.content_type, each.content_id) for each in self.attachments
            ],
        )

    def _wishes(self) -> Wishes:
        return Wishes(
            policy=self.policy,
            priority=read_priority(self.priority),
            not_before=self.not_before,
            expires_at=self.expires_at,
            kind=self.kind,
            workspace=self.workspace,
            route=self.route,
            sensitive=self.sensitive,
            unsubscribable=self.unsubscribable,
            on_doubt=self.on_doubt,
        )
