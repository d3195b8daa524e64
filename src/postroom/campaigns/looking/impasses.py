"""What keeps a workspace, or some of its senders, from ever sending: by what is stored of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from postroom.campaigns.arithmetic.impasse import Impasse, impasse
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import local_date, window_day_at
from postroom.campaigns.books.counting import NOTHING, WORKSPACE, Count, counts_on, impasse_of_sender
from postroom.campaigns.drafts.workspace import workspace_settings
from postroom.campaigns.values import Sender
from postroom.store.plan import Plan


def impasses_of(workspace: str, senders: Iterable[Sender], *, now: datetime) -> Plan[tuple[Impasse, ...]]:
    """That of the whole workspace, if there is one; else those of these senders."""
    settings = (yield from workspace_settings(workspace)).sending
    counts = yield from present_counts(workspace, settings, now=now)
    return tuple(impasses(settings, senders, counts, now=now))


def present_counts(workspace: str, settings: SendingSettings, *, now: datetime) -> Plan[Mapping[str, Count]]:
    """How workspace and senders stand on the present day, also where its window is not open."""
    return (yield from counts_on(workspace, window_day_at(settings, now) or local_date(settings, now)))


def impasses(
    settings: SendingSettings, senders: Iterable[Sender], counts: Mapping[str, Count], *, now: datetime
) -> Iterator[Impasse]:
    """The same of what was read already."""
    whole = counts.get(WORKSPACE, NOTHING)
    found = impasse(settings, now=now, sent_days=whole.sent_days, used=whole.used)
    if found is not None:
        yield found
        return
    for sender in senders:
        found = impasse_of_sender(settings, sender, now=now, count=counts.get(sender.id, NOTHING))
        if found is not None:
            yield found
