"""The campaigns of a workspace and each of them, to look at; and a new one."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from postroom.accounts.values import Person, Role
from postroom.admin.addresses import plain
from postroom.admin.campaign_contexts import CampaignsPage
from postroom.admin.campaign_page import campaign_page, prospect_page
from postroom.admin.campaign_places import Place, campaigns_of, id_in, looks_of, outlook_of, place_of, words
from postroom.admin.campaign_wording import explained
from postroom.admin.notices import read_notice, with_notice
from postroom.admin.places import actor_of, may_act
from postroom.admin.rendering import render
from postroom.admin.security import needs
from postroom.admin.workshop import workshop_of
from postroom.campaigns.arithmetic.gate import Wait
from postroom.campaigns.drafts.describing import Description
from postroom.campaigns.drafts.rendering import insist_on_reading
from postroom.campaigns.values import Campaign, Sequence, Step
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.operate.campaign_looks import LONGEST_LIST

router = APIRouter(include_in_schema=False)

Viewer = Annotated[Person, Depends(needs(Role.VIEWER))]
Operator = Annotated[Person, Depends(needs(Role.OPERATOR))]

FIELDS = ("name", "id", "sequence", "subject", "sender_name", "sender_address")
"""Of the form of a new campaign, beside the text of its first mail."""


@router.get("/admin/campaigns")
async def campaigns(request: Request, person: Viewer) -> Response:
    """Those of a workspace, with how far they have come and when they end."""
    return await _list_page(request, person, await place_of(request, person))


@router.post("/admin/campaigns")
async def new(request: Request, person: Operator) -> Response:
    """A new draft, or the same form again with what is wrong in it."""
    place, form = await place_of(request, person), await request.form()
    given = {name: plain(form.get(name)) for name in FIELDS} | {"text": words(form, "text")}
    senders = tuple(plain(each) for each in form.getlist("senders"))
    try:
        id = given["id"] or await _free_id(request, person, place, given["name"])
        description = _described(id, given, senders)
        if description.sequence:
            await workshop_of(request).do(insist_on_reading, description.sequence.steps)
        made = await campaigns_of(request).new(
            place.workspace, description, by=actor_of(request, person), workspaces=person.workspaces
        )
    except InvalidCampaign as error:
        more = {"form": given, "chosen": senders, "problem": error}
        return await _list_page(request, person, place, status=422, **more)
    return RedirectResponse(with_notice(place.campaign(made.id), "campaign_new"), status_code=303)


@router.get("/admin/campaigns/{id}")
async def campaign(request: Request, person: Viewer, id: str) -> Response:
    """One campaign: its numbers, its calendar, what waits and why, and who is in it."""
    return await campaign_page(request, person, await place_of(request, person), id_in(id))


@router.get("/admin/campaigns/{id}/prospects/{prospect}")
async def prospect(request: Request, person: Viewer, id: str, prospect: str) -> Response:
    """One prospect in a campaign: the thread, where each mail stands, and why."""
    return await prospect_page(request, person, await place_of(request, person), id_in(id), id_in(prospect))


async def _list_page(request: Request, person: Person, place: Place, *, status: int = 200, **more: Any) -> Response:
    looks, operations, seen = looks_of(request), campaigns_of(request), person.workspaces
    after = plain(request.query_params.get("after"))
    listed = await looks.campaigns(place.workspace, after=after, workspaces=seen)
    known = await looks.workspaces(workspaces=seen)
    settings, answer = await looks.gate(place.workspace, workspaces=seen)
    held = await operations.impasses(place.workspace, workspaces=seen)
    page = CampaignsPage(
        place=place,
        workspaces=tuple(dict.fromkeys((*known, place.workspace))),
        free=seen is None,
        listed=listed,
        outlook=await outlook_of(request, person, place.workspace),
        zone=settings.zone,
        wait=explained(answer, settings, now=looks.now()) if isinstance(answer, Wait) else None,
        held=next((each for each in held if not each.later), None),
        next=listed[-1].campaign.id if len(listed) == LONGEST_LIST else "",
        sequences=await operations.sequences(place.workspace, workspaces=seen),
        senders=await operations.senders(place.workspace, workspaces=seen),
        **more,
    )
    notice = read_notice(request.query_params)
    return render(
        request, "campaigns.html", status=status, person=person, may_act=may_act(person), notice=notice,
        section="campaigns", page=page,
    )  # fmt: skip


async def _free_id(request: Request, person: Person, place: Place, name: str) -> str:
    """An id made of a name, with a number behind it where a campaign or a sequence has that id already."""
    sequences = await campaigns_of(request).sequences(place.workspace, workspaces=person.workspaces)
    taken = {each.id for each in sequences}
    first = id = _id_of(name, otherwise="campaign")
    number = 1
    while id in taken or await _is_there(request, person, place, id):
        number += 1
        id = f"{first}-{number}"
    return id


async def _is_there(request: Request, person: Person, place: Place, id: str) -> bool:
    try:
        await campaigns_of(request).status(place.workspace, id, workspaces=person.workspaces)
    except NotInWorkspace:
        return False
    return True


def _described(id: str, given: dict[str, str], senders: tuple[str, ...]) -> Description:
    """What the form says, in the words of a file that describes a campaign."""
    if not given["name"]:
        raise InvalidCampaign("campaign.name", "is empty", "give the campaign a name")
    sequence = None if given["sequence"] else _first_step(id, given)
    sender = _first_sender(given) if given["sender_address"] else None
    ids = (*senders, sender["id"]) if sender else senders
    if not ids:
        raise InvalidCampaign("senders", "there is none", "choose at least one sender")
    return Description(
        campaign=Campaign(id=id, name=given["name"], sequence_id=given["sequence"] or id),
        sequence=sequence,
        settings={},
        senders=(sender,) if sender else (),
        sender_ids=ids,
    )


def _first_step(id: str, given: dict[str, str]) -> Sequence:
    step = Step(number=1, subject=given["subject"] or None, text=given["text"] if given["text"].strip() else None)
    return Sequence(id=id, name=given["name"], steps=(step,))


def _first_sender(given: dict[str, str]) -> dict[str, str]:
    """Who may have been added meanwhile: then what is left empty here stays as it is."""
    address, name = given["sender_address"], given["sender_name"]
    sender = {"id": _id_of(address.partition("@")[0], otherwise="sender"), "address": address}
    return {**sender, "name": name} if name else sender


def _id_of(name: str, *, otherwise: str) -> str:
    """The letters and digits of a name, of any script, with their marks; something else where it has none."""
    words = "".join(
        each if unicodedata.category(each)[0] in "LMN" else " " for each in unicodedata.normalize("NFKC", name).lower()
    )
    return "-".join(words.split())[:60].rstrip("-") or otherwise
