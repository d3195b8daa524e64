"""The campaign twice, in seconds: once with nothing between, once with all that happens to campaigns."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rich.console import Console

from examples.outreach.report import heading, tell_draft, tell_findings, tell_weeks
from examples.outreach.story import live_through
from examples.outreach.verdict import findings
from examples.outreach.weeks import Play, played

SEEDS = 1, 2
"""What the gaps between mails are drawn from."""


def tell_once(output: Console) -> bool:
    """Play both side by side, and tell them one after the other; whether every promise was kept."""
    with ThreadPoolExecutor(2, thread_name_prefix="play") as stages:
        tellers = [stages.submit(teller, output) for teller in (_tell_quiet, _tell_lively)]
        kept = []
        for each in tellers:
            words, well = each.result()
            output.file.write(words)
            kept.append(well)
    return all(kept)


def _tell_quiet(output: Console) -> tuple[str, bool]:
    """The forecast, and that it comes true where nothing comes between."""

    def tell(play: Play) -> bool:
        tell_draft(output, play)
        play.work_to_the_end()
        heading(output, "Launched, with nothing between")
        return tell_findings(output, findings(play, quiet=True))

    return _told(output, tell, seed=SEEDS[0])


def _tell_lively(output: Console) -> tuple[str, bool]:
    """The same campaign in the world as it is."""

    def tell(play: Play) -> bool:
        live_through(play)
        heading(output, "Launched, and then")
        tell_weeks(output, play)
        heading(output, "What the log of the mail server says")
        return tell_findings(output, findings(play, quiet=False))

    return _told(output, tell, seed=SEEDS[1])


def _told(output: Console, tell: Callable[[Play], bool], *, seed: int) -> tuple[str, bool]:
    with output.capture() as words, played(seed=seed) as play:
        well = tell(play)
    return words.get(), well
