"""The weeks of the campaign in seconds: the real store, worker and mail server, on a clock that is moved."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random

from examples.outreach.log import ServerLog
from examples.outreach.rules import Facts
from examples.outreach.team import CAMPAIGN, TEAM, WORKSPACE, description, import_prospects, make_draft, settings_of
from examples.portals.serving import bound, served
from postroom import Outbox
from postroom.campaigns import SendingSettings
from postroom.campaigns.drafts.checking import Checked
from postroom.campaigns.drafts.forecasting import Forecast
from postroom.campaigns.sending.launching import Launched
from postroom.operate.campaigns import CampaignOperations
from postroom.testing import ScriptedSmtp, VirtualClock, VirtualWorker
from postroom.web import unsubscribe

BEGIN = datetime(2026, 3, 23, 6, tzinfo=UTC)
"""A Monday morning before the office opens."""
LONGEST = timedelta(weeks=12)
SECRET = "a secret of the example, long enough to seal links with"  # noqa: S105


@dataclass(slots=True, kw_only=True)
class Play:
    """One campaign while it is played, and what is to be told of it afterwards."""

    clock: VirtualClock
    outbox: Outbox
    server: ScriptedSmtp
    worker: VirtualWorker
    log: ServerLog
    checked: Checked
    forecast: Forecast
    launched: Launched
    stops: dict[str, datetime] = field(default_factory=dict)
    held: dict[str, tuple[datetime, date]] = field(default_factory=dict)
    pauses: list[tuple[datetime, datetime]] = field(default_factory=list)
    happened: list[str] = field(default_factory=list)

    @property
    def campaigns(self) -> CampaignOperations:
        return CampaignOperations(self.outbox)

    def work_until(self, end: datetime) -> None:
        """Let the time pass, and whatever leaves meanwhile arrive."""
        for now in self.worker.until(end):
            self.log.note(self.server.messages, now)

    def work_to_the_end(self) -> None:
        """Until nobody is left who could be mailed."""
        while self.campaigns.status(WORKSPACE, CAMPAIGN).campaign.finished_at is None:
            if self.clock.now > BEGIN + LONGEST:
                return  # the report says that it did not end
            self.work_until(self.clock.now + timedelta(days=1))

    def local(self, day: date, hour: int, minute: int = 0) -> datetime:
        """An instant on the clock of the workspace."""
        return datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.settings.zone).astimezone(UTC)

    @property
    def settings(self) -> SendingSettings:
        return self.campaigns.settings_of(WORKSPACE).sending

    def facts(self, *, quiet: bool) -> Facts:
        """What the log is to be held against."""
        sequence = description().sequence
        assert sequence is not None
        return Facts(
            settings=self.settings,
            delays=sequence.delay_days,
            stops=self.stops,
            held=self.held,
            pauses=self.pauses,
            quiet=quiet,
        )

    def sent_by_day(self) -> dict[date, int]:
        return dict(sorted(Counter(each.day for each in self.log.deliveries).items()))

    def planned_by_day(self) -> dict[date, int]:
        return {each.day: each.planned for each in self.forecast.days}


@contextmanager
def played(*, seed: int) -> Iterator[Play]:
    """A campaign that was checked, forecast and launched, in a folder that is gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outreach-")))
        server = stack.enter_context(ScriptedSmtp())
        listening = stack.enter_context(bound(0))
        clock = VirtualClock(BEGIN)
        place = f"http://127.0.0.1:{listening.getsockname()[1]}"
        settings = settings_of(folder, smtp=server.url, public_url=place, secret=SECRET)
        outbox = stack.enter_context(Outbox.from_settings(settings, clock=clock))
        outbox.migrate()
        stack.enter_context(served(unsubscribe(outbox), listening))
        campaigns = CampaignOperations(outbox)
        make_draft(campaigns)
        import_prospects(campaigns)
        checked = campaigns.check(WORKSPACE, CAMPAIGN)
        forecast = campaigns.forecast(WORKSPACE, CAMPAIGN)
        launched = campaigns.launch(WORKSPACE, CAMPAIGN, by=TEAM)
        worker = stack.enter_context(VirtualWorker(outbox, clock, random=Random(seed)))
        yield Play(
            clock=clock,
            outbox=outbox,
            server=server,
            worker=worker,
            log=ServerLog(campaigns.settings_of(WORKSPACE).sending.zone),
            checked=checked,
            forecast=forecast,
            launched=launched,
        )
