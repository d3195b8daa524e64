"""Campaigns sent by hand: the looks of workers, and what servers say, one after another on a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

from postroom import Outbox
from postroom.campaigns import SendingSettings, window_day_at
from postroom.campaigns.books.mails import Mail, read_mail
from postroom.campaigns.drafts.campaigns import add_campaign, enrol, enrolments_after, get_campaign
from postroom.campaigns.drafts.prospects import Arrival, take_in
from postroom.campaigns.drafts.sequences import add_sequence
from postroom.campaigns.drafts.workspace import put_sender, put_workspace_settings, workspace_settings
from postroom.campaigns.sending.acting import cancel_campaign, cancelled_through
from postroom.campaigns.sending.launching import Launched, launch
from postroom.campaigns.sending.objecting import leave
from postroom.campaigns.sending.tick import Clerk, Tick, tick
from postroom.campaigns.stopping.stops import Stopped
from postroom.campaigns.values import Campaign, Enrolment, Prospect, Sender, Step, WorkspaceSettings
from postroom.campaigns.values import Sequence as Sequel
from postroom.store import claims
from postroom.store.contract import Claimed, Settlement
from postroom.store.order import Lease
from postroom.store.plan import Course, Plan, ask, ask_sql, drive
from postroom.work.objections import NotNow
from tests.store.journey import LEASE, Clock, dead, in_doubt, retrying, sent

SHOP = "shop"
LINKS = {
    "POSTROOM_PUBLIC_URL": "https://mail.shop.example",
    "POSTROOM_SECRET": "a secret of the tests, long enough to seal",
}
MONDAY = datetime(2026, 3, 9, 8, tzinfo=UTC)
"""An hour before the window opens."""
OPEN_ALWAYS = SendingSettings(
    sending_days=("mon", "tue", "wed", "thu", "fri", "sat", "sun"), start_hour=0, end_hour=24, daily_quota=1_000,
    gap_seconds=(0, 0),
)  # fmt: skip
OFFICE = SendingSettings(daily_quota=50, gap_seconds=(60, 60))
"""Monday to Friday, 9 to 17 o'clock UTC."""

Fate = Callable[[Claimed], Settlement | None]
"""What a server says to an email; None: it says nothing, and the worker is gone."""


@dataclass(frozen=True, slots=True)
class Left:
    """A mail that a server has accepted."""

    at: datetime
    key: str
    id: str


