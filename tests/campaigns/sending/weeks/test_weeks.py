"""Whatever happens, the server's log obeys the rules."""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.campaigns.sending.stage import Stage
from tests.campaigns.sending.weeks import Weeks

SEEDS = range(int(os.environ.get("POSTROOM_TEST_WEEKS", "3")))
"""`POSTROOM_TEST_WEEKS=200` tries more."""


@pytest.mark.parametrize("seed", SEEDS)
def test_weeks_of_trouble_break_no_rule(stage: Stage, seed: int) -> None:
    weeks = Weeks(stage, Random(seed))
    weeks.begin()
    weeks.live(250)

    assert len(weeks.accepted) > 5, "nothing was tried"
    weeks.check()
