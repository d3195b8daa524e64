"""Debian's Chromium, driven by Playwright, silent towards the rest of the world."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

PROGRAM = "/usr/bin/chromium"
SWITCHES = (
    "--headless",
    "--no-sandbox",  # the tests may run as root; every page is our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # whatever a page asks of others fails here
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser. An absent one is an error that says what to do, not a quiet skip."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=list(SWITCHES))
        try:
            yield browser
        finally:
            browser.close()
