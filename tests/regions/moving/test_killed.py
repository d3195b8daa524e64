"""`postroom region move`, killed with SIGKILL at every named place; then workers on both sides, and copies counted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import Email, Outbox, Status
from postroom.testing import ScriptedSmtp
from postroom.vocabulary import EmailId
from tests.regions.moving.pair import ADA, knows
from tests.work.nursery import Nursery, WorkerProcess

PATIENCE = 60.0
PLACES = (
    "move_departing",
    "move_departed",
    "move_packed",
    "move_arriving",
    "move_arrived",
    "move_completing",
    "move_completed",
)
"""Before and after each commit of a move."""
MOVE = ("region", "move", ADA, "--from", "deu1", "--to", "usa1", "--yes")
RESUME = ("region", "move", "--resume")


class Regions:
    """Two regions in one file of settings, and commands that are processes of their own."""

    def __init__(self, urls: tuple[str, str], server: ScriptedSmtp, folder: Path, nursery: Nursery) -> None:
        self.server = server
        self.here, self.there = map(Outbox, urls)
        self._folder, self._nursery, self._logs = folder, nursery, 0
        regions = zip(("deu1", "usa1"), urls, strict=True)
        tables = "".join(f'[regions.{name}]\ndatabase = "{url}"\n' for name, url in regions)
        (folder / "postroom.toml").write_text(f'smtp = "{server.url}"\njournal = "{folder}/journals"\n{tables}')

    def start(self, *command: str, **environment: str) -> WorkerProcess:
        self._logs += 1
        log = self._folder / f"{self._logs}.log"
        return self._nursery.start(list(command), environment=environment, folder=self._folder, log=log)

    def succeed(self, *command: str) -> str:
        process = self.start(*command)
        code = process.wait(PATIENCE)
        assert code == 0, process.log.read_text()
        return process.log.read_text()

    def send_everything(self) -> None:
        for region in ("deu1", "usa1"):
            self.succeed("worker", "--region", region, "--until-idle")

    def close(self) -> None:
        self.here.close()
        self.there.close()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def regions(urls: tuple[str, str], tmp_path: Path, nursery: Nursery) -> Iterator[Regions]:
    with ScriptedSmtp() as server:
        regions = Regions(urls, server, tmp_path, nursery)
        regions.here.migrate()
        regions.there.migrate()
        yield regions
        regions.close()


def test_killed_at_any_place_and_finished_by_the_next_run_nothing_is_lost_or_doubled(regions: Regions) -> None:
    kept: dict[EmailId, str] = {}
    for place in PLACES:
        for n in range(3):
            receipt = regions.here.enqueue(Email(to=ADA, subject=place, text="Hi"), key=f"{ADA}:{place}:{n}")
            kept[receipt.id] = regions.here.get(receipt.id).message_id
        victim = regions.start(*MOVE, POSTROOM_FAILPOINT=f"{place}:1")

        assert victim.wait(PATIENCE) == -signal.SIGKILL, victim.log.read_text()
        assert regions.here.conservation().holds
        assert regions.there.conservation().holds
        if place == "move_arrived":  # somebody is at work on both sides meanwhile
            regions.send_everything()
        regions.succeed(*(RESUME if regions.here.counts()["moving"] else MOVE))
        assert regions.here.counts()["moving"] == 0
        assert not knows(regions.here, "ada")

    regions.send_everything()
    assert {regions.server.copies(message_id) for message_id in kept.values()} == {1}
    assert {regions.there.get(id).status for id in kept} == {Status.SENT}
    assert all(regions.there.get(id).key for id in kept)
    assert {each.what for id in kept for each in regions.there.get(id).history} == {"moved"}
    assert regions.here.conservation().holds
    assert regions.there.conservation().holds


def test_the_command_says_what_it_did_and_leaves_nothing_behind(regions: Regions) -> None:
    regions.here.enqueue(Email(to=ADA, subject="One", text="Hi"), key=f"hello:{ADA}")
    said = regions.succeed(*MOVE)

    assert "moved 1 email from deu1 to usa1: 1 pending" in said
    assert not knows(regions.here, "ada")
    assert "no move was cut short" in regions.succeed(*RESUME)
