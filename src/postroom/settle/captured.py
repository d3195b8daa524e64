"""Recipients who were captured while the email left for others: settled at once, whatever the server said to them."""

from __future__ import annotations

from dataclasses import replace

from postroom.send.contract import NOBODY_WAS_ASKED, Reply, Report
from postroom.settle.classification import Classification, Classify, Heard
from postroom.settle.verdict import Fate

KNOWN_BY = 252
"""The code that a captured recipient is known by among others. SMTP has it for «accepted, and nobody can say whether it
will arrive»; that nobody will deliver it, the text says."""


def apart(classify: Classify) -> Classify:
    """The same for reports in which some recipients were captured: they have what they will ever get."""

    def classified(report: Report) -> Classification:
        captured = [reply is not None and reply.code == NOBODY_WAS_ASKED for reply in report.recipients]
        if not any(captured):
            return classify(report)
        asked = [reply for reply, one in zip(report.recipients, captured, strict=True) if not one]
        meaning = classify(replace(report, recipients=tuple(asked)))
        heard = iter(meaning.recipients)
        told = zip(report.recipients, captured, strict=True)
        return replace(meaning, recipients=tuple([_heard(reply) if one else next(heard) for reply, one in told]))

    return classified


def _heard(reply: Reply | None) -> Heard:
    assert reply is not None
    return Heard(fate=Fate.ACCEPTED, reply=replace(reply, code=KNOWN_BY))
