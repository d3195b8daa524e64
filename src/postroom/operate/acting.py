"""Acting on many emails: those that were named, or all that a search finds. Who acted is on record with each."""

from __future__ import annotations

from collections.abc import Sequence

from postroom.operate.finding import Wanted, find, understand
from postroom.operate.values import ActResult, FoundPage, Search, Workspaces
from postroom.store.acts import ACTS, APPLIES_TO
from postroom.store.overview import Placed, placed
from postroom.store.plan import Course
from postroom.vocabulary import EmailId

BATCH = 500
"""Emails per transaction: stopped in the middle, what was done is done and the rest is as it was."""

COUNTED = 10_000
"""How far a dry run counts."""


def act_on_these(
    act: str, ids: Sequence[EmailId], *, by: str | None, dry_run: bool, workspaces: Workspaces
) -> Course[ActResult]:
    """Act on the emails that were named, where the act applies; those that cannot be seen are not there."""
    matched = done = applicable = 0
    distinct = list(dict.fromkeys(ids))
    for start in range(0, len(distinct), BATCH):
        found: list[Placed] = yield placed(distinct[start : start + BATCH])
        seen = [each for each in found if workspaces is None or each.workspace in workspaces]
        fitting = [each.id for each in seen if each.status in APPLIES_TO[act]]
        matched += len(seen)
        applicable += len(fitting)
        if fitting and not dry_run:
            done += len((yield ACTS[act](fitting, actor=by, strict=False)))
    return ActResult(matched=matched, done=done, skipped=matched - (applicable if dry_run else done))


def act_on_found(
    act: str, search: Search, *, by: str | None, dry_run: bool, limit: int | None = None
) -> Course[ActResult]:
    """Act on every email that a search finds and the act applies to, newest first, batch by batch."""
    wanted: Wanted = yield understand(search, statuses=APPLIES_TO[act])
    most = COUNTED if dry_run else limit
    matched = done = 0
    before: EmailId | None = None
    while most is None or matched < most:
        size = BATCH if most is None else min(BATCH, most - matched)
        page: FoundPage = yield find(wanted, limit=size, before=before)
        matched += len(page.emails)
        if page.emails and not dry_run:
            ids = [email.id for email in page.emails]
            done += len((yield ACTS[act](ids, actor=by, strict=False)))
        if page.next is None:
            return ActResult(matched=matched, done=done, skipped=0 if dry_run else matched - done)
        before = page.next
    return ActResult(matched=matched, done=done, skipped=0 if dry_run else matched - done, capped=dry_run)
