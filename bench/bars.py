"""What has to be reached, and whether it was."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.draining import CPU
from bench.parts import (
    campaigns,
    desk,
    dispatch,
    distance,
    drain,
    enqueue,
    history,
    latency,
    memory,
    mime,
    recovery,
    regions,
    routes,
)
from bench.readings import Results

FASTEST_PEER = "the fastest peer"
_OWN_DRAINS = (
    drain.POSTGRES,
    drain.POSTGRES_TWO,
    drain.SQLITE,
    drain.SQLITE_TWO,
    history.WITH_HISTORY,
    history.WITHOUT,
    campaigns.BESIDE,
    campaigns.WITHOUT,
    routes.NINE_DOWN,
    routes.ONE_ROUTE,
    dispatch.BROKERED,
    dispatch.DIRECT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Ours beside theirs as a ratio of at least so much, or, with nothing beside it, at most so much."""

    what: str
    ours: str | tuple[str, ...]
    """Of several, the fastest counts, as it does among the peers."""
    theirs: str | None = None
    bar: float
    aim: float | None = None
    less_is_better: bool = False
    """Times: the ratio then says how many times shorter ours is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How one bar was met."""

    bar: Bar
    ours: str
    value: float
    unit: str
    beside: str | None
    raw: float | None
    ratio: float | None
    """The median over the rounds."""
    ratios: tuple[float, float] | None
    """The lowest and the highest of a round: where the bar lies between them, the run has not decided."""
    met: bool
    aim_met: bool | None

    @property
    def measured(self) -> float:
        """What the bar is about: the ratio, or the value where nothing is beside it."""
        return self.value if self.ratio is None else self.ratio

    @property
    def verdict(self) -> str:
        """Met or missed, and by how much."""
        distance_to_bar = self.measured / self.bar.bar - 1
        if self.met:
            reached = {True: ", aim met", False: ", aim missed", None: ""}[self.aim_met]
            return f"met{reached} ({distance_to_bar:+.0%})"
        return f"missed ({distance_to_bar:+.0%})"


BARS = (
    Bar(what="MIME, against EmailMessage", ours=mime.OURS, theirs=mime.THEIRS, bar=20, less_is_better=True),
    Bar(what="single enqueue, of two bare INSERTs", ours=enqueue.SINGLE, theirs=enqueue.SINGLE_BARE, bar=0.7),
    Bar(what="enqueue_many, of a bare COPY", ours=enqueue.MANY, theirs=enqueue.MANY_BARE, bar=0.5),
    Bar(what="drain, PostgreSQL, of the ceiling", ours=drain.POSTGRES, theirs=drain.CEILING, bar=0.5, aim=0.7),
    Bar(
        what="drain, PostgreSQL, against the fastest peer",
        ours=(drain.POSTGRES, drain.POSTGRES_TWO),
        theirs=FASTEST_PEER,
        bar=1.8,
        aim=2.5,
    ),
    Bar(
        what="drain, SQLite, against the fastest peer",
        ours=(drain.SQLITE, drain.SQLITE_TWO),
        theirs=FASTEST_PEER,
        bar=1.5,
    ),
    Bar(what="20 ms away, against aiosmtplib", ours=distance.WORKER, theirs=distance.THEIRS, bar=2.0, aim=3.5),
    Bar(
        what="drain beside finished emails, of one with none",
        ours=history.WITH_HISTORY,
        theirs=history.WITHOUT,
        bar=0.95,
    ),
    Bar(
        what="drain beside waiting mail of campaigns, of one without",
        ours=campaigns.BESIDE,
        theirs=campaigns.WITHOUT,
        bar=0.95,
    ),
    Bar(what="launch of a campaign, a thousand rows", ours=campaigns.ROWS, bar=100),
    Bar(what="launch of a campaign, memory", ours=campaigns.MEMORY, bar=200),
    Bar(
        what="drain with nine of ten routes down, of a drain with one route",
        ours=routes.NINE_DOWN,
        theirs=routes.ONE_ROUTE,
        bar=0.9,
    ),
    Bar(
        what="commit to accepted, PostgreSQL, against Procrastinate",
        ours=latency.median(latency.POSTGRES),
        theirs=latency.median(latency.PROCRASTINATE),
        bar=1.0,
        aim=2.0,
        less_is_better=True,
    ),
    Bar(what="commit to accepted, SQLite", ours=latency.median(latency.SQLITE), bar=30),
    Bar(what="drain through RabbitMQ, of the direct worker", ours=dispatch.BROKERED, theirs=dispatch.DIRECT, bar=0.6),
    Bar(what="drain through RabbitMQ, against Celery", ours=dispatch.BROKERED, theirs=dispatch.CELERY, bar=2.0),
    Bar(what="rate after a crash of the database, of before", ours=recovery.AFTER, theirs=recovery.BEFORE, bar=0.9),
    Bar(what="until that rate is back", ours=recovery.BACK, bar=10),
    Bar(
        what="rate of two regions after the database of a third was killed, of before",
        ours=regions.AFTER,
        theirs=regions.BEFORE,
        bar=0.95,
    ),
    Bar(what="worker's memory, backlog due", ours=memory.MEMORY, bar=150),
    Bar(what="urgent behind the backlog", ours=f"{memory.URGENT}, median", bar=200),
    Bar(what="slowest call of the desk at p95, PostgreSQL", ours=desk.worst(desk.POSTGRES), bar=300),
    Bar(what="slowest call of the desk at p95, SQLite", ours=desk.worst(desk.SQLITE), bar=300),
)


def judge(results: Results) -> list[Judgement]:
    """Every bar for which there are readings."""
    judged = [_judge(bar, results) for bar in BARS]
    return [each for each in judged if each is not None]


def is_drain(what: str) -> bool:
    return what.startswith("drain, ") and not what.endswith(CPU)


def fastest_peer(results: Results) -> str | None:
    return _fastest([what for what in results.series if is_drain(what) and what not in _OWN_DRAINS], results)


def _fastest(names: Sequence[str], results: Results) -> str | None:
    measured = [name for name in names if name in results.series]
    return max(measured, key=lambda name: results.series[name].median, default=None)


def _judge(bar: Bar, results: Results) -> Judgement | None:
    name = _fastest((bar.ours,) if isinstance(bar.ours, str) else bar.ours, results)
    beside = fastest_peer(results) if bar.theirs == FASTEST_PEER else bar.theirs
    if name is None or (bar.theirs is not None and beside not in results.series):
        return None
    ours = results.series[name]
    if beside is None:
        met = ours.median <= bar.bar
        return Judgement(
            bar=bar,
            ours=name,
            value=ours.median,
            unit=ours.unit,
            beside=None,
            raw=None,
            ratio=None,
            ratios=None,
            met=met,
            aim_met=None,
        )
    ratios = results.ratios(beside, name) if bar.less_is_better else results.ratios(name, beside)
    ratio = statistics.median(ratios)
    return Judgement(
        bar=bar,
        ours=name,
        value=ours.median,
        unit=ours.unit,
        beside=beside,
        raw=results.series[beside].median,
        ratio=ratio,
        ratios=(ratios[0], ratios[-1]),
        met=ratio >= bar.bar,
        aim_met=None if bar.aim is None else ratio >= bar.aim,
    )
