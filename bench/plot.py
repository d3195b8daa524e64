"""The picture: drains side by side, and how far each bar was cleared."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.bars import Judgement, is_drain
from bench.parts import drain
from bench.readings import Results

OURS, CEILINGS, PEERS, MISSED = "#1f6f5c", "#c9c9c9", "#8aa5c0", "#b5482f"
_LEFT_OUT = "finished emails", "with none", "beside it"


def draw(path: Path, results: Results, judgements: list[Judgement]) -> None:
    """Write the picture; the same results give the same file."""
    drains = {what: series.median for what, series in results.series.items() if _is_drain(what)}
    panels = [panel for panel in (drains, judgements) if panel]
    if not panels:
        return
    with mpl.rc_context({"svg.hashsalt": "postroom", "font.size": 9, "svg.fonttype": "none"}):
        figure = Figure(figsize=(11, 0.5 + 0.36 * sum(map(len, panels)) + 0.9 * len(panels)), layout="constrained")
        heights = [len(panel) + 2 for panel in panels]
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        remaining = iter(axes)
        if drains:
            _draw_drains(next(remaining), drains)
        if judgements:
            _draw_bars(next(remaining), judgements)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _is_drain(what: str) -> bool:
    named = is_drain(what) or what in (drain.CEILING, drain.BARE_CEILING)
    return named and not any(word in what for word in _LEFT_OUT)


def _draw_drains(axes: Axes, drains: dict[str, float]) -> None:
    ordered = sorted(drains.items(), key=lambda item: item[1])
    labels = [what.removeprefix("drain, ").partition(":")[0] for what, _ in ordered]
    values = [rate for _, rate in ordered]
    axes.barh(labels, values, color=[_colour(what) for what, _ in ordered])
    for place, value in enumerate(values):
        axes.text(value, place, f" {value:,.0f}", va="center")
    axes.set_title("Drain, emails per second (more is better)", loc="left")
    _tidy(axes)


def _colour(what: str) -> str:
    if "Postroom" in what:
        return OURS
    return CEILINGS if "ceiling" in what else PEERS


def _draw_bars(axes: Axes, judgements: list[Judgement]) -> None:
    """Every bar on one scale: 1 is the bar itself, right of it is better."""
    ordered = list(reversed(judgements))
    cleared = [
        each.measured / each.bar.bar if each.ratio is not None else each.bar.bar / each.value for each in ordered
    ]
    colours = [OURS if each.met else MISSED for each in ordered]
    axes.barh([each.bar.what for each in ordered], cleared, color=colours)
    for place, (times, each) in enumerate(zip(cleared, ordered, strict=True)):
        found = f"{each.measured:.3g}" + (f" {each.unit}" if each.ratio is None else "×")
        axes.text(times, place, f" {found}", va="center")
    axes.axvline(1, color="black", linewidth=1, zorder=0)
    axes.set_title("Bars: 1 is what has to be reached, right of it is better", loc="left")
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12)
