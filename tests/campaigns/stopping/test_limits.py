"""When a campaign pauses itself, as a decision."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.campaigns.stopping.limits import Tally, limit_exceeded
from postroom.campaigns.values import WorkspaceSettings


@pytest.mark.parametrize(
    ("tally", "told"),
    [
        (Tally(sent=200, bounced=12), "12 of 200 bounced, the limit is 5 %"),
        (Tally(sent=200, bounced=10), "10 of 200 bounced, the limit is 5 %"),
        (Tally(sent=200, bounced=9), None),
        (Tally(sent=99, bounced=99), None),
        (Tally(sent=1_000, complained=3), "3 of 1,000 complained, the limit is 0.3 %"),
        (Tally(sent=1_001, complained=3), None),
        (Tally(sent=1_000, bounced=50, complained=3), "50 of 1,000 bounced, the limit is 5 %"),
        (Tally(sent=1_000_000), None),
    ],
)
def test_the_share_at_which_it_pauses(tally: Tally, told: str | None) -> None:
    assert limit_exceeded(tally, WorkspaceSettings()) == told


def test_a_limit_that_is_switched_off_is_none() -> None:
    settings = WorkspaceSettings(bounce_limit=None, complaint_limit=None)

    assert limit_exceeded(Tally(sent=100, bounced=100, complained=100), settings) is None


@given(percent=st.integers(1, 100), hundreds=st.integers(1, 50))
def test_a_share_is_exact(percent: int, hundreds: int) -> None:
    """Nothing is lost to the way in which machines write 0.29."""
    settings, sent = WorkspaceSettings(bounce_limit=percent / 100), 100 * hundreds

    assert limit_exceeded(Tally(sent=sent, bounced=percent * hundreds), settings)
    assert not limit_exceeded(Tally(sent=sent, bounced=percent * hundreds - 1), settings)
