"""What came back, in the JSON API: a list of it, and one of it. The messages themselves are not told here."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from postroom.admin.api import Service, Viewer, may_answer
from postroom.admin.parsing import JsonRoute
from postroom.admin.requests import Line, Request
from postroom.admin.shapes import Shape
from postroom.admin.suppressions_api import SuppressionShape
from postroom.operate.came_back import ReturnPage, ReturnSearch, ReturnView, WholeReturn
from postroom.returns.reading import Unclear
from postroom.store.notes import StoredReturn
from postroom.vocabulary import BounceClass, Return

router = APIRouter(prefix="/api", responses=may_answer(), route_class=JsonRoute, tags=["returns"])


class ReturnsRequest(Request):
    """What of it. `about` is a whole address, or an email by its id or Message-ID; several narrow together."""

    kind: Return | Unclear | None = None
    unclear: bool = False
    """Only what nobody could read, or knows an email for."""
    about: Line | None = None
    before: UUID | None = None
    """The `next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=200)] = 50

    def as_search(self) -> ReturnSearch:
        kind = None if self.kind is None else self.kind.value
        return ReturnSearch(kind=kind, unclear=self.unclear, about=self.about or "")


class MailOfCampaignShape(Shape):
    """The mail of a campaign that something is about; it is known when its email is gone."""

    workspace: str
    campaign_id: str
    prospect_id: str
    address: str
    step: int
    subject: str


class ReturnShape(Shape):
    """Something that came back, as it was read. `kind` is a word of its own where it is no return.

    `text` is what the other end said. `emailId` is null, and `problem` says why, where nobody knows which email it is
    about; `emailKept` tells whether that email is still in the outbox. `suppression` is the entry that keeps mail from
    the address for this very reason now.
    """

    id: str
    received_at: datetime
    kind: str
    bounce_class: BounceClass | None
    status: str
    code: int | None
    text: str
    address: str
    until: date | None
    feedback: str
    email_id: str | None
    email_kept: bool
    workspace: str | None
    mail: MailOfCampaignShape | None
    suppression: SuppressionShape | None
    unclear: bool
    problem: str
    reader: str
    message_id: str
    source: str

    @classmethod
    def of(cls, view: ReturnView) -> ReturnShape:
        return cls(**_fields(view))


class KeptMessageShape(Shape):
    """The message that something was read from: octets of the whole, and how many of them are kept."""

    size: int
    kept: int


class PartShape(Shape):
    """What else was read out of the same message."""

    id: str
    kind: str
    address: str

    @classmethod
    def of(cls, kept: StoredReturn) -> PartShape:
        return cls(id=kept.id, kind=kept.what, address=kept.address)


class WholeReturnShape(ReturnShape):
    """One return. `message` is null where it is not kept, or may not be shown to anybody, as `sensitive` tells."""

    message: KeptMessageShape | None
    sensitive: bool
    others: list[PartShape]

    @classmethod
    def of_whole(cls, whole: WholeReturn) -> WholeReturnShape:
        raw = whole.raw
        return cls(
            **_fields(whole.view),
            message=None if raw is None else KeptMessageShape(size=raw.size, kept=len(raw.content)),
            sensitive=whole.secret,
            others=[PartShape.of(each) for each in whole.others],
        )


class ReturnsShape(Shape):
    """Some of it, the latest first. With `next`, there is more, also when this page holds few or none."""

    returns: list[ReturnShape]
    next: str | None

    @classmethod
    def of(cls, page: ReturnPage) -> ReturnsShape:
        return cls(returns=[ReturnShape.of(each) for each in page.returns], next=page.next)


@router.get("/admin/returns")
async def list_returns(operations: Service, person: Viewer, wanted: Annotated[ReturnsRequest, Query()]) -> ReturnsShape:
    """What came back, the latest first, page by page."""
    before = None if wanted.before is None else str(wanted.before)
    page = await operations.returns(wanted.as_search(), limit=wanted.limit, before=before, workspaces=person.workspaces)
    return ReturnsShape.of(page)


@router.get("/admin/returns/{id:email_id}", responses=may_answer(404))
async def show_return(operations: Service, person: Viewer, id: UUID) -> WholeReturnShape:
    """One return: what was read, what it is about, what followed; never the message itself."""
    return WholeReturnShape.of_whole(await operations.returned(str(id), workspaces=person.workspaces))


def _fields(view: ReturnView) -> dict[str, Any]:
    kept, mail = view.kept, view.mail
    return {
        **asdict(kept),
        "kind": kept.what,
        "email_kept": view.email is not None,
        "mail": None if mail is None else MailOfCampaignShape(**asdict(mail)),
        "suppression": None if view.entry is None else SuppressionShape.of(view.entry),
    }
