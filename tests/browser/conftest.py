"""A browser for each module of tests, a house for each test.

The browser is not kept longer than a module: while Playwright runs, its thread has an event loop, which asynchronous
tests elsewhere would stumble over.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import chromium
from tests.browser.house import House

expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Open to whoever sits at the machine."""
    with House(tmp_path) as house:
        yield house


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh window; whatever goes wrong in our own scripts is a failure."""
    context = browser.new_context()
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    assert problems == []


@pytest.fixture
def plain_page(browser: Browser) -> Iterator[Page]:
    """A window that runs no scripts."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()
