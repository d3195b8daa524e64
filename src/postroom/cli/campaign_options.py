"""The options of campaign commands that travel together."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from postroom.campaigns.records import UNSAID
from postroom.errors import InvalidCampaign

_PANEL = "What to change"

Workspace = Annotated[str, typer.Option("--workspace", help="In this workspace; else in the one without a name.")]
CampaignId = Annotated[str, typer.Argument(help="The campaign, as `campaign list` spells it.", metavar="ID")]

_GAP = re.compile(r"([0-9]{1,15})\s*-\s*([0-9]{1,15})")
"""Any number: whoever keeps the settings says which is too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOptions:
    """What to change of a workspace's settings."""

    days: Annotated[
        str | None,
        typer.Option(help="Days on which windows open: mon,tue,wed.", metavar="DAYS", rich_help_panel=_PANEL),
    ] = None
    start_hour: Annotated[int | None, typer.Option(help="When they open: 0 to 23.", rich_help_panel=_PANEL)] = None
    end_hour: Annotated[int | None, typer.Option(help="When they close: 0 to 24.", rich_help_panel=_PANEL)] = None
    timezone: Annotated[
        str | None, typer.Option(help="On whose clock: Europe/Berlin.", metavar="NAME", rich_help_panel=_PANEL)
    ] = None
    daily_quota: Annotated[
        int | None, typer.Option(help="Mails a day, of all campaigns together.", rich_help_panel=_PANEL)
    ] = None
    ramp_up: Annotated[
        str | None,
        typer.Option(
            help="Mails on the first days of sending: 20,40,80; none for no ramp-up.",
            metavar="NUMBERS",
            rich_help_panel=_PANEL,
        ),
    ] = None
    holidays: Annotated[
        str | None,
        typer.Option(
            help="Dates on which nothing leaves: 2026-12-25,2026-12-26; or none.",
            metavar="DATES",
            rich_help_panel=_PANEL,
        ),
    ] = None
    gap: Annotated[
        str | None,
        typer.Option(
            help="Seconds between two mails, least and most: 30-90.", metavar="SECONDS", rich_help_panel=_PANEL
        ),
    ] = None
    person_hours: Annotated[
        int | None,
        typer.Option(help="A person gets one campaign mail within so many hours; 0 is off.", rich_help_panel=_PANEL),
    ] = None
    bounce_limit: Annotated[
        float | None,
        typer.Option(
            help="The share of bounces at which a campaign pauses itself; 0 is never.", rich_help_panel=_PANEL
        ),
    ] = None
    complaint_limit: Annotated[float | None, typer.Option(help="The same of complaints.", rich_help_panel=_PANEL)] = (
        None
    )
    limit_after: Annotated[
        int | None, typer.Option(help="Both hold once so many mails were sent.", rich_help_panel=_PANEL)
    ] = None

    def as_record(self) -> dict[str, Any]:
        """What was said, by the names of the settings."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        said = {name: value for name, value in given.items() if value is not None}
        record = {_NAMES.get(name, name): _READERS.get(name, _as_it_is)(name, value) for name, value in said.items()}
        return record | {name: record[name] or None for name in ("bounce_limit", "complaint_limit") if name in record}


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderOptions:
    """What to change of a sender."""

    address: Annotated[
        str | None, typer.Option(help="Whom mails are from.", metavar="ADDRESS", rich_help_panel=_PANEL)
    ] = None
    name: Annotated[
        str | None, typer.Option(help="Shown before the address.", metavar="TEXT", rich_help_panel=_PANEL)
    ] = None
    reply_to: Annotated[
        str | None,
        typer.Option(help="Where answers go; none for the address.", metavar="ADDRESS", rich_help_panel=_PANEL),
    ] = None
    route: Annotated[str | None, typer.Option(help="The way out.", metavar="NAME", rich_help_panel=_PANEL)] = None
    daily_quota: Annotated[
        str | None,
        typer.Option(
            help="Mails a day, beside the workspace's quota; none for that one alone.",
            metavar="NUMBER",
            rich_help_panel=_PANEL,
        ),
    ] = None
    ramp_up: Annotated[
        str | None,
        typer.Option(help="Mails on the first days: 5,10,20; or none.", metavar="NUMBERS", rich_help_panel=_PANEL),
    ] = None

    def as_record(self) -> dict[str, Any]:
        """What was said, by the names of the fields."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        said = {name: value for name, value in given.items() if value is not None}
        readers = {"daily_quota": _number, "ramp_up": _numbers}
        return {name: readers.get(name, _as_it_is)(name, value) for name, value in said.items()}


_NONE = UNSAID


def _as_it_is(_name: str, value: Any) -> Any:
    return value


def _words(_name: str, text: str) -> list[str]:
    return [] if text.strip().lower() == _NONE else [each.strip() for each in text.split(",") if each.strip()]


def _days(name: str, text: str) -> list[str]:
    return [each.lower() for each in _words(name, text)]


def _number(name: str, text: str) -> int | str:
    """A number, or that there is none."""
    known = text.strip().lower()
    if known != _NONE and not re.fullmatch("-?[0-9]{1,9}", known):
        raise InvalidCampaign(f"--{name.replace('_', '-')}", f"{text[:60]!r} is no number", "write 30, or none")
    return _NONE if known == _NONE else int(known)


def _numbers(name: str, text: str) -> list[int]:
    try:
        return [int(each) for each in _words(name, text)]
    except ValueError:
        raise InvalidCampaign(f"--{name.replace('_', '-')}", f"{text[:60]!r} is no list", "write 20,40,80") from None


def _gap(_name: str, text: str) -> list[int]:
    if (match := _GAP.fullmatch(text.strip())) is None:
        raise InvalidCampaign("--gap", f"{text[:60]!r} is no gap", "write the least and the most seconds: 30-90")
    return [int(match[1]), int(match[2])]


_NAMES = {"days": "sending_days", "gap": "gap_seconds"}
_READERS = {"days": _days, "ramp_up": _numbers, "holidays": _words, "gap": _gap}
