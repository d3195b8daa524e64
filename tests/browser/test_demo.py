"""The demo as somebody sees it who has just cloned the repository: one command, a browser, and nothing else."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect

from postroom.demo.house import KEEPER, PASSWORD

CODE = re.compile(r"\b\d{6}\b")


@contextmanager
def demo(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """A running demo: the addresses of its admin app and its inbox, and what it said up to «Ctrl-C ends»."""
    command = [sys.executable, "-m", "postroom.cli", "demo", "--port", "0", "--inbox-port", "0"]
    process = subprocess.Popen(
        [*command, "--directory", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    said: list[str] = []
    try:
        for line in process.stdout:
            said.append(line.rstrip())
            if "Ctrl-C ends the demo" in line:
                break
        told = "\n".join(said)
        desk = re.search(r"Admin app\s+(\S+)", told)
        inbox = re.search(r"Dev inbox\s+(\S+)", told)
        assert desk is not None, told
        assert inbox is not None, told
        yield desk[1], inbox[1], said
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_the_demo_survives_its_outage_and_is_entered_with_the_code_from_its_own_inbox(
    page: Page, tmp_path: Path
) -> None:
    """(C4, C7) Password, then the code, read where a developer reads it: on the dev inbox's page."""
    with demo(tmp_path) as (desk, inbox, said):
        assert "• the mail server stops" in said
        assert "21 of 21 emails arrived, each of them once; 4 of them left by the backup." in said

        page.goto(desk)
        page.get_by_label("Email address").fill(KEEPER)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Continue").click()
        expect(page).to_have_url(re.compile("/admin/sign-in/code"))
        page.locator("input[name=code]").fill(_code_on_the_page(page, inbox))
        page.locator("input[name=code]").press("Enter")

        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_contain_text("All mail")

        page.goto(f"{desk}/email-queue?q=route:backup")
        expect(page.get_by_role("main")).to_contain_text("radia@example.org")


def _code_on_the_page(page: Page, inbox: str) -> str:
    reading = page.context.new_page()
    reading.goto(f"{inbox}?q={KEEPER}")
    reading.locator("a.letter").first.click()
    reading.get_by_role("link", name="Text").click()
    expect(reading.locator("main")).to_contain_text(CODE)
    code = CODE.search(reading.locator("main").inner_text())
    assert code is not None
    reading.close()
    return code[0]
