"""The sequence editor: steps in one form, a preview for somebody, a new version when it is saved. Without any script.

Every button sends the whole form. «Add a step» and «Preview» show it again as it was typed; only «Save» writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from postroom.accounts.values import Person, Role
from postroom.admin.addresses import plain
from postroom.admin.campaign_contexts import SequencePage, StepForm
from postroom.admin.campaign_forms import number_in
from postroom.admin.campaign_places import Place, campaigns_of, id_in, looks_of, place_of, words
from postroom.admin.contents import preview_of
from postroom.admin.notices import Notice, read_notice, with_notice
from postroom.admin.places import actor_of, may_act
from postroom.admin.rendering import render
from postroom.admin.security import content_policy, needs
from postroom.admin.workshop import workshop_of
from postroom.campaigns.drafts.rendering import Wording, known_of, unreadable
from postroom.campaigns.values import MOST_STEPS, Prospect, Sequence, Step
from postroom.compose.unsubscribing import PLACE
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.templates.found import find_portals
from postroom.templates.portal import Portal

router = APIRouter(include_in_schema=False)

Viewer = Annotated[Person, Depends(needs(Role.VIEWER))]
Operator = Annotated[Person, Depends(needs(Role.OPERATOR))]

_LABELS = {"sequence.name": "Name", "steps": "Steps"}
"""What a refusal calls otherwise than the form does."""


@router.get("/admin/sequences/{id}")
async def sequence(request: Request, person: Viewer, id: str) -> Response:
    """The newest version, in the form; previewed for whomever the address names."""
    place = await place_of(request, person)
    found = await campaigns_of(request).sequence(place.workspace, id_in(id), workspaces=person.workspaces)
    given = request.query_params
    return await _page(
        request, person, place, found,
        name=found.name,
        steps=tuple(map(_form_of, found.steps)),
        campaign=plain(given.get("campaign")),
        prospect=plain(given.get("prospect")),
        preview="prospect" in given,
    )  # fmt: skip


@router.post("/admin/sequences/{id}")
async def edit(request: Request, person: Operator, id: str) -> Response:
    """Save the form as the next version; or show it again: with a step more or less, previewed, with what is wrong."""
    place, form = await place_of(request, person), await request.form()
    steps, act = _steps_in(form), plain(form.get("act"))
    shown: dict[str, Any] = {name: plain(form.get(name)) for name in ("name", "campaign", "prospect")}
    if act == "save":
        wanted, errors = await workshop_of(request).do(_meant, id_in(id), shown["name"], steps)
        if wanted is not None:
            try:
                return await _saved(request, person, place, wanted, form, shown)
            except InvalidCampaign as error:
                errors.append(error)
        shown |= {"status": 422, "problem": errors[0]}
        for each in errors:
            steps = _told(steps, each)
    elif act == "add" and len(steps) < MOST_STEPS:
        steps = (*steps, StepForm(number=len(steps) + 1))
    elif act.startswith("remove-"):
        left = [step for step in steps if f"remove-{step.number}" != act] or list(steps)
        steps = tuple(replace(step, number=number) for number, step in enumerate(left, 1))
    else:
        shown["preview"] = True
    found = await campaigns_of(request).sequence(place.workspace, id_in(id), workspaces=person.workspaces)
    return await _page(request, person, place, found, steps=steps, **shown)


async def _saved(
    request: Request,
    person: Person,
    place: Place,
    wanted: Sequence,
    form: FormData,
    shown: Mapping[str, str],
) -> Response:
    saved = await campaigns_of(request).edit_sequence(
        place.workspace, wanted, by=actor_of(request, person), workspaces=person.workspaces
    )
    notice = "sequence_same" if plain(form.get("version")) == str(saved.version) else "sequence_saved"
    somebody = await _somebody(request, person, place, shown["campaign"], shown["prospect"])
    back = place.sequence(wanted.id, campaign=shown["campaign"], prospect=somebody.id if somebody else "")
    return RedirectResponse(with_notice(back, notice), status_code=303)


async def _page(
    request: Request,
    person: Person,
    place: Place,
    sequence: Sequence,
    *,
    name: str,
    steps: tuple[StepForm, ...],
    campaign: str,
    prospect: str,
    preview: bool = False,
    status: int = 200,
    problem: InvalidCampaign | None = None,
) -> Response:
    somebody = await _somebody(request, person, place, campaign, prospect)
    # Whose words are told where nobody is called like that: whoever has mistyped an address needs them no less.
    known = somebody or await _somebody(request, person, place, campaign, "")
    if preview and somebody is not None:
        settings = campaigns_of(request).settings
        link = f"{settings.public_url or 'https://…'}{PLACE}…"
        steps = await workshop_of(request).do(_previewed, steps, somebody, find_portals(settings.portals), link)
    page = SequencePage(
        place=place,
        sequence=sequence,
        name=name,
        steps=steps,
        campaign=campaign,
        prospect=somebody.address if somebody else prospect,
        previewed=preview and somebody is not None,
        known=tuple(sorted(known_of(known))) if known else (),
        problem=_in_general(problem, preview, somebody, prospect),
        refused=problem is not None and problem.field.startswith("steps["),
    )
    return render(
        request,
        "sequence.html",
        status=status,
        headers={"Content-Security-Policy": content_policy(inline_styles=True)},
        person=person,
        may_act=may_act(person),
        notice=_notice(request, page),
        section="campaigns",
        page=page,
    )


def _notice(request: Request, page: SequencePage) -> Notice | None:
    """What was done; that it is saved is no good news alone where a step cannot be written to whom it is shown for."""
    notice = read_notice(request.query_params)
    if notice is None or notice.tone != "done" or not page.wrong:
        return notice
    step = page.wrong[0]
    told = next(iter(step.problems.values()))
    return Notice(text=f"Saved, but it cannot be launched like this: step {step.number}, {told}", tone="caution")


def _in_general(problem: InvalidCampaign | None, preview: bool, somebody: Prospect | None, prospect: str) -> str:
    if problem is not None:
        if problem.field.startswith("steps["):
            return ""
        label = _LABELS.get(problem.field, problem.field)
        return f"{label}: {problem.problem}; {problem.remedy}"
    if preview and somebody is None:
        return (
            f"nobody called {prospect} is here" if prospect else "there is nobody to preview it for; import some first"
        )
    return ""


async def _somebody(request: Request, person: Person, place: Place, campaign: str, prospect: str) -> Prospect | None:
    """For whom the steps are shown: the one that was named by id or address, or the first of the campaign."""
    looks = looks_of(request)
    if prospect:
        return await looks.prospect_named(place.workspace, prospect, workspaces=person.workspaces)
    if not campaign:
        return None
    try:
        found = await looks.people(place.workspace, campaign, limit=1, workspaces=person.workspaces)
    except NotInWorkspace:
        return None
    return found.enrolments[0].prospect if found.enrolments else None


def _steps_in(form: FormData) -> tuple[StepForm, ...]:
    """As many as the form has, in their order."""
    numbers = [
        number for number in range(1, MOST_STEPS + 1) if f"text-{number}" in form or f"template-{number}" in form
    ]
    return tuple(
        StepForm(
            number=place,
            subject=plain(form.get(f"subject-{number}")),
            text=words(form, f"text-{number}"),
            html=words(form, f"html-{number}"),
            template=plain(form.get(f"template-{number}")),
            delay_days=plain(form.get(f"delay_days-{number}")),
        )
        for place, number in enumerate(numbers, 1)
    )


def _form_of(step: Step) -> StepForm:
    return StepForm(
        number=step.number,
        delay_days=str(step.delay_days),
        subject=step.subject or "",
        text=step.text or "",
        html=step.html or "",
        template=step.template or "",
    )


def _meant(id: str, name: str, forms: tuple[StepForm, ...]) -> tuple[Sequence | None, list[InvalidCampaign]]:
    """What the form means; or everything that is wrong with it, also templates that nobody could read."""
    steps, errors = [], []
    for form in forms:
        try:
            steps.append(_step_of(form))
        except InvalidCampaign as error:
            errors.append(error)
    errors += unreadable(steps)
    if not errors:
        try:
            return Sequence(id=id, name=name or id, steps=tuple(steps)), []
        except InvalidCampaign as error:
            errors.append(error)
    return None, errors


def _step_of(form: StepForm) -> Step:
    """What one step means; `InvalidCampaign` names the part that cannot be meant."""
    days: Any = number_in(form.delay_days or "0")
    return Step(
        number=form.number,
        delay_days=days,
        subject=form.subject or None,
        text=form.text if form.text.strip() else None,
        html=form.html if form.html.strip() else None,
        template=form.template or None,
    )


def _previewed(
    steps: tuple[StepForm, ...], somebody: Prospect, portals: Mapping[str, Portal], link: str
) -> tuple[StepForm, ...]:
    """Each step as they would get it, or what is wrong with it. In a thread: templates may take a while.

    `link` stands where their own to unsubscribe will be, which is made with the mail.
    """
    shown: list[StepForm] = []
    subject = ""
    for form in steps:
        try:
            said = Wording((_step_of(form),), portals).render(form.number, somebody)
        except InvalidCampaign as error:
            shown += _told((form,), error)
            continue
        subject = said.subject or (subject if subject.startswith("Re: ") else f"Re: {subject or '…'}")
        linked = said.linked(link)
        html = preview_of(linked.html, remote_images=False, inline={}).document if linked.html else ""
        shown.append(
            replace(
                form,
                preview=replace(linked, subject=subject),
                html_preview=html,
                stand_in=link if linked != said else "",
            )
        )
    return tuple(shown)


def _told(steps: tuple[StepForm, ...], error: InvalidCampaign) -> tuple[StepForm, ...]:
    """The steps, with the problem beside the part that it is about."""
    return tuple(
        replace(step, problems={**step.problems, part: f"{error.problem}; {error.remedy}"})
        if error.field.startswith(f"steps[{step.number}]") and (part := error.field.rpartition(".")[2])
        else step
        for step in steps
    )
