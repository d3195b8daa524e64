"""What a receiver's answer to a webhook means. Pure.

| answer | means |
|---|---|
| 2xx | accepted |
| 408, 425, 429, 5xx | tried again, not before `Retry-After` |
| 410 | never again: the receiver has taken leave for good |
| any other 3xx, 4xx, 1xx | never again, with the beginning of the body as the error |
| none, the request had left | in doubt |
| none, before that | tried again; where our own settings forbid to go there, never |

A receiver's trouble is never the route's: the next webhook goes to somebody else. So nothing here speaks against the
route, however many receivers are down.
"""

from __future__ import annotations

from datetime import timedelta

from postroom.send.contract import Fault, FaultKind, Reply, Report
from postroom.settle.classification import Classification, Heard, accepted
from postroom.settle.verdict import OK, About, Fate
from postroom.settle.waits import LONGEST_WAIT

_LATER = frozenset({408, 425, 429})


def classify(report: Report) -> Classification:
    """Say what the report means. Never guesses: what cannot be known is `unknown`."""
    if report.reply is not None:
        return _answered(report, report.reply)
    if report.dot_left:
        return _ended(report, Fate.UNKNOWN)
    never = report.fault is not None and report.fault.kind is FaultKind.FORBIDDEN
    return _ended(report, Fate.REFUSED if never else Fate.DEFERRED)


def asked_wait(reply: Reply) -> timedelta | None:
    """How long the answer asks us to wait, at most a day."""
    if reply.retry_after is None:
        return None
    return min(timedelta(seconds=reply.retry_after), LONGEST_WAIT)


def _answered(report: Report, reply: Reply) -> Classification:
    if accepted(reply):
        heard = Heard(fate=Fate.ACCEPTED, reply=reply)
        return Classification(recipients=(heard,) * len(report.recipients), about=None, cause=reply, transport=OK)
    later = reply.code in _LATER or reply.code >= 500
    heard = Heard(fate=Fate.DEFERRED if later else Fate.REFUSED, reply=reply)
    return Classification(
        recipients=(heard,) * len(report.recipients),
        about=About.RECIPIENT,
        cause=reply,
        transport=None,
        wait=asked_wait(reply) if later else None,
    )


def _ended(report: Report, fate: Fate) -> Classification:
    """Nothing was answered."""
    cause: Fault | None = report.fault
    abandoned = cause is not None and cause.kind is FaultKind.ABANDONED
    return Classification(
        recipients=(Heard(fate=fate, reply=None),) * len(report.recipients),
        about=About.RECIPIENT,
        cause=cause,
        transport=None,
        counts=not abandoned,
    )
