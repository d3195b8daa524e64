"""People who change their minds while campaigns are sent: what they do, by chance, and what holds from then on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from random import Random
from typing import Any

from postroom import Outbox
from postroom.campaigns import RampUp, SendingSettings
from postroom.campaigns.records import sending_record
from postroom.campaigns.values import Sender
from postroom.operate.campaigns import CampaignOperations
from postroom.testing import VirtualClock
from postroom.vocabulary import CampaignStatus
from tests.campaigns.sending.stage import SHOP, Stage, step
from tests.campaigns.sending.weeks.log import WORDS, Present
from tests.store.journey import Clock

BY = "grace"
DELAYS = (0, 2, 0)
ENROLLED = {"spring": ("p1", "p2", "p3", "p4", "p5"), "summer": ("p4", "p5", "q1", "q2", "q3")}
SENDERS = {"grace": None, "linus": 3}
"""And the quotas of their own."""

USUAL = SendingSettings(
    sending_days=("mon", "tue", "wed", "thu"), start_hour=9, end_hour=17, timezone="America/New_York",
    daily_quota=6, ramp_up=RampUp(schedule=(2, 4)), gap_seconds=(60, 600),
)  # fmt: skip
HOURS = ((9, 17), (22, 4), (0, 24), (1, 3), (23, 2), (12, 13))
DAYS = (("mon", "tue", "wed", "thu"), ("sat", "sun", "mon"), ("mon", "tue", "wed", "thu", "fri", "sat", "sun"))
ZONES = ("America/New_York", "Europe/Berlin", "Asia/Kolkata", "Pacific/Auckland")
GAPS = ((60, 600), (30, 30), (300, 900))
QUOTAS = (1, 3, 4, 6)


def address_of(id: str) -> str:
    """Of a sender."""
    return f"{id}@shop.example"


@dataclass(slots=True)
class People:
    """Those of one workspace. What they do goes the way of desk and command line."""

    outbox: Outbox
    clock: VirtualClock
    random: Random
    tell: Callable[[str], None]
    settle: Callable[[], None]
    """Returns when the workers have done all that follows from what was said."""
    present: Present = field(init=False)
    """What they have said that is to hold."""
    stage: Stage = field(init=False)
    """For a look into the store."""

    def __post_init__(self) -> None:
        self.stage = Stage(self.outbox, Clock())
        quotas = {address_of(id): quota for id, quota in SENDERS.items()}
        self.present = Present(settings=USUAL, quotas=quotas)

    @property
    def campaigns(self) -> CampaignOperations:
        return CampaignOperations(self.outbox)

    def begin(self) -> None:
        """Two campaigns that share a quota, two senders of whom one has a quota of his own."""
        self.change_settings(USUAL)
        for sender, quota in SENDERS.items():
            self.stage.sender(sender, daily_quota=quota)
        for campaign, prospects in ENROLLED.items():
            words = [WORDS.format(step=number, campaign=campaign) for number in range(1, len(DELAYS) + 1)]
            steps = [step(number, delay, text=words[number - 1]) for number, delay in enumerate(DELAYS, 1)]
            self.stage.draft(campaign, prospects, steps=steps, senders=tuple(SENDERS))
            self.campaigns.launch(SHOP, campaign, by=BY)

    @contextmanager
    def saying(self, what: str, **holds: Any) -> Iterator[None]:
        """What is said in this block holds from its beginning.

        All that could leave before has left by then, but for what a server keeps waiting: so whatever leaves while it
        is being said, leaves because of it.
        """
        self.tell(what)
        self.present = replace(self.present, **holds)
        yield
        self.settle()

    def pause_or_resume(self) -> None:
        campaign = self.random.choice(tuple(ENROLLED))
        status = self.stage.campaign(campaign).status
        if status is CampaignStatus.RUNNING:
            with self.saying(f"{campaign} is paused", paused=self.present.paused | {campaign}):
                self.campaigns.pause(SHOP, campaign, by=BY)
        elif status is CampaignStatus.PAUSED:
            self.resume(campaign)

    def resume(self, campaign: str) -> None:
        with self.saying(f"{campaign} is resumed", paused=self.present.paused - {campaign}):
            self.campaigns.resume(SHOP, campaign, by=BY)

    def launch_again(self) -> None:
        campaign = self.random.choice(tuple(ENROLLED))
        if self.stage.campaign(campaign).status is CampaignStatus.RUNNING:
            self.tell(f"{campaign} is launched again")
            assert self.campaigns.launch(SHOP, campaign, by=BY).scheduled == 0

    def stop_somebody(self) -> None:
        """One of three, so that somebody is left."""
        address = f"{self.random.choice(('p1', 'p5', 'q1'))}@example.org"
        with self.saying(f"{address} unsubscribes", stopped=self.present.stopped | {address}):
            self.outbox.suppress(address, reason="unsubscribe", scope="workspace", workspace=SHOP)

    def change_something(self) -> None:
        chance = self.random.random()
        if chance < 0.3:
            self.change_quota("linus", self.random.choice((1, 3, None)))
        elif chance < 0.6:
            self.change_settings(replace(self.present.settings, daily_quota=self.random.choice(QUOTAS)))
        else:
            self.change_settings(self.some_settings())

    def lower_a_quota(self) -> None:
        """What is in hand may be too much from now on."""
        if self.random.random() < 0.5:
            self.change_quota("linus", self.random.choice((0, 1)))
        else:
            self.change_settings(replace(self.present.settings, daily_quota=self.random.choice((0, 1, 1, 2))))

    def some_settings(self) -> SendingSettings:
        start, end = self.random.choice(HOURS)
        return SendingSettings(
            sending_days=self.random.choice(DAYS),
            start_hour=start,
            end_hour=end,
            timezone=self.random.choice(ZONES),
            daily_quota=self.random.choice(QUOTAS),
            ramp_up=self.random.choice((USUAL.ramp_up, None)),
            holidays=tuple(self.some_day() for _ in range(self.random.randrange(3))),
            gap_seconds=self.random.choice(GAPS),
        )

    def some_day(self) -> date:
        return (self.clock.now + timedelta(days=self.random.randrange(5))).date()

    def change_settings(self, settings: SendingSettings) -> None:
        with self.saying(f"from now on {settings}", settings=settings):
            self.campaigns.change_settings(SHOP, sending_record(settings), by=BY)

    def change_quota(self, sender: str, quota: int | None) -> None:
        changed = Sender(id=sender, address=address_of(sender), daily_quota=quota)
        quotas = {**self.present.quotas, changed.address: quota}
        with self.saying(f"{sender} may send {quota} a day", quotas=quotas):
            self.campaigns.put_sender(SHOP, changed, by=BY)

    def make_up_their_minds(self) -> None:
        """Everything runs, as in the beginning."""
        for campaign in sorted(self.present.paused):
            self.resume(campaign)
        self.change_settings(USUAL)
        for sender, quota in SENDERS.items():
            self.change_quota(sender, quota)

    # ---------------------------------------------------------------- looking

    def send_after_all(self, arrived: set[tuple[str, str, int]]) -> None:
        """They find out of mails in doubt that they have not arrived, and have them sent."""
        for campaign in ENROLLED:
            for mail in self.stage.mails(campaign):
                lost = (f"{mail.prospect_id}@example.org", campaign, mail.step) not in arrived
                if mail.email_status == "in_doubt" and lost:
                    self.tell(f"{mail.key} is sent after all")
                    self.outbox.retry(mail.id, by=BY)

    def still_open(self) -> list[str]:
        """Mails that can still leave; those in doubt, and what would follow them, cannot."""
        return [
            f"{each.key} is {each.state}"
            for campaign in ENROLLED
            for each in self.stage.mails(campaign)
            if each.state == "ready" or (each.state == "leaving" and each.email_status != "in_doubt")
        ]

    def discrepancies(self) -> list[str]:
        """Where the books do not add up."""
        return [str(each) for campaign in ENROLLED for each in self.campaigns.discrepancies(SHOP, campaign)]
