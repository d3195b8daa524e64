"""axe-core in Chromium: what somebody who sees little, or hears the email read out, cannot use."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page

from tests.browser.chromium import chromium
from tests.judges.letters import Judged
from tests.judges.verdict import Verdict

WIDTHS = (600, 360)
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")


def judge(letters: list[Judged], tools: Path, pictures: Path | None) -> Verdict:
    """Every email, wide and narrow, light and dark; with pictures of what was looked at, where they are wanted."""
    verdict = Verdict()
    axe = (tools / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
    with chromium() as browser:
        for width in WIDTHS:
            for scheme in SCHEMES:
                _look(browser, letters, verdict, axe=axe, width=width, scheme=scheme, pictures=pictures)
    return verdict


def _look(
    browser: Browser,
    letters: list[Judged],
    verdict: Verdict,
    *,
    axe: str,
    width: int,
    scheme: Literal["light", "dark"],
    pictures: Path | None,
) -> None:
    viewport: Any = {"width": width, "height": 800}
    context = browser.new_context(viewport=viewport, color_scheme=scheme)
    page = context.new_page()
    for letter in letters:
        page.set_content(letter.shown)
        for said in _violations(page, axe):
            verdict.fail(letter.name, "axe", f"{said} ({width} px, {scheme})")
        if (needed := page.evaluate("document.documentElement.scrollWidth")) > width:
            verdict.fail(letter.name, "axe", f"is {needed} px wide ({width} px, {scheme})")
        verdict.looks += 1
        if pictures is not None:
            page.screenshot(path=pictures / f"{letter.name}-{width}-{scheme}.png", full_page=True)
    context.close()


def _violations(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{each['id']}: {each['help']}, as in {each['nodes'][0]['html'][:120]}" for each in found["violations"]]
