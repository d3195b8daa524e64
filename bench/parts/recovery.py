"""The database crashes in the middle of a drain and comes back: how soon the worker is as fast as before.

The rate is what the sink accepts. The clock of the return starts when PostgreSQL takes connections again. Afterwards
the backlog is drained to its end, and every email must have arrived once: speed bought with losses or copies fails.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.draining import until
from bench.postroom_queue import filled_outbox
from bench.readings import Contestant, Reading
from bench.sinks import Sink
from bench.world import World, complaints, running, scalar, space_checkpoints
from postroom import Outbox
from tests.servers.postgres_cluster import PostgresCluster

BEFORE = "crash of the database: rate before it"
AFTER = "crash of the database: rate in the seconds up to the tenth after its return"
BACK = "crash of the database: from its return until the rate is back to nine tenths"
OUTAGE = "crash of the database: from the crash to the return"

SHARE = 0.9
STEP = 0.1
PER_SECOND = 50_000
"""Emails for each second of a window: more than can be sent from before the crash until the rate was judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What the sink had accepted at moments `STEP` apart, from zero on."""

    moments: list[float]
    accepted: list[int]

    def rate(self, start: float, end: float) -> float:
        """Emails per second between two moments, or as much of it as was seen."""
        within = [index for index, moment in enumerate(self.moments) if start <= moment <= end]
        first, last = within[0], within[-1]
        return (self.accepted[last] - self.accepted[first]) / (self.moments[last] - self.moments[first])

    def back(self, rate: float, *, second: float) -> float:
        """The first moment after which a rate is reached, both in the next second and to the end; the end if never."""
        end = self.moments[-1]
        for moment in self.moments:
            if moment + second > end:
                break
            if self.rate(moment, moment + second) >= rate and self.rate(moment, end) >= rate:
                return moment
        return end


def contestants(world: World) -> list[Contestant]:
    return [Contestant(name=BACK, measure=lambda: _measure(world))]


def _measure(world: World) -> list[Reading]:
    emails = int(PER_SECOND * world.scale.seconds)
    with PostgresCluster.create(durable=True) as cluster, Sink() as sink:
        space_checkpoints(cluster.url)
        with Outbox(cluster.url) as outbox:
            outbox.migrate()
        with (
            filled_outbox(world, cluster.url, emails) as filled,
            running(filled.commands(sink.port), folder=world.folder) as workers,
        ):
            try:
                until(lambda: sink.accepted > 0, workers)
                readings = _crash(cluster, sink, emails, window=world.scale.seconds)
                until(lambda: _sent(cluster) >= emails, workers)
            except (RuntimeError, TimeoutError) as error:
                error.add_note(complaints(world.folder))
                raise
            if sink.accepted != emails:
                raise RuntimeError(f"the sink accepted {sink.accepted} emails instead of {emails}")
    return readings


def _crash(cluster: PostgresCluster, sink: Sink, emails: int, *, window: float) -> list[Reading]:
    """At full scale the window is four seconds and the limit ten; a quick run shortens all alike."""
    limit, second = 2.5 * window, window / 4
    _watch(sink, second)  # the worker gets up to speed
    before = _watch(sink, window).rate(0, window)
    crashed = time.monotonic()
    cluster.stop(mode="immediate")
    cluster.start()
    outage = time.monotonic() - crashed
    after = _watch(sink, limit + second)
    if after.accepted[-1] >= emails:
        raise RuntimeError("the backlog was gone before the rate could be judged: there was nothing left to do")
    return [
        Reading(what=BEFORE, value=before, unit="emails/s"),
        Reading(what=AFTER, value=after.rate(limit - window, limit), unit="emails/s"),
        Reading(what=BACK, value=after.back(SHARE * before, second=second), unit="s"),
        Reading(what=OUTAGE, value=outage, unit="s"),
    ]


def _watch(sink: Sink, seconds: float) -> Course:
    began = time.monotonic()
    moments, accepted = [0.0], [sink.accepted]
    while moments[-1] < seconds:
        time.sleep(STEP)
        moments.append(time.monotonic() - began)
        accepted.append(sink.accepted)
    return Course(moments=moments, accepted=accepted)


def _sent(cluster: PostgresCluster) -> int:
    return scalar(cluster.url, "SELECT count(*) FROM postroom.emails WHERE status = 'sent'")
