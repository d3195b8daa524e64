"""Light or dark on demand: a browser decides by the system it runs on, and a gallery shows both."""

from __future__ import annotations

import re

LIGHT, DARK = "light", "dark"
SCHEMES = (LIGHT, DARK)

_GAP = r"(?:\s|/\*.*?\*/)*"
_QUESTION = re.compile(
    rf"\({_GAP}prefers-color-scheme{_GAP}(?::{_GAP}(?P<scheme>[a-z-]+){_GAP})?\)", re.IGNORECASE | re.DOTALL
)
_WHERE = re.compile(r"(<style\b[^>]*>.*?</style\s*>)|(\bmedia\s*=\s*(?:\"[^\"]*\"|'[^']*'))", re.IGNORECASE | re.DOTALL)
_DECLARED = re.compile(r"<meta\b[^>]*\bname\s*=\s*[\"']?(?:supported-)?color-schemes?\b", re.IGNORECASE)
_YES, _NO = "(min-width: 0px)", "(max-width: 0px)"
"""What is true of every window, and of none; they may stand wherever the question does, also after `not`."""


def in_scheme(html: str, scheme: str) -> str:
    """A page that looks as it does where this scheme is preferred, whatever the system prefers.

    Only style sheets and `media` attributes are changed, never the words of the page.
    """
    answered = _WHERE.sub(lambda found: _QUESTION.sub(lambda asked: _answer(asked["scheme"], scheme), found[0]), html)
    return _pinned(answered, scheme)


def knows_dark(html: str) -> bool:
    """Whether a page has anything to say about the dark."""
    asked = (question["scheme"] for found in _WHERE.finditer(html) for question in _QUESTION.finditer(found[0]))
    return any((each or DARK).lower() == DARK for each in asked)


def _answer(asked: str | None, scheme: str) -> str:
    return _YES if asked is None or asked.lower() == scheme else _NO


def _pinned(html: str, scheme: str) -> str:
    """What the browser paints by itself follows: the paper, and text without a colour, of a page that asks for it."""
    follows = scheme == DARK and _DECLARED.search(html)
    style = f"<style>:root {{ color-scheme: {'only dark' if follows else 'only light'} !important }}</style>"
    head = re.search(r"</head\s*>", html, re.IGNORECASE)
    return html[: head.start()] + style + html[head.start() :] if head else style + html
