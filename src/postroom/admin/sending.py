"""When and how much a workspace sends, with a drawn week and the next windows; and who its senders are."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import DAYS, SendingSettings
from postroom.campaigns.arithmetic.window import openings_after
from postroom.campaigns.records import sender_from
from postroom.campaigns.values import WorkspaceSettings
from postroom.errors import InvalidCampaign

router = APIRouter(include_in_schema=False)

Viewer = Annotated[Person, Depends(needs(Role.VIEWER))]
Operator = Annotated[Person, Depends(needs(Role.OPERATOR))]

WINDOWS = 10
ACTS_ON_SENDERS = ("pause", "resume")
LONGEST_REASON = 500
FIELDS = (
    "start_hour", "end_hour", "timezone", "daily_quota", "ramp_up", "holidays", "gap_least", "gap_most", "person_hours",
    "bounce_limit", "complaint_limit", "limit_after", "version",
)  # fmt: skip
OF_SENDER = ("id", "name", "address", "reply_to", "route", "daily_quota", "ramp_up")
_FIELD_OF = {"ramp_up.schedule": "ramp_up", "gap_seconds": "gap_least", "settings": "version"}
"""Where in the form a refusal belongs that is called otherwise."""


@router.get("/admin/sending")
async def sending(request: Request, person: Viewer) -> Response:
    """The settings in their form, what they mean in hours and dates, and the senders."""
    return await _page(request, person, await place_of(request, person))


@router.post("/admin/sending")
async def change(request: Request, person: Operator) -> Response:
    """Change the settings, or show the form again as it was typed, with what is wrong beside its field."""
    place, form = await place_of(request, person), await request.form()
    given = {name: words(form, name).strip() if name == "holidays" else plain(form.get(name)) for name in FIELDS}
    days = tuple(plain(each) for each in form.getlist("sending_days"))
    operations = campaigns_of(request)
    try:
        before = await operations.settings_of(place.workspace, workspaces=person.workspaces)
        if given["version"] != str(before.version):
            raise InvalidCampaign("version", "somebody else has changed them meanwhile", "look at them, and save again")
        await operations.change_settings(
            place.workspace, _changes(given, days), by=actor_of(request, person), workspaces=person.workspaces
        )
    except InvalidCampaign as error:
        problems = {_FIELD_OF.get(error.field, error.field): f"{error.problem}; {error.remedy}"}
        return await _page(request, person, place, status=422, form=given, days=days, problems=problems)
    forget_outlook(request, place.workspace)
    return RedirectResponse(with_notice(place.sending(), "sending_saved"), status_code=303)


@router.post("/admin/sending/senders")
async def put_sender(request: Request, person: Operator) -> Response:
    """Add a sender, or change the one of that id."""
    place, form = await place_of(request, person), await request.form()
    given = {name: plain(form.get(name)) for name in OF_SENDER}
    record: dict[str, Any] = {name: value for name, value in given.items() if value}
    record |= {name: _number(record[name]) for name in ("daily_quota",) if name in record}
    record |= {"ramp_up": _numbers(record["ramp_up"])} if "ramp_up" in record else {}
    try:
        await campaigns_of(request).put_sender(
            place.workspace, sender_from(record), by=actor_of(request, person), workspaces=person.workspaces
        )
    except InvalidCampaign as error:
        return await _page(request, person, place, status=422, sender_form=given, sender_problem=error)
    forget_outlook(request, place.workspace)
    return RedirectResponse(with_notice(place.sending(), "sender_saved"), status_code=303)


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


async def _page(
    request: Request,
    person: Person,
    place: Place,
    *,
    status: int = 200,
    form: Mapping[str, str] | None = None,
    days: tuple[str, ...] | None = None,
    problems: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    operations, looks, seen = campaigns_of(request), looks_of(request), person.workspaces
    settings = await operations.settings_of(place.workspace, workspaces=seen)
    quota = await looks.quota(place.workspace, workspaces=seen)
    sending = settings.sending
    page = SendingPage(
        place=place,
        settings=settings,
        week=week(sending),
        windows=_windows(sending, looks, sum(bool(each.accepted) for each in quota)),
        form=form if form is not None else form_of(settings),
        days=days if days is not None else sending.sending_days,
        problems=problems or {},
        senders=await operations.senders(place.workspace, workspaces=seen),
        routes=tuple(sorted(operations.settings.known_routes())),
        zones=_zones(),
        used=quota[-1].used if quota else 0,
        **more,
    )
    return render(
        request, "sending.html", status=status, person=person, may_act=may_act(person),
        notice=read_notice(request.query_params), section="campaigns", page=page,
    )  # fmt: skip


def _windows(settings: SendingSettings, looks: Any, sent_days: int) -> tuple[Window, ...]:
    """The next ones, as if each of them had mail: so the ramp-up goes on."""
    found = islice(openings_after(settings, looks.now()), WINDOWS)
    return tuple(
        Window(opening=each, allowed=allowance(settings, sent_days + number)) for number, each in enumerate(found, 1)
    )


def form_of(settings: WorkspaceSettings) -> dict[str, str]:
    """The settings as a form holds them."""
    sending = settings.sending
    return {
        "start_hour": str(sending.start_hour),
        "end_hour": str(sending.end_hour),
        "timezone": sending.timezone,
        "daily_quota": str(sending.daily_quota),
        "ramp_up": ", ".join(map(str, sending.ramp_up.schedule)) if sending.ramp_up else "",
        "holidays": "\n".join(each.isoformat() for each in sending.holidays),
        "gap_least": str(sending.gap_seconds[0]),
        "gap_most": str(sending.gap_seconds[1]),
        "person_hours": str(settings.person_hours),
        "bounce_limit": _percent(settings.bounce_limit),
        "complaint_limit": _percent(settings.complaint_limit),
        "limit_after": str(settings.limit_after),
        "version": str(settings.version),
    }


def _changes(given: Mapping[str, str], days: tuple[str, ...]) -> dict[str, Any]:
    """What the form says, as a record of settings; what is no number is left for those who refuse it by name."""
    return {
        "sending_days": [each for each in DAYS if each in days] or list(days),
        "timezone": given["timezone"],
        "ramp_up": _numbers(given["ramp_up"]),
        "holidays": re.split(r"[\s,;]+", given["holidays"]) if given["holidays"] else [],
        "gap_seconds": [_number(given["gap_least"]), _number(given["gap_most"])],
        **{
            name: _number(given[name])
            for name in ("start_hour", "end_hour", "daily_quota", "person_hours", "limit_after")
        },
        **{name: _share(given[name]) for name in ("bounce_limit", "complaint_limit")},
    }


def _number(text: str) -> Any:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text


def _numbers(text: str) -> list[Any]:
    return [_number(each) for each in re.split(r"[\s,;]+", text) if each]


def _share(text: str) -> Any:
    """Of a percentage; None where nothing is said."""
    if not text:
        return None
    known = text.replace(",", ".").rstrip("% ")
    return float(known) / 100 if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", known) else text


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.6f}".rstrip("0").rstrip(".")


@cache
def _zones() -> tuple[str, ...]:
    """Places to choose from; looked up once, for that reads many files."""
    return tuple(sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/")))
