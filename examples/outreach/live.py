"""Everything in one process, on the machine's own clock: dev inbox, worker, admin app, and the campaign under way."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from examples.outreach.team import CAMPAIGN, TEAM, WORKSPACE, import_prospects, make_draft, settings_of
from examples.portals.serving import bound, served
from postroom import Outbox
from postroom.accounts.accounts import add_person, find_person
from postroom.accounts.passwords import hash_password
from postroom.accounts.values import Role
from postroom.campaigns.arithmetic.settings import DAYS
from postroom.campaigns.looking.totals import totals_of
from postroom.campaigns.serving import campaign_feed
from postroom.inbox import DevInbox
from postroom.operate.campaigns import CampaignOperations
from postroom.vocabulary import MailState
from postroom.web import admin
from postroom.work.thread import WorkerThread

PERSON = "ada@alder.example"
PASSWORD = "a door that closes"  # noqa: S105  printed on the screen: its only lock is that it stays on this machine
NOW: dict[str, Any] = {
    "sending_days": list(DAYS),
    "start_hour": 0,
    "end_hour": 24,
    "daily_quota": 1_000,
    "ramp_up": [],
    "holidays": [],
    "gap_seconds": [1, 2],
}
"""A window that is always open: so there is something to see at any hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where everything is, and what is about to leave."""

    desk: str
    campaign: str
    inbox: str
    ready: int
    """Letters whose turn it is, when it begins; …"""
    waiting: int
    """… and those, with them, that are still to leave at all."""


@contextmanager
def running(folder: Path, *, port: int = 0, inbox_port: int = 0, draft: bool = False) -> Iterator[Addresses]:
    """The campaign and all it needs, as long as the block lasts. A port of 0 is any that is free.

    As a `draft` it is new, but has no prospects and is not launched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    with ExitStack() as stack:
        inbox = stack.enter_context(DevInbox(file=folder / "inbox.db", port=inbox_port))
        listening = stack.enter_context(bound(port))
        site = f"http://127.0.0.1:{listening.getsockname()[1]}"
        settings = settings_of(folder, smtp=inbox.smtp_url, public_url=site, secret=_secret(folder))
        outbox = stack.enter_context(Outbox.from_settings(settings))
        outbox.migrate()
        _let_in(outbox)
        stack.enter_context(served(admin(outbox), listening))
        _begin(outbox, draft=draft)
        totals = outbox.database.run(totals_of(WORKSPACE, CAMPAIGN), writes=False)
        stack.enter_context(WorkerThread(outbox, grace="5s", beside=campaign_feed))
        yield Addresses(
            desk=f"{site}/admin",
            campaign=f"{site}/admin/campaigns/{CAMPAIGN}?workspace={WORKSPACE}",
            inbox=f"{inbox.url}/",
            ready=totals.states.get(MailState.READY, 0),
            waiting=totals.waiting,
        )


def forget(folder: Path) -> None:
    """Remove what an earlier run has left there, and nothing else."""
    shutil.rmtree(folder / "journal", ignore_errors=True)
    for name in ("secret", *(f"{file}{end}" for file in ("outreach.db", "inbox.db") for end in ("", "-wal", "-shm"))):
        (folder / name).unlink(missing_ok=True)


def _secret(folder: Path) -> str:
    """The same one every time: links of yesterday lead somewhere today."""
    file = folder / "secret"
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(token_hex(32), encoding="ascii")
    return file.read_text(encoding="ascii")


def _let_in(outbox: Outbox) -> None:
    """A person for whoever watches, with a password that is told and a code that arrives in the dev inbox."""
    if outbox.database.run(find_person(PERSON), writes=False) is None:
        outbox.database.run(add_person(PERSON, role=Role.ADMIN, password=hash_password(PASSWORD)))


def _begin(outbox: Outbox, *, draft: bool) -> None:
    """The campaign, unless it is there already: then it goes on where it was."""
    campaigns = CampaignOperations(outbox)
    if campaigns.list(WORKSPACE):
        return
    make_draft(campaigns, NOW)
    if not draft:
        import_prospects(campaigns)
        campaigns.launch(WORKSPACE, CAMPAIGN, by=TEAM)