class Stage:
    """One workspace, its campaigns, and workers that a test moves."""

    def __init__(self, outbox: Outbox, clock: Clock, workspace: str = SHOP) -> None:
        self.outbox = outbox
        self.clock = clock
        self.workspace = workspace
        self.log: list[Left] = []
        """What the server has accepted, in order."""
        self.clerks: dict[str, Clerk] = {}

    def run(self, plan: Plan[Any]) -> Any:
        return self.outbox.database.run(plan)

    def go_through(self, course: Course[Any]) -> Any:
        return drive(course, self.run)

    # ---------------------------------------------------------------- preparing

    def settings(self, sending: SendingSettings = OPEN_ALWAYS, **beside: Any) -> None:
        before = self.run(workspace_settings(self.workspace))
        after = WorkspaceSettings(sending=sending, version=before.version, **beside)
        self.run(put_workspace_settings(self.workspace, after))

    def sender(self, id: str = "grace", **fields: Any) -> None:
        self.run(put_sender(self.workspace, Sender(**({"id": id, "address": f"{id}@shop.example"} | fields))))

    def draft(
        self,
        id: str = "spring",
        prospects: int | Iterable[str] = 3,
        delays: Sequence[int] = (0,),
        *,
        senders: Sequence[str] = ("grace",),
        sequence: str | None = None,
        steps: Sequence[Step] | None = None,
    ) -> None:
        """A draft with so many prospects, `p1` and so on, or with these."""
        sequence = sequence or f"{id}-words"
        own = tuple(steps or (step(number, delay) for number, delay in enumerate(delays, 1)))
        self.run(add_sequence(self.workspace, Sequel(id=sequence, name=sequence, steps=own)))
        self.run(add_campaign(self.workspace, Campaign(id=id, name=id, sequence_id=sequence), senders=senders))
        self.enrol(id, prospects)

    def enrol(self, id: str, prospects: int | Iterable[str]) -> None:
        ids = [f"p{number}" for number in range(1, prospects + 1)] if isinstance(prospects, int) else list(prospects)
        arrivals = [Arrival(Prospect(id=each, address=f"{each}@example.org", name=each.upper()), True) for each in ids]
        self.run(take_in(self.workspace, arrivals, update=False))
        self.run(enrol(self.workspace, id, ids))

    def launch(self, id: str = "spring", **how: Any) -> Launched:
        return self.go_through(launch(self.workspace, id, **how))

    def cancel(self, id: str = "spring") -> Stopped:
        """All of it: what is cancelled, and what follows for its people."""
        goes_on = self.run(cancel_campaign(self.workspace, id))
        return self.go_through(cancelled_through(self.workspace, id)) if goes_on else Stopped()

    def launched(self, *args: Any, **fields: Any) -> None:
        """Everything at once: a sender, a draft, its launch."""
        self.sender()
        self.draft(*args, **fields)
        self.launch(args[0] if args else "spring")

    # ---------------------------------------------------------------- sending

    def clerk(self, worker: str = "worker") -> Clerk:
        if worker not in self.clerks:
            lease = Lease(worker=worker, seconds=LEASE.total_seconds())
            self.clerks[worker] = Clerk(lease=lease, rules=self.outbox.rules, random=Random(worker))
        return self.clerks[worker]

    def tick(
        self,
        worker: str = "worker",
        *,
        routes: Iterable[str] = ("default",),
        passed: Iterable[str] = (),
        unread: Iterable[str] = (),
    ) -> Tick:
        return self.run(tick(self.clerk(worker), routes=list(routes), passed=list(passed), unread=list(unread)))

    def claim(self, worker: str = "worker") -> Claimed:
        """The mail whose turn it is, after whatever looks it takes."""
        for _ in range(100):
            found = self.tick(worker)
            if found.claimed is not None:
                return found.claimed
            if not found.worked:
                assert found.next_at, "nothing will leave until somebody rings"
                assert found.next_at - self.clock.now < timedelta(seconds=1), (
                    f"nothing may leave before {found.next_at}"
                )
                self.clock.now = max(self.clock.now, found.next_at)  # the least gap
        raise AssertionError("no look brought a mail")

    def nothing_leaves(self, worker: str = "worker") -> datetime | None:
        """Look until there is nothing to look at but gaps; when there will be."""
        while True:
            found = self.tick(worker)
            assert found.claimed is None, f"{self.key_of(found.claimed.id)} left"
            if found.passed:
                return None
            if not found.worked:
                if found.next_at is None or found.next_at - self.clock.now > timedelta(minutes=2):
                    return found.next_at
                self.clock.now = max(self.clock.now, found.next_at)

    def objection(self, email: Claimed) -> NotNow | None:
        """What campaigns have to say before the dot; where nothing speaks against it, the mail takes its place."""
        return self.run(leave(email.id, _nothing_else()))

    def settle(self, settlement: Settlement) -> None:
        if settlement.status == "sent":
            self.log.append(Left(self.clock.now, self.key_of(settlement.claim.id), settlement.claim.id))
        assert self.run(claims.settle([settlement])) == {settlement.claim.id}

    def send(self, worker: str = "worker") -> str:
        """Have the next mail accepted; its key."""
        self.settle(sent(self.claim(worker)))
        return self.log[-1].key

    def advance(self, **duration: float) -> None:
        self.clock.advance(**duration)

    def send_until(self, end: datetime, fate: Fate = sent) -> None:
        """Let time pass, and whatever may leave meanwhile be met by its fate."""
        while True:
            found = self.tick()
            if found.claimed is not None:
                settlement = fate(found.claimed)
                if settlement is not None:
                    self.settle(settlement)
            elif not found.worked:
                if found.next_at is None or found.next_at >= end:
                    self.clock.now = max(self.clock.now, end)
                    return
                self.clock.now = max(self.clock.now, found.next_at)

    # ---------------------------------------------------------------- looking

    def mails(self, campaign: str = "spring") -> list[Mail]:
        def plan() -> Plan[list[Mail]]:
            found: list[Mail] = []
            enrolments = yield from enrolments_after(self.workspace, campaign, limit=10_000)
            for enrolment in enrolments:
                rows = yield ask(
                    "mails_of_enrolment", workspace=self.workspace, campaign=campaign, number=enrolment.number
                )
                found.extend(map(read_mail, rows))
            return found

        return self.run(plan())

    def mail(self, key: str, campaign: str = "spring") -> Mail:
        [found] = [each for each in self.mails(campaign) if each.key == key]
        return found

    def states(self, campaign: str = "spring") -> dict[str, str]:
        return {each.key: each.state.value for each in self.mails(campaign)}

    def enrolments(self, campaign: str = "spring") -> dict[str, Enrolment]:
        found = self.run(enrolments_after(self.workspace, campaign, limit=10_000))
        return {each.prospect.id: each for each in found}

    def campaign(self, id: str = "spring") -> Campaign:
        return self.run(get_campaign(self.workspace, id))

    def key_of(self, id: str) -> str:
        tables = self.outbox.database.dialect.tables
        cast = "::uuid" if tables == "postroom." else ""
        [[key]] = self.run(_ask(f"SELECT key FROM {tables}campaign_mails WHERE email_id = :id{cast}", id=id))
        return key

    def days(self) -> dict[str, tuple[int, int]]:
        """What counts on which day, of the workspace: used and accepted."""
        tables = self.outbox.database.dialect.tables
        rows = self.run(_ask(f"SELECT day, used, accepted FROM {tables}campaign_days WHERE sender_id = ''"))
        return {str(day): (used, accepted) for day, used, accepted in rows}

    def by_day(self, settings: SendingSettings) -> dict[date | None, int]:
        """How many have left on which window day."""
        found: dict[date | None, int] = {}
        for each in self.log:
            day = window_day_at(settings, each.at)
            found[day] = found.get(day, 0) + 1
        return found


def step(number: int, delay: int = 0, **fields: Any) -> Step:
    words = {"subject": "Hello {{ name }}" if number == 1 else None, "text": f"Step {number} for {{{{ name }}}}."}
    return Step(number=number, delay_days=delay, **(words | fields))


def fails(email: Claimed, now: datetime, minutes: float = 5) -> Settlement:
    """A failure for now."""
    return retrying(email, now + timedelta(minutes=minutes))


def miscounted(stage: Stage) -> list[Any]:
    """Days of which something else is counted than the mails say."""
    return stage.run(_named("miscounted_days", workspace=stage.workspace))


def _named(name: str, **values: Any) -> Plan[Any]:
    return (yield ask(name, **values))


def _nothing_else() -> Plan[None]:
    yield from ()


def _ask(sql: str, **values: Any) -> Plan[Any]:
    return (yield ask_sql(sql, **values))


__all__ = [
    "MONDAY",
    "OFFICE",
    "OPEN_ALWAYS",
    "SHOP",
    "Stage",
    "dead",
    "fails",
    "in_doubt",
    "miscounted",
    "replace",
    "sent",
    "step",
]
