"""The way nearly every email goes, cut short: the server took it for every recipient.

`settle` and `settlement` come to the same in several times the time, by way of a verdict on every recipient. What is
written here must read as theirs does, letter by letter; `tests/claim/test_acceptance.py` holds the two together.
"""

from __future__ import annotations

from json.encoder import encode_basestring as quoted

from postroom.send.contract import Reply, Report
from postroom.settle.classify import accepted_by_all
from postroom.settle.wording import without_addresses
from postroom.store.contract import Settlement
from postroom.vocabulary import Status
from postroom.work.parcel import Parcel


def accepted(parcel: Parcel, report: Report) -> Settlement | None:
    """What is to be recorded, and written down already; None where there is more to say, and `settle` must say it."""
    reply, claimed = report.reply, parcel.claimed
    if reply is None or len(report.recipients) != len(parcel.recipients) or not accepted_by_all(report):
        return None
    if claimed.doubts or parcel.inline:  # what was ever in doubt has a story to tell; what is inline is not counted
        return None
    (id, token), attempts, takeovers = parcel.claim, claimed.attempts + 1, claimed.takeovers
    detail = _detail(report, reply, attempts)
    settlement = Settlement(
        claim=parcel.claim,
        status=Status.SENT,
        attempts=attempts,
        reply_code=reply.code,
        reply=detail,
        takeovers=takeovers,
        detail=detail,
    )
    settlement.written = (
        f'{{"id":"{id}","token":{token},"status":"sent","attempts":{attempts},"doubts":0,"takeovers":{takeovers},'
        f'"reply_code":{reply.code},"reply":{quoted(detail)}}}'
    )
    return settlement


def _detail(report: Report, reply: Reply, attempts: int) -> str:
    """The entry of the history, as JSON."""
    many = f'"recipients":{{"accepted":{len(report.recipients)}}},' if len(report.recipients) > 1 else ""
    spent = ",".join([f'"{phase}":{spent:.1f}' for phase, spent in report.milliseconds.items()])
    times = f'"milliseconds":{{{spent}}},' if spent else ""
    enhanced = f'"enhanced":{quoted(reply.enhanced)},' if reply.enhanced else ""
    text = quoted(without_addresses(reply.text))
    return (
        f'{{"outcome":"sent","attempt":{attempts},{many}{times}"phase":"dot","code":{reply.code},{enhanced}'
        f'"text":{text}}}'
    )
