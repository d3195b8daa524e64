"""The company: its regions, each with a database and a way out of its own, and the directory that all share."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from examples.portals import mail, tables
from examples.portals.directory import Directory
from examples.portals.doors import Doors
from examples.portals.letters import AgencyLetters, HubLetters, OrgLetters
from postroom import Regions, Settings
from postroom.accounts.accounts import add_person, find_person
from postroom.accounts.passwords import hash_password
from postroom.accounts.values import Role
from postroom.config import load_shared

REGIONS = {"ind1": "India", "usa1": "United States", "deu1": "Germany"}

PASSWORD = "the alder by the river"  # noqa: S105  printed on the screen: this is for development


def staff_of(region: str) -> str:
    """Who may sign in to the admin portal of a region. Each region has accounts of its own there, too."""
    return f"{region}@staff.alder.example"


def settings_of(databases: Mapping[str, str], smtp: Mapping[str, str], folder: Path) -> Settings:
    """What `postroom.toml` would say, with the addresses of servers that have just been started.

    Everything else is read from the environment as ever: `EMAIL_WORKER_ENABLED=false`, also for one region alone
    (`EMAIL_WORKER_ENABLED__DEU1=false`), `EMAIL_WORKER_BATCH_SIZE` and so on.
    """
    regions = {name: {"database": databases[name], "smtp": smtp[name]} for name in REGIONS}
    return load_shared(
        regions=regions,
        portals=tuple(f"{mail.__name__}:{portal.name}" for portal in mail.PORTALS),
        policy="standard",  # at once, then after 1 minute, 5 minutes, 30 minutes and 2 hours
        sender="Alder <post@alder.example>",
        journal=folder / "journal",
        secret=_secret(folder, "sealing.key"),
    )


class Company:
    """Everything that stays open while the application runs; a context manager."""

    def __init__(self, settings: Settings, folder: Path, *, site: str) -> None:
        self.regions = Regions(settings)
        self.directory = Directory(folder / "directory.db", key=_secret(folder, "directory.key"))
        self.doors = {
            letters.portal.name: Doors(letters=letters, regions=self.regions, directory=self.directory, site=site)
            for letters in (HubLetters(), OrgLetters(), AgencyLetters())
        }

    def __enter__(self) -> Self:
        self.regions.migrate()
        for name in self.regions:
            self._furnish(name)
        return self

    def __exit__(self, *details: object) -> None:
        self.regions.close()
        self.directory.close()

    def _furnish(self, region: str) -> None:
        """Our own tables, and somebody who may sign in to the admin portal: what `postroom user add` does."""
        outbox, name = self.regions[region], staff_of(region)
        with outbox.transaction() as connection:
            tables.create(connection)
        if outbox.database.run(find_person(name), writes=False) is None:
            outbox.database.run(add_person(name, role=Role.ADMIN, password=hash_password(PASSWORD)))


def _secret(folder: Path, name: str) -> str:
    """Made once and kept: links and cookies outlive the process. A real application has it from its secret store."""
    file = folder / name
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(32))
    return file.read_text()
