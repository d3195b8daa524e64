"""Campaigns as programs are told of them, by the command line and the API alike."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Several
from dataclasses import asdict
from datetime import datetime
from typing import Any

from postroom.campaigns.arithmetic.impasse import Impasse
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.commands import command
from postroom.campaigns.drafts.checking import Checked
from postroom.campaigns.drafts.forecasting import Forecast
from postroom.campaigns.drafts.sequences import SequenceOutline
from postroom.campaigns.looking.explaining import Explained
from postroom.campaigns.looking.totals import Discrepancy, Headcount, Totals
from postroom.campaigns.records import sender_record, settings_record, step_record
from postroom.campaigns.sending.launching import Launched
from postroom.campaigns.values import Sequence
from postroom.operate.campaigns import CampaignView, WholeCampaign
from postroom.vocabulary import EnrolmentStatus, MailState


def campaign_record(view: CampaignView) -> dict[str, Any]:
    campaign = view.campaign
    return {
        "id": campaign.id,
        "name": campaign.name,
        "status": campaign.status.value,
        "sequence": campaign.sequence_id,
        "prospects": view.prospects,
        "enrolments": {status.value: view.enrolments.get(status.value, 0) for status in EnrolmentStatus},
        "created_at": _at(campaign.created_at),
        "launched_at": _at(campaign.launched_at),
        "paused_at": _at(campaign.paused_at),
        "pause_reason": campaign.pause_reason,
        "finished_at": _at(campaign.finished_at),
    }


def whole_record(whole: WholeCampaign) -> dict[str, Any]:
    """With what it is made of."""
    return campaign_record(whole) | {
        "sequence": sequence_record(whole.draft.sequence),
        "senders": [sender_record(sender) for sender in whole.draft.senders],
        "settings": settings_record(whole.draft.settings),
    }


def impasse_records(impasses: Iterable[Impasse], workspace: str) -> list[dict[str, Any]]:
    """Why nothing will ever leave, and what to do about it."""
    return [
        {
            "told": each.told,
            "cause": each.cause,
            "remedy": each.remedy,
            "command": command(each.words, workspace),
            "sender": each.sender or None,
            "later": each.later,
        }
        for each in impasses
    ]


def sequence_record(sequence: Sequence) -> dict[str, Any]:
    return {
        "id": sequence.id,
        "name": sequence.name,
        "version": sequence.version,
        "created_at": _at(sequence.created_at),
        "steps": [step_record(step) for step in sequence.steps],
    }


def outline_record(outline: SequenceOutline) -> dict[str, Any]:
    return asdict(outline) | {"created_at": _at(outline.created_at)}


def checked_record(checked: Checked) -> dict[str, Any]:
    return {
        "ok": checked.ok,
        "campaign": checked.campaign.id,
        "prospects": checked.prospects,
        "checked": checked.checked,
        "problems": [asdict(each) | {"prospects": list(each.prospects)} for each in checked.problems],
    }


def launched_record(launched: Launched) -> dict[str, Any]:
    return {
        "scheduled": launched.scheduled,
        "revived": launched.revived,
        "skipped": dict(launched.skipped),
        "errors": list(launched.errors),
        "status": launched.status.value,
    }


def headcount_record(people: Headcount) -> dict[str, Any]:
    """What the launch has come to for the prospects."""
    told = {"launched": people.launched, "passed_over": dict(people.passed_over), "not_reached": people.not_reached}
    return {"people": told}


def totals_record(totals: Totals, wrong: Several[Discrepancy] | None = None) -> dict[str, Any]:
    """What became of the mails; with `wrong`, whether the books add up."""
    mails = {state.value: totals.states.get(state.value, 0) for state in MailState}
    told = {"mails": mails, "stopped": dict(totals.stopped), "dead": dict(totals.dead)}
    return told if wrong is None else {**told, "discrepancies": [str(each) for each in wrong]}


def explained_record(explained: Explained, settings: SendingSettings, *, address: str) -> dict[str, Any]:
    """A mail that waits, with the address it goes to; both times by the clock of the workspace."""
    mail, wait = explained.mail, explained.wait
    return {
        "email_id": mail.id,
        "key": mail.key,
        "prospect": mail.prospect_id,
        "address": address,
        "step": mail.step,
        "sender": mail.sender_id,
        "state": mail.state.value,
        "planned_at": _on_the_clock(explained.planned(settings), settings),
        "reason": wait.reason.value if wait else None,
        "detail": wait.detail if wait else "",
        "until": _on_the_clock(wait.until, settings) if wait else None,
        "never": wait.never if wait else "",
        "told": explained.told(settings),
    }


def forecast_record(forecast: Forecast) -> dict[str, Any]:
    return {
        "campaign": forecast.campaign,
        "status": forecast.status.value,
        "supposing": forecast.supposing,
        "prospects": forecast.prospects,
        "skipped": dict(forecast.skipped),
        "steps": forecast.steps,
        "mails": forecast.mails,
        "timezone": forecast.timezone,
        "first": _at(forecast.first),
        "last": _at(forecast.last),
        "ends_on": forecast.ends_on.isoformat() if forecast.ends_on else None,
        "busiest": forecast.busiest,
        "left": forecast.left,
        "reason": forecast.reason,
        "days": [asdict(each) | {"day": each.day.isoformat()} for each in forecast.days],
    }


def _on_the_clock(instant: datetime | None, settings: SendingSettings) -> str | None:
    return _at(instant and instant.astimezone(settings.zone))


def _at(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant else None
