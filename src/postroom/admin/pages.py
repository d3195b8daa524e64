"""The pages to read: the state of the house, the email queue, one email. They ask the service and own no rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from postroom.accounts.values import Person, Role
from postroom.admin import (
    account,
    auditing,
    campaign_acts,
    campaigns,
    dismissals,
    downloads,
    forms,
    returns,
    sending,
    sequences,
    suppressions,
)
from postroom.admin.addresses import QueueAddress
from postroom.admin.charts import Chart, chart
from postroom.admin.contents import ContentView, letter_view
from postroom.admin.contexts import EmailPage, OverviewPage, QueuePage, Tab
from postroom.admin.notices import read_notice
from postroom.admin.places import may_act, operations_of, root_of
from postroom.admin.rendering import is_refresh, render
from postroom.admin.security import content_policy, needs
from postroom.admin.workshop import workshop_of
from postroom.compose import Letter
from postroom.errors import EmailNotFound, UnreadableEmail
from postroom.operate.service import AsyncOperations
from postroom.operate.values import Dashboard, EmailView
from postroom.store.suppressions import Suppression
from postroom.vocabulary import Status

router = APIRouter(include_in_schema=False)

Viewer = Annotated[Person, Depends(needs(Role.VIEWER))]


@router.get("/admin")
async def overview(request: Request, person: Viewer) -> HTMLResponse:
    """What is stuck, why, and what to press."""
    dashboard = await operations_of(request).dashboard(workspaces=person.workspaces)
    page = OverviewPage(dashboard=dashboard, charts=_charts(dashboard), workspaces=person.workspaces)
    return _page(request, person, "overview.html", section="overview", page=page)


@router.get("/admin/email-queue")
async def queue(request: Request, person: Viewer) -> HTMLResponse:
    """Emails by status and search, newest first."""
    address = QueueAddress.read(request.query_params)
    operations = operations_of(request)
    try:
        found = await operations.find(address.search(person.workspaces), before=address.before or None)
    except EmailNotFound:  # a page to go on from that is none
        address = address.but()
        found = await operations.find(address.search(person.workspaces))
    tabs = _tabs(*await operations.counts(workspaces=person.workspaces))
    page = QueuePage(address=address, found=found, tabs=tabs)
    return _page(request, person, "queue.html", section="queue", page=page)


@router.get("/admin/email-queue/act")
async def queue_of_act(request: Request, person: Viewer) -> RedirectResponse:
    """Whoever looks at the address of the act on many finds the list, for this is no email's page."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{root_of(request)}/admin/email-queue{query}", status_code=303)


@router.get("/admin/email-queue/{id}")
async def email(request: Request, person: Viewer, id: str) -> HTMLResponse:
    """One email: why it is not sent yet, what happens next, what was said, what it says, who did what."""
    operations = operations_of(request)
    view = await operations.email(id, workspaces=person.workspaces)
    suppressed = await operations.suppressed_in(view.email)
    version = _version(request, newest=view.email.version)
    # What the email says does not change: a page that looks for news is not sent it again.
    letter, unreadable = (None, "") if is_refresh(request) else await _letter(operations, person, id, version)
    return await workshop_of(request).do(_email_page, request, person, view, suppressed, letter, version, unreadable)


def _email_page(
    request: Request,
    person: Person,
    view: EmailView,
    suppressed: Mapping[str, Suppression],
    letter: Letter | None,
    version: int,
    unreadable: str,
) -> HTMLResponse:
    """Beside the event loop: there are emails that take a while to be looked at."""
    seen = letter_view(letter) if letter is not None else None
    shown = _shown(request, seen)
    images = request.query_params.get("images") == "1"
    page = EmailPage(
        view=view,
        letter=seen,
        shown=shown,
        version=version,
        remote_images=images,
        unreadable=unreadable,
        suppressed=suppressed,
    )
    policy = content_policy(inline_styles=shown == "html", remote_images=images and shown == "html")
    return _page(request, person, "email.html", section="queue", page=page, headers={"Content-Security-Policy": policy})


async def _letter(operations: AsyncOperations, person: Person, id: str, version: int) -> tuple[Letter | None, str]:
    """What an email says, or why that cannot be read."""
    try:
        return await operations.letter(id, version, workspaces=person.workspaces), ""
    except UnreadableEmail as error:
        return None, error.problem


def _page(request: Request, person: Person, template: str, **context: Any) -> HTMLResponse:
    notice = read_notice(request.query_params)
    return render(request, template, person=person, may_act=may_act(person), notice=notice, **context)


def _charts(dashboard: Dashboard) -> tuple[Chart, ...]:
    if dashboard.last_hour is None or dashboard.last_day is None:
        return ()
    return (
        chart("hour", "The last hour", "a minute", dashboard.last_hour),
        chart("day", "The last day", "an hour", dashboard.last_day),
    )


def _tabs(counts: Mapping[str, int], capped: Mapping[str, bool]) -> tuple[Tab, ...]:
    """Every status but `queued` and `cancelled`, which have a tab only when there is something in it."""
    rare = (Status.QUEUED, Status.CANCELLED)
    everything = Tab(status="", label="All", count=None, capped=False)
    return (
        everything,
        *(
            Tab(
                status=status,
                label=status.replace("_", " ").capitalize(),
                count=counts.get(status, 0),
                capped=capped.get(status, False),
            )
            for status in Status
            if status not in rare or counts.get(status, 0)
        ),
    )


def _version(request: Request, *, newest: int) -> int:
    wanted = request.query_params.get("version", "")
    return min(max(int(wanted), 1), newest) if wanted.isascii() and wanted.isdecimal() and len(wanted) < 6 else newest


def _shown(request: Request, letter: ContentView | None) -> str:
    if letter is None:
        return ""
    wanted = request.query_params.get("view", "")
    return wanted if wanted in letter.views else letter.views[0]


router.include_router(account.router)
router.include_router(auditing.router)
router.include_router(dismissals.router)
router.include_router(forms.router)
router.include_router(downloads.router)
router.include_router(suppressions.router)
router.include_router(returns.router)
router.include_router(campaigns.router)
router.include_router(campaign_acts.router)
router.include_router(sequences.router)
router.include_router(sending.router)
