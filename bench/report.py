"""What was found, for people (tables), for programs (JSON) and for the documentation (Markdown)."""

from __future__ import annotations

import json
import platform
import re
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from bench.bars import Judgement
from bench.readings import Results, Series
from bench.world import Scale

_BEGIN, _END = "<!-- begin: written by make bench -->", "<!-- end -->"


def show(console: Console, results: Results, judgements: list[Judgement]) -> None:
    """The bars first, then every raw figure, then what is missing."""
    if judgements:
        console.print(_bars(judgements))
    console.print(_figures(results))
    for name, reason in results.absent.items():
        console.print(f"[yellow]absent[/]  {name}: {reason}")
    for name, reason in results.failed.items():
        console.print(f"[red]failed[/]  {name}: {reason}", markup=True, highlight=False)


def _bars(judgements: list[Judgement]) -> Table:
    table = Table(title="Bars", title_justify="left")
    for heading in ("what", "value", "unit", "raw figure beside", "ratio", "bar", "verdict"):
        table.add_column(heading, justify="right" if heading in ("value", "ratio", "bar") else "left")
    for each in judgements:
        table.add_row(
            each.bar.what, number(each.value), chosen(each), beside(each), ratio(each), bar(each),
            f"[{'green' if each.met else 'red'}]{each.verdict}[/]",
        )  # fmt: skip
    return table


def _figures(results: Results) -> Table:
    table = Table(title="Raw figures, medians over the rounds", title_justify="left")
    for heading in ("what", "median", "unit", "lowest – highest"):
        table.add_column(heading, justify="right" if heading == "median" else "left")
    for what, series in results.series.items():
        table.add_row(what, number(series.median), series.unit, spread(series))
    return table


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spread(series: Series) -> str:
    return f"{number(min(series.values.values()))} – {number(max(series.values.values()))}"


def chosen(judgement: Judgement) -> str:
    """The unit; and how many processes, where the faster of two readings counts."""
    several = not isinstance(judgement.bar.ours, str)
    return f"{judgement.unit},{judgement.ours.rpartition(',')[2]}" if several else judgement.unit


def beside(judgement: Judgement) -> str:
    if judgement.beside is None or judgement.raw is None:
        return "–"
    return f"{number(judgement.raw)} {judgement.unit}, {judgement.beside}"


def ratio(judgement: Judgement) -> str:
    """`0.54 [0.41–0.61]`: the median, and the lowest and highest of a round."""
    if judgement.ratio is None or judgement.ratios is None:
        return "–"
    lowest, highest = judgement.ratios
    spread_out = f" [{lowest:.2f}–{highest:.2f}]" if lowest != highest else ""
    return f"{judgement.ratio:.2f}{spread_out}"


def bar(judgement: Judgement) -> str:
    """`≥ 0.5 (aim 0.7)`, or `≤ 150 MB`."""
    if judgement.ratio is None:
        return f"≤ {judgement.bar.bar:g} {judgement.unit}"
    aim = "" if judgement.bar.aim is None else f" (aim {judgement.bar.aim:g})"
    return f"≥ {judgement.bar.bar:g}{aim}"


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    return {
        "cores": psutil.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "postroom": version("postroom"),
        "load_at_the_end": [round(load, 1) for load in psutil.getloadavg()],
    }


def write_json(path: Path, results: Results, judgements: list[Judgement], scale: Scale) -> None:
    """Everything, in full precision."""
    found = {
        "machine": machine(),
        "scale": asdict(scale),
        "bars": [{**asdict(each), "verdict": each.verdict} for each in judgements],
        "figures": {
            what: {"unit": series.unit, "median": series.median, "rounds": list(series.values.values())}
            for what, series in results.series.items()
        },
        "absent": results.absent,
        "failed": results.failed,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def publish(page: Path, results: Results, judgements: list[Judgement]) -> None:
    """Put the tables into the page, between its two marks; the prose around them is a person's."""
    written = page.read_text()
    tables = "\n".join([_BEGIN, "", *_markdown_bars(judgements), "", *_markdown_figures(results), "", _END])
    page.write_text(re.sub(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", lambda _: tables, written, flags=re.DOTALL))


def _markdown_bars(judgements: list[Judgement]) -> list[str]:
    rows = [
        f"| {each.bar.what} | {number(each.value)} {chosen(each)} | {beside(each)} | {ratio(each)} | {bar(each)} "
        f"| {each.verdict} |"
        for each in judgements
    ]
    return ["| what | Postroom | beside it | ratio | bar | verdict |", "|---|---:|---|---:|---|---|", *rows]


def _markdown_figures(results: Results) -> list[str]:
    rows = [
        f"| {what} | {number(series.median)} | {series.unit} | {spread(series)} |"
        for what, series in results.series.items()
    ]
    missing = [f"| {name} | – | – | absent: {reason} |" for name, reason in results.absent.items()]
    return ["| raw figure | median | unit | lowest – highest |", "|---|---:|---|---|", *rows, *missing]
