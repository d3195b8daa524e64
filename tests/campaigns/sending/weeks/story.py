"""Weeks of sending in seconds: four real workers, a real mail server, and people who change their minds.

Chance chooses what happens next, from a seed. Servers are away, slow, refuse or vanish; workers are killed and
restarted; people interfere, best while mail is in hand. What is printed of it can be followed, and what the server has
seen is for the judge. The same seed tells the same story, as far as sockets and threads let it: which worker a mail
falls to, and the milliseconds after which it is tried again, are their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from postroom import Outbox
from postroom.config import load
from postroom.send.script import At
from postroom.testing import Hold, ScriptedSmtp, VirtualClock, VirtualWorkers
from tests.campaigns.sending.stage import LINKS
from tests.campaigns.sending.weeks.judge import Seen
from tests.campaigns.sending.weeks.log import ServerLog
from tests.campaigns.sending.weeks.people import DELAYS, ENROLLED, USUAL, People

WORKERS = 4
LEASE = timedelta(minutes=5)
INSTANTS = 12
"""At which something is done, in one go, while things happen: a mail that cannot go now is looked at every minute."""
BEGINNINGS = (
    datetime(2026, 3, 5, 12, tzinfo=UTC),
    datetime(2026, 3, 26, 6, tzinfo=UTC),
    datetime(2026, 10, 22, 6, tzinfo=UTC),
    datetime(2026, 10, 29, 12, tzinfo=UTC),
    datetime(2026, 12, 28, 8, tzinfo=UTC),
)
"""Before clocks change, in New York and in Berlin, and before a year ends."""

MOMENTS: tuple[At, ...] = ("greeting", "mail", "rcpt", "data", "dot")
REFUSALS = ("421 4.3.2 closing down", "451 4.3.0 try later", "550 5.1.1 no such user")
AWAY = "away"


@dataclass(slots=True)
class Weeks:
    """One workspace, four workers, one seed."""

    clock: VirtualClock
    outbox: Outbox
    server: ScriptedSmtp
    random: Random
    people: People = field(init=False)
    workers: VirtualWorkers = field(init=False)
    log: ServerLog = field(init=False)
    hold: Hold = field(default_factory=Hold)
    trouble: str = ""
    """Where the server is in trouble; `away`, where nobody reaches it."""
    since: datetime | None = None
    """The trouble."""
    unheard: set[str] = field(default_factory=set)
    unreached: list[tuple[datetime, datetime]] = field(default_factory=list)
    calm_from: datetime | None = None

    def __post_init__(self) -> None:
        self.people = People(self.outbox, self.clock, self.random, self.tell, self.settle)
        self.log = ServerLog(self.server, lambda: self.clock.now, lambda: self.people.present)
        self.workers = VirtualWorkers(
            self.outbox, self.clock, WORKERS, random=self.random, kept=lambda: self.hold.waiting
        )

    def live(self, happenings: int) -> None:
        """So many things happen, and time passes between them; then nothing disturbs any more."""
        for _ in range(happenings):
            chances = self.while_kept_waiting() if self.hold.waiting else self.usually()
            [happens] = self.random.choices(list(chances), list(chances.values()))
            happens()
            self.pass_time()
            if not self.people.still_open():
                break
        self.settle_down()

    def usually(self) -> dict[Callable[[], None], int]:
        people = self.people
        return {
            self.refuse: 4, self.be_away: 2, self.be_slow: 8, self.recover: 4, self.kill: 1, self.restart: 1,
            people.pause_or_resume: 3, people.change_something: 3, people.launch_again: 1, people.stop_somebody: 1,
            self.ask_readers: 2,
        }  # fmt: skip

    def while_kept_waiting(self) -> dict[Callable[[], None], int]:
        """Mail is in hand: now is the time to change one's mind."""
        people = self.people
        return {
            self.recover: 6, self.kill: 3, people.pause_or_resume: 3, people.lower_a_quota: 5,
            people.change_something: 3, people.stop_somebody: 1,
        }  # fmt: skip

    def settle_down(self) -> None:
        """Nothing disturbs from now on; what can leave leaves."""
        self.recover()
        self.people.make_up_their_minds()
        self.work_until(self.clock.now + 2 * LEASE)
        self.ask_readers()
        self.work_until(self.clock.now + timedelta(hours=1))
        self.calm_from = self.clock.now
        self.tell("nothing disturbs any more")
        end = self.clock.now + timedelta(weeks=8)
        while self.people.still_open() and self.clock.now < end:
            self.work_until(self.clock.now + timedelta(days=1))

    # ---------------------------------------------------------------- time

    def pass_time(self) -> None:
        """Until the trouble is met, and a little longer; or for long, for most of the time nothing may leave."""
        if self.trouble:
            self.meet_trouble()
        minutes = (1, 3, 8, 15) if self.trouble else (1, 10, 90, 600, 1_800)
        self.work_until(self.clock.now + timedelta(minutes=self.random.choice(minutes)), instants=INSTANTS)

    def meet_trouble(self) -> None:
        """Go on until the server is spoken to, or nobody has got through to it for some minutes."""
        heard = len(self.server.commands)
        instants = 4 if self.trouble == AWAY else INSTANTS
        for _ in islice(self.workers.until(self.clock.now + timedelta(days=2)), instants):
            self.note()
            if self.hold.waiting or len(self.server.commands) > heard:
                return

    def work_until(self, end: datetime, *, instants: int | None = None) -> None:
        """Where there are more instants to work at than these, everybody sleeps through the rest."""
        for _ in islice(self.workers.until(end), instants):
            self.note()
        if not self.hold.waiting:  # whose leases would run out meanwhile
            self.clock.move_to(end)
        self.settle()

    def settle(self) -> None:
        self.workers.settle()
        self.note()

    def note(self) -> None:
        for each in self.log.note():
            if self.trouble == "dot":
                self.unheard.add(each.message_id)
            self.tell(f"the server took {each}" + (", and kept it waiting" if each.kept_waiting else ""))

    def tell(self, what: str) -> None:
        print(f"{self.clock.now:%a %-d %b %H:%M:%S}  {what}")

    # ---------------------------------------------------------------- the server

    def refuse(self) -> None:
        """It refuses for now or for good, or hangs up in the middle; after the message too, taken or not."""
        self.recover()
        at = self.random.choice(MOMENTS)
        if self.random.random() < 0.5:
            accept = self.random.choice((True, False)) if at == "dot" else None
            self.script(at, self.random.randrange(1, 4), cut=True, reset=self.random.random() < 0.5, accept=accept)
        else:
            self.script(at, self.random.randrange(1, 4), reply=self.random.choice(REFUSALS))

    def be_slow(self) -> None:
        """It says nothing for a while; meanwhile others have their turn, and people change what holds."""
        self.recover()
        self.hold = Hold()
        self.script(self.random.choice(MOMENTS[1:]), self.random.choice((1, 1, 2)), hold=self.hold)

    def script(self, at: At, times: int, **how: Any) -> None:
        told = " ".join(name if value is True or name == "hold" else f"{name}={value}" for name, value in how.items())
        self.tell(f"the server is in trouble at {at}, {times} times: {told}")
        self.server.script(at=at, times=times, **how)
        self.log.listen()
        self.trouble, self.since = at, self.clock.now

    def be_away(self) -> None:
        self.recover()
        self.tell("the server is away")
        self.server.stop()
        self.trouble, self.since = AWAY, self.clock.now

    def recover(self) -> None:
        """All is well with the server; who was kept waiting is answered."""
        if self.trouble:
            self.tell(f"the server is well again, with {self.hold.waiting} kept waiting")
        self.server.clear_script()
        self.log.listen()
        self.hold.release()
        if self.trouble == AWAY:
            self.server.start()
        if self.trouble in (AWAY, "greeting") and self.since is not None:
            self.unreached.append((self.since, self.clock.now))
        self.settle()
        self.trouble = ""

    # ---------------------------------------------------------------- the workers, and whom they write to

    def kill(self) -> None:
        """Rather one with something in hand."""
        busy = [each for each in range(WORKERS) if self.workers.in_hand(each)]
        place = self.random.choice(busy or range(WORKERS))
        journal_lost = self.random.random() < 0.5
        lost = ", and its journal is lost" if journal_lost else ""
        self.tell(f"worker {place} is killed with {self.workers.in_hand(place)} in hand{lost}")
        self.workers.kill(place, journal_lost=journal_lost)

    def restart(self) -> None:
        """In order: what is in hand would be waited for."""
        if free := [each for each in range(WORKERS) if not self.workers.in_hand(each)]:
            place = self.random.choice(free)
            self.tell(f"worker {place} is restarted")
            self.workers.restart(place)

    def ask_readers(self) -> None:
        self.people.send_after_all({each.key for each in self.log.arrivals})

    # ---------------------------------------------------------------- the end

    def seen(self) -> Seen:
        """What the judge has to know."""
        return Seen(
            arrivals=self.log.arrivals,
            turns=self.log.turns,
            enrolled={campaign: [f"{id}@example.org" for id in ids] for campaign, ids in ENROLLED.items()},
            delays=DELAYS,
            calm=USUAL,
            calm_from=self.calm_from or self.clock.now,
            unheard=frozenset(self.unheard),
            unreached=self.unreached,
        )


@contextmanager
def weeks(url: str, folder: Path, seed: int) -> Iterator[Weeks]:
    """The beginning of a story, on a migrated database."""
    random = Random(seed)
    clock = VirtualClock(random.choice(BEGINNINGS))
    with ScriptedSmtp() as server:
        settings = load(
            database=url, smtp=f"{server.url}?connections=4", journal=folder / "journal", lease=LEASE,
            public_url=LINKS["POSTROOM_PUBLIC_URL"], secret=LINKS["POSTROOM_SECRET"],
        )  # fmt: skip
        with Outbox.from_settings(settings, clock=clock) as outbox:
            weeks = Weeks(clock, outbox, server, random)
            weeks.log.listen()
            weeks.people.begin()
            with weeks.workers:
                yield weeks
                weeks.recover()  # else they would wait for the server to answer
