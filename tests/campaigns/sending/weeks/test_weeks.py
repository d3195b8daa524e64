"""Whatever happens, the log of the mail server obeys the rules; for every seed that anybody tries."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.campaigns.sending.weeks.judge import violations
from tests.campaigns.sending.weeks.story import weeks

SEEDS = range(int(os.environ.get("POSTROOM_TEST_WEEKS", "1")))
"""`POSTROOM_TEST_WEEKS=200` tries more."""


@pytest.mark.parametrize("seed", SEEDS)
def test_weeks_of_trouble_break_no_rule(store_url: str, tmp_path: Path, seed: int) -> None:
    """P1 to P9 and P11 to P14; in the end whatever can leave has left, and the books add up."""
    with weeks(store_url, tmp_path, seed) as story:
        story.live(25)

        assert violations(story.seen()) == []
        assert story.people.still_open() == []
        assert story.people.discrepancies() == []
    assert len(story.log.arrivals) > 8, "nothing was tried"
