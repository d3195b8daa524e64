"""Reports in plain words, as every mail system writes them in its own way.

That it is a report is told by its sender, its subject or its first sentences; whom it is about, by where an address
stands; and what happened, by what stands behind that address.
"""

from __future__ import annotations

import re

from postroom.returns.reading import limits
from postroom.returns.reading.addresses import addresses_in, header_addresses, is_daemon
from postroom.returns.reading.decoding import words
from postroom.returns.reading.meant import names_the_sender
from postroom.returns.reading.opening import Opened, raw
from postroom.returns.reading.original import about, original_recipients
from postroom.returns.reading.prose import origins_of, said_of, without_origins
from postroom.returns.reading.reports import goes_on_by_numbers, is_by_a_system, looks_like_a_report
from postroom.returns.reading.values import Reading, Returned
from postroom.settle.bounces.classing import bounce_class
from postroom.settle.bounces.saying import saying
from postroom.vocabulary import BounceClass, Return

_DELAY = re.compile(
    r"warning message only|has been delayed|is delayed|was delayed|will (?:keep|continue) (?:trying|to try)"
    r"|still trying"
    r"|\(delay\)|delivery delay|delayed mail|do not need to re-?send|not yet been delivered|will be retried"
    r"|temporary failure report|delivery will continue|no action is required|: delayed|message delayed",
    re.IGNORECASE,
)


def read_words(opened: Opened) -> Reading | None:
    """A report that keeps to no standard."""
    if not looks_like_a_report(opened):
        return None
    named = _named(opened)
    if not named:
        return None
    kind = Return.DEFERRED if delays(opened) or goes_on_by_numbers(opened) else Return.BOUNCED
    recipients = tuple(returned(opened, address, kind, alone=len(named) == 1) for address in named)
    return Reading(kind=kind, recipients=recipients, about=about(opened), reader="words")


def returned(opened: Opened, address: str, kind: Return, *, alone: bool) -> Returned:
    """One recipient of such a report, with what is said of them."""
    said = said_of(opened, [address])
    if alone and not (said.status or said.code) and bounce_class(said) is BounceClass.UNDETERMINED:
        said = saying(opened.told)
    aliases = origins_of(opened, address)
    verdict = BounceClass.TRANSIENT if kind is Return.DEFERRED else bounce_class(said)
    if verdict is BounceClass.PERMANENT and (
        not is_by_a_system(opened)
        # Of the other end's own words alone: the report that they stand in names whose email it returns.
        or names_the_sender(said.reply, senders=opened.senders, recipients=(address, *aliases))
    ):
        verdict = BounceClass.UNDETERMINED
    return Returned(
        address=address,
        aliases=aliases,
        bounce_class=verdict,
        status=said.status,
        code=said.code,
        text=said.text[: limits.SAID],
    )


def delays(opened: Opened) -> bool:
    """Whether it says that the other end goes on trying."""
    return _DELAY.search(words(raw(opened.headers, "Subject")) + "\n" + opened.report[:5_000]) is not None


def _named(opened: Opened) -> list[str]:
    """Whom it is about: those in its text whom the returned email was for, else as a header says, else those that stand
    where reports name them, else whom the returned email was for."""
    report = without_origins(opened.report)
    if not addresses_in(report):
        report = opened.report
    told = possible(opened, addresses_in(report))
    wanted = original_recipients(opened.original)
    standing_out = _prominent(report)
    prominent = [each for each in told if each in standing_out]
    failed = header_addresses(opened.headers.get_all("X-Failed-Recipients", []))
    if known := [each for each in told if each in wanted]:
        return prominent if set(known) <= set(prominent) else known
    return failed or prominent or told[:1] or wanted[:1]


def possible(opened: Opened, addresses: list[str]) -> list[str]:
    """Those that may have failed: not who writes, nor whom it is written to, for these are named in reports too."""
    concerned = ("From", "To", "Delivered-To", "Reply-To")
    known = header_addresses([value for name in concerned for value in opened.headers.get_all(name, [])])
    others = frozenset(known)
    return [each for each in addresses if not is_daemon(each) and each not in others][: limits.RECIPIENTS]


_PLACES = (
    re.compile(r"^[ \t>*-]{0,12}<?([^\s<>()\[\]@]{1,200}@[^\s<>()\[\]@]{1,200}?)>?[ \t:;,.]{0,4}$", re.MULTILINE),
    re.compile(r"^[ \t>*-]{0,12}<([^\s<>@]{1,200}@[^\s<>@]{1,200})>", re.MULTILINE),
    re.compile(r"^\d{3} <([^\s<>@]{1,200}@[^\s<>@]{1,200})>\.\.\.", re.MULTILINE),
    re.compile(r"rcpt to: ?<([^\s<>@]{1,200}@[^\s<>@]{1,200})>", re.IGNORECASE),
    re.compile(
        r"(?:recipients?|delivery failed|deliver(?:y|ed)? to|mail to|message to|addressed to"
        r"|to)[: ]{1,3}<?([^\s<>@]{1,200}@[^\s<>,;@]{1,200})",
        re.IGNORECASE,
    ),
)


def _prominent(report: str) -> frozenset[str]:
    for place in _PLACES:
        if found := frozenset(each for match in place.findall(report) for each in addresses_in(match)):
            return found
    return frozenset()
