"""The dashboard: the house with its charts and its failures, all asked in one transaction."""

from __future__ import annotations

from datetime import datetime

from postroom.operate.causes import grouped
from postroom.operate.charts import HOUR, MINUTE, floor, series
from postroom.operate.house import state_of_house
from postroom.operate.values import Dashboard, Series, Workspaces
from postroom.operate.ways_out import Declared
from postroom.store.overview import failures, tallies_by_hour
from postroom.store.plan import Plan
from postroom.store.questions import tallies_since
from postroom.vocabulary import Status

FAILURES = 5_000
"""Dead emails that causes are told from, the newest ones."""


def dashboard(declared: Declared, *, workspaces: Workspaces = None) -> Plan[Dashboard]:
    """The state of the house, as far as somebody may see it."""
    state = yield from state_of_house(declared, workspaces=workspaces)
    last_hour, last_day = (yield from _charts(state["at"])) if workspaces is None else (None, None)
    causes = yield from failures(at_most=FAILURES, workspaces=None if workspaces is None else sorted(workspaces))
    return Dashboard(
        **state,
        last_hour=last_hour,
        last_day=last_day,
        failures=grouped(causes),
        failures_capped=state["counts_capped"][Status.DEAD] or state["counts"][Status.DEAD] > FAILURES,
    )


def _charts(now: datetime) -> Plan[tuple[Series, Series]]:
    minutes = yield from tallies_since(floor(now, MINUTE) - HOUR)
    hours = yield from tallies_by_hour(floor(now, HOUR) - 24 * HOUR)
    return (
        series(minutes, now=now, step=MINUTE, steps=60),
        series(hours, now=now, step=HOUR, steps=24),
    )
