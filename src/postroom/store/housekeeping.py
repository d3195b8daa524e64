"""Keeping the outbox small: finished emails go when their time is up, in bounded batches, archived first if wanted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypedDict

from postroom.store.contents import digests_in, read_attachments
from postroom.store.dismissals import sweep_dismissed
from postroom.store.erasing import erase, sweep_erasable
from postroom.store.ids import first_id_at
from postroom.store.plan import Course, Plan, ask
from postroom.store.questions import ENVELOPE, histories, stored, with_fates
from postroom.store.records import as_archive
from postroom.store.returns import fates_of
from postroom.vocabulary import EmailId, Status

Archive = Callable[[list[dict[str, Any]]], None]
"""Writes emails down durably before they are removed."""

PRUNABLE = (Status.SENT, Status.CANCELLED, Status.DEAD)
"""What may be pruned at all; the dead only when they are named."""


CHANGES_KEPT = timedelta(days=7)
"""How long the stream of changes is kept at least: long enough for a reader that was away for some days."""


class Ends(TypedDict):
    """What is older than these has had its time."""

    before: datetime
    """Emails that finished."""
    keys_before: datetime
    """Idempotency keys whose email is gone."""
    changes_before: datetime
    """Rows of the stream."""
    undo: timedelta
    """How long what was dismissed can be put back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long what nobody works on any more stays to be looked at."""

    emails: timedelta
    keys: timedelta
    undo: timedelta
    """What was dismissed."""

    def ends(self, now: datetime) -> Ends:
        return Ends(
            before=now - self.emails,
            keys_before=now - self.keys,
            changes_before=now - max(self.emails, CHANGES_KEPT),
            undo=self.undo,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What a prune did."""

    removed: int
    """Emails."""
    swept: int
    """What nothing needed any more: emails that were dismissed, attachments, keys, events, rows of the stream, what
    came back, and contents of sensitive emails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Finished emails past their keep."""

    ids: tuple[EmailId, ...]
    statuses: tuple[Status, ...]
    """Of the ids, in their order."""


def prune(
    *,
    before: datetime,
    keys_before: datetime,
    changes_before: datetime,
    undo: timedelta,
    statuses: Collection[Status],
    batch: int,
    archive: Archive | None,
    progress: Callable[[int], None],
) -> Course[Pruned]:
    """Remove every email that finished before then, in bounded batches, then sweep up what they leave."""
    removed = 0
    while went := (yield prune_batch(before=before, statuses=statuses, limit=batch, archive=archive)):
        removed += went
        progress(removed)
    swept = 0
    ends = Ends(before=before, keys_before=keys_before, changes_before=changes_before, undo=undo)
    while went := (yield sweep(**ends, limit=batch)):
        swept += went
    yield compact()
    return Pruned(removed=removed, swept=swept)


def prunable(*, before: datetime, statuses: Collection[Status], limit: int) -> Plan[Batch]:
    """The next batch of emails that finished before then, oldest first; skips any that are being worked on."""
    rows = yield ask(
        "prunable",
        younger=first_id_at(before, slack=-timedelta(minutes=10)),
        statuses=sorted(statuses),
        before=before,
        limit=limit,
    )
    return Batch(ids=tuple(EmailId(id) for id, _ in rows), statuses=tuple(Status(status) for _, status in rows))


def remove(batch: Batch) -> Plan[int]:
    """Remove a batch, counting what goes. What sensitive ones say goes at once, and not when attachments are swept."""
    removed = 0
    if batch.ids:
        yield from erase(batch.ids, anyway=True)
    for status in set(batch.statuses):
        ids = [id for id, was in zip(batch.ids, batch.statuses, strict=True) if was is status]
        removed += yield from forget(ids, was=status)
    return removed


def forget(ids: Sequence[EmailId], *, was: Status) -> Plan[int]:
    """Remove emails of one status with all that is theirs, except their keys; how many there were."""
    if not ids:
        return 0
    rows = yield ask("forget", ids=list(ids), events=True)
    yield ask("tally", changes=left(was, len(rows), to="pruned"))
    return len(rows)


def left(was: Status, count: int, *, to: str) -> list[dict[str, object]]:
    """The changes when emails leave the outbox: finished statuses are counted by tally, the others in place."""
    changes: list[dict[str, object]] = [{"name": to, "change": count}]
    if was in (Status.SENT, Status.CANCELLED):
        changes.append({"name": was.value, "change": -count})
    return changes


def prune_batch(
    *, before: datetime, statuses: Collection[Status], limit: int, archive: Archive | None = None
) -> Plan[int]:
    """Archive and remove one batch; how many went.

    What is archived is on disk before the removal commits: a crash in between leaves a second copy in the archive,
    never a gap.
    """
    batch = yield from prunable(before=before, statuses=statuses, limit=limit)
    if archive is not None and batch.ids:
        archive((yield from read_archive(batch.ids)))
    return (yield from remove(batch))


def read_archive(ids: Sequence[EmailId]) -> Plan[list[dict[str, Any]]]:
    """Everything about these emails: state, content and history. What sensitive ones say is in no archive."""
    rows = yield ask("archive", ids=list(ids))
    events = yield from histories(ids)
    fates = yield from fates_of(ids)
    found = []
    for row in rows:
        *_, text, html = row
        envelope = row[ENVELOPE]
        email = with_fates(stored(row, history=events.get(row[0], ())), fates.get(row[0], {}))
        if email.sensitive:
            found.append(as_archive(email, envelope=None, text=None, html=None, attachments={}))
            continue
        contents = yield from read_attachments(digests_in(envelope or ""))
        found.append(as_archive(email, envelope=envelope, text=text, html=html, attachments=contents))
    return found


def sweep(
    *, before: datetime, keys_before: datetime, changes_before: datetime, undo: timedelta, limit: int
) -> Plan[int]:
    """Remove what nobody needs any more: what sensitive emails said that are over, emails that were dismissed,
    attachments, events of emails long gone, keys, changes and what came back past their keep."""
    unused = yield ask("unused_attachments", limit=limit)
    attachments = yield ask("sweep_attachments", digests=[digest for (digest,) in unused])
    events = yield ask("sweep_events", before=before, limit=limit)
    keys = yield ask("sweep_keys", before=keys_before, limit=limit)
    changes = yield ask("sweep_changes", before=changes_before, limit=limit)
    erased = yield from sweep_erasable(limit=limit)
    dismissed = yield from sweep_dismissed(undo=undo, limit=limit)
    returns = yield from _sweep_returns(messages_before=changes_before, before=keys_before, limit=limit)
    return erased + dismissed + returns + len(attachments) + len(events) + len(keys) + len(changes)


def _sweep_returns(*, messages_before: datetime, before: datetime, limit: int) -> Plan[int]:
    """What came back goes in two steps: the messages soon, and that they were taken in when keys go, for it is by that
    that a message is known when it comes again."""
    messages = yield ask("sweep_return_messages", younger=first_id_at(messages_before), limit=limit)
    returns = yield ask("sweep_returns", younger=first_id_at(before), limit=limit)
    fates = yield ask("sweep_fates", limit=limit)
    return len(messages) + len(returns) + len(fates)


def compact() -> Plan[None]:
    """Sum up the tallies of past minutes. The sums stay the same; only the number of rows shrinks.

    Also have rows of the stream that came from another server, by a dump, stand before all that happened since.
    """
    [[mine]] = yield ask("try_compaction")
    if mine:
        yield ask("adopt_changes")
        yield ask("compact_tallies")
