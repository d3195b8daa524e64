"""When and how much a workspace sends, with a drawn week and the next windows; and who its senders are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from datetime import time as clock_time
from functools import cache
from itertools import islice
from typing import Annotated, Any
from zoneinfo import available_timezones

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from postroom.accounts.names import printable
from postroom.accounts.values import Person, Role
from postroom.admin.addresses import plain
from postroom.admin.campaign_charts import week
from postroom.admin.campaign_contexts import SendingPage, Window
from postroom.admin.campaign_places import Place, campaigns_of, forget_outlook, id_in, looks_of, place_of, words
from postroom.admin.notices import read_notice, with_notice
from postroom.admin.places import actor_of, may_act
from postroom.admin.rendering import render
from postroom.admin.security import needs
from postroom.admin.sender_form import changed_fields, given_in, sender_form, sender_said
from postroom.admin.sending_form import FIELDS, LABELS, form_of, in_words, read_form
from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import Opening, openings_after
from postroom.campaigns.books.counting import CountedDay
from postroom.campaigns.records import UNSAID, sender_from, written
from postroom.errors import InvalidCampaign

router = APIRouter(include_in_schema=False)

Viewer = Annotated[Person, Depends(needs(Role.VIEWER))]
Operator = Annotated[Person, Depends(needs(Role.OPERATOR))]

WINDOWS = 10
ACTS_ON_SENDERS = ("pause", "resume")
LONGEST_REASON = 500
_MIDNIGHT = clock_time()
_MEANWHILE = "Somebody else has changed them meanwhile; look at them, and save again"


@router.get("/admin/sending")
async def sending(request: Request, person: Viewer) -> Response:
    """The settings in their form, what they mean in hours and dates, and the senders."""
    place = await place_of(request, person)
    return await _page(request, person, place, editing=plain(request.query_params.get("edit")))


@router.post("/admin/sending")
async def change(request: Request, person: Operator) -> Response:
    """Change the settings, or show the form again as it was typed, with all that is wrong beside its fields."""
    place, form = await place_of(request, person), await request.form()
    given = {name: words(form, name).strip() if name == "holidays" else plain(form.get(name)) for name in FIELDS}
    days = tuple(plain(each) for each in form.getlist("sending_days"))
    operations = campaigns_of(request)
    before = await operations.settings_of(place.workspace, workspaces=person.workspaces)
    changes, problems = read_form(given, days, before)
    if plain(form.get("version")) != str(before.version):
        problems = {"version": _MEANWHILE, **problems}
    if not problems:
        try:
            by = actor_of(request, person)
            await operations.change_settings(place.workspace, changes, by=by, workspaces=person.workspaces)
        except InvalidCampaign as error:
            problems = {error.field: in_words(error)}
        else:
            forget_outlook(request, place.workspace)
            held = await operations.impasses(place.workspace, workspaces=person.workspaces)
            notice = "sending_nothing" if held else "sending_saved"
            return RedirectResponse(with_notice(place.sending(), notice), status_code=303)
    return await _page(request, person, place, status=422, form=given, days=days, problems=problems)


@router.post("/admin/sending/senders")
async def add_sender(request: Request, person: Operator) -> Response:
    """Add a sender. One who is there already stays as they are, and the page leads to where they are changed."""
    place, form = await place_of(request, person), await request.form()
    given = given_in(form)
    try:
        sender = sender_from({name: value for name, value in sender_said(given).items() if value != UNSAID})
        await campaigns_of(request).add_sender(
            place.workspace, sender, by=actor_of(request, person), workspaces=person.workspaces
        )
    except InvalidCampaign as error:
        return await _page(request, person, place, status=422, sender_form=given, sender_problem=error)
    return _saved(request, place)


@router.post("/admin/sending/senders/{id}")
async def change_sender(request: Request, person: Operator, id: str) -> Response:
    """Change of a sender what is another now than when the form was filled, and leave the rest to whoever else has
    changed it since."""
    place, form = await place_of(request, person), await request.form()
    given, was = {**given_in(form), "id": id_in(id)}, words(form, "was")
    asked: Any = {"by": actor_of(request, person), "workspaces": person.workspaces}
    try:
        changes = changed_fields(given, was=was)
        await campaigns_of(request).change_sender(place.workspace, given["id"], changes, add=False, **asked)
    except InvalidCampaign as error:
        told: Any = {"sender_form": given, "sender_problem": error, "sender_was": was}
        return await _page(request, person, place, status=422, editing=given["id"], **told)
    return _saved(request, place)


@router.post("/admin/sending/senders/{id}/{act}")
async def act_on_sender(request: Request, person: Operator, id: str, act: str) -> Response:
    """Pause or resume a sender; neither loses anything, so neither asks."""
    if act not in ACTS_ON_SENDERS:
        raise HTTPException(404)
    place, form, operations = await place_of(request, person), await request.form(), campaigns_of(request)
    asked: Any = {"by": actor_of(request, person), "workspaces": person.workspaces}
    if act == "pause":
        reason = printable(plain(form.get("reason"))[:LONGEST_REASON])
        await operations.pause_sender(place.workspace, id_in(id), reason=reason or None, **asked)
    else:
        await operations.resume_sender(place.workspace, id_in(id), **asked)
    return RedirectResponse(with_notice(place.sending(), f"sender_{act}") + "#senders", status_code=303)


def _saved(request: Request, place: Place) -> Response:
    forget_outlook(request, place.workspace)
    return RedirectResponse(with_notice(place.sending(), "sender_saved") + "#senders", status_code=303)


async def _page(
    request: Request,
    person: Person,
    place: Place,
    *,
    status: int = 200,
    editing: str = "",
    form: Mapping[str, str] | None = None,
    days: tuple[str, ...] | None = None,
    problems: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    operations, looks, seen = campaigns_of(request), looks_of(request), person.workspaces
    settings = await operations.settings_of(place.workspace, workspaces=seen)
    quota = await looks.quota(place.workspace, workspaces=seen)
    sending = settings.sending
    if editing and "sender_form" not in more:
        filled = sender_form(await operations.sender(place.workspace, editing, workspaces=seen))
        more |= {"sender_form": filled, "sender_was": written(filled)}
    senders = await operations.senders(place.workspace, workspaces=seen)
    page = SendingPage(
        place=place,
        settings=settings,
        week=week(sending),
        windows=_windows(sending, quota, looks.now()),
        form=form if form is not None else form_of(settings),
        days=days if days is not None else sending.sending_days,
        problems=problems or {},
        labels=LABELS,
        senders=senders,
        impasses=await operations.impasses(place.workspace, senders, workspaces=seen),
        routes=tuple(sorted(operations.settings.known_routes())),
        zones=_zones(),
        editing=editing,
        **more,
    )
    return render(
        request, "sending.html", status=status, person=person, may_act=may_act(person),
        notice=read_notice(request.query_params), section="campaigns", page=page,
    )  # fmt: skip


def _windows(settings: SendingSettings, counted: Sequence[CountedDay], now: datetime) -> tuple[Window, ...]:
    """The next ones, as if each of them had as much mail as it may: so the ramp-up goes on, or stands still."""
    used = {each.day: each.used for each in counted}
    with_mail = {each.day for each in counted if each.accepted}
    found: list[Window] = []
    for each in islice(openings_after(settings, now), WINDOWS):
        allowed = allowance(settings, 1 + sum(day < each.day for day in with_mail))
        found.append(
            Window(
                opening=each,
                allowed=allowed,
                used=used.get(each.day, 0),
                here=_hours(each, settings.zone),
                utc=_hours(each, UTC),
            )
        )
        if allowed:
            with_mail.add(each.day)
    return tuple(found)


def _hours(opening: Opening, zone: tzinfo) -> str:
    """`09:00–17:00` on a clock; with the day of the week where it is not that of the window: `Thu 23:00–Fri 07:00`.

    A midnight that ends a day is its `24:00`.
    """
    opens, closes = opening.open.astimezone(zone), opening.close.astimezone(zone)
    first = opens.strftime("%H:%M" if opens.date() == opening.day else "%a %H:%M")
    if closes.time() == _MIDNIGHT and closes.date() == opens.date() + timedelta(days=1):
        return f"{first}–24:00"
    return f"{first}–{closes.strftime('%H:%M' if closes.date() == opens.date() else '%a %H:%M')}"


@cache
def _zones() -> tuple[str, ...]:
    """Places to choose from; looked up once, for that reads many files."""
    return tuple(sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/")))
