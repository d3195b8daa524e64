"""Settings, senders and steps as records: what is stored as JSON, told as JSON, and written in files by people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import date
from typing import Any

from postroom.campaigns.arithmetic.settings import RampUp, SendingSettings
from postroom.campaigns.checks import listed, refuse, shown
from postroom.campaigns.values import Sender, Step, WorkspaceSettings
from postroom.errors import InvalidCampaign
from postroom.spelling import suggestion

SENDING = tuple(each.name for each in fields(SendingSettings) if each.init)
BESIDE = ("person_hours", "bounce_limit", "complaint_limit", "limit_after")
"""Settings of a workspace that are not about when mail may leave."""
OF_SENDER = ("id", "name", "address", "reply_to", "route", "daily_quota", "ramp_up")
_MAY_BE_NONE = ("reply_to", "daily_quota", "ramp_up")
UNSAID = "none"
"""In a record of a sender: that there is to be none of what it need not have. TOML knows no null."""
OF_STEP = ("delay_days", "subject", "text", "html", "template")


def sending_record(settings: SendingSettings) -> dict[str, Any]:
    """With nothing in it that JSON does not have."""
    return {
        **{name: getattr(settings, name) for name in SENDING},
        "sending_days": list(settings.sending_days),
        "ramp_up": ramp_record(settings.ramp_up),
        "holidays": [each.isoformat() for each in settings.holidays],
        "gap_seconds": list(settings.gap_seconds),
    }


def sending_from(record: Mapping[str, Any]) -> SendingSettings:
    """From such a record, or a part of one; what is not said is as `SendingSettings` has it."""
    check_names("settings", record, SENDING)
    given = dict(record)
    if "ramp_up" in given:
        given["ramp_up"] = ramp_from("ramp_up", given["ramp_up"])
    if "holidays" in given:
        given["holidays"] = tuple(map(_date, listed("holidays", given["holidays"], 'dates, such as ["2026-12-25"]')))
    return SendingSettings(**given)


def settings_record(settings: WorkspaceSettings) -> dict[str, Any]:
    """All settings of a workspace."""
    beside = {name: getattr(settings, name) for name in BESIDE}
    updated_at = settings.updated_at.isoformat() if settings.updated_at else None
    return {**sending_record(settings.sending), **beside, "version": settings.version, "updated_at": updated_at}


def changed_settings(before: WorkspaceSettings, record: Mapping[str, Any]) -> WorkspaceSettings:
    """The settings with what a record says in the place of what it says it of; all of it is checked."""
    check_names("settings", record, (*SENDING, *BESIDE))
    sending = {name: value for name, value in record.items() if name in SENDING}
    beside = {name: value for name, value in record.items() if name in BESIDE}
    kept = {name: getattr(before, name) for name in BESIDE}
    return WorkspaceSettings(
        sending=sending_from({**sending_record(before.sending), **sending}),
        **{**kept, **beside},
        version=before.version,
        updated_at=before.updated_at,
    )


def sender_record(sender: Sender) -> dict[str, Any]:
    paused_at = sender.paused_at.isoformat() if sender.paused_at else None
    told = {name: getattr(sender, name) for name in OF_SENDER}
    return told | {
        "ramp_up": ramp_record(sender.ramp_up),
        "paused_at": paused_at,
        "pause_reason": sender.pause_reason,
    }


def sender_from(record: Mapping[str, Any]) -> Sender:
    check_names("senders", record, OF_SENDER)
    for name in ("id", "address"):
        if name not in record:
            raise InvalidCampaign(f"sender.{name}", "is missing", "write it")
    return Sender(**{**record, "ramp_up": ramp_from("sender.ramp_up", record.get("ramp_up"))})


def changed_sender(before: Sender | None, record: Mapping[str, Any]) -> Sender:
    """The sender with what a record says in the place of what it says it of, or a new one; all of it is checked.

    `none` takes away a `reply_to`, a `daily_quota` or a `ramp_up` that was there.
    """
    check_names("senders", record, OF_SENDER)
    said = {name: None if name in _MAY_BE_NONE and value == UNSAID else value for name, value in record.items()}
    known = {} if before is None else sender_record(before)
    return sender_from({**{name: known[name] for name in OF_SENDER if name in known}, **said})


def step_record(step: Step) -> dict[str, Any]:
    return asdict(step)


def steps_from(records: object) -> tuple[Step, ...]:
    """Steps in their order; their numbers are their places."""
    steps = listed("steps", records, "tables, each under [[steps]]")
    return tuple(_step(number, record) for number, record in enumerate(steps, 1))


def _step(number: int, record: object) -> Step:
    if not isinstance(record, Mapping):
        refuse(f"steps[{number}]", "a table", record, "write it under [[steps]]")
    check_names(f"steps[{number}]", record, OF_STEP)
    return Step(number=number, **record)


def ramp_record(ramp_up: RampUp | None) -> list[int] | None:
    return list(ramp_up.schedule) if ramp_up else None


def ramp_from(name: str, given: object) -> RampUp | None:
    if given is None or given == []:
        return None
    return RampUp(schedule=listed(name, given, "numbers of mails, such as [20, 40, 80]"))  # type: ignore[arg-type]


def check_names(where: str, record: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse what nobody would read."""
    for name in record:
        if name not in known:
            raise InvalidCampaign(f"{where}.{shown(name)[1:-1]}", "is not known", suggestion(str(name), known))


def written(value: object) -> str:
    """As JSON, always the same for the same."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _date(given: object) -> date:
    if isinstance(given, str):
        try:
            return date.fromisoformat(given)
        except ValueError:
            refuse("holidays", "dates", given, "write 2026-12-25")
    return given  # type: ignore[return-value]  # settings refuse what is no date
