"""Rounds of a storm: workers and applications die in every manner and are replaced, while emails keep coming.

Workers send what was enqueued. Applications send inline, from threads, in the background, from tasks that are given up
at any moment, and from forked children; some of them are not killed but told to stop in the middle of it.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from postroom import EmailId
from postroom.store.contract import StoredEmail
from tests.work.application import MANNERS
from tests.work.assassin import MOMENTS, Assassin
from tests.work.diary import Promise, read_diaries
from tests.work.nursery import WorkerProcess
from tests.work.office import Office, wait_until
from tests.work.tally import Tally, judgements, take

PLACES = ("claimed", "before_dot", "reply_read", "journalled", "before_settle", "after_settle", "taken_over")
AT_FIRST = {"claimed", "reserved", "published", "marked", "announced"}
"""Places that are come to once for many emails."""
LEASE = 1.0
SLOW_REPLY = 0.03
"""Seconds until the server answers a dot: a worker is mostly found waiting for it."""
AT_LEAST_WAITING = 30
DEATHS = ("place", "moment", "random", "stop")
"""At a place of its own, at a moment of the server's, at random, and stopped past the lease before that (`resumed`)."""
APPLICATION_PLACES = ("before_dot", "reply_read", "journalled", "before_settle", "after_settle")
APPLICATION_DEATHS = (*DEATHS, "close")
INLINE_LIMIT = LEASE / 3
"""Seconds for an inline send: its lease is then as long as a worker's."""
TIME_TO_CLOSE = 30.0
STOPPED = (0, -signal.SIGTERM)
"""How one ends that was told to stop; the second, if it had not begun to listen."""
OUTAGE, BETWEEN_OUTAGES = (0.1, 0.8), (1.0, 4.0)
"""Seconds, from and to, for which the mail server is down, and well."""
CHILD_DIES_EVERY = 0.5
"""Seconds between deaths of forked children, whose parents live on."""


@dataclass(slots=True, kw_only=True)
class Weather:
    """One kind of round, and what came of all rounds of its kind."""

    store: str
    workers: int
    applications: int = 0
    """Processes that send inline, beside the workers."""
    schedulers: int = 0
    """None: workers ask the database. Else they are senders, and a broker is between."""
    journals: str
    """`shared`, or `apart`: each worker's journal is out of the others' reach."""
    kills: Counter[str] = field(default_factory=Counter)
    tally: Tally = field(default_factory=Tally)

    @property
    def staff(self) -> str:
        """Who works: so many workers, or so many schedulers and senders."""
        return f"{self.schedulers} × {self.workers}" if self.schedulers else str(self.workers)

    @property
    def name(self) -> str:
        """What happens in it, in short."""
        return f"{self.store}, {self.staff} at work, {self.applications} inline, journals {self.journals}"


