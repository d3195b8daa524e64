"""Every story that two workers can have with one email: see `model.py`."""

from __future__ import annotations

import pytest

from tests.work.model import Rules, explore


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("journal_in_reach", [True, False])
def test_no_story_breaks_the_promise(hold: bool, journal_in_reach: bool) -> None:
    assert explore(Rules(hold=hold, journal_in_reach=journal_in_reach)) is None


@pytest.mark.parametrize("hold", [False, True])
def test_without_fencing_a_worker_that_lost_its_claim_does_harm(hold: bool) -> None:
    story = explore(Rules(hold=hold, fencing=False))

    assert story is not None
    assert "the lease runs out" in story


@pytest.mark.parametrize("hold", [False, True])
def test_without_the_lease_check_a_worker_that_was_stopped_sends_a_second_copy(hold: bool) -> None:
    story = explore(Rules(hold=hold, lease_check=False))

    assert story is not None
    assert "the lease runs out" in story


@pytest.mark.parametrize("hold", [False, True])
def test_with_the_check_before_the_note_a_worker_stopped_in_between_sends_a_second_copy(hold: bool) -> None:
    story = explore(Rules(hold=hold, note_before_check=False))

    assert story is not None
    assert "the lease runs out" in story


def test_a_take_over_in_two_transactions_forgets_the_doubt_when_its_worker_dies_in_between() -> None:
    story = explore(Rules(one_transaction=False))

    assert story is not None
    assert any("dies" in step for step in story)
