"""Drawings of campaigns as numbers for an SVG: the calendar of mail against what may leave, the week, the progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from postroom.admin.charts import round_up
from postroom.admin.wording import counted
from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import DAYS, SendingSettings
from postroom.campaigns.looking.pages import Progress

WIDTH = 720
HEIGHT = 160
ROOMY = 2
"""How many times the mails of the busiest day may leave on a day before the drawing goes by the mails alone."""
HEADROOM = 10
"""Above so many parts of the drawing at least one more is left free."""
LEAST = 2.0
"""The least height of a part that counts at least one mail."""
BEFORE, BEHIND = 21, 42
"""Days that are drawn of the past and of the future, where there are more."""
STANDINGS = ("sent", "waiting", "stopped", "dead")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One coloured piece of a bar."""

    kind: str
    start: float
    length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One day of the calendar."""

    day: date
    sent: int
    planned: int
    others: int
    """Mails of other campaigns, sent and planned."""
    allowed: int | None
    """None on a day without a window."""
    today: bool
    x: float
    width: float
    pieces: tuple[Piece, ...]
    ceiling: float | None
    """Where the line of what may leave is drawn; None where there is none, and where it is beyond the drawing."""
    beyond: bool
    """More may leave than there is room for in the drawing."""

    @property
    def mails(self) -> int:
        return self.sent + self.planned + self.others

    @property
    def label(self) -> str:
        told = [f"{counted(self.sent)} sent"] * bool(self.sent) + [f"{counted(self.planned)} planned"] * bool(
            self.planned
        )
        told += [f"{counted(self.others)} of other campaigns"] * bool(self.others)
        bound = f"{counted(self.allowed)} may leave" if self.allowed is not None else "closed"
        return f"{self.day:%a} {self.day.day} {self.day:%b}: {', '.join(told) or 'nothing'}; {bound}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is written beside a line."""

    words: str
    x: float
    y: float
    """Of the drawing, in percent."""
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Planned and sent mail by day against what may leave."""

    days: tuple[Day, ...]
    top: int
    sent: int
    planned: int
    cut: bool
    """There are more days than are drawn."""

    @property
    def beyond(self) -> int | None:
        """The most that may leave on a day, where that is more than is drawn."""
        return max((day.allowed for day in self.days if day.beyond and day.allowed), default=None)

    @property
    def bound(self) -> Label | None:
        """How many may leave, at the end of the line of that: the edge of the drawing is none; None without a line."""
        drawn = [(day, day.ceiling) for day in self.days if day.ceiling is not None]
        if not drawn:
            return None
        day, ceiling = drawn[-1]
        early = day.x < WIDTH / 2  # and behind it there is more room than before it
        return Label(
            words=f"{counted(day.allowed or 0)} may leave",
            x=round(100 * (day.x if early else day.x + day.width) / WIDTH, 2),
            y=round(100 * ceiling / HEIGHT, 2),
            anchor="start" if early else "end",
        )

    @property
    def shared(self) -> bool:
        """Whether other campaigns have mail on any day that is drawn."""
        return any(day.others for day in self.days)

    @property
    def first(self) -> date:
        return self.days[0].day

    @property
    def middle(self) -> date:
        return self.days[len(self.days) // 2].day

    @property
    def last(self) -> date:
        return self.days[-1].day

    @property
    def named(self) -> tuple[date, date, date]:
        """The days whose date stands beneath the drawing."""
        return self.first, self.middle, self.last

    @property
    def busy(self) -> tuple[Day, ...]:
        """Days with mail."""
        return tuple(day for day in self.days if day.sent or day.planned or day.others)

    @property
    def summary(self) -> str:
        """What is drawn, in words: each day with what may leave is in the table."""
        busiest = max(self.days, key=lambda day: day.mails)
        planned = f", {counted(self.planned)} planned" if self.planned else ""
        return (
            f"From {self.first.day} {self.first:%b} to {self.last.day} {self.last:%b %Y}: "
            f"{counted(self.sent)} sent{planned}. "
            f"The busiest day is {busiest.label} by quota and ramp-up. The table beneath tells each day."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a calendar is drawn of."""

    settings: SendingSettings
    today: date
    sent: Mapping[date, int]
    planned: Mapping[date, int]
    others: Mapping[date, int]
    accepted: frozenset[date]
    """Days on which the workspace's mail was accepted: what the ramp-up goes by."""


