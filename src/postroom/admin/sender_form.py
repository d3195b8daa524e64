"""The form of a sender: what it holds, what it means, and what of it was changed since it was filled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from starlette.datastructures import FormData

from postroom.admin.addresses import plain
from postroom.admin.campaign_forms import number_in, numbers_in
from postroom.campaigns.records import OF_SENDER, UNSAID
from postroom.campaigns.values import Sender
from postroom.vocabulary import DEFAULT_ROUTE

_EMPTY: Mapping[str, str] = {"name": "", "route": DEFAULT_ROUTE}
"""What a field means that is left empty, where that is not `none`."""


def sender_form(sender: Sender) -> dict[str, str]:
    """A sender as a form holds them."""
    return {
        "id": sender.id,
        "name": sender.name,
        "address": sender.address,
        "reply_to": sender.reply_to or "",
        "route": sender.route,
        "daily_quota": "" if sender.daily_quota is None else str(sender.daily_quota),
        "ramp_up": ", ".join(map(str, sender.ramp_up.schedule)) if sender.ramp_up else "",
    }


def given_in(form: FormData) -> dict[str, str]:
    """What somebody has typed."""
    return {name: plain(form.get(name)) for name in OF_SENDER}


def sender_said(given: Mapping[str, str]) -> dict[str, Any]:
    """What that says of a sender, as a record; what is empty and has to be said is missing."""
    return {name: _meant(name, given[name]) for name in given if given[name] or name not in ("id", "address")}


def changed_fields(given: Mapping[str, str], *, was: str) -> dict[str, Any]:
    """Of what was typed, what is another than in the form as it was filled; all of it, where that is not known."""
    filled: Any = {}
    with suppress(ValueError, RecursionError):
        filled = json.loads(was)
    before = filled if isinstance(filled, dict) else {}
    said = {name: _meant(name, text) for name, text in given.items() if text != before.get(name)}
    return {name: value for name, value in said.items() if name != "id"}


def _meant(name: str, text: str) -> Any:
    if not text:
        return _EMPTY.get(name, "" if name == "address" else UNSAID)
    if name == "daily_quota":
        return number_in(text)
    return numbers_in(text) if name == "ramp_up" else text
