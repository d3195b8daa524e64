"""What becomes of a dead worker's emails: as its journal says, and where there is none, as exactly as anybody knows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from postroom import EmailId, Outbox, Status
from postroom.store import claims
from postroom.store.contract import Claim, Claimed, Settlement
from postroom.store.open import open_async_database
from postroom.vocabulary import LeaseToken
from postroom.work.journal import Journal
from postroom.work.recovery import Recovery
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url
from tests.store.journey import Clock, claim, enqueue, note_dots, settle

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]

LEASE = timedelta(seconds=30)


class Scene:
    """An outbox, one email, and a worker about to die over it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.clock = Clock()
        self.outbox = Outbox(url, clock=self.clock)
        self.folder = folder
        self.journal = Journal(folder, "dead worker")
        self._url = url

    def claimed(self, **wishes: str) -> Claimed:
        enqueue(self.outbox, **wishes)
        [claimed] = claim(self.outbox, worker="dead worker", lease=LEASE)
        return claimed

    async def sweep(self, *, journals: Path | None = None) -> int:
        """Another worker looks around."""
        database = open_async_database(self._url, clock=self.clock)
        recovery = Recovery(database, worker="heir", lease=LEASE, journals=journals or self.folder)
        try:
            return await recovery.sweep(keep_sent=True)
        finally:
            await database.close()

    def status(self, id: EmailId) -> tuple[Status, int, int]:
        """Status, doubts, take-overs."""
        email = self.outbox.get(id)
        return email.status, email.doubts, email.takeovers


@pytest.fixture
def scene(store_url: str, tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(store_url, tmp_path / "journals")
    yield scene
    scene.outbox.close()


def leave_behind(scene: Scene) -> None:
    """The worker dies: the lock is gone, the files stay."""
    scene.journal.note_dot(Claim(id=EmailId("another-email"), token=LeaseToken(1)))  # a journal in use is not removed
    scene.journal.close()


def accepted(claimed: Claimed) -> Settlement:
    return Settlement(claim=claimed.claim, status=Status.SENT, attempts=1, reply_code=250)


async def test_the_emails_of_the_living_are_left_alone(scene: Scene) -> None:
    claimed = scene.claimed()

    assert await scene.sweep() == 0
    assert scene.status(claimed.id) == (Status.SENDING, 0, 0)


async def test_a_dead_workers_emails_are_taken_over_before_the_lease_ends(scene: Scene) -> None:
    claimed = scene.claimed()
    scene.journal.note_dot(claimed.claim)
    scene.journal.note_undone(claimed.claim)
    leave_behind(scene)

    assert await scene.sweep() == 1
    assert scene.status(claimed.id) == (Status.PENDING, 0, 1)


async def test_an_accepted_email_is_settled_as_sent(scene: Scene) -> None:
    claimed = scene.claimed()
    scene.journal.note_dot(claimed.claim)
    scene.journal.note_reply(accepted(claimed))
    leave_behind(scene)
    await scene.sweep()

    assert scene.status(claimed.id) == (Status.SENT, 0, 0)


async def test_a_dot_without_a_reply_is_in_doubt_and_counted(scene: Scene) -> None:
    claimed = scene.claimed()
    scene.journal.note_dot(claimed.claim)
    leave_behind(scene)
    await scene.sweep()

    assert scene.status(claimed.id) == (Status.IN_DOUBT, 1, 1)
    assert scene.outbox.get(claimed.id).attempts == 1
    assert scene.outbox.get(claimed.id).next_attempt_at is not None


async def test_a_held_dot_without_a_reply_waits_for_a_person(scene: Scene) -> None:
    claimed = scene.claimed(on_doubt="hold")
    scene.journal.note_dot(claimed.claim)
    leave_behind(scene)
    await scene.sweep()

    assert scene.status(claimed.id) == (Status.IN_DOUBT, 1, 1)
    assert scene.outbox.get(claimed.id).next_attempt_at is None


@pytest.mark.parametrize(
    ("on_doubt", "noted", "expected"),
    [
        ("resend", False, (Status.IN_DOUBT, 1, 1)),
        ("hold", False, (Status.PENDING, 0, 1)),
        ("hold", True, (Status.IN_DOUBT, 1, 1)),
    ],
)
async def test_without_a_journal_only_the_database_can_tell(
    scene: Scene, tmp_path: Path, on_doubt: str, noted: bool, expected: tuple[Status, int, int]
) -> None:
    claimed = scene.claimed(on_doubt=on_doubt)
    if noted:
        note_dots(scene.outbox, [claimed.claim])
    scene.clock.advance(seconds=31)
    await scene.sweep(journals=tmp_path / "elsewhere")

    assert scene.status(claimed.id) == expected


async def test_a_lease_that_ran_out_is_judged_by_the_journal_of_a_worker_that_lives(scene: Scene) -> None:
    """Stopped for too long, or cut off from the database: its journal can be read all the same."""
    claimed = scene.claimed()
    scene.journal.note_dot(claimed.claim)
    scene.clock.advance(seconds=31)
    await scene.sweep()

    assert scene.status(claimed.id) == (Status.IN_DOUBT, 1, 1)


async def test_a_journal_found_later_lifts_a_doubt(scene: Scene, tmp_path: Path) -> None:
    claimed = scene.claimed(on_doubt="hold")
    note_dots(scene.outbox, [claimed.claim])
    scene.journal.note_dot(claimed.claim)
    scene.journal.note_reply(accepted(claimed))
    leave_behind(scene)
    scene.clock.advance(seconds=31)
    await scene.sweep(journals=tmp_path / "elsewhere")
    assert scene.outbox.get(claimed.id).status is Status.IN_DOUBT
    await scene.sweep()

    assert scene.outbox.get(claimed.id).status is Status.SENT


async def test_an_old_journal_says_nothing_about_a_newer_claim(scene: Scene) -> None:
    claimed = scene.claimed()
    scene.journal.note_dot(claimed.claim)
    scene.outbox.database.run(claims.release([claimed.claim]))
    [again] = claim(scene.outbox, worker="dead worker", lease=LEASE)
    leave_behind(scene)
    await scene.sweep()

    assert again.claim.token == claimed.claim.token + 1
    assert scene.status(claimed.id) == (Status.PENDING, 0, 1)


async def test_an_email_that_kills_every_worker_comes_to_an_end(scene: Scene, tmp_path: Path) -> None:
    claimed = scene.claimed(policy="quick")
    for _ in range(5):
        scene.clock.advance(seconds=31)
        await scene.sweep(journals=scene.folder)
        claim(scene.outbox, worker="dead worker", lease=LEASE)

    assert scene.outbox.get(claimed.id).status is Status.DEAD


async def test_a_journal_is_kept_until_every_lease_of_its_worker_is_over(scene: Scene) -> None:
    claimed = scene.claimed()
    scene.journal.note_dot(claimed.claim)
    leave_behind(scene)
    await scene.sweep()

    assert list(scene.folder.glob("*.journal"))


async def test_the_heir_of_a_settled_email_changes_nothing(scene: Scene) -> None:
    claimed = scene.claimed()
    scene.journal.note_dot(claimed.claim)
    scene.journal.note_reply(accepted(claimed))
    settle(scene.outbox, [accepted(claimed)])
    leave_behind(scene)

    assert await scene.sweep() == 0
    assert scene.status(claimed.id) == (Status.SENT, 0, 0)
