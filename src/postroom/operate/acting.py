"""Acting on emails: those that were named, or all that a search finds. Who acted is on record with each.

There is one act on many, whoever asks for it and however the emails were chosen. It goes through them in batches, each
in a transaction of its own: stopped in the middle, what was done is done and the rest is as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from postroom.compose import Limits
from postroom.errors import (
    ConfigurationError,
    EmailNotFound,
    NotApplicable,
    PostroomError,
    SensitiveEmail,
    UnreadableEmail,
)
from postroom.operate.finding import Wanted, find, understand
from postroom.operate.values import ActResult, FoundPage, Search, Workspaces
from postroom.store.acts import ACTS, APPLIES_TO, dismiss, replay
from postroom.store.overview import Placed, placed
from postroom.store.plan import Course, Plan
from postroom.store.sensitive import refusals_noted
from postroom.vocabulary import EmailId, Status

BATCH = 500
"""Emails per transaction."""

COUNTED = 10_000
"""How far a dry run counts."""

CORRECTABLE = ("to", "cc", "bcc", "subject", "text", "html")
"""What a replay may correct."""

_WHY_NOT = (EmailNotFound, NotApplicable, SensitiveEmail, UnreadableEmail)
"""What keeps an act from one email, and not from the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something a person does to emails."""

    name: str
    by: str | None
    """Who does it."""
    one: Callable[[EmailId], Plan[object]]
    """To one email, or an error that says why not."""
    many: Callable[[Sequence[EmailId]], Plan[list[EmailId]]] | None = None
    """To those of many that it applies to, at once; None where each takes a transaction of its own."""

    @property
    def applies_to(self) -> tuple[Status, ...]:
        return APPLIES_TO[self.name]


def act_called(
    name: str,
    *,
    by: str | None,
    corrections: Mapping[str, Any] | None,
    limits: Limits,
    admin: bool,
    tie: str | None = None,
) -> Act:
    """`retry`, `dismiss`, `cancel`, or `replay` with what is to be corrected; sensitive emails only for an `admin`.

    Emails that are dismissed under one `tie` can be put back together.
    """
    if name == "replay":
        given = _checked(corrections or {})
        return Act(name=name, by=by, one=lambda id: replay(id, given, actor=by, limits=limits, admin=admin))
    if name not in ACTS or corrections:
        raise ConfigurationError(f"no act on emails is called {name!r}; they are {', '.join(APPLIES_TO)}")
    plan = partial(dismiss, act=tie) if name == "dismiss" else ACTS[name]
    return Act(name=name, by=by, one=lambda id: plan([id], actor=by), many=partial(plan, actor=by, strict=False))


def act_on(
    act: Act, chosen: Sequence[EmailId] | Search, *, dry_run: bool, workspaces: Workspaces, limit: int | None
) -> Course[ActResult]:
    """Do it to those of the chosen emails that may be seen and that it applies to; at most so many of those found.

    A dry run changes nothing and counts.
    """
    if isinstance(chosen, Search):
        search = replace(chosen, workspaces=_both(chosen.workspaces, workspaces))
        return (yield from _on_found(act, search, dry_run=dry_run, limit=limit))
    return (yield from _on_these(act, list(dict.fromkeys(chosen)), dry_run=dry_run, workspaces=workspaces))


def _on_these(act: Act, ids: Sequence[EmailId], *, dry_run: bool, workspaces: Workspaces) -> Course[ActResult]:
    """Those that cannot be seen are not there."""
    refused: dict[EmailId, PostroomError] = {}
    statuses: Counter[Status] = Counter()
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        found: list[Placed] = yield placed(batch)
        seen = {each.id: each.status for each in found if workspaces is None or each.workspace in workspaces}
        statuses.update(seen.values())
        refused |= {id: error for id in batch if (error := _refusal(act, id, seen.get(id)))}
        if not dry_run:
            refused |= yield from _apply(act, [id for id in batch if id not in refused])
    matched = statuses.total()
    possible = len(ids) - len(refused)
    return ActResult(
        matched=matched,
        by_status=statuses,
        done=0 if dry_run else possible,
        skipped=matched - possible,
        refused=refused,
    )


def _on_found(act: Act, search: Search, *, dry_run: bool, limit: int | None) -> Course[ActResult]:
    """Newest first, whatever their status."""
    wanted: Wanted = yield understand(search, statuses=act.applies_to)
    most = min(COUNTED, limit or COUNTED) if dry_run else limit
    statuses: Counter[Status] = Counter()
    refused: dict[EmailId, PostroomError] = {}
    before: EmailId | None = None
    done, capped = 0, False
    while True:
        page: FoundPage = yield find(wanted, limit=BATCH if most is None else min(BATCH, most - done), before=before)
        statuses.update(email.status for email in page.emails)
        why_not = {} if dry_run else (yield from _apply(act, [email.id for email in page.emails]))
        refused |= why_not
        done += len(page.emails) - len(why_not)
        if page.next is None:
            break
        if most is not None and done >= most:
            capped = dry_run and most == COUNTED
            break
        before = page.next
    return ActResult(
        matched=statuses.total(),
        by_status=statuses,
        done=0 if dry_run else done,
        skipped=len(refused),
        refused=refused,
        capped=capped,
    )


def _apply(act: Act, ids: Sequence[EmailId]) -> Course[dict[EmailId, PostroomError]]:
    """Do it to all of them at once where that can be done; why not to each that it was not done to."""
    done: set[EmailId] = set((yield act.many(ids))) if act.many is not None and ids else set()
    refused: dict[EmailId, PostroomError] = {}
    for id in ids:
        if id not in done:
            try:
                yield from refusals_noted(act.one(id), actor=act.by)
            except _WHY_NOT as error:
                refused[id] = error
    return refused


def _refusal(act: Act, id: EmailId, status: Status | None) -> PostroomError | None:
    if status is None:
        return EmailNotFound(id)
    return None if status in act.applies_to else NotApplicable(act.name, id, status, act.applies_to)


def _checked(corrections: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(corrections) - set(CORRECTABLE))
    if unknown:
        raise ConfigurationError(f"{', '.join(unknown)} cannot be corrected; {', '.join(CORRECTABLE)} can")
    return {name: value for name, value in corrections.items() if value is not None}


def _both(asked: Workspaces, allowed: Workspaces) -> Workspaces:
    """What is asked for and may be seen."""
    if asked is None or allowed is None:
        return allowed if asked is None else asked
    return asked & allowed