class Round:
    """One outbox in the storm."""

    def __init__(self, office: Office, weather: Weather, folder: Path, dice: random.Random) -> None:
        self._office = office
        self._weather = weather
        self._folder = folder
        self._dice = dice
        self._doomed: dict[WorkerProcess, tuple[str, float]] = {}
        """Each worker with how it is to die, and when at the latest."""
        self._stopped: dict[WorkerProcess, float] = {}
        self._applications: set[WorkerProcess] = set()
        self._closing: set[WorkerProcess] = set()
        """Those among them that were told to close; the server may choose one of them to kill, and come too late."""
        self._parents: set[WorkerProcess] = set()
        """Those among them that have forked children."""
        self._next_orphan = 0.0
        self._failed: list[str] = []
        """Applications that did not end when they were told to, or ended by themselves: what they said last."""
        self._ids: list[EmailId] = []
        self._look_again = 0.0
        self._down = False
        self._until = 0.0
        """When the mail server goes down, or comes back."""
        self.kills: Counter[str] = Counter()

    def rage(self, kills: int) -> None:
        """Kill so many workers while emails keep coming, then let healthy ones finish."""
        self._brief_servers()
        while self.kills.total() < kills:
            self._keep_emails_coming()
            self._go_down_or_come_back()
            self._staff()
            self._staff_applications()
            self._strike()
            self._strike_children()
            self._bury()
            time.sleep(0.005)
        self._calm()

    def tally(self) -> Tally:
        return take(self._office, self._ids) + Tally(failed=len(self._failed))

    def accusations(self) -> Iterator[str]:
        """What there is to know about each email that the promise was broken to."""
        for what, tally in judgements(self._office, self._ids):
            if tally.violations:
                kind = "inline" if tally.inline else "enqueued"
                yield f"{kind}, {int(tally.lost)} lost, {tally.second_copies} second copies, {self._told(what)}"

    def _told(self, what: StoredEmail | Promise | None) -> str:
        if not isinstance(what, StoredEmail):
            return f"no row: {what}"
        email = self._office.get(what.id)
        story = "; ".join(f"{entry.what} {dict(entry.detail)}" for entry in email.history)
        return f"{email.on_doubt} {email.status}, {email.doubts} doubts, {email.last_error}: {story}"

    def complaints(self) -> Counter[str]:
        """What applications were told instead of an outcome, or said when they broke down."""
        told = Counter(error for promise in read_diaries(self._office.diaries) for error in promise.raised)
        return told + Counter(self._failed)

    def _keep_emails_coming(self) -> None:
        if time.monotonic() < self._look_again:
            return
        self._look_again = time.monotonic() + 0.1
        counts = self._office.outbox.counts()
        if sum(counts[status] for status in ("pending", "queued", "sending", "retrying")) < AT_LEAST_WAITING:
            for wish in ("resend", "hold", "resend"):
                self._ids += self._office.enqueue(self._dice.randint(5, 25), on_doubt=wish)

    def _staff(self) -> None:
        """Replace the dead."""
        for _ in range(self._weather.workers - len(self._doomed.keys() - self._applications)):
            manner, patience, environment = self._fate(DEATHS, PLACES)
            worker = self._office.start_worker(
                lease=f"{LEASE:g}s",
                options=f"connections={self._dice.choice([1, 2, 8])}",
                journals=self._journals(),
                **environment,
            )
            self._doomed[worker] = manner, time.monotonic() + patience

    def _staff_applications(self) -> None:
        for _ in range(self._weather.applications - len(self._applications & self._doomed.keys())):
            manner, patience, environment = self._fate(APPLICATION_DEATHS, APPLICATION_PLACES)
            kind = self._dice.choice(MANNERS)
            application = self._office.start_application(
                kind,
                lease=f"{LEASE:g}s",
                options=f"connections={self._dice.choice([1, 2, 8])}",
                journals=self._journals(),
                POSTROOM_INLINE_LIMIT=f"{INLINE_LIMIT:.3f}s",
                **environment,
            )
            self._applications.add(application)
            if kind == "fork":
                self._parents.add(application)
            self._doomed[application] = manner, time.monotonic() + 2 * patience

    def _fate(self, deaths: Sequence[str], places: Sequence[str]) -> tuple[str, float, dict[str, str]]:
        """How the next one is to die, after how long at the latest, and what it has to know of it."""
        manner, environment = self._dice.choice(deaths), {}
        patience = self._dice.uniform(0.05, 0.8) * self._weather.workers**0.5
        if manner == "place":
            place, patience = self._dice.choice(places), self._weather.workers**0.5
            environment["POSTROOM_FAILPOINT"] = f"{place}:{1 if place in AT_FIRST else self._dice.randint(1, 12)}"
        if manner == "moment":
            patience = self._weather.workers**0.5
            self._brief_servers()
            Assassin(
                self._dice.choice(self._office.servers),
                self._dice.choice(list(MOMENTS)),
                nth=self._dice.randint(1, 12),
                victim=self._victim,
            )
        return manner, patience, environment

    def _victim(self) -> int:
        """Whom the server kills: somebody, for it cannot tell whose connection it is."""
        candidates = self._candidates()
        if not candidates:
            raise ProcessLookupError("all are dead; an orphan is still talking")
        worker = self._dice.choice(candidates)
        self._doomed[worker] = "moment", self._doomed[worker][1]
        return worker.pid

    def _candidates(self) -> list[WorkerProcess]:
        """Who talks to the server."""
        return list(self._doomed)

    def _brief_servers(self) -> None:
        for server in self._office.servers:
            server.clear_script()
            server.script(at="dot", delay=SLOW_REPLY)
        for moment in ("greeting", "mail"):
            self._office.server.script(at=moment, reply="421 4.3.0 down", when=lambda moment: self._down)

    def _go_down_or_come_back(self) -> None:
        if self._office.backup is None or time.monotonic() < self._until:
            return
        self._down = not self._down and self._until > 0
        self._until = time.monotonic() + self._dice.uniform(*(OUTAGE if self._down else BETWEEN_OUTAGES))

    def _journals(self) -> Path:
        if self._weather.journals == "shared":
            return self._folder / "journals"
        return self._folder / f"journals-{self._dice.getrandbits(64):x}"

    def _strike(self) -> None:
        """Those whose time has come: killed, or stopped for longer than their lease first."""
        now = time.monotonic()
        for worker, (manner, deadline) in self._doomed.items():
            if worker in self._stopped:
                if now > self._stopped[worker]:
                    del self._stopped[worker]
                    worker.send_signal(signal.SIGCONT)
                    self._doomed[worker] = "resumed", now + self._dice.choice([0.0, 0.3])
            elif now > deadline:
                if manner == "stop" and self._office.try_to_stop(worker):
                    self._stopped[worker] = now + LEASE * self._dice.uniform(1.1, 1.8)
                elif manner == "close":
                    self._doomed[worker] = "closed", now + TIME_TO_CLOSE
                    self._closing.add(worker)
                    worker.terminate()
                else:
                    # It has not come to where it was to die, or it was to die at no place in particular.
                    if manner == "closed":
                        self._failed.append("did not stop")
                    self._doomed[worker] = "resumed" if manner == "resumed" else "random", deadline
                    worker.kill()

    def _strike_children(self) -> None:
        """Kill a forked child now and then; its parent lives on, and forks another."""
        now, parents = time.monotonic(), list(self._parents & self._doomed.keys())
        if now < self._next_orphan or not parents:
            return
        self._next_orphan = now + self._dice.uniform(0.0, 2 * CHILD_DIES_EVERY)
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self._dice.choice(parents).pid).children()
            if children:
                self._dice.choice(children).kill()
                self.kills["child"] += 1

    def _bury(self) -> None:
        for worker in [worker for worker in self._doomed if worker.poll() is not None]:
            manner, _deadline = self._doomed.pop(worker)
            self._stopped.pop(worker, None)
            if worker.poll() == -signal.SIGKILL:
                self.kills[manner] += 1
            elif worker in self._closing and worker.poll() in STOPPED:
                self.kills["closed"] += 1
            elif worker in self._applications:
                self._failed.append(f"ended with {worker.poll()}: {worker.log.read_text()[-300:]}")
            else:
                raise RuntimeError(f"a worker ended by itself with {worker.poll()}:\n{worker.log.read_text()[-4000:]}")

    def _calm(self) -> None:
        for worker in self._doomed:
            worker.send_signal(signal.SIGCONT)
            worker.kill()
        wait_until(lambda: all(worker.poll() is not None for worker in self._doomed))
        self._bury()
        wait_until(self._office.applications_are_gone)
        for server in self._office.servers:
            server.clear_script()
        self._finish()

    def _finish(self) -> None:
        self._office.finish(workers=2, lease=f"{LEASE:g}s", journals=self._journals(), patience=180)
