"""Weeks of sending in seconds: workers that come and go, servers that refuse, people who change their minds.

Chance chooses what happens next, from a seed. What the server accepted is then held against the rules.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from random import Random

from postroom.campaigns import RampUp, SendingSettings, allowance, window_day_at
from postroom.campaigns.arithmetic.keys import StepKey
from postroom.campaigns.books.mails import ring
from postroom.campaigns.looking.totals import discrepancies
from postroom.campaigns.sending.acting import pause_campaign, resume_campaign
from postroom.campaigns.stopping.stops import stop_prospect
from postroom.store import claims
from postroom.store.contract import Claimed
from postroom.vocabulary import CampaignStatus, OnDoubt
from tests.campaigns.sending.stage import MONDAY, SHOP, Stage
from tests.store.journey import LEASE, dead, in_doubt, retrying, sent, take_over

WORKERS = ("anna", "ben", "cleo", "dora")
RAMP, QUOTA, LEAST_GAP = (2, 4), 6, 60
DELAYS = (0, 2, 0)
USUAL = SendingSettings(
    sending_days=("mon", "tue", "wed", "thu"), start_hour=9, end_hour=17, timezone="America/New_York",
    daily_quota=QUOTA, ramp_up=RampUp(schedule=RAMP), gap_seconds=(LEAST_GAP, 600),
)  # fmt: skip
SETTINGS = (
    USUAL,
    replace(USUAL, holidays=(date(2026, 3, 11), date(2026, 3, 17))),
    replace(USUAL, start_hour=22, end_hour=4),
    replace(USUAL, sending_days=("sat", "sun"), start_hour=0, end_hour=24),
)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the server took, and what held then."""

    at: datetime
    key: StepKey
    campaign: str
    day: date
    settings: SendingSettings


