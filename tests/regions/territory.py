"""Three regions on three PostgreSQL databases, with a worker process for each: what a company would run."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from postroom import Outbox
from tests.regions.moving.pair import everything
from tests.servers.postgres import PostgresServer
from tests.work.nursery import Nursery, WorkerProcess
from tests.work.office import wait_until

NAMES = ("deu1", "usa1", "sgp1")


@dataclass(slots=True)
class Region:
    """One of them, with what a look at it from outside finds."""

    name: str
    outbox: Outbox
    folder: Path
    worker: WorkerProcess | None = None
    metrics: str = ""
    """As they were scraped last."""
    people: dict[str, str] = field(default_factory=dict)
    """Whom this region writes to, by what becomes of it; every local part is found nowhere else by chance."""

    def person(self, fate: str) -> str:
        self.people[fate] = f"{fate}.{secrets.token_hex(5)}@{self.name}.example"
        return self.people[fate]

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    @property
    def log_file(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def settings(self) -> dict[str, str]:
        """Said in the environment of its own worker alone: no machine knows another region's database."""
        return {
            "POSTROOM_REGION": self.name,
            f"POSTROOM_REGIONS__{self.name.upper()}__DATABASE": self.outbox.database_url,
        }

    def said(self) -> list[dict[str, object]]:
        lines = self.log.splitlines() if self.log_file.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def scrape(self) -> str:
        """The worker's own metrics, from its port."""
        wait_until(lambda: self._port() is not None)
        with urlopen(f"http://127.0.0.1:{self._port()}/metrics") as answer:
            self.metrics = answer.read().decode()
        return self.metrics

    def _port(self) -> object:
        return next((line["port"] for line in self.said() if line.get("event") == "metrics served"), None)

    def traces(self) -> Mapping[str, bytes]:
        """Every byte that is the region's own, by where it was found."""
        journals = [path for path in (self.folder / "journals" / self.name).rglob("*") if path.is_file()]
        return {
            "database": everything(self.outbox).encode(),
            "journals": b"".join(path.read_bytes() for path in journals),
            "log": self.log.encode(),
            "metrics": self.metrics.encode(),
        }


@contextmanager
def territory(servers: Iterable[PostgresServer], folder: Path, smtp: str) -> Iterator[dict[str, Region]]:
    """Regions with their tables, each on its server; workers are started by `employ`."""
    with ExitStack() as stack:
        regions = {}
        for name, server in zip(NAMES, servers, strict=True):
            url = stack.enter_context(server.database())
            outbox = stack.enter_context(Outbox(url))
            outbox.migrate()
            regions[name] = Region(name, outbox, folder)
        journals, names = folder / "journals", "".join(f"[regions.{name}]\n" for name in regions)
        (folder / "postroom.toml").write_text(f'smtp = "{smtp}"\njournal = "{journals}"\n{names}')
        try:
            yield regions
        finally:
            for region in regions.values():
                if region.worker is not None:
                    region.worker.kill()
                    region.worker.wait(60)


def employ(region: Region, nursery: Nursery, *arguments: str, **environment: str) -> None:
    """`postroom worker --region …`, which says all that it ever says."""
    command = ["worker", "--region", region.name, "--log-level", "debug", "--log-format", "json", *arguments]
    region.worker = nursery.start(
        command,
        environment=region.settings | environment,
        folder=region.folder,
        log=region.log_file,
    )


def spelled(texts: Iterable[str]) -> list[bytes]:
    """What to look for: addresses, and their local parts."""
    return [form.encode() for text in texts for form in {text, text.partition("@")[0], text.upper()}]
