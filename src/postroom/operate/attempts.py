"""The attempts of one email, and recipients × attempts: who was told what, when. Pure.

The history tells of attempts that failed; the one that succeeded left its reply on the email itself. What an attempt
says of its recipients it says in their order, and a correction may have changed who they are: each attempt is read with
the recipients of the version that was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import repeat
from typing import Any

from postroom.operate.values import AttemptView, RecipientRow, ResultView
from postroom.store.contract import StoredEmail
from postroom.store.overview import Version
from postroom.vocabulary import Status

_ATTEMPT = "outcome"
"""What the history says of attempts, and of attempts only."""

_SAID = ("phase", "code", "enhanced", "text", "fault", "about")
_REFUSED_BY = ("email", "recipient")


def attempts_of(email: StoredEmail, versions: Sequence[Version]) -> tuple[AttemptView, ...]:
    """Every attempt that anything is known of, oldest first."""
    recipients = {version.number: version.recipients for version in versions}
    current = tuple(recipient.address for recipient in email.recipients)
    return tuple(
        _attempt(detail, number=number, at=at, version=version, recipients=recipients.get(version, current))
        for number, at, version, detail in _told(email)
    )


def rows_of(email: StoredEmail, attempts: Sequence[AttemptView]) -> tuple[RecipientRow, ...]:
    """What each recipient got in each attempt: those of today first, then those that a correction took away."""
    cells = [{result.address: result for result in attempt.results} for attempt in attempts]
    today = {recipient.address: recipient for recipient in email.recipients}
    gone = dict.fromkeys(address for results in cells for address in results if address not in today)
    return tuple(
        RecipientRow(
            address=address,
            stands=today.get(address),
            cells=tuple(results.get(address) for results in cells),
        )
        for address in (*today, *gone)
    )


def _told(email: StoredEmail) -> Iterator[tuple[int, datetime, int, Mapping[str, Any]]]:
    """Number, time, version and detail of each attempt."""
    version = 1
    accepted = False
    for entry in email.history:
        version = entry.detail.get("version", version) if entry.what == "replayed" else version
        if _ATTEMPT in entry.detail:
            accepted = accepted or entry.detail[_ATTEMPT] == Status.SENT
            yield entry.attempt, entry.at, version, entry.detail
    if email.status is Status.SENT and email.sent_at is not None and email.reply and not accepted:
        yield email.attempts, email.sent_at, email.version, {**email.reply, _ATTEMPT: Status.SENT}


def _attempt(
    detail: Mapping[str, Any], *, number: int, at: datetime, version: int, recipients: Sequence[str]
) -> AttemptView:
    return AttemptView(
        number=number,
        at=at,
        version=version,
        outcome=detail[_ATTEMPT],
        counted=detail.get("counted", True),
        inline=detail.get("inline", False),
        takeover="takeover" in detail,
        from_journal=detail.get("settled_from") == "journal",
        dead_reason=detail.get("dead_reason"),
        possible_second_copy=detail.get("possible_second_copy", False),
        recipients=detail.get("recipients", {}),
        results=tuple(_results(detail, recipients)),
        milliseconds=detail.get("milliseconds", {}),
        **{name: detail.get(name) for name in _SAID},
    )


def _results(detail: Mapping[str, Any], recipients: Sequence[str]) -> Iterator[ResultView]:
    """What is known of each recipient in this attempt; nothing of those of whom nothing was kept."""
    kept = detail.get("results")
    if isinstance(kept, Mapping):
        told = [(recipients[int(place)], result) for place, result in kept.items() if int(place) < len(recipients)]
    elif kept is not None:
        told = list(zip(recipients, kept, strict=False))
    else:
        told = list(zip(recipients, repeat(_said_to_all(detail, len(recipients))), strict=False))
    for address, result in told:
        if result is not None:
            yield _result(address, *result)


def _result(
    address: str, fate: str, code: int | None = None, enhanced: str | None = None, text: str | None = None
) -> ResultView:
    return ResultView(address=address, fate=fate, code=code, enhanced=enhanced, text=text)


def _said_to_all(detail: Mapping[str, Any], count: int) -> list[Any] | None:
    """What everybody was told, where they were all told the same; None where that is not known."""
    fates: Mapping[str, int] = detail.get("recipients") or _alone(detail, count)
    if len(fates) != 1 or sum(fates.values()) != count:
        return None
    [fate] = fates
    return [fate, detail.get("code"), detail.get("enhanced"), detail.get("text")]


def _alone(detail: Mapping[str, Any], count: int) -> Mapping[str, int]:
    """The fate of a single recipient, where the entry does not say it in so many words."""
    if count != 1 or "phase" not in detail:
        return {}
    if detail[_ATTEMPT] == Status.SENT:
        return {"accepted": 1}
    if "code" not in detail:
        return {"unknown" if detail[_ATTEMPT] == Status.IN_DOUBT else "deferred": 1}
    return {"refused" if detail["code"] >= 500 and detail.get("about") in _REFUSED_BY else "deferred": 1}
