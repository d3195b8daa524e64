"""The drawings on the page about campaigns, made by the arithmetic that they explain.

`python -m tests.documentation.drawings` writes them; a test holds what is there against what would be written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from xml.sax.saxutils import escape
from zoneinfo import ZoneInfo

from postroom.campaigns import Planned, RampUp, SendingSettings, plan, window, window_day_at

FOLDER = Path(__file__).parents[2] / "docs" / "explanation"
BERLIN = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)

_STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1d2733; }
.quiet { fill: #5b6875; font-size: 12px; }
.line { stroke: #c4ccd4; }
.open { fill: #2f6fb3; }
.day { fill: #2f6fb3; }
.paper { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e9ee; }
  .quiet { fill: #a3afba; }
  .line { stroke: #46525e; }
  .open, .day { fill: #6fa8e0; }
  .paper { fill: #14191f; }
}
"""


def drawn(title: str, width: int, height: int, shapes: Iterator[str]) -> str:
    """A picture that says in words what it shows."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{width}" height="{height}"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


# ---------------------------------------------------------------- a window over two changes of the clock

NIGHT = SendingSettings(sending_days=("sat", "sun"), start_hour=2, end_hour=4, timezone="Europe/Berlin")
DAYS = (
    (date(2026, 3, 28), "as on any night"),
    (date(2026, 3, 29), "02:00 is missing: it opens at the change"),
    (date(2026, 10, 25), "02:00 comes twice: it is open both times"),
)
LEFT, SCALE, ROW = 150, 120, 84


def window_drawing() -> str:
    title = "A window of 2 to 4 o'clock in Berlin, on a usual night, in March and in October"
    return drawn(title, LEFT + 4 * SCALE + 40, 3 * ROW + 20, _nights())


def _nights() -> Iterator[str]:
    for row, (day, told) in enumerate(DAYS):
        top = 20 + row * ROW
        opened = window(NIGHT, day)
        assert opened is not None
        # From 1 o'clock on the wall, hour by hour as time passes, until 4 o'clock is shown.
        begin = datetime(day.year, day.month, day.day, 1, tzinfo=BERLIN).astimezone(UTC)
        hours = 0
        while (begin + hours * HOUR).astimezone(BERLIN).hour < 4:
            hours += 1
        yield _text(8, top + 30, f"{day:%a} {day.day} {day:%b %Y}")
        x, width = (LEFT + SCALE * ((opened[end] - begin) / HOUR) for end in (0, 1))
        yield f'<rect class="open" x="{x:g}" y="{top + 16}" width="{width - x:g}" height="20" rx="3"/>'
        for hour in range(hours + 1):
            x = LEFT + hour * SCALE
            shown = (begin + hour * HOUR).astimezone(BERLIN)
            yield f'<line class="line" x1="{x:g}" y1="{top + 10}" x2="{x:g}" y2="{top + 42}"/>'
            yield _text(x, top + 4, f"{shown:%H:%M}", "quiet", "middle")
        yield _text(LEFT, top + 58, f"{told} ({(opened[1] - opened[0]) / HOUR:g} h)", "quiet")


# ---------------------------------------------------------------- a ramp-up

RAMP = SendingSettings(
    sending_days=("mon", "tue", "wed", "thu", "fri"), start_hour=9, end_hour=17, timezone="Europe/Berlin",
    daily_quota=50, ramp_up=RampUp(schedule=(20, 30, 40)), holidays=(date(2026, 3, 31),), gap_seconds=(30, 90),
)  # fmt: skip
THURSDAY = date(2026, 3, 26)
BAR, TALL = 76, 3


def ramp_drawing() -> str:
    title = "A ramp-up of 20, 30 and 40 mails over a weekend and a holiday, then the quota of 50"
    return drawn(title, 60 + 8 * BAR, 50 * TALL + 90, _days())


def _days() -> Iterator[str]:
    begin = datetime(THURSDAY.year, THURSDAY.month, THURSDAY.day, tzinfo=UTC)
    planned = Planned(id="spring", prospects=map(str, range(230)), delay_days=(0,))
    sent = Counter(window_day_at(RAMP, slot.at) for slot in plan(RAMP, [planned], now=begin, random=Random(7)))
    floor, ramp_day = 50 * TALL + 24, 0
    for mails in (0, 20, 30, 40, 50):
        y = floor - mails * TALL
        yield f'<line class="line" x1="44" y1="{y}" x2="{50 + 8 * BAR}" y2="{y}"/>'
        yield _text(38, y + 4, str(mails), "quiet", "end")
    for place in range(8):
        day = THURSDAY + timedelta(days=place)
        count, middle = sent[day], 50 + place * BAR + BAR / 2
        if count:
            ramp_day += 1
            y = floor - count * TALL
            yield f'<rect class="day" x="{middle - 24:g}" y="{y}" width="48" height="{count * TALL}" rx="2"/>'
        yield _text(middle, floor + 20, f"{day:%a} {day.day}", "", "middle")
        closed = "holiday" if day in RAMP.closed_dates else "weekend"
        yield _text(middle, floor + 38, f"day {ramp_day}" if count else closed, "quiet", "middle")
        yield _text(middle, floor + 54, f"{count} mails" if count else "", "quiet", "middle")


DRAWINGS = {"campaign-window.svg": window_drawing, "campaign-ramp-up.svg": ramp_drawing}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (FOLDER / name).write_text(draw(), "utf-8")
