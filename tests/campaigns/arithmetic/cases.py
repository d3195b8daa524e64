"""Plans of every kind: settings, campaigns and a moment to begin, on any clock and often while it changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from random import Random

from hypothesis import strategies as st

from postroom.campaigns import Planned, RampUp, SendingSettings, Slot, plan, window_day_at
from postroom.campaigns.arithmetic.settings import DAYS
from postroom.campaigns.arithmetic.window import local_date
from tests.campaigns.arithmetic.clocks import days, zones

GAPS = [(0, 0), (0, 90), (30, 90), (30, 30), (600, 4000), (3600, 40_000), (50_000, 86_400)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The arguments of a plan, to be given as often as wanted."""

    settings: SendingSettings
    prospects: tuple[int, ...]
    """How many each campaign has."""
    delays: tuple[tuple[int, ...], ...]
    now: datetime
    used_today: int
    sent_days: int
    last: datetime | None
    seed: int

    @property
    def present(self) -> date:
        """The window day of now, or its date."""
        return window_day_at(self.settings, self.now) or local_date(self.settings, self.now)

    def campaigns(self) -> Iterator[Planned]:
        for number, (prospects, delays) in enumerate(zip(self.prospects, self.delays, strict=True)):
            names = (f"p{each}" for each in range(prospects))
            yield Planned(id=f"c{number}", prospects=names, delay_days=delays)

    def slots(self) -> list[Slot]:
        return [
            *plan(
                self.settings,
                self.campaigns(),
                now=self.now,
                used={self.present: self.used_today},
                sent_days=self.sent_days,
                last=self.last,
                random=Random(self.seed),
            )
        ]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    zone = draw(zones)
    start, end = draw(st.tuples(st.integers(0, 23), st.integers(0, 24)).filter(lambda pair: pair[0] != pair[1]))
    day = draw(days(zone))
    settings = SendingSettings(
        sending_days=tuple(draw(st.sets(st.sampled_from(DAYS), min_size=1))),
        start_hour=start,
        end_hour=end,
        timezone=zone,
        daily_quota=draw(st.integers(1, 12)),
        ramp_up=draw(st.none() | st.builds(RampUp, schedule=st.lists(st.integers(1, 8), min_size=1, max_size=4))),
        holidays=tuple(day + timedelta(days=each) for each in draw(st.sets(st.integers(-2, 20), max_size=4))),
        gap_seconds=draw(st.sampled_from(GAPS)),
    )
    now = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(seconds=draw(st.integers(-86_400, 86_400)))
    last = draw(st.none() | st.integers(0, 200_000).map(lambda seconds: now - timedelta(seconds=seconds)))
    delays = draw(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple), max_size=3))
    return Case(
        settings=settings,
        prospects=tuple(draw(st.integers(0, 9)) for _ in delays),
        delays=tuple(delays),
        now=now,
        used_today=draw(st.integers(0, 5)) if last else 0,
        sent_days=draw(st.integers(0, 5)),
        last=last,
        seed=draw(st.integers(0, 1000)),
    )
