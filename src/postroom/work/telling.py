"""One line in the log for every attempt: which email, the how manieth, what came of it, how long it took.

Success is the rule and said at `debug`; what a person may have to look into is a `warning`; the rest is `info`. The
words of the server are not repeated: they are in the email's history, and may quote an address.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from postroom.logs import logger
from postroom.send.contract import Report
from postroom.settle.attempt import Outcome
from postroom.store.contract import Settlement
from postroom.vocabulary import EmailId, Status

_SAID = ("phase", "code", "enhanced", "fault", "dead_reason", "inline", "counted", "possible_second_copy")
"""What the history's entry knows beside the outcome, without text."""

_standard = logging.getLogger("postroom")


def tell_sent(settled: Settlement, report: Report) -> None:
    """Log an attempt that the server accepted for everybody."""
    if _standard.isEnabledFor(logging.DEBUG):
        event = json.loads(settled.detail)
        logger.debug("email sent", **_facts(settled.claim.id, settled.attempts, settled.status, event, report))


def tell_attempt(id: EmailId, outcome: Outcome, report: Report) -> None:
    """Log one attempt. When nobody listens, an email that was sent costs one question."""
    if outcome.status is Status.SENT:
        if _standard.isEnabledFor(logging.DEBUG):
            logger.debug("email sent", **_facts(id, outcome.attempts, outcome.status, outcome.event, report))
    elif outcome.status in (Status.DEAD, Status.IN_DOUBT):
        logger.warning("email attempt failed", **_facts(id, outcome.attempts, outcome.status, outcome.event, report))
    else:
        logger.info("email attempt failed", **_facts(id, outcome.attempts, outcome.status, outcome.event, report))


def _facts(id: EmailId, attempt: int, status: Status, event: Mapping[str, Any], report: Report) -> dict[str, Any]:
    return {
        "email_id": id,
        "attempt": attempt,
        "outcome": status.value,
        "milliseconds": round(sum(report.milliseconds.values()), 1),
        **{name: event[name] for name in _SAID if name in event},
    }
