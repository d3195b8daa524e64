"""The page of one campaign and of one prospect in it, put together from what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from postroom.accounts.values import Person
from postroom.admin.campaign_charts import Calendar, Facts, calendar, still_planned
from postroom.admin.campaign_contexts import CampaignPage, PeopleAddress, ProspectPage, ThreadMail
from postroom.admin.campaign_entries import entries_of
from postroom.admin.campaign_findings import Finding, findings, people_in
from postroom.admin.campaign_places import Place, campaigns_of, looks_of, outlook_of
from postroom.admin.campaign_waiting import thread_of, waiting_mails
from postroom.admin.notices import read_notice
from postroom.admin.places import may_act
from postroom.admin.rendering import is_refresh, render
from postroom.admin.workshop import workshop_of
from postroom.campaigns.arithmetic.window import local_date
from postroom.campaigns.drafts.checking import Checked, Problem, Severity
from postroom.campaigns.drafts.forecasting import Forecast, Outlook, chance_of, forecast
from postroom.errors import InvalidCampaign
from postroom.operate.campaign_looks import Numbers
from postroom.operate.campaigns import WholeCampaign
from postroom.templates.found import find_portals
from postroom.vocabulary import CampaignStatus

SAMPLE = 1_000
"""Prospects for whom a page renders the steps to check them; a launch looks at all."""
MOST_FORECAST = 60_000
"""Mails of a draft whose forecast a page draws."""


async def campaign_page(
    request: Request, person: Person, place: Place, id: str, *, status: int = 200, **more: Any
) -> Response:
    """All of one campaign. Its forecast does not change by itself, and is not made again for news."""
    seen, looks = person.workspaces, looks_of(request)
    whole = await campaigns_of(request).status(place.workspace, id, workspaces=seen)
    numbers = await looks.numbers(place.workspace, id, workspaces=seen)
    outlook = await outlook_of(request, person, place.workspace)
    under_way = whole.campaign.status in (CampaignStatus.RUNNING, CampaignStatus.PAUSED)
    address = PeopleAddress.read(request.query_params)
    forecast = None if is_refresh(request) else await draft_forecast(request, person, place, whole)
    checked = await asked_check(request, person, place, id) if "check" in request.query_params else None
    people = await looks.people(
        place.workspace,
        id,
        part=address.q,
        status=address.status,
        mail=address.mail,
        after=address.number,
        workspaces=seen,
    )
    page = CampaignPage(
        place=place,
        whole=whole,
        numbers=numbers,
        outlook=outlook,
        calendar=_drawn(whole, numbers, outlook, forecast, now=looks.now()),
        forecast=forecast,
        checked=checked,
        findings=await asked_findings(request, person, place, whole, checked) if checked else (),
        waiting=await waiting_mails(request, person, place, whole, address),
        people=people,
        entries=await entries_of(request, person, (each.reason for each in people.enrolments)),
        address=address,
        impasses=await campaigns_of(request).impasses_of_campaign(place.workspace, whole, workspaces=seen)
        if under_way
        else (),
        unread=address.unread(request.query_params),
        **more,
    )
    notice = read_notice(request.query_params)
    return render(
        request, "campaign.html", status=status, person=person, may_act=may_act(person), notice=notice,
        section="campaigns", page=page,
    )  # fmt: skip


async def prospect_page(request: Request, person: Person, place: Place, id: str, prospect: str) -> Response:
    """One prospect in a campaign."""
    found = await looks_of(request).person(place.workspace, id, prospect, workspaces=person.workspaces)
    thread: tuple[ThreadMail, ...] = await thread_of(request, person, place, found)
    entries = await entries_of(request, person, [found.enrolment.reason])
    page = ProspectPage(place=place, found=found, thread=thread, entries=entries)
    notice = read_notice(request.query_params)
    return render(
        request, "prospect.html", person=person, may_act=may_act(person), notice=notice, section="campaigns", page=page
    )


async def asked_check(request: Request, person: Person, place: Place, id: str) -> Checked:
    """What is wrong with a draft, as far as a page looks; of a small one, all that would keep it from a launch."""
    operations, seen = campaigns_of(request), person.workspaces
    portals = find_portals(operations.settings.portals)
    checked = await operations.check(place.workspace, id, portals=portals, sample=SAMPLE, workspaces=seen)
    if checked.ok and checked.checked == checked.prospects:
        try:
            await looks_of(request).insist(place.workspace, id, portals, workspaces=seen)
        except InvalidCampaign as error:
            refused = Problem(severity=Severity.ERROR, field=error.field, problem=error.problem, remedy=error.remedy)
            return replace(checked, problems=(*checked.problems, refused))
    return checked


async def asked_findings(
    request: Request, person: Person, place: Place, whole: WholeCampaign, checked: Checked
) -> tuple[Finding, ...]:
    """The same as a page tells it."""
    looks, people = looks_of(request), people_in(checked)
    addresses = await looks.addresses(place.workspace, people, workspaces=person.workspaces)
    return findings(checked, whole.draft, place, addresses)


async def draft_forecast(request: Request, person: Person, place: Place, whole: WholeCampaign) -> Forecast | None:
    """When a draft would begin and end; None of one that is none, or has nobody in it, or too many for a page."""
    draft = whole.draft
    mails = draft.prospects * len(draft.sequence.steps)
    if not whole.campaign.unlaunched or not 0 < mails <= MOST_FORECAST:
        return None
    looks = looks_of(request)
    outset = await looks.outset(place.workspace, whole.campaign.id, workspaces=person.workspaces)
    chance = chance_of(place.workspace, whole.campaign.id)  # the same numbers as the command and the API tell
    return await workshop_of(request).do(forecast, outset, now=looks.now(), random=chance)


def _drawn(
    whole: WholeCampaign, numbers: Numbers, outlook: Outlook, forecast: Forecast | None, *, now: datetime
) -> Calendar | None:
    settings = whole.draft.settings.sending
    planned = {day.day: day.planned for day in forecast.days} if forecast else {}
    if whole.campaign.status is CampaignStatus.RUNNING:
        planned = still_planned(outlook.of(whole.campaign.id), numbers.progress.waiting)
    others = dict(outlook.beside(whole.campaign.id))
    others |= {day.day: day.others for day in forecast.days} if forecast else {}
    for day, mails in _sent_by_others(numbers):
        others[day] = others.get(day, 0) + mails
    facts = Facts(
        settings=settings,
        today=local_date(settings, now),
        sent=numbers.sent,
        planned=planned,
        others=others,
        accepted=frozenset(each.day for each in numbers.days if each.accepted),
    )
    return calendar(facts)


def _sent_by_others(numbers: Numbers) -> Iterator[tuple[date, int]]:
    for each in numbers.days:
        if (others := each.accepted - numbers.sent.get(each.day, 0)) > 0:
            yield each.day, others
