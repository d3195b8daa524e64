"""Complaints, RFC 5965: a provider tells that a reader has pressed «this is spam»."""

from __future__ import annotations

from email.message import Message

from postroom.returns.reading import limits
from postroom.returns.reading.addresses import header_addresses, typed_address
from postroom.returns.reading.decoding import words
from postroom.returns.reading.opening import Opened, Part, raw, read_headers
from postroom.returns.reading.original import about, original_recipients
from postroom.returns.reading.values import PRAISE, Reading, Returned, Unclear
from postroom.vocabulary import Return

_FIELDS = ("Feedback-Type", "User-Agent", "Source-IP", "Original-Mail-From", "Original-Rcpt-To", "Arrival-Date")


def read_feedback(opened: Opened) -> Reading | None:
    """A report of feedback, standard or as far as some providers keep to it."""
    for part in opened.parts:
        if (fields := _fields(part)) is not None:
            return _reading(fields, opened)
    return _outlook(opened)


def _outlook(opened: Opened) -> Reading | None:
    """Microsoft's junk mail reports: the email itself, with a header that tells whose it was."""
    reader = raw(opened.original, "X-HmXmrOriginalRecipient") if opened.original is not None else ""
    if not reader or not raw(opened.headers, "Subject").strip().lower().startswith("complaint about message"):
        return None
    recipients = tuple(Returned(address=each) for each in [typed_address(reader)] if each)
    return complaint("abuse", recipients, about(opened), reader="arf")


def _fields(part: Part) -> Message | None:
    if part.kind != "message/feedback-report":
        return None
    fields = read_headers(part.text.strip().encode("utf-8", "replace"))
    return fields if any(name in fields for name in _FIELDS) else None


def _reading(fields: Message, opened: Opened) -> Reading:
    feedback = words(raw(fields, "Feedback-Type")).strip().lower()[:50] or "other"
    told = [typed_address(str(value)) for value in fields.get_all("Original-Rcpt-To", [])]
    said = words(raw(fields, "Removal-Recipient")) if "Removal-Recipient" in fields else ""
    named = [each for each in (*told, typed_address(said)) if each] or _of_original(opened)
    recipients = tuple(Returned(address=each) for each in dict.fromkeys(named[: limits.RECIPIENTS]))
    return complaint(feedback, recipients, about(opened), reader="arf")


def complaint(feedback: str, recipients: tuple[Returned, ...], about: tuple[str, ...], *, reader: str) -> Reading:
    """A complaint, unless its type says that it is none."""
    if feedback == PRAISE:
        kind, problem = Unclear.IRRELEVANT, "a reader has said that it is no spam; nothing follows"
        return Reading(kind=kind, recipients=recipients, about=about, feedback=feedback, reader=reader, problem=problem)
    return Reading(kind=Return.COMPLAINED, recipients=recipients, about=about, feedback=feedback, reader=reader)


def _of_original(opened: Opened) -> list[str]:
    """Whom the email was for: providers that hide the address in the report leave it in the headers, or nowhere."""
    original = opened.original
    if original is None:
        return []
    delivered = header_addresses([*original.get_all("X-Original-To", []), *original.get_all("Delivered-To", [])])
    return original_recipients(original)[:1] or delivered[:1]
