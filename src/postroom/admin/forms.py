"""What the buttons do: plain forms, each answered by a redirect to a page that tells what was done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from postroom.accounts.names import printable
from postroom.accounts.values import Person, Role
from postroom.admin.addresses import QueueAddress, plain
from postroom.admin.contents import letter_view
from postroom.admin.contexts import ConfirmPage, ReplayPage
from postroom.admin.corrections import changed, with_text, written
from postroom.admin.notices import with_notice
from postroom.admin.places import actor_of, operations_of, root_of
from postroom.admin.rendering import render
from postroom.admin.security import content_policy, needs, safe_next
from postroom.admin.workshop import workshop_of
from postroom.compose import Letter
from postroom.errors import EmailNotFound, InvalidEmail, NotApplicable
from postroom.operate import RouteNotFound, RouteShared
from postroom.operate.service import AsyncOperations
from postroom.operate.values import EmailView, Search
from postroom.store.sensitive import check_replay

router = APIRouter(include_in_schema=False)

Operator = Annotated[Person, Depends(needs(Role.OPERATOR))]

ACTS = ("retry", "dismiss", "cancel")
LONGEST_REASON = 500
"""Characters of why somebody did something."""
ALL = "-all"
"""What the name of an act ends with when it is about everything that a search finds."""


@router.post("/admin/email-queue/act")
async def act(request: Request, person: Operator) -> Response:
    """Act on the emails that were selected, or on all that a search finds.

    Whatever is about more than one email asks first, with the number, and so does a dismissal.
    """
    form = await request.form()
    name, on_all = _act_of(form)
    back = safe_next(request, _text(form, "next"))
    # All that match are all of them, whatever else is ticked.
    ids = () if on_all else tuple(str(id) for id in form.getlist("ids"))
    if name not in ACTS or not (ids or on_all):
        return _go(with_notice(back, "nothing"))
    address = QueueAddress.read(form).but() if on_all else None
    chosen: Sequence[str] | Search = address.search(person.workspaces) if address else ids
    if not form.get("confirmed") and (on_all or len(ids) > 1 or name == "dismiss"):
        return await _ask(request, person, name, address, ids, chosen, back)
    by, reason = actor_of(request, person), _reason(form)
    result = await operations_of(request).act(name, chosen, by=by, reason=reason, workspaces=person.workspaces)
    undo = result.tie if name == "dismiss" else ""
    return _go(with_notice(back, name, count=result.done, left=result.skipped, undo=undo))


@router.get("/admin/email-queue/{id}/replay")
async def correct(request: Request, person: Operator, id: str) -> Response:
    """The original, and beside it a form to correct it."""
    return await _replay_page(request, person, id)


@router.post("/admin/email-queue/{id}/replay")
async def replay(request: Request, person: Operator, id: str) -> Response:
    """Send it again with what was changed; key, Message-ID and history stay (B5)."""
    operations, form = operations_of(request), await request.form()
    try:
        letter = await operations.letter(id, workspaces=person.workspaces)
        corrections = await workshop_of(request).do(with_text, changed(form, written(letter)))
        await operations.act_on_one(
            "replay",
            id,
            by=actor_of(request, person),
            corrections=corrections,
            reason=_reason(form),
            workspaces=person.workspaces,
            admin=person.role.may(Role.ADMIN),
        )
    except InvalidEmail as error:
        return await _replay_page(request, person, id, form=form, problem=str(error))
    except NotApplicable:
        return _go(with_notice(_email_path(request, id), "changed"))
    return _go(with_notice(_email_path(request, id), "replay"))


@router.post("/admin/email-queue/{id}/{name}")
async def act_on_one(request: Request, person: Operator, id: str, name: str) -> Response:
    """Retry or cancel one email, or ask whether it is to be dismissed."""
    form = await request.form()
    back = safe_next(request, _text(form, "next") or _email_path(request, id))
    if name not in ACTS:
        raise HTTPException(404)
    if name == "dismiss":
        return await _ask(request, person, name, None, (id,), (id,), back)
    try:
        await operations_of(request).act_on_one(name, id, by=actor_of(request, person), workspaces=person.workspaces)
    except EmailNotFound:
        return _go(with_notice(back, "unknown"))
    except NotApplicable:
        return _go(with_notice(back, "changed"))
    return _go(with_notice(back, name))


@router.post("/admin/transports/{name}")
async def transport(request: Request, person: Operator, name: str) -> Response:
    """Pause or resume a route."""
    form = await request.form()
    which, home = _text(form, "name"), f"{root_of(request)}/admin"
    operations, by = operations_of(request), actor_of(request, person)
    try:
        if name == "pause":
            reason = _reason(form) or "paused by a person"
            await operations.pause_route(which, reason, by, workspaces=person.workspaces)
        elif name == "resume":
            await operations.resume_route(which, by, workspaces=person.workspaces)
        else:
            raise HTTPException(404)
    except RouteNotFound:
        return _go(with_notice(home, "no_route"))
    except RouteShared:
        raise HTTPException(403) from None
    return _go(with_notice(home, name))


async def _ask(
    request: Request,
    person: Person,
    name: str,
    address: QueueAddress | None,
    ids: tuple[str, ...],
    chosen: Sequence[str] | Search,
    back: str,
) -> Response:
    operations = operations_of(request)
    counted = await operations.act(name, chosen, by=person.name, dry_run=True, workspaces=person.workspaces)
    if not counted.matched and not address:
        return _go(with_notice(back, "unknown" if len(ids) == 1 else "nothing"))
    if ids and not counted.matched - counted.skipped:
        return _go(with_notice(back, "changed"))
    page = ConfirmPage(
        act=name,
        address=address,
        ids=ids,
        count=counted.matched - counted.skipped,
        capped=counted.capped,
        next=back,
        undo=operations.settings.undo,
        subject=await _subject(operations, person, ids),
    )
    return render(request, "confirm.html", person=person, section="queue", page=page)


async def _subject(operations: AsyncOperations, person: Person, ids: tuple[str, ...]) -> str:
    """Of the one email that is asked about, so that nobody dismisses its neighbour."""
    return (await operations.email(ids[0], workspaces=person.workspaces)).email.subject if len(ids) == 1 else ""


async def _replay_page(
    request: Request, person: Person, id: str, *, form: FormData | None = None, problem: str = ""
) -> Response:
    operations = operations_of(request)
    view = await operations.email(id, workspaces=person.workspaces)
    letter = await operations.letter(id, workspaces=person.workspaces)
    check_replay(view.email, corrected=False, admin=person.role.may(Role.ADMIN))
    if "replay" not in view.acts:
        return _go(with_notice(_email_path(request, id), "changed"))
    return await workshop_of(request).do(_beside_the_original, request, person, view, letter, form, problem)


def _beside_the_original(
    request: Request, person: Person, view: EmailView, letter: Letter | None, form: FormData | None, problem: str
) -> Response:
    """Not on the event loop: there are emails that take a while to be looked at."""
    page = ReplayPage(
        view=view,
        letter=letter_view(letter) if letter is not None else None,
        corrections=written(letter, form),
        problem=problem,
    )
    return render(
        request,
        "replay.html",
        status=422 if problem else 200,
        headers={"Content-Security-Policy": content_policy(inline_styles=True)},
        person=person,
        section="queue",
        page=page,
    )


def _act_of(form: FormData) -> tuple[str, bool]:
    given = _text(form, "act")
    return given.removesuffix(ALL), given.endswith(ALL)


def _email_path(request: Request, id: str) -> str:
    return f"{root_of(request)}/admin/email-queue/{id}"


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return plain(value) if isinstance(value, str) else ""


def _reason(form: FormData) -> str:
    """Why somebody does something, fit to be kept and shown."""
    return printable(_text(form, "reason")[:LONGEST_REASON])


def _go(path: str) -> Response:
    return RedirectResponse(path, status_code=303)
