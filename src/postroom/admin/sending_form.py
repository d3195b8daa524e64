"""The form of the sending settings: what it holds, what it means, and everything that is wrong with it at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from postroom.admin.campaign_forms import number_in, numbers_in
from postroom.campaigns.arithmetic.settings import DAYS, LONGEST_GAP
from postroom.campaigns.checks import shown, whole
from postroom.campaigns.records import changed_settings
from postroom.campaigns.values import WorkspaceSettings
from postroom.errors import InvalidCampaign

LABELS: Mapping[str, str] = {
    "sending_days": "Sending days",
    "start_hour": "From (hour)",
    "end_hour": "Until (hour)",
    "timezone": "Timezone",
    "holidays": "Holidays",
    "daily_quota": "Mails a day",
    "ramp_up": "Ramp-up",
    "gap_least": "Seconds between two mails, at least",
    "gap_most": "Seconds between two mails, at most",
    "person_hours": "Hours between two mails to one person",
    "bounce_limit": "at so many bounces, in %",
    "complaint_limit": "at so many complaints, in %",
    "limit_after": "once so many mails were sent",
}
"""What the fields are called on the page."""

FIELDS = tuple(name for name in LABELS if name != "sending_days")
"""Those that hold one text."""

_ALONE = {"start_hour": 23, "end_hour": 24, "gap_least": LONGEST_GAP, "gap_most": LONGEST_GAP}
"""Numbers from 0 that are compared with another one, and looked at by themselves before."""
_SETTING_OF = {"gap_least": "gap_seconds", "gap_most": "gap_seconds"}
_FIELD_OF = {"ramp_up.schedule": "ramp_up", "gap_seconds": "gap_least"}
"""Where in the form a refusal belongs that is called otherwise."""
_HOURS = ("start_hour", "end_hour")
_SHARES = ("bounce_limit", "complaint_limit")
_NUMBERS = (*_HOURS, "daily_quota", "person_hours", "limit_after")
_PERCENT = re.compile(r"[0-9]{1,3}(\.[0-9]{1,6})?")
_NAMES = re.compile("|".join(sorted(LABELS, key=len, reverse=True)))


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
    }


def read_form(
    given: Mapping[str, str], days: tuple[str, ...], before: WorkspaceSettings
) -> tuple[dict[str, Any], dict[str, str]]:
    """What the form says, as a record of settings; and what is wrong with it, by field, in the words of the page.

    All of it is told, as far as one mistake does not hide another.
    """
    changes, wrong = _changes(given, days), {}
    for name, most in _ALONE.items():
        try:
            whole(name, number_in(given[name]), least=0, most=most)
        except InvalidCampaign as error:
            wrong[name] = error
    for name in _SHARES:
        try:
            changes[name] = _share(name, given[name])
        except InvalidCampaign as error:
            wrong[name] = error
    left = {name: value for name, value in changes.items() if not _hidden(name, wrong)}
    while (refused := _refusal(before, left)) is not None:
        wrong[_FIELD_OF.get(refused.field, refused.field)] = refused
        left = {name: value for name, value in left.items() if not _hidden(name, wrong)}
    return changes, {name: in_words(wrong[name]) for name in LABELS if name in wrong}


def in_words(error: InvalidCampaign) -> str:
    """What is wrong and what to do, with fields called as they are on the page."""
    return _NAMES.sub(lambda found: f"«{LABELS[found[0]]}»", f"{error.problem}; {error.remedy}")


def _refusal(before: WorkspaceSettings, changes: Mapping[str, Any]) -> InvalidCampaign | None:
    """Why the first of them cannot be meant that cannot."""
    try:
        changed_settings(before, changes)
    except InvalidCampaign as error:
        field = _FIELD_OF.get(error.field, error.field)
        if _SETTING_OF.get(field, field) in changes:
            return error
    return None


def _hidden(setting: str, wrong: Mapping[str, object]) -> bool:
    """Whether nothing can be said of a setting, for it or what it is compared with is wrong already."""
    if setting in _HOURS:
        return any(hour in wrong for hour in _HOURS)
    return any(_SETTING_OF.get(field, field) == setting for field in wrong)


def _changes(given: Mapping[str, str], days: tuple[str, ...]) -> dict[str, Any]:
    return {
        "sending_days": [each for each in DAYS if each in days] or list(days),
        "timezone": given["timezone"],
        "ramp_up": numbers_in(given["ramp_up"]),
        "holidays": re.split(r"[\s,;]+", given["holidays"]) if given["holidays"] else [],
        "gap_seconds": [number_in(given["gap_least"]), number_in(given["gap_most"])],
        **{name: number_in(given[name]) for name in _NUMBERS},
    }


def _share(name: str, text: str) -> float | None:
    """Of a percentage; None where nothing is said."""
    if not text:
        return None
    known = text.replace(",", ".").rstrip("% ")
    share = float(known) / 100 if _PERCENT.fullmatch(known) else 0.0
    if not 0 < share <= 1:
        raise InvalidCampaign(
            name, f"expected a percentage above 0 and up to 100, got {shown(text)}", "write 5 for one in twenty"
        )
    return share


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.6f}".rstrip("0").rstrip(".")
