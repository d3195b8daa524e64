"""The mails of a campaign that have not left, each with its reason; and the thread of one prospect."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from fastapi import Request

from postroom.accounts.values import Person
from postroom.admin.campaign_contexts import PeopleAddress, ThreadMail, WaitingList, WaitingMail
from postroom.admin.campaign_places import Place, looks_of
from postroom.admin.campaign_wording import Explained as Told
from postroom.admin.campaign_wording import explained, reasons_in_words
from postroom.admin.workshop import workshop_of
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.books.mails import Mail
from postroom.campaigns.drafts.rendering import Wording
from postroom.campaigns.looking.explaining import Explained
from postroom.errors import InvalidCampaign
from postroom.operate.campaign_looks import COUNTED, InCampaign
from postroom.operate.campaigns import WholeCampaign
from postroom.templates.found import find_portals
from postroom.templates.portal import Portal
from postroom.vocabulary import CampaignStatus, MailState

SHOWN = 25
"""Waiting mails on a page."""
_PLACE = 1_000
"""A place in the list as one number: that of the enrolment times this, and the step."""


async def waiting_mails(
    request: Request, person: Person, place: Place, whole: WholeCampaign, address: PeopleAddress
) -> WaitingList:
    """The next of them, and in numbers why all wait, and why others will not leave."""
    if whole.campaign.status is CampaignStatus.DRAFT:
        return WaitingList()
    looks = looks_of(request)
    after = divmod(int(address.waiting or 0), _PLACE)
    found = await looks.waiting(
        place.workspace, whole.campaign.id, after=after, limit=SHOWN, workspaces=person.workspaces
    )
    now = looks.now()
    mails = tuple(
        WaitingMail(
            number=each.mail.number,
            step=each.mail.step,
            prospect=each.mail.prospect_id,
            address=found.people[each.mail.prospect_id].address if each.mail.prospect_id in found.people else "",
            why=_told(each, found.settings, now),
        )
        for each in found.mails
    )
    last = found.mails[-1].mail if found.more else None
    stopped = {**found.totals.stopped}
    for reason, count in found.totals.dead.items():
        stopped[f"dead: {reason}"] = count
    return WaitingList(
        mails=mails,
        after=last.number * _PLACE + last.step if last else None,
        reasons=reasons_in_words(found.reasons),
        counted=None if found.all_counted else COUNTED,
        stopped=stopped,
    )


async def thread_of(request: Request, person: Person, place: Place, found: InCampaign) -> tuple[ThreadMail, ...]:
    """Step by step: those that have left, and those that are to come."""
    looks = looks_of(request)
    now, portals = looks.now(), find_portals(looks.settings.portals)
    mails = {mail.step: mail for mail in found.mails}
    subjects = await workshop_of(request).do(_subjects, found, portals)
    subject = ""
    thread = []
    for step in found.steps:
        mail = mails.get(step.number)
        own = mail.subject if mail and mail.subject else subjects.get(step.number, step.subject)
        subject = own or (
            subject if subject.startswith("Re: ") else f"Re: {subject}" if subject else step.template or ""
        )
        thread.append(_thread_mail(step.number, subject, mail, found, now))
    return tuple(thread)


def _subjects(found: InCampaign, portals: Mapping[str, Portal]) -> dict[int, str | None]:
    """As this person gets them, those that can be rendered. In a thread: templates may take a while."""
    wording = Wording(found.steps, portals)
    subjects: dict[int, str | None] = {}
    for step in found.steps:
        with suppress(InvalidCampaign):
            subjects[step.number] = wording.render(step.number, found.enrolment.prospect).subject
    return subjects


def _thread_mail(number: int, subject: str, mail: Mail | None, found: InCampaign, now: datetime) -> ThreadMail:
    if mail is None:
        return ThreadMail(step=number, state="planned", subject=subject, email="", status="", at=None, why=None)
    wait = found.waits.get(number)
    return ThreadMail(
        step=number,
        state=mail.state,
        subject=subject,
        email=str(mail.id) if mail.id in found.story.kept else "",
        status=str(mail.email_status or "") if mail.state is MailState.LEAVING else "",
        at=mail.left_at,
        why=_told(wait, found.settings, now) if wait else Told(reason=mail.reason) if mail.reason else None,
    )


def _told(each: Explained, settings: SendingSettings, now: datetime) -> Told:
    if each.wait is not None:
        return replace(explained(each.wait, settings, now=now), planned_at=each.planned(settings))
    if each.mail.state is MailState.LEAVING:
        return Told(reason=str(each.email_status or "leaving"))
    return Told(reason="its turn comes", zone=settings.zone, now=now, planned_at=each.planned(settings))
