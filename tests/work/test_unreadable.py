"""A row that a worker cannot read is that row's end, told in words, and nobody else's."""

from __future__ import annotations

import pytest

from postroom import DeadReason, EmailId, Status
from tests.store.damage import damage
from tests.work.office import PATIENCE, Office, wait_until

UNBUILDABLE = ["content", "envelope", "envelope of another shape", "outcomes", "policy"]


def fate(office: Office, id: EmailId) -> tuple[Status, DeadReason | None]:
    email = office.get(id)
    return email.status, email.dead_reason


@pytest.mark.parametrize("what", UNBUILDABLE)
def test_an_email_that_cannot_be_read_ends_dead_and_the_others_are_sent(office: Office, what: str) -> None:
    first, bad, last = office.enqueue(3)
    damage(office.outbox, bad, what)
    worker = office.start_worker("--until-idle")

    assert worker.wait(PATIENCE) == 0, office.logs()
    assert fate(office, bad) == (Status.DEAD, DeadReason.INVALID)
    assert [office.copies(id) for id in (first, last)] == [1, 1]
    assert len(office.server.messages) == 2
    assert office.outbox.conservation().holds


def test_the_last_error_of_an_email_without_content_says_so(office: Office) -> None:
    [bad] = office.enqueue(1)
    damage(office.outbox, bad, "content")
    worker = office.start_worker("--until-idle")

    assert worker.wait(PATIENCE) == 0, office.logs()
    assert "its content is gone" in (office.get(bad).last_error or "")


def test_an_email_whose_content_went_while_its_owner_died_ends_dead(office: Office) -> None:
    """Taken over it is no more readable than claimed; it is not `sending` for good."""
    [bad] = office.enqueue(1)
    dying = office.start_worker(POSTROOM_FAILPOINT="claimed:1", lease="1s")
    wait_until(lambda: dying.poll() is not None)
    held = office.get(bad).status
    damage(office.outbox, bad, "content")
    worker = office.start_worker("--until-idle", lease="1s")

    assert worker.wait(PATIENCE) == 0, office.logs()
    assert held is Status.SENDING
    assert fate(office, bad) == (Status.DEAD, DeadReason.INVALID)
    assert "its content is gone" in (office.get(bad).last_error or "")


def test_an_email_with_a_word_of_a_newer_version_is_sent(office: Office) -> None:
    ids = office.enqueue(2)
    damage(office.outbox, ids[0], "on_doubt")
    worker = office.start_worker("--until-idle")

    assert worker.wait(PATIENCE) == 0, office.logs()
    assert [office.copies(id) for id in ids] == [1, 1]
