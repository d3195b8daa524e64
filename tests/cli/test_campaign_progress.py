"""How far a check or a launch has come."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from postroom.cli import campaign_progress
from postroom.cli.campaign_progress import stages
from postroom.vocabulary import LaunchStage


@pytest.mark.parametrize("looked_at", [True, False])
def test_each_stage_has_a_bar_where_somebody_looks(monkeypatch: pytest.MonkeyPatch, looked_at: bool) -> None:
    shown = StringIO()
    console = Console(file=shown, force_terminal=looked_at, width=80)
    monkeypatch.setattr(campaign_progress, "standard_error", lambda: console)
    with stages(40) as tell:
        for stage in LaunchStage:
            tell(stage, 20)
            tell(stage, 10)

    bars = ["checking", "launching", "planning", "30/40", "30/?"]
    assert [each for each in bars if each in shown.getvalue()] == (bars if looked_at else [])
