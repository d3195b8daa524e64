"""A page on a phone: nothing sticks out, and a finger hits everything, also in what can be opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page

WIDTH = 360


@contextmanager
def phone(browser: Browser) -> Iterator[Page]:
    """A page of a narrow window."""
    context = browser.new_context(viewport={"width": WIDTH, "height": 740})
    yield context.new_page()
    context.close()


def check_on_phone(page: Page) -> None:
    """Look at the page as it is, with all that can be opened open."""
    page.wait_for_load_state("load")  # with its styles
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == WIDTH, page.url
    assert page.evaluate(TOO_SMALL) == [], page.url


TOO_SMALL = """
[...document.querySelectorAll("a, button, input, select, textarea, summary")]
  .filter((each) => each.offsetParent && !each.closest(".visually-hidden, .skip") && each.type !== "checkbox")
  .filter((each) => each.getBoundingClientRect().height < 43.5)
  .map((each) => each.id || each.textContent.trim())
"""
