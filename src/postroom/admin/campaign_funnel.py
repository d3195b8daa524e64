"""The steps of a campaign as its page shows them: those that its people were pinned to, whatever was edited since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from postroom.admin.campaign_charts import Piece, progress_pieces
from postroom.campaigns.looking.pages import ByStep, Progress
from postroom.campaigns.values import Enrolment, Sequence, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStep:
    """One step, and how far it has come."""

    number: int
    title: str
    """Its subject; of several versions that differ, each of theirs."""
    progress: Progress

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return progress_pieces(self.progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """The versions of a sequence that a campaign sends: before its launch the newest, then those it was pinned to."""

    versions: Mapping[int, tuple[Step, ...]]
    newest: int
    steps: tuple[FunnelStep, ...]

    @property
    def told(self) -> str:
        """`version 1`, `versions 1 and 3`."""
        numbers = [str(each) for each in sorted(self.versions)]
        if len(numbers) == 1:
            return f"version {numbers[0]}"
        return f"versions {', '.join(numbers[:-1])} and {numbers[-1]}"

    @property
    def edited(self) -> bool:
        """Whether the sequence has a version by now that nobody of the campaign gets."""
        return self.newest not in self.versions

    def steps_for(self, enrolment: Enrolment) -> int:
        """How many steps somebody has before them, first and last."""
        return len(self.versions.get(enrolment.sequence_version or self.newest, ())) or len(self.steps)


def funnel_of(sequence: Sequence, by_step: ByStep) -> Funnel:
    """Of the newest version of a sequence, and of what a campaign has of it."""
    versions = by_step.versions or {sequence.version: sequence.steps}
    numbers = sorted({step.number for steps in versions.values() for step in steps})
    steps = tuple(
        FunnelStep(
            number=number,
            title=_title(step for steps in versions.values() for step in steps if step.number == number),
            progress=by_step.progress.get(number, Progress()),
        )
        for number in numbers
    )
    return Funnel(versions=versions, newest=sequence.version, steps=steps)


def _title(steps: Iterable[Step]) -> str:
    return " / ".join(dict.fromkeys(step.subject or step.template or "goes on in the thread" for step in steps))
