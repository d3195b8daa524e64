"""Campaigns: how quick a launch is and what memory it takes, and ordinary mail beside all that waits for its turn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from bench.draining import Filled, there_and_back
from bench.postroom_queue import PostroomQueue, filled_outbox, on_postgres
from bench.readings import Contestant, Reading
from bench.world import ROOT, World, execute

LAUNCH = "launch of a campaign, PostgreSQL"
ROWS = f"{LAUNCH}, a thousand rows"
PLANNED = f"{LAUNCH}, a thousand rows with when they leave"
MEMORY = f"{LAUNCH}, memory at its highest"
BESIDE = "drain, Postroom, PostgreSQL, beside waiting mail of campaigns"
WITHOUT = "drain, Postroom, PostgreSQL, without campaigns"

STEPS = 3

# A draft with three steps, so many prospects, and a quota that has tens of thousands between two steps.
_DRAFT = """
INSERT INTO postroom.sending_settings (workspace, settings, limit_after, version, updated_at)
VALUES ('w', '{{"holidays": [], "daily_quota": 20000, "gap_seconds": [1, 1]}}', 100, 1, now());
INSERT INTO postroom.senders (workspace, id, name, address, route, created_at)
VALUES ('w', 'grace', '', 'grace@example.com', 'default', now());
INSERT INTO postroom.sequences VALUES ('w', 's', 's', 1, now());
INSERT INTO postroom.sequence_versions VALUES ('w', 's', 1, now());
INSERT INTO postroom.steps (workspace, sequence_id, version, number, delay_days, subject, text)
SELECT 'w', 's', 1, n, 3, 'Hello', 'Hello' FROM generate_series(1, {steps}) AS n;
INSERT INTO postroom.campaigns (workspace, id, name, sequence_id, status, created_at)
VALUES ('w', 'c', 'c', 's', 'draft', now());
INSERT INTO postroom.campaign_senders VALUES ('w', 'c', 'grace', 1);
INSERT INTO postroom.prospects (workspace, id, address, normal_address, fields, created_at, updated_at)
SELECT 'w', 'p' || n, 'p' || n || '@example.net', 'p' || n || '@example.net', '{{}}', now(), now()
FROM generate_series(1, {prospects}) AS n;
INSERT INTO postroom.enrolments (workspace, campaign_id, prospect_id, number, status, updated_at)
SELECT 'w', 'c', 'p' || n, n, 'enrolled', now() FROM generate_series(1, {prospects}) AS n;
ANALYZE;
"""

_LAUNCH = """
import json, re, sys, time
from pathlib import Path
from postroom import Outbox
from postroom.campaigns.sending.launching import launch
from postroom.store.plan import drive
from postroom.vocabulary import LaunchStage

with Outbox(sys.argv[1]) as outbox:
    began, reached = time.monotonic(), {}

    def told(stage, count):
        reached[stage] = time.monotonic()

    drive(launch("w", "c", progress=told), outbox.database.run)
    seconds = reached[LaunchStage.LAUNCHING] - began
    # Not `ru_maxrss`: that begins with what whoever started this process had.
    highest = re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())
    print(json.dumps([seconds, time.monotonic() - began, int(highest[1]) / 1000]))
"""


def contestants(world: World) -> list[Contestant]:
    waiting, none = _BesideCampaigns(world), PostroomQueue(world, name=WITHOUT)

    def beside() -> list[Reading]:
        waiting.write()
        return there_and_back(none, waiting, world.scale.emails, folder=world.folder)

    return [
        Contestant(name=LAUNCH, measure=lambda: _launch(world), once=True),
        Contestant(name=BESIDE, measure=beside),
    ]


def _launch(world: World) -> list[Reading]:
    thousands = world.scale.launched / 1_000
    with on_postgres(world) as url:
        execute(url, _DRAFT.format(prospects=world.scale.launched // STEPS, steps=STEPS))
        writing, whole, memory = _launched(url)
    return [
        Reading(what=ROWS, value=1_000 * writing / thousands, unit="ms"),
        Reading(what=PLANNED, value=1_000 * whole / thousands, unit="ms"),
        Reading(what=MEMORY, value=memory, unit="MB"),
    ]


def _launched(url: str) -> tuple[float, float, float]:
    """In a process of its own: seconds until all rows are written, seconds in all, and megabytes."""
    command = [sys.executable, "-c", _LAUNCH, url]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    writing, whole, memory = json.loads(done.stdout)
    return writing, whole, memory


class _BesideCampaigns:
    """One database for all rounds, with as many mails of a campaign waiting as there are emails in a backlog."""

    name = BESIDE

    def __init__(self, world: World) -> None:
        self._world = world

    def write(self) -> None:
        """Have them there, before anything is measured."""
        self._url  # noqa: B018

    @cached_property
    def _url(self) -> str:
        url = self._world.stack.enter_context(on_postgres(self._world))
        execute(url, _DRAFT.format(prospects=self._world.scale.backlog // STEPS, steps=STEPS))
        _launched(url)
        # Nothing of it may leave while ordinary mail is measured.
        execute(url, "UPDATE postroom.campaigns SET status = 'paused', paused_at = now(); ANALYZE;")
        return url

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with filled_outbox(self._world, self._url, emails) as filled:
            yield filled
