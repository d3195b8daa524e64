"""The pictures of emails in docs/images: several beside each other, in the fonts that this machine has.

python -m tests.judges.pictures docs/images
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser

from tests.browser.chromium import chromium
from tests.judges.letters import letters

GAP = 16
STYLE = f"""
body {{ margin: 0; padding: {GAP}px; display: flex; gap: {GAP}px; align-items: flex-start; background: #80838a }}
iframe {{ border: 0; border-radius: 8px }}
"""
WIDE, NARROW = 640, 360
SHEETS: dict[str, tuple[int, Literal["light", "dark"], tuple[str, ...]]] = {
    "template-portals": (
        WIDE,
        "light",
        ("hub.welcome.en.ada", "org.invite.en.grace", "agency.welcome.en.joan", "admin.tfa.en.usual"),
    ),
    "template-dark": (
        NARROW,
        "dark",
        ("hub.password_changed.en.ada", "org.password_changed.en.grace", "agency.password_changed.en.joan",
         "admin.tfa.en.usual"),
    ),
    "template-languages": (
        NARROW,
        "light",
        ("hub.forgot_password.en.ada", "hub.forgot_password.de.ada", "hub.forgot_password.ar.ada"),
    ),
    "template-awkward": (
        NARROW,
        "light",
        ("hub.email_verification.en.right_to_left", "org.invite.en.long_name",
         "agency.forgot_password.en.long_link"),
    ),
}  # fmt: skip


def main(folder: Path) -> None:
    pages = {letter.name: letter.shown for letter in letters()}
    with chromium() as browser:
        for name, (width, scheme, shown) in SHEETS.items():
            sheet = [pages[each] for each in shown]
            shoot(browser, sheet, folder / f"{name}.png", width=width, scheme=scheme)


def shoot(browser: Browser, pages: Sequence[str], place: Path, *, width: int, scheme: Literal["light", "dark"]) -> None:
    """Emails beside each other, each as high as it is."""
    frames = "".join(
        f'<iframe srcdoc="{escape(page)}" width="{width}" onload="this.height=this.contentDocument.body.scrollHeight">'
        "</iframe>"
        for page in pages
    )
    whole: Any = {"width": len(pages) * (width + GAP) + GAP, "height": 100}
    context = browser.new_context(viewport=whole, color_scheme=scheme)
    page = context.new_page()
    page.set_content(f"<!DOCTYPE html><style>{STYLE}</style>{frames}")
    page.wait_for_function("[...document.querySelectorAll('iframe')].every(frame => frame.height > 0)")
    page.screenshot(path=place, full_page=True)
    context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
