"""The outreach team's campaign as a process of its own, and what somebody sees of it who looks into the dev inbox."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.examples.portals import environment

_LINK = re.compile(r"http\S+/u/\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A campaign under way."""

    campaign: str
    """The address of its page."""
    inbox: str
    told: str
    """What the command has said."""
    process: subprocess.Popen[str]

    def link_in_a_letter(self) -> str:
        """The link to unsubscribe in a letter of the campaign; it is waited for."""
        letter = self._waited_for("q=Quieter")
        link = _LINK.search(letter["text"])
        assert link is not None, letter["text"]
        return link[0]

    def letter_to(self, address: str) -> str:
        """The text of the newest letter to an address; it is waited for."""
        return str(self._waited_for(f"to={address}")["text"])

    def press(self, link: str) -> None:
        """As a mailbox does it: one POST, without a cookie or a question."""
        answer = httpx.post(link, data={"List-Unsubscribe": "One-Click"}, timeout=60)
        assert answer.status_code == 200, answer.text

    def _waited_for(self, query: str) -> dict[str, Any]:
        while not (found := self._inbox(f"messages?{query}&wait=30")["messages"]):
            assert self.process.poll() is None, "it has ended"
        return self._inbox(f"messages/{found[0]['id']}")

    def _inbox(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = httpx.get(f"{self.inbox}api/inbox/{path}", timeout=60).raise_for_status().json()
        return found


@contextmanager
def outreach(folder: Path, *arguments: str) -> Iterator[Team]:
    """`python -m examples.outreach`, until the block ends; then it must end well."""
    command = [sys.executable, "-m", "examples.outreach", "--port", "0", "--inbox-port", "0", "--data", str(folder)]
    with (folder.parent / f"{folder.name}.said").open("a+") as said:
        process = subprocess.Popen(
            [*command, *arguments], stdout=subprocess.PIPE, stderr=said, text=True, env=environment()
        )
        try:
            yield _team(process, said)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        said.seek(0)
        assert (process.returncode, said.read()) == (0, "")


def _team(process: subprocess.Popen[str], said: Any) -> Team:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C ends it" in line:
            break
    told = "".join(lines)
    found = {name: re.search(rf"^{name}\s+(http\S+)", told, re.MULTILINE) for name in ("Campaign", "Dev inbox")}
    said.seek(0)
    campaign, inbox = found["Campaign"], found["Dev inbox"]
    assert campaign is not None, told + said.read()
    assert inbox is not None, told + said.read()
    return Team(campaign=campaign[1], inbox=inbox[1], told=told, process=process)
