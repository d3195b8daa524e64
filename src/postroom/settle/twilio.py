"""What the SMS gateway's answer means, by its own codes first and the HTTP status then. Pure.

| answer | concerns | consequence |
|---|---|---|
| 2xx | | accepted |
| a code about the number: invalid, not mobile, stopped, a region that is not enabled | recipient | refused |
| 401, 403, 404, or a code about our account or sender | transport | the route is paused |
| 429, or a code about rates, queues and daily limits | transport | the route rests; tried again |
| 5xx, 408, and whatever is no answer of an API | transport | suspected; tried again |
| any other 4xx | email | refused |
| none, the request had left | email | in doubt: the gateway knows no key by which it would know a second copy |
| none, before that | transport | suspected, or paused for TLS; tried again |

The codes are those of the gateway's public error dictionary.
"""

from __future__ import annotations

from datetime import timedelta

from postroom.send.contract import Fault, FaultKind, Phase, Reply, Report
from postroom.settle.classification import Classification, Heard, accepted
from postroom.settle.http import asked_wait
from postroom.settle.verdict import OK, About, Fate, Health, TransportVerdict
from postroom.settle.wording import describe

_RECIPIENT = frozenset(
    ["21211", "21214", "21217", "21265", "21266", "21408", "21421", "21608", "21610", "21612", "21614", "21635"]
)
"""Invalid, unreachable, short code, our own number, region not enabled, unverified on trial, stopped, not mobile."""
_ACCOUNT = "10001 20003 20005 20006 20008 20404 30002"
"""Login, account not active or suspended."""
_SENDER = "21212 21267 21603 21606 21659 21660 21661 21701 21703 21704 21705"
"""The number or the messaging service is not ours, or cannot send."""
_OURS = frozenset(f"{_ACCOUNT} {_SENDER}".split())
_REST = frozenset(["14107", "20429", "21611", "30001", "63038"])
"""Too many requests, a full queue, the day's limit."""
_DAYS_LIMIT = "63038"
_HOUR = timedelta(hours=1)


def classify(report: Report) -> Classification:
    """Say what the report means. Never guesses: what cannot be known is `unknown`."""
    if report.reply is not None:
        return _answered(report, report.reply)
    if report.dot_left:
        return _made(report, Fate.UNKNOWN, About.EMAIL, None)
    return _failed(report, report.fault)


def _answered(report: Report, reply: Reply) -> Classification:
    code = reply.enhanced or ""
    if accepted(reply):
        return _made(report, Fate.ACCEPTED, None, OK)
    if code in _RECIPIENT:
        return _made(report, Fate.REFUSED, About.RECIPIENT, OK)
    if code in _REST or reply.code == 429:
        wait = asked_wait(reply) or (_HOUR if code == _DAYS_LIMIT else None)
        return _of_the_route(report, reply, Health.THROTTLE, wait=wait, blameless=True)
    if code in _OURS or reply.code in (401, 403, 404):
        return _of_the_route(report, reply, Health.PAUSE, blameless=True)
    if reply.code >= 500 or reply.code == 408 or reply.code < 400:
        return _of_the_route(report, reply, Health.SUSPECT, wait=asked_wait(reply))
    return _made(report, Fate.REFUSED, About.EMAIL, OK)


def _failed(report: Report, fault: Fault | None) -> Classification:
    if fault is None or fault.kind is FaultKind.ABANDONED or fault.phase is Phase.BODY:
        # Nothing is known of the route: the claim was given back, or this very message's upload broke off.
        return _made(report, Fate.DEFERRED, About.EMAIL, None)
    health = Health.PAUSE if fault.kind in (FaultKind.TLS, FaultKind.CONFIGURATION) else Health.SUSPECT
    return _of_the_route(report, fault, health, blameless=health is Health.PAUSE)


def _of_the_route(
    report: Report, cause: Reply | Fault, health: Health, *, wait: timedelta | None = None, blameless: bool = False
) -> Classification:
    verdict = TransportVerdict(health=health, reason=describe(cause), wait=wait)
    return _made(report, Fate.DEFERRED, About.TRANSPORT, verdict, wait=wait, blameless=blameless)


def _made(
    report: Report,
    fate: Fate,
    about: About | None,
    verdict: TransportVerdict | None,
    *,
    wait: timedelta | None = None,
    blameless: bool = False,
) -> Classification:
    cause = report.reply or report.fault
    return Classification(
        recipients=(Heard(fate=fate, reply=report.reply),) * len(report.recipients),
        about=about,
        cause=cause,
        transport=verdict,
        wait=wait,
        blameless=blameless,
        counts=not (isinstance(cause, Fault) and cause.kind is FaultKind.ABANDONED),
    )
