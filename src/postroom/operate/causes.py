"""Which failures are alike: by reason, reply code and the first words of the error."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from postroom.operate.values import FailureGroup
from postroom.store.contract import StoredEmail
from postroom.store.overview import Failure
from postroom.vocabulary import DeadReason

BEGINNING = 120
"""Letters of an error that are looked at; the store's query cuts at the same place."""

_WORDS = 10
# Queue ids, sizes, times: what a server puts into a reply so that no two are the same. Reply codes stay.
_DIFFERS = re.compile(r"^(?=.*\d)(?!\d{3}$)(?!\d\.\d{1,3}\.\d{1,3}$).*$")


def words_of(error: str) -> str:
    """The first words of an error, with an ellipsis for each that differs from one email to the next."""
    words = error[:BEGINNING].split()[:_WORDS]
    return " ".join("…" if _DIFFERS.match(word.strip(".,;:()<>[]")) else word for word in words)


def name_of(reason: DeadReason, reply_code: int | None, words: str) -> str:
    """A short name for a cause that can stand in a URL; the same for the same cause, in every process."""
    digest = sha256(words.encode()).hexdigest()[:10]
    return f"{reason.value}-{reply_code or 0}-{digest}"


def cause_of(email: StoredEmail) -> str | None:
    """The cause an email died of, by its name; None while it lives."""
    if email.dead_reason is None:
        return None
    return name_of(email.dead_reason, email.reply_code, words_of(email.last_error or ""))


def grouped(failures: Iterable[Failure]) -> tuple[FailureGroup, ...]:
    """Failures put together by cause, the largest group first."""
    groups: dict[str, FailureGroup] = {}
    for failure in failures:
        words = words_of(failure.error)
        cause = name_of(failure.reason, failure.reply_code, words)
        before = groups.get(cause)
        groups[cause] = FailureGroup(
            cause=cause,
            reason=failure.reason,
            reply_code=failure.reply_code,
            words=words,
            count=failure.count + (before.count if before else 0),
            newest=max(failure.newest, before.newest) if before else failure.newest,
        )
    return tuple(sorted(groups.values(), key=lambda group: (-group.count, group.cause)))
