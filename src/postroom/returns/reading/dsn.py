"""Delivery status notifications, RFC 3464: what most systems of today send."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from email.message import Message
from itertools import islice

from postroom.returns.reading import limits
from postroom.returns.reading.addresses import header_addresses, is_internal, typed_address
from postroom.returns.reading.decoding import words
from postroom.returns.reading.meant import names_the_sender
from postroom.returns.reading.opening import Opened, Part, raw, read_headers
from postroom.returns.reading.original import about, original_recipients
from postroom.returns.reading.prose import said_of
from postroom.returns.reading.reports import is_by_a_system, looks_like_a_report
from postroom.returns.reading.values import Reading, Returned, Unclear
from postroom.settle.bounces.classing import bounce_class
from postroom.settle.bounces.saying import Phase, Saying, code_in, phase_in, reply_in, status_in
from postroom.vocabulary import BounceClass, Return

KINDS = ("message/delivery-status", "message/global-delivery-status")
_RECIPIENTS = ("Final-Recipient", "Original-Recipient", "X-Actual-Recipient")
_ACTIONS: dict[str, Return | Unclear] = {
    "failed": Return.BOUNCED,
    "delayed": Return.DEFERRED,
    "delivered": Return.DELIVERED,
    "expanded": Return.DELIVERED,
    "relayed": Unclear.IRRELEVANT,
}
_BY_RULE = re.compile(r"^reporting-mta:[^\n]{0,20}\binbound-smtp\.[\w.-]{1,60}\.amazonaws\.com", re.I | re.M)
"""Amazon's service for receiving mail takes everything and answers as its customer's rule says."""
_BETWEEN = re.compile(r"\n[ \t]*\n")
_FIELD = re.compile(r"^final-recipient:", re.I | re.M)
_COMMENT = re.compile(r"\(([^()]{3,300})\)")
_RELAYED = "it was handed on to a system that does not tell what becomes of it"
_WORST = (Return.BOUNCED, Return.DEFERRED, Return.DELIVERED, Unclear.IRRELEVANT)
_DIAGNOSTIC_TYPE = re.compile(r"\s*[\w.-]{1,40}\s*;\s*")


def read_report(opened: Opened) -> Reading | None:
    """What a standard report says of every recipient; those who fared worst come first, and it is called after them."""
    found: dict[Return | Unclear, list[Returned]] = {}
    standard = opened.of_kind(*KINDS)
    inline = [] if standard else _inline(opened)
    doubted = any(_BY_RULE.search(part.text) for part in standard) or (inline and not is_by_a_system(opened))
    unnamed = _unnamed(opened)
    for fields in islice(_blocks(standard or inline), limits.RECIPIENTS):
        if (one := _recipient(fields, opened, unnamed, doubted=bool(doubted))) is not None:
            found.setdefault(one[0], []).append(one[1])
    worst = next((kind for kind in _WORST if kind in found), None)
    if worst is None:
        return None
    recipients = _once([*found.pop(worst), *_others(found)])
    problem = _RELAYED if worst is Unclear.IRRELEVANT else ""
    return Reading(kind=worst, recipients=recipients, about=about(opened), reader="dsn", problem=problem)


def _others(found: dict[Return | Unclear, list[Returned]]) -> Iterator[Returned]:
    """Who fared better, each with a kind of their own; not who was handed on, for nothing follows from that."""
    for kind in _WORST:
        if isinstance(kind, Return):
            yield from (replace(each, kind=kind) for each in found.get(kind, []))


def _inline(opened: Opened) -> list[Part]:
    """Texts with the fields of a report in them: some systems do not know of parts."""
    texts = [part for part in opened.parts if part.kind == "text/plain" and _FIELD.search(part.text)]
    return texts if texts and looks_like_a_report(opened) else []


def _unnamed(opened: Opened) -> list[str]:
    """Whom a block is about that names nobody."""
    failed = header_addresses(opened.headers.get_all("X-Failed-Recipients", []))
    return failed[:1] or original_recipients(opened.original)[:1]


def _once(found: Iterable[Returned]) -> tuple[Returned, ...]:
    once: dict[str, Returned] = {}
    for each in found:
        once.setdefault(each.address, each)
    return tuple(once.values())


def _blocks(parts: list[Part]) -> Iterator[Message]:
    """The blocks of fields that speak of a recipient."""
    blocks = (block for part in parts for block in _BETWEEN.split(part.text))
    for block in islice(blocks, limits.BLOCKS):
        for fields in _apart(read_headers(block.strip("\n").encode("utf-8", "replace"))):
            if any(name in fields for name in (*_RECIPIENTS, "Action")):
                yield fields


def _apart(fields: Message) -> Iterator[Message]:
    """Each recipient's fields, also where the empty lines between them are missing: then all of them begin alike, and
    nobody lacks a name that another has."""
    counts = {name: len(fields.get_all(name, [])) for name in (*_RECIPIENTS, "Action")}
    if counts["Action"] < 2 or not {*counts.values()} <= {0, counts["Action"]}:
        yield fields
        return
    first = next(name.lower() for name in fields if name.title() in counts)
    one = Message()
    for name, value in fields.items():
        if name.lower() == first:
            yield one
            one = Message()
        one[name] = value
    yield one


def _recipient(
    fields: Message, opened: Opened, unnamed: list[str], *, doubted: bool
) -> tuple[Return | Unclear, Returned] | None:
    told = dict.fromkeys(address for name in _RECIPIENTS if (address := typed_address(raw(fields, name))))
    names = sorted(told, key=is_internal) or unnamed
    said = _said(fields, opened, names)
    kind = _ACTIONS.get(raw(fields, "Action").split("(")[0].strip().strip(";").lower()) or _kind(said)
    if kind is None:
        return None
    verdict = _class(kind, said)
    if verdict is BounceClass.PERMANENT and (doubted or _is_of_sender(said, opened, names)):
        verdict = BounceClass.UNDETERMINED
    return kind, Returned(
        address=names[0] if names else "",
        aliases=tuple(names[1:]),
        bounce_class=verdict,
        status=said.status,
        code=said.code,
        text=said.text[: limits.SAID],
    )


def _class(kind: Return | Unclear, said: Saying) -> BounceClass | None:
    if kind is Return.BOUNCED:
        return bounce_class(said)
    return BounceClass.TRANSIENT if kind is Return.DEFERRED else None


def _is_of_sender(said: Saying, opened: Opened, names: list[str]) -> bool:
    return names_the_sender(said.reply or said.text, senders=opened.senders, recipients=names)


def _kind(said: Saying) -> Return | None:
    """Without a word for what was done, the status tells."""
    return {"5": Return.BOUNCED, "4": Return.DEFERRED, "2": Return.DELIVERED}.get(said.status[:1])


def _said(fields: Message, opened: Opened, names: list[str]) -> Saying:
    """The report's own fields, then what the text for people tells beside them."""
    diagnostic = words(raw(fields, "Diagnostic-Code"))
    text = _DIAGNOSTIC_TYPE.sub("", diagnostic, count=1) if ";" in diagnostic[:45] else diagnostic
    if not text and (comment := _COMMENT.search(raw(fields, "Status"))):
        text = comment[1]
    prose = said_of(opened, names)
    own = status_in(raw(fields, "Status"))
    told = status_in(text)
    if told and (not own or own.endswith(".0.0") or own[0] == told[0]):
        status = told
    else:
        status = prose.status if prose.status[:1] == own[:1] and own.endswith(".0.0") else own or prose.status
    reply = reply_in(text) if text else prose.reply
    asked = Phase.RECIPIENT if reply in opened.replies_to_recipients else Phase.UNKNOWN
    return Saying(
        text=text or prose.text,
        reply=reply,
        status=status,
        code=code_in(text) or prose.code,
        phase=phase_in(text) or prose.phase or asked,
    )
