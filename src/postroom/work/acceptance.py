"""The way nearly every email goes, cut short: the server took it for every recipient.

`settle` and `settlement` come to the same in several times the time, by way of a verdict on every recipient. What is
written here must read as theirs does, letter by letter; `tests/claim/test_acceptance.py` holds the two together.
"""

from __future__ import annotations

from functools import lru_cache
from json.encoder import encode_basestring as quoted

from postroom.send.contract import Reply, Report
from postroom.settle.classification import accepted_by_all
from postroom.settle.wording import without_addresses
from postroom.store.contract import Settlement
from postroom.vocabulary import Status
from postroom.work.parcel import Parcel

_SENT = Status.SENT  # on Python 3.11 a member of an enum costs a call each time


def accepted(parcel: Parcel, report: Report) -> Settlement | None:
    """What is to be recorded, and written down already; None where there is more to say, and `settle` must say it."""
    reply, claimed = report.reply, parcel.claimed
    if reply is None or len(report.recipients) != len(parcel.recipients) or not accepted_by_all(report):
        return None
    if claimed.doubts or claimed.inline:  # what was ever in doubt has a story to tell; what is inline is not counted
        return None
    (id, token), attempts, takeovers = parcel.claim, claimed.attempts + 1, claimed.takeovers
    detail = _detail(report, reply, attempts)
    settlement = Settlement(
        claim=parcel.claim,
        status=_SENT,
        attempts=attempts,
        reply_code=reply.code,
        reply=detail,
        takeovers=takeovers,
        detail=detail,
        sensitive=claimed.sensitive,
    )
    settlement.written = (
        f'{{"id":"{id}","token":{token},"status":"sent","attempts":{attempts},"doubts":0,"takeovers":{takeovers},'
        f'"reply_code":{reply.code},"reply":{quoted(detail)}}}'
    )
    return settlement


def _detail(report: Report, reply: Reply, attempts: int) -> str:
    """The entry of the history, as JSON."""
    many = f'"recipients":{{"accepted":{len(report.recipients)}}},' if len(report.recipients) > 1 else ""
    spent = report.milliseconds
    times = _times(*spent) % tuple(spent.values()) if spent else ""
    enhanced = f'"enhanced":{quoted(reply.enhanced)},' if reply.enhanced else ""
    text = quoted(without_addresses(reply.text))
    return (
        f'{{"outcome":"sent","attempt":{attempts},{many}{times}"phase":"{reply.phase._value_}","code":{reply.code},{enhanced}'
        f'"text":{text}}}'
    )


@lru_cache(maxsize=64)  # the phases are the same few each time
def _times(*phases: str) -> str:
    """The format in which the time of each phase is told."""
    each = ",".join([f'"{phase}":%.1f' for phase in phases])
    return f'"milliseconds":{{{each}}},'
