"""How far a check or a launch has come, on standard error where somebody looks: a bar for each stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from postroom.campaigns.sending.launching import Progress as Told
from postroom.cli.screen import standard_error
from postroom.vocabulary import LaunchStage


@contextmanager
def stages(prospects: int) -> Iterator[Told]:
    """To be told of each stage; nothing is shown where nobody looks, and nothing is left when it is over."""
    console = standard_error()
    if not console.is_terminal:
        yield lambda stage, count: None
        return
    with _Bars(console, prospects) as bars:
        yield bars.tell


class _Bars(Progress):
    """One after another, as the stages come. How many mails a plan is about is only known in the end."""

    def __init__(self, console: Console, prospects: int) -> None:
        super().__init__(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console, transient=True
        )
        self._prospects = prospects
        self._bars: dict[LaunchStage, TaskID] = {}

    def tell(self, stage: LaunchStage, count: int) -> None:
        if stage not in self._bars:
            total = None if stage is LaunchStage.PLANNING else self._prospects
            self._bars[stage] = self.add_task(stage.value, total=total)
        self.advance(self._bars[stage], count)
