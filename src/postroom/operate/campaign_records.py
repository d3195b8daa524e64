"""Campaigns as programs are told of them, by the command line and the API alike."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from postroom.campaigns.checking import Checked
from postroom.campaigns.forecasting import Forecast
from postroom.campaigns.records import sender_record, settings_record, step_record
from postroom.campaigns.sequences import SequenceOutline
from postroom.campaigns.values import Sequence
from postroom.operate.campaigns import CampaignView, WholeCampaign
from postroom.vocabulary import EnrolmentStatus


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


def forecast_record(forecast: Forecast) -> dict[str, Any]:
    return {
        "campaign": forecast.campaign,
        "prospects": forecast.prospects,
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


def _at(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant else None
