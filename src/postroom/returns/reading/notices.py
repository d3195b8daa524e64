"""Notifications of Amazon SES that come by mail: JSON in the text."""

from __future__ import annotations

import json
from typing import Any

from postroom.returns.reading import limits
from postroom.returns.reading.addresses import header_addresses, tidy
from postroom.returns.reading.arf import complaint
from postroom.returns.reading.meant import names_the_sender, with_domains
from postroom.returns.reading.opening import Opened
from postroom.returns.reading.original import message_ids
from postroom.returns.reading.values import Reading, Returned
from postroom.settle.bounces.classing import bounce_class
from postroom.settle.bounces.saying import saying
from postroom.vocabulary import BounceClass, Return

_KINDS = {"Bounce": ("bounce", "bouncedRecipients"), "Complaint": ("complaint", "complainedRecipients")}


def read_notice(opened: Opened) -> Reading | None:
    """A notification of a bounce, a complaint or a delivery."""
    notice = _object(opened.text)
    told = str(notice.get("notificationType") or notice.get("eventType") or "")
    if told == "Delivery":
        return _delivery(notice)
    if told not in _KINDS:
        return None
    about, recipients = _KINDS[told]
    report = _dictionary(notice.get(about))
    entries = [_dictionary(each) for each in _list(report.get(recipients))]
    named = [each for each in entries if tidy(str(each.get("emailAddress", "")))]
    if not named:
        return None
    if told == "Complaint":
        feedback = str(report.get("complaintFeedbackType") or "abuse").lower()[:50]
        found = tuple(Returned(address=tidy(str(each["emailAddress"]))) for each in named)
        return complaint(feedback, found, _about(notice), reader="notice")
    senders = with_domains(header_addresses([_dictionary(notice.get("mail")).get("source", "")]))
    bounced = tuple(_bounced(each, senders) for each in named)
    return Reading(kind=Return.BOUNCED, recipients=bounced, about=_about(notice), reader="notice")


def _delivery(notice: dict[str, Any]) -> Reading | None:
    entries = _list(_dictionary(notice.get("delivery")).get("recipients"))
    named = [address for each in entries if (address := tidy(str(each)))]
    if not named:
        return None
    found = tuple(Returned(address=each) for each in named)
    return Reading(kind=Return.DELIVERED, recipients=found, about=_about(notice), reader="notice")


def _bounced(entry: dict[str, Any], senders: frozenset[str]) -> Returned:
    """Amazon's own «Permanent» is not asked: it stands also before refusals that are none."""
    said = saying(f"{entry.get('diagnosticCode', '')}\n{entry.get('status', '')}")
    address = tidy(str(entry["emailAddress"]))
    verdict = bounce_class(said) if entry.get("action") != "delayed" else BounceClass.TRANSIENT
    if verdict is BounceClass.PERMANENT and names_the_sender(said.reply, senders=senders, recipients=[address]):
        verdict = BounceClass.UNDETERMINED
    return Returned(
        address=address,
        bounce_class=verdict,
        status=said.status,
        code=said.code,
        text=said.text[: limits.SAID],
    )


def _about(notice: dict[str, Any]) -> tuple[str, ...]:
    """The Message-ID that we wrote, where the notification has the headers."""
    headers = _list(_dictionary(notice.get("mail")).get("headers"))
    values = [each.get("value") for each in map(_dictionary, headers) if str(each.get("name")).lower() == "message-id"]
    return tuple(message_ids(" ".join(map(str, values))))


def _object(text: str) -> dict[str, Any]:
    """The object that the text begins with. Some servers have broken its line, with a mark where."""
    text = text.replace("!\n ", "").lstrip()
    if not text.startswith("{"):
        return {}
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    message = found.get("Message") if isinstance(found, dict) else None
    return _object(message) if isinstance(message, str) else _dictionary(found)


def _dictionary(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value[: limits.RECIPIENTS] if isinstance(value, list) else []
