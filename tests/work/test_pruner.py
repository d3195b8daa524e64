"""Old data leaves by itself: what a worker removes when its time is up, and what it leaves alone (B7)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from postroom import Status
from postroom.config import load
from postroom.errors import ConfigurationError
from postroom.store.dismissals import dismissed
from postroom.store.housekeeping import Keep
from postroom.vocabulary import EmailId
from postroom.work.pruner import BATCH, Pruning
from postroom.work.thread import worker_settings
from tests.work.office import Office, until

DAY = timedelta(days=1)
AT_ONCE = Keep(emails=timedelta(0), keys=90 * DAY, undo=DAY)
A_DAY = Keep(emails=DAY, keys=90 * DAY, undo=DAY)


async def sent_and_cancelled(office: Office, count: int) -> tuple[list[EmailId], EmailId]:
    """So many emails that were sent, and one that was cancelled."""
    [cancelled] = office.enqueue()
    office.outbox.cancel(cancelled)
    sent = office.enqueue(count)
    await office.work_until_idle()
    assert office.statuses(sent) == {Status.SENT}
    return sent, cancelled


async def test_a_worker_removes_what_is_past_retention_and_nothing_else(office: Office) -> None:
    """More than one batch, so that it goes on after the first."""
    _, cancelled = await sent_and_cancelled(office, BATCH + 1)

    async with office.working(pruning=Pruning(statuses=(Status.SENT,), keep=AT_ONCE)):
        await until(lambda: office.outbox.counts()["pruned"] == BATCH + 1)

    assert [each.id for each in office.outbox.list().emails] == [cancelled]
    assert office.outbox.conservation().holds


async def test_what_is_within_retention_stays_and_new_mail_leaves_meanwhile(office: Office) -> None:
    sent, _ = await sent_and_cancelled(office, 1)

    async with office.working(pruning=Pruning(statuses=(Status.SENT, Status.CANCELLED), keep=A_DAY)):
        [new] = office.enqueue()
        await until(lambda: office.get(new).status is Status.SENT)

    assert office.get(sent[0]).status is Status.SENT
    assert office.outbox.counts()["pruned"] == 0


async def test_a_worker_removes_what_was_dismissed_once_that_can_be_undone_no_more(office: Office) -> None:
    """Whatever else it prunes or not."""
    office.server.script(at="rcpt", reply="550 5.1.1 no such user")
    ids = office.enqueue(2)
    await office.work_until_idle()
    for id in ids:
        office.outbox.dismiss(id)
    async with office.working(undo=timedelta(0)):
        await until(lambda: not office.outbox.database.run(dismissed(undo=DAY, limit=10)))

    assert office.outbox.counts()["dismissed"] == 2
    assert office.outbox.conservation().holds


def test_how_long_a_dismissal_can_be_undone_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert worker_settings(load()).undo == DAY
    monkeypatch.setenv("POSTROOM_UNDO", "2h")
    assert worker_settings(load()).undo == timedelta(hours=2)


def test_workers_prune_sent_emails_once_somebody_has_said_for_how_long_they_are_kept() -> None:
    assert worker_settings(load()).pruning is None
    assert worker_settings(load(retention="7d")).pruning == Pruning(
        statuses=(Status.SENT,), keep=Keep(emails=7 * DAY, keys=90 * DAY, undo=DAY)
    )


@pytest.mark.parametrize(
    ("said", "statuses"),
    [("off", ()), ("sent", ("sent",)), ("sent, cancelled,dead", ("sent", "cancelled", "dead"))],
)
def test_what_workers_prune_is_a_setting(said: str, statuses: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_RETENTION", "7d")
    monkeypatch.setenv("POSTROOM_PRUNE", said)

    assert load().pruned() == statuses


def test_what_is_not_finished_cannot_be_pruned_by_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_PRUNE", "pending")

    with pytest.raises(ConfigurationError, match="'sent', 'cancelled' or 'dead'"):
        load()
