"""Two engines must say the same. Where they do not, a template leans on what one of them happens to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError as FirstError
from minijinja import TemplateError as SecondError

from postroom.errors import InvalidTemplate
from postroom.templates.budget import Exceeded
from postroom.templates.checks.finding import Finding, Place
from postroom.templates.checks.places import body_of, file_of
from postroom.templates.checks.second_engine import SecondEngine, comparable
from postroom.templates.template import Rendered, Template

if TYPE_CHECKING:
    from collections.abc import Mapping

RULE, NONE = "second-opinion", "no-second-opinion"
_ENTITY = re.compile(r"&(?:#[0-9]+|#x[0-9a-fA-F]+|quot|apos);")
_AROUND = 24


def check_second_opinion(
    place: Place, template: Template, second: SecondEngine, values: Mapping[str, Any], rendered: Rendered
) -> Iterator[Finding]:
    """Whether MiniJinja renders the same: subject, text, and the HTML as it leaves."""
    told = comparable(values)
    try:
        if repr(told) != repr(values):  # 1.50 == 1.5, and yet they are written differently
            rendered = template.render(told)
        other = second.render(template, told)
    except SecondError as error:
        yield _refused(place, error)
        return
    except (InvalidTemplate, FirstError, Exceeded, ArithmeticError, TypeError, ValueError, RecursionError) as error:
        yield _without(place, f"{type(error).__name__}: {error}")
        return
    for part, name in (("subject", "subject.txt"), ("text", "body.txt"), ("html", body_of(template))):
        ours, theirs = _spelled(getattr(rendered, part)), _spelled(getattr(other, part))
        if ours != theirs:
            yield place.error(
                RULE,
                f"the engines differ on {name}: Jinja2 says «{_near(ours, theirs)}», MiniJinja «{_near(theirs, ours)}»",
                "write it in a way that both read alike",
                file=file_of(template, name),
            )


def _refused(place: Place, error: SecondError) -> Finding:
    """MiniJinja stops where Jinja2 goes on: at something that is not there, or at something that it does not know."""
    said = error.detail or error.message
    where = f" (line {error.line} of {error.name})" if error.line and error.name else ""
    if error.kind == "UndefinedError":
        return place.error(
            RULE, f"MiniJinja finds something missing{where}: {said}", "write it in a way that both read alike"
        )
    return _without(place, f"{said}{where}")


def _without(place: Place, said: str) -> Finding:
    return place.warning(
        NONE,
        f"only Jinja2 can render it, so nobody has checked what it says; MiniJinja: {said}",
        "write it in a way that both know, or look at it yourself",
    )


def _spelled(text: str) -> str:
    """One spelling for `'`, `&#39;` and `&#x27;`, also where a page keeps what it was given, as in comments."""
    return _ENTITY.sub(lambda found: kept if (kept := unescape(found[0])) not in "<>&" else found[0], text)


def _near(text: str, other: str) -> str:
    """What stands where two texts begin to differ."""
    differs = next((at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), None)
    if differs is None:
        differs = min(len(text), len(other))
    begins, ends = max(0, differs - _AROUND), differs + _AROUND
    shown = text[begins:ends].replace("\n", "⏎")
    return f"{'…' if begins else ''}{shown}{'…' if ends < len(text) else ''}"
