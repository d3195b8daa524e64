"""`postroom.web.lifespan`: the worker runs with the application, and stops gracefully with it (C6, C7)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from postroom import AsyncOutbox, Email, Outbox, Regions
from postroom.config import load_shared
from postroom.errors import WrongDeployment
from postroom.testing import ScriptedSmtp
from postroom.web import lifespan
from tests.regions.continents import two_regions
from tests.work.office import until

HELLO = Email(to="ada@example.org", subject="Hi", text="Hello")


def outbox_at(folder: Path, name: str, **settings: str) -> Outbox:
    outbox = Outbox(f"sqlite:///{folder / name}.db", sender="desk@example.org", **settings)  # type: ignore[arg-type]
    outbox.migrate()
    return outbox


async def test_emails_are_sent_for_as_long_as_the_application_runs(tmp_path: Path) -> None:
    with ScriptedSmtp() as server, outbox_at(tmp_path, "one", smtp=server.url) as outbox:
        async with lifespan(outbox)(None):
            outbox.enqueue(HELLO)
            await until(lambda: outbox.counts()["sent"] == 1)
        outbox.enqueue(HELLO)

        assert (outbox.counts()["pending"], len(server.messages)) == (1, 1)


async def test_several_outboxes_and_those_of_event_loops_have_a_worker_each(tmp_path: Path) -> None:
    with ScriptedSmtp() as server, outbox_at(tmp_path, "one", smtp=server.url) as one:
        async with AsyncOutbox(f"sqlite:///{tmp_path / 'two'}.db", smtp=server.url, sender="x@example.org") as two:
            await two.migrate()
            async with lifespan([one, two])(None):
                one.enqueue(HELLO)
                await two.enqueue(HELLO)
                await until(lambda: len(server.messages) == 2)


async def test_a_region_that_is_switched_off_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """(C7)"""
    monkeypatch.setenv("EMAIL_WORKER_ENABLED__USA1", "false")
    with ScriptedSmtp() as server, Regions.from_settings(two_regions(tmp_path)) as regions:
        settings = load_shared(regions=_tables(regions), smtp=server.url, sender="desk@example.org")
    with Regions.from_settings(settings) as regions:
        regions.migrate()
        for name in regions:
            regions[name].enqueue(HELLO)
        async with lifespan(regions)(None):
            names = {thread.name for thread in threading.enumerate()}

    assert "postroom-worker-deu1" in names
    assert "postroom-worker-usa1" not in names


def _tables(regions: Regions) -> dict[str, dict[str, str]]:
    return {name: {"database": regions[name].database_url} for name in regions}


async def test_a_region_whose_database_is_away_is_in_nobodys_way(tmp_path: Path) -> None:
    away = "postgresql://postroom@127.0.0.1:1/sgp1"
    with ScriptedSmtp() as server, outbox_at(tmp_path, "deu1", smtp=server.url) as deu1:
        settings = load_shared(
            regions={"deu1": {"database": deu1.database_url}, "sgp1": {"database": away}, "jpn1": {}},
            smtp=server.url,
            sender="desk@example.org",
        )
        with Regions.from_settings(settings) as regions:
            async with lifespan(regions)(None):
                regions["deu1"].enqueue(HELLO)
                await until(lambda: deu1.counts()["sent"] == 1)


async def test_where_nobody_may_work_the_application_does_not_start(tmp_path: Path) -> None:
    with outbox_at(tmp_path, "one", smtp="smtp://127.0.0.1:1") as outbox:
        settings = outbox.settings.model_copy(update={"deployment": "production"})
        with Outbox.from_settings(settings) as production:
            production.migrate()
        with pytest.raises(WrongDeployment):
            async with lifespan(outbox)(None):
                pass


def test_sigterm_lets_what_is_under_way_finish_and_gives_the_rest_back(tmp_path: Path) -> None:
    """Under uvicorn, with a worker for each region that is switched on (C6)."""
    begun, emails = threading.Event(), 5
    with ScriptedSmtp() as server, outbox_at(tmp_path, "deu1") as deu1, outbox_at(tmp_path, "usa1") as usa1:
        server.script(at="dot", delay=1.0, when=lambda moment: begun.set() is None)
        deu1.enqueue_many([HELLO] * emails)
        usa1.enqueue(HELLO)
        with subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "tests.regions.application:app", "--port", "0", "--log-level", "warning"],
            env=os.environ
            | {
                "POSTROOM_REGIONS__DEU1__DATABASE": deu1.database_url,
                "POSTROOM_REGIONS__USA1__DATABASE": usa1.database_url,
                "EMAIL_WORKER_ENABLED__USA1": "false",
                "POSTROOM_SMTP": f"{server.url}?connections=1",
                "POSTROOM_JOURNAL": str(tmp_path / "journals"),
                "PYTHONPATH": os.fspath(Path(__file__).parents[2]),
            },
        ) as process:
            try:
                assert begun.wait(60)
                process.send_signal(signal.SIGTERM)
                code = process.wait(60)
            finally:
                process.kill()
        counts = deu1.counts()

        assert code in (0, -signal.SIGTERM)
        assert counts["sent"] == len(server.messages)
        assert 1 <= counts["sent"] < emails
        assert counts["sent"] + counts["pending"] == emails
        assert usa1.counts()["pending"] == 1
        assert (tmp_path / "journals" / "deu1").is_dir()
        assert not (tmp_path / "journals" / "usa1").exists()
