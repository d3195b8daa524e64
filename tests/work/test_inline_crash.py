"""Applications that send inline, killed and told to stop in the middle of it, and what the mail server received.

The short form; `make storm` is the long one.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.work.application import MANNERS
from tests.work.assassin import Assassin
from tests.work.nursery import WorkerProcess
from tests.work.office import PATIENCE, Office, wait_until
from tests.work.rounds import Round, Weather
from tests.work.tally import check
from tests.work.test_crash import SHORT, killed

QUICK = {"lease": SHORT, "POSTROOM_INLINE_LIMIT": "600ms"}
"""An inline send's lease is then as short as a worker's."""


@pytest.mark.parametrize("moment", ["dot received", "dot answered"])
@pytest.mark.parametrize("manner", MANNERS)
def test_an_application_killed_in_the_middle_of_the_conversation_loses_nothing_and_doubles_nothing_silently(
    office: Office, manner: str, moment: str
) -> None:
    process: list[WorkerProcess] = []
    Assassin(office.server, moment, nth=7, victim=lambda: process[0].pid)
    process.append(office.start_application(manner, **QUICK))

    assert killed(process[0])
    wait_until(office.applications_are_gone)
    office.finish()
    assert check(office, []).inline > 0


@pytest.mark.parametrize("manner", MANNERS)
def test_without_the_journal_of_a_killed_application_what_cannot_be_known_is_in_doubt(
    office: Office, manner: str, tmp_path: Path
) -> None:
    """It ran on another machine, or as another user: with `hold` the database must know that a dot may have left."""
    process: list[WorkerProcess] = []
    Assassin(office.server, "dot answered", nth=7, victim=lambda: process[0].pid)
    process.append(office.start_application(manner, journals=tmp_path / "elsewhere", **QUICK))

    assert killed(process[0])
    wait_until(office.applications_are_gone)
    office.finish()
    assert check(office, []).inline > 0


@pytest.mark.parametrize("manner", MANNERS)
def test_an_application_that_is_told_to_stop_brings_what_it_has_begun_to_its_recorded_end(
    office: Office, manner: str
) -> None:
    """Nobody died and no lease ran out: there is nothing to be in doubt about, and no reason for a second copy."""
    office.server.script(at="dot", delay=0.05)
    application = office.start_application(manner)
    office.server.wait_for(5, timeout=PATIENCE)

    application.terminate()
    assert application.wait(PATIENCE) == 0, application.log.read_text()
    wait_until(office.applications_are_gone)
    office.finish()
    tally = check(office, [])
    assert (tally.doubted, tally.second_copies) == (0, 0)


@pytest.mark.parametrize("manner", MANNERS)
def test_an_application_that_has_run_its_errands_leaves_nothing_behind(office: Office, manner: str) -> None:
    """With `fork`, children who go on using their parent's outbox have run theirs as well."""
    application = office.start_application(manner, errands=8)

    assert application.wait(PATIENCE) == 0, application.log.read_text()
    office.finish()
    tally = check(office, [])
    assert tally.inline >= 4
    assert (tally.doubted, tally.second_copies) == (0, 0)


@pytest.mark.parametrize("journals", ["shared", "apart"])
def test_a_short_storm_over_a_worker_and_applications_loses_nothing_and_doubles_nothing_silently(
    office: Office, journals: str, tmp_path: Path
) -> None:
    weather = Weather(store=office.url.partition(":")[0], workers=1, applications=2, journals=journals)
    storm = Round(office, weather, tmp_path, random.Random(29))
    storm.rage(6)

    tally = storm.tally()
    assert tally.violations == 0, [*storm.accusations(), *storm.complaints()]
    assert tally.emails > 0
