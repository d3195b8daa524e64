"""`python -m bench [parts] [--quick] [--against REV] [--publish]`: measure, judge, show, and write down."""

from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import bars, plot, report
from bench.parts import (
    campaigns,
    cost,
    desk,
    dispatch,
    distance,
    drain,
    enqueue,
    history,
    latency,
    memory,
    mime,
    peers,
    recovery,
    regions,
    routes,
    smtp,
    templates,
)
from bench.readings import Contestant, Results, take_in_turns
from bench.world import FULL, QUICK, ROOT, Scale, World

PARTS: dict[str, Callable[[World], list[Contestant]]] = {
    "mime": mime.contestants,
    "templates": templates.contestants,
    "smtp": smtp.contestants,
    "enqueue": enqueue.contestants,
    "drain": drain.contestants,
    "cost": cost.contestants,
    "peers": peers.contestants,
    "history": history.contestants,
    "campaigns": campaigns.contestants,
    "routes": routes.contestants,
    "distance": distance.contestants,
    "latency": latency.contestants,
    "dispatch": dispatch.contestants,
    "recovery": recovery.contestants,
    "regions": regions.contestants,
    "memory": memory.contestants,
    "desk": desk.contestants,
}
"""In the order they are taken within a round."""

PAGE = ROOT / "docs" / "explanation" / "performance.md"
PLOT = PAGE.with_suffix(".svg")
OUTPUT = ROOT / "build" / "bench"


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers are stopped on the way out
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    scale = QUICK if arguments.quick else FULL
    if arguments.rounds:
        scale = dataclasses.replace(scale, rounds=arguments.rounds)
    results = _measure(console, arguments.parts or list(PARTS), scale, arguments.against)
    judgements = bars.judge(results)
    report.show(console, results, judgements)
    report.write_json(arguments.json, results, judgements, scale)
    plot.draw(OUTPUT / "performance.svg", results, judgements)
    console.print(f"written: {arguments.json}, {OUTPUT / 'performance.svg'}", highlight=False)
    if arguments.publish:
        plot.draw(PLOT, results, judgements)
        report.publish(PAGE, results, judgements)
        console.print(f"published: {PAGE}, {PLOT}", highlight=False)
    return 1 if results.failed else 0


def _measure(console: Console, chosen: list[str], scale: Scale, against: str | None) -> Results:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with World(scale, against=against) as world:
        contestants = [contestant for part in PARTS if part in chosen for contestant in PARTS[part](world)]
        steps = sum(1 if contestant.once else scale.rounds for contestant in contestants)
        # Drawn between runs only: a display that refreshes itself would take time from what is measured.
        with Progress(*columns, console=console, auto_refresh=False) as progress:
            task = progress.add_task("", total=steps)
            begun = 0

            def begin(round_number: int, name: str) -> None:
                nonlocal begun
                text = f"round {round_number + 1} of {scale.rounds}: {name}"
                progress.update(task, completed=begun, description=text, refresh=True)
                if not console.is_terminal:
                    console.print(f"{begun + 1} of {steps}, {text}", highlight=False)
                begun += 1

            results = take_in_turns(contestants, rounds=scale.rounds, begin=begin)
            progress.update(task, completed=steps, description="done", refresh=True)
    return results


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="How fast Postroom is, as ratios of one run.")
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all if not given")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything work? not: how fast is it?")
    parser.add_argument("--rounds", type=int, help="how often everything is taken in turn")
    parser.add_argument("--against", metavar="REV", help="part cost: measure that revision's code beside this one's")
    parser.add_argument("--json", type=Path, default=OUTPUT / "results.json", help="where the figures go")
    parser.add_argument("--publish", action="store_true", help="put tables and plot into docs/explanation")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
