"""Styles moved to where mail programs look for them: into each element, with `@media` rules kept in the head.

After rendering, never before: an inliner parses the page, and a loop inside a table would be moved out of it.
"""

from __future__ import annotations

from functools import cache

from css_inline import CSSInliner, InlineError

from postroom.templates.engine import Hole


@cache
def _inliner() -> CSSInliner:
    return CSSInliner(load_remote_stylesheets=False, keep_at_rules=True)


def inlined(html: str) -> str:
    """The page with its styles in its elements. Nothing is fetched from anywhere."""
    try:
        return _inliner().inline(html)
    except InlineError as error:
        raise Hole(f"its styles cannot be inlined: {error}") from error
