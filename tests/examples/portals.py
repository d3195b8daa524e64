"""The portals as a process of their own, and what a visitor and a developer see of them."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx

from examples.portals.company import REGIONS
from examples.portals.serving import Addresses
from examples.portals.story import Mailbox
from postroom import Outbox

PASSWORD = "a walk in the woods"


@dataclass(frozen=True, slots=True, kw_only=True)
class Portals:
    """A running application."""

    at: Addresses
    folder: Path
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """As the kernel does when memory is short: nobody is asked, nothing is finished."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def outbox(self, region: str) -> closing[Outbox]:
        """The outbox of a region, looked at from outside."""
        return closing(Outbox(f"sqlite:///{self.folder / region}.db"))


@contextmanager
def portals(folder: Path, *arguments: str, **settings: str) -> Iterator[Portals]:
    """`python -m examples.portals`, until the block ends; then it must end well, unless it was killed."""
    with (folder.parent / f"{folder.name}.said").open("a+") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "examples.portals", "--port", "0", "--data", str(folder), *arguments],
            stdout=subprocess.PIPE, stderr=said, text=True, env=environment(**settings),
        )  # fmt: skip
        try:
            yield Portals(at=_addresses(process, said), folder=folder, process=process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL)


def environment(**settings: str) -> dict[str, str]:
    """This one, without settings from outside."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("POSTROOM_", "SMTP_", "EMAIL_"))}
    return ours | {"COLUMNS": "200", **settings}


def _addresses(process: subprocess.Popen[str], said: Any) -> Addresses:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C ends it" in line:
            break
    told = "".join(lines)
    site = re.search(r"^Alder\s+(\S+)", told, re.MULTILINE)
    said.seek(0)
    assert site is not None, told + said.read()
    inboxes = {name: re.search(rf"^{name}\s.*?(http\S+)", told, re.MULTILINE) for name in REGIONS}
    return Addresses(site=site[1], inboxes={name: found[1] for name, found in inboxes.items() if found})


class Visitor:
    """Somebody with a browser, and a mailbox in one region."""

    def __init__(self, at: Addresses, portal: str, *, region: str, email: str, language: str = "en") -> None:
        self.at = at
        self.portal = portal
        self.region = region
        self.email = email
        self.mail = Mailbox(at.inboxes[region], email)
        self.http = httpx.Client(
            base_url=at.site, follow_redirects=True, timeout=60, headers={"accept-language": language}
        )

    def sign_up(self, **more: str) -> httpx.Response:
        fields = {"name": "Ada", "organisation": "Hill House", "email": self.email, "password": PASSWORD}
        return self.post("sign-up", **(fields | {"region": self.region} | more))

    def sign_in(self, password: str = PASSWORD) -> httpx.Response:
        return self.post("sign-in", email=self.email, password=password)

    def post(self, page: str, **fields: str) -> httpx.Response:
        return self.http.post(f"/{self.portal}/{page}", data=fields)

    def token(self, page: str) -> str:
        """The secret in the link to a page, from the newest email that has one."""
        return parse_qs(urlsplit(self.mail.link(f"{self.portal}/{page}")).query)["token"][0]

    def close(self) -> None:
        self.http.close()


@contextmanager
def visiting(at: Addresses, portal: str, *, region: str, email: str, language: str = "en") -> Iterator[Visitor]:
    with closing(Visitor(at, portal, region=region, email=email, language=language)) as visitor:
        yield visitor


def messages(folder: Path, region: str) -> list[EmailMessage]:
    """What arrived in a region's inbox, in order."""
    with closing(sqlite3.connect(folder / f"inbox-{region}.db")) as connection:
        sources = connection.execute("SELECT source FROM postroom_inbox ORDER BY id").fetchall()
    return [cast("EmailMessage", message_from_bytes(source, policy=policy.default)) for (source,) in sources]


def chaos(at: Addresses, region: str, *troubles: str, times: int | None = None) -> None:
    """Switch these troubles on in a region's inbox, and all others off."""
    on = [{"trouble": trouble, "times": times} for trouble in troubles]
    httpx.put(f"{at.inboxes[region]}api/inbox/chaos", json={"on": on}, timeout=60).raise_for_status()