def calendar(facts: Facts) -> Calendar | None:
    """Draw it; None where there is no mail to be drawn."""
    with_mail = sorted({*facts.sent, *facts.planned})
    if not with_mail:
        return None
    first = max(with_mail[0], facts.today - timedelta(days=BEFORE))
    last = min(with_mail[-1], max(first, facts.today) + timedelta(days=BEHIND))
    first = min(first, last)
    shown = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    # A few days are not drawn as broad as the page.
    shown += [last + timedelta(days=number + 1) for number in range(7 - len(shown))]
    allowed = {day: _allowed(facts, day) for day in shown}
    top, width = _top(facts, allowed), WIDTH / len(shown)
    days = tuple(_day(facts, day, place * width, width, top, allowed[day]) for place, day in enumerate(shown))
    return Calendar(
        days=days,
        top=top,
        sent=sum(facts.sent.values()),
        planned=sum(facts.planned.values()),
        cut=with_mail[0] < first or with_mail[-1] > last,
    )


def still_planned(planned: Mapping[date, int], waiting: int) -> dict[date, int]:
    """What is left of a plan that was made a moment ago, of which so many mails still wait: the earliest have left."""
    gone = max(sum(planned.values()) - waiting, 0)
    left = {}
    for day, count in sorted(planned.items()):
        taken = min(gone, count)
        gone -= taken
        if count > taken:
            left[day] = count - taken
    return left


def _sum(facts: Facts, day: date) -> int:
    return sum(counts.get(day, 0) for counts in (facts.sent, facts.planned, facts.others))


def _top(facts: Facts, allowed: Mapping[date, int | None]) -> int:
    """The upper edge: above the mails, and above what may leave where that is not so much that it would flatten them.

    A bar at the edge would look like a day that is full.
    """
    mails = max(_sum(facts, day) for day in allowed)
    highest = max([mails, *(each for each in allowed.values() if each and each <= ROOMY * mails)])
    return round_up(highest + max(highest // HEADROOM, 1))


def _allowed(facts: Facts, day: date) -> int | None:
    """What may leave on a day: by the ramp-up, which goes by the days before it that had mail."""
    settings = facts.settings
    if day.weekday() not in settings.weekdays or day in settings.closed_dates:
        return None
    before = {each for each in facts.accepted if each < day}
    before |= {each for each in (*facts.planned, *facts.others) if facts.today <= each < day}
    return allowance(settings, 1 + len(before))


def _day(facts: Facts, day: date, x: float, width: float, top: int, allowed: int | None) -> Day:
    beyond = allowed is not None and allowed > top
    counts = {"sent": facts.sent.get(day, 0), "planned": facts.planned.get(day, 0), "others": facts.others.get(day, 0)}
    return Day(
        day=day,
        **counts,
        allowed=allowed,
        today=day == facts.today,
        x=round(x, 2),
        width=round(width, 2),
        pieces=tuple(_stacked(counts, top)),
        ceiling=None if allowed is None or beyond else round(HEIGHT - allowed / top * HEIGHT, 2),
        beyond=beyond,
    )


def _stacked(counts: Mapping[str, int], top: int) -> Iterator[Piece]:
    y = float(HEIGHT)
    for kind, count in counts.items():
        if count:
            height = max(count / top * HEIGHT, LEAST)
            y -= height
            yield Piece(kind=kind, start=round(max(y, 0.0), 2), length=round(height, 2))


def progress_pieces(progress: Progress) -> tuple[Piece, ...]:
    """A bar of 100: sent, waiting, stopped, dead."""
    pieces, start = [], 0.0
    for kind in STANDINGS:
        if count := getattr(progress, kind):
            length = 100 * count / progress.total
            pieces.append(Piece(kind=kind, start=round(start, 2), length=round(length, 2)))
            start += length
    return tuple(pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekDay:
    """One day of the drawn week."""

    name: str
    pieces: tuple[Piece, ...]
    """Open hours, of 24."""
    words: str


def week(settings: SendingSettings) -> tuple[WeekDay, ...]:
    """The hours that are open on each day; what is open over midnight goes on the next day."""
    return tuple(_week_day(settings, number) for number in range(7))


def _week_day(settings: SendingSettings, number: int) -> WeekDay:
    opens, closes = settings.start_hour, settings.last_hour
    pieces = []
    if closes > 24 and (number - 1) % 7 in settings.weekdays:
        pieces.append(Piece(kind="after", start=0, length=closes - 24))
    if number in settings.weekdays:
        pieces.append(Piece(kind="open", start=opens, length=min(closes, 24) - opens))
    return WeekDay(name=DAYS[number].capitalize(), pieces=tuple(pieces), words=_hours(pieces))


def _hours(pieces: Sequence[Piece]) -> str:
    told = [f"{int(each.start):02}:00–{int(each.start + each.length):02}:00" for each in pieces]
    return " and ".join(told) or "closed"