@dataclass(slots=True)
class Weeks:
    """One workspace, four workers, one seed."""

    stage: Stage
    random: Random
    settings: SendingSettings = USUAL
    accepted: list[Accepted] = field(default_factory=list)
    claimed_at: list[datetime] = field(default_factory=list)
    hands: dict[str, list[Claimed]] = field(default_factory=lambda: {worker: [] for worker in WORKERS})
    stopped: set[str] = field(default_factory=set)
    campaigns: dict[str, str] = field(default_factory=dict)
    """Of which campaign a sequence is."""

    def begin(self) -> None:
        stage = self.stage
        stage.settings(self.settings)
        stage.sender("grace")
        stage.sender("linus", daily_quota=3)
        for campaign, prospects in (("spring", ("p1", "p2", "p3", "p4", "p5")), ("summer", ("p4", "p5", "q1", "q2"))):
            stage.draft(campaign, prospects, DELAYS, senders=("grace", "linus"))
            self.campaigns[f"{campaign}-words"] = campaign
            stage.launch(campaign)

    def live(self, happenings: int) -> None:
        """So many things happen; then nothing disturbs any more, and all comes to its end."""
        does = [self.look] * 12 + [self.hand_over] * 12 + [self.pass_time] * 8 + [self.recover] * 3
        does += [self.crash, self.pause, self.change_settings, self.launch_again, self.stop_somebody]
        for _ in range(happenings):
            self.random.choice(does)()
        self.settle_down()

    # ---------------------------------------------------------------- what happens

    def look(self) -> None:
        worker = self.random.choice(WORKERS)
        found = self.stage.tick(worker)
        if found.claimed is not None:
            self.hands[worker].append(found.claimed)
            self.claimed_at.append(self.stage.clock.now)

    def hand_over(self, *, calm: bool = False) -> None:
        """A worker comes to the dot of an email: the last question, then what the server says."""
        busy = [worker for worker in WORKERS if self.hands[worker]]
        if not busy:
            return
        email = self.hands[self.random.choice(busy)].pop(0) if calm else self._some_email(busy)
        now = self.stage.clock.now
        if not self.stage.run(claims.note_dots([email.claim])):
            return  # its lease was lost, and so it does not leave
        if (objection := self.stage.objection(email)) is not None:
            until = now + timedelta(seconds=objection.seconds)
            self.stage.run(claims.defer([email.claim], until=until, reason=objection.reason))
            return
        chance = 1.0 if calm else self.random.random()
        if chance < 0.15:
            self.stage.run(claims.settle([retrying(email, now + timedelta(minutes=self.random.randrange(1, 90)))]))
        elif chance < 0.2:
            self.stage.run(claims.settle([dead(email)]))
        elif chance < 0.22:
            self.stage.run(claims.settle([in_doubt(email, None)]))
        else:
            self._accept(email)

    def _some_email(self, busy: list[str]) -> Claimed:
        hand = self.hands[self.random.choice(busy)]
        return hand.pop(self.random.randrange(len(hand)))

    def _accept(self, email: Claimed) -> None:
        key = StepKey.parse(self.stage.key_of(email.id))
        campaign = self.campaigns[key.sequence_id]
        day = self.stage.mail(str(key), campaign).day
        assert day is not None, "it leaves without counting"
        assert self.stage.campaign(campaign).status is CampaignStatus.RUNNING, "it leaves although it is paused"
        assert key.prospect_id not in self.stopped, "it leaves after its prospect was stopped"
        self.accepted.append(Accepted(self.stage.clock.now, key, campaign, day, self.settings))
        assert self.stage.run(claims.settle([sent(email)], keep_sent=self.random.random() < 0.5)) == {email.id}

    def pass_time(self) -> None:
        """A little, or until something may leave."""
        found = self.stage.tick("nobody in particular", routes=())
        if found.next_at is not None and self.random.random() < 0.5:
            self.stage.clock.now = max(self.stage.clock.now, found.next_at)
        else:
            self.stage.advance(seconds=self.random.choice((1, 20, 70, 700, 7_000)))

    def recover(self) -> None:
        """Somebody takes over what dead or late workers held."""
        for lost in take_over(self.stage.outbox, worker="a survivor"):
            assert lost.on_doubt is OnDoubt.HOLD
            settlement = in_doubt(lost, None) if lost.dot_noted else retrying(lost, self.stage.clock.now)
            self.stage.run(claims.settle([settlement]))

    def crash(self) -> None:
        self.hands[self.random.choice(WORKERS)].clear()

    def pause(self) -> None:
        campaign = self.random.choice(sorted(self.campaigns.values()))
        status = self.stage.campaign(campaign).status
        if status is CampaignStatus.RUNNING:
            self.stage.run(pause_campaign(SHOP, campaign))
        elif status is CampaignStatus.PAUSED:
            self.stage.go_through(resume_campaign(SHOP, campaign))

    def change_settings(self) -> None:
        self.settings = self.random.choice(SETTINGS)
        self.stage.settings(self.settings)
        self.stage.run(ring(SHOP))

    def launch_again(self) -> None:
        campaign = self.random.choice(sorted(self.campaigns.values()))
        assert self.stage.launch(campaign).scheduled == 0

    def stop_somebody(self) -> None:
        if self.random.random() < 0.2:
            prospect = self.random.choice(("p1", "p5", "q1"))
            self.stopped.add(prospect)
            self.stage.run(stop_prospect(SHOP, f"{prospect}@example.org", "unsubscribed"))

    # ---------------------------------------------------------------- the end

    def settle_down(self) -> None:
        for campaign in self.campaigns.values():
            if self.stage.campaign(campaign).status is CampaignStatus.PAUSED:
                self.stage.go_through(resume_campaign(SHOP, campaign))
        self.settings = USUAL
        self.stage.settings(USUAL)
        self.stage.run(ring(SHOP))
        for worker in WORKERS:
            self.hands[worker].clear()
        self.stage.advance(seconds=LEASE.total_seconds() + 1)
        self.recover()
        while self._something_is_left():
            pass

    def _something_is_left(self) -> bool:
        found = self.stage.tick(WORKERS[0])
        if found.claimed is not None:
            self.hands[WORKERS[0]].append(found.claimed)
            self.claimed_at.append(self.stage.clock.now)
            self.hand_over(calm=True)
        elif not found.worked:
            if found.next_at is None or found.next_at > MONDAY + timedelta(days=365):
                return False
            self.stage.clock.now = max(self.stage.clock.now, found.next_at)
            return bool(self._open())
        return True

    def _open(self) -> int:
        """Mails that can still leave; those in doubt, and what would follow them, cannot."""
        return sum(
            each.state.value == "ready" or (each.state.value == "leaving" and each.email_status != "in_doubt")
            for campaign in self.campaigns.values()
            for each in self.stage.mails(campaign)
        )

    def check(self) -> None:
        """The log of the server against the rules, P1 to P9 and P13."""
        keys = Counter(str(each.key) for each in self.accepted)
        assert [key for key, times in keys.items() if times > 1] == [], "P13: a step was sent twice"
        for each in self.accepted:
            assert window_day_at(each.settings, each.at) == each.day, f"P1, P3, P9: {each} is outside its window"
        days = sorted(Counter(each.day for each in self.accepted).items())
        for ramp_day, (day, count) in enumerate(days, 1):
            assert count <= allowance(USUAL, ramp_day), f"P4, P5: {count} on {day}, day {ramp_day} of the ramp"
        for earlier, later in pairwise(self.claimed_at):
            assert (later - earlier).total_seconds() >= LEAST_GAP, "P6: too close"
        sent_on: dict[StepKey, Accepted] = {}
        for each in self.accepted:
            key = each.key
            sent_on[key] = each
            if key.step_number > 1:
                before = sent_on.get(replace(key, step_number=key.step_number - 1))
                assert before is not None, "P7: a step before its predecessor"
                assert (each.day - before.day).days >= DELAYS[key.step_number - 1], "P7: too soon"
        for campaign in self.campaigns.values():
            assert self.stage.go_through(discrepancies(SHOP, campaign)) == ()
        assert self._open() == 0, "something that could leave never did"
