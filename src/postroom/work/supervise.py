"""Several worker processes, kept alive: one that dies is started again, a little later each time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from types import FrameType

from postroom.logs import logger

FIRST_PAUSE, LAST_PAUSE = 0.5, 30.0
STEADY = 60.0
"""Seconds after which a process counts as having started well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What one of the processes is started with."""

    command: tuple[str, ...]
    region: str = ""
    """Whose work it does, where there are regions."""


def posts(
    processes: int,
    command: Sequence[str] | None = None,
    *,
    regions: Sequence[str] = ("",),
    metrics_port: int | None = None,
) -> list[Post]:
    """So many of this very command, without `--processes`, for each of the regions.

    With a port for metrics, each process has one of its own: the first this one, the next the one after it, and so on.
    """
    common = (*(command or _same_command()),)
    places = [region for region in regions for _ in range(processes)]
    return [
        Post(command=(*common, *_own_region(region), *_own_port(metrics_port, number)), region=region)
        for number, region in enumerate(places)
    ]


class _Place:
    """One of the processes, and when it may be started again."""

    def __init__(self, post: Post, *, finished: Collection[int]) -> None:
        self._post = post
        self._finished = finished
        self.code = 0
        self._pause = FIRST_PAUSE
        self._start_at = 0.0
        self._started_at = 0.0
        self.process: subprocess.Popen[bytes] | None = None
        self.finished = False

    def tend(self, *, stopping: bool) -> None:
        """Start the process when it is time to, and see how it ended when it has."""
        now = time.monotonic()
        if self.process is None:
            if not stopping and not self.finished and now >= self._start_at:
                # A session of its own: a Ctrl-C at the terminal reaches it through us, once.
                self.process = subprocess.Popen(self._post.command, start_new_session=True)
                self._started_at = now
            return
        code = self.process.poll()
        if code is None:
            return
        self.process = None
        self.finished = code in self._finished
        if self.finished:
            self.code = code
        else:
            self._pause = FIRST_PAUSE if now - self._started_at > STEADY else min(self._pause * 2, LAST_PAUSE)
            self._start_at = now + self._pause
            whose = {"region": self._post.region} if self._post.region else {}
            logger.error("worker process ended", **whose, exit_code=code, again_in_seconds=self._pause)


def supervise(posts: Sequence[Post], *, finished: Collection[int] = (0,)) -> int:
    """Keep these processes running until told to stop or until all are done; one that dies disturbs no other.

    A process is done when it ends with one of the codes in `finished`; the greatest of them is the answer.
    """
    places = [_Place(post, finished=finished) for post in posts]
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True
        for place in places:
            if place.process is not None:
                place.process.terminate()

    former = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        while not _done(places, stopping):
            for place in places:
                place.tend(stopping=stopping)
            time.sleep(0.05)
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    return max(place.code for place in places)


def _done(places: list[_Place], stopping: bool) -> bool:
    if stopping:
        return all(place.process is None for place in places)
    return all(place.finished for place in places)


def _own_region(region: str) -> tuple[str, ...]:
    return ("--region", region) if region else ()


def _own_port(first: int | None, number: int) -> tuple[str, ...]:
    """Said once more at the end of the command, and what is said last holds. 0 is any free port, for everybody."""
    return () if first is None else ("--metrics-port", str(first + number if first else 0))


def _same_command() -> list[str]:
    """This very command, without what asks for several processes."""
    kept: list[str] = []
    skip = False
    for argument in sys.argv[1:]:
        if skip:
            skip = False
        elif argument == "--processes":
            skip = True
        elif argument != "--all-regions" and not argument.startswith("--processes="):
            kept.append(argument)
    return [sys.executable, "-m", "postroom.cli", *kept]
