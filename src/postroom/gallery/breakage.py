"""Where a template that cannot be rendered is broken: file, line, and the lines around it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType

from jinja2 import TemplateSyntaxError

from postroom.errors import InvalidEmail, InvalidTemplate, PostroomError
from postroom.templates.portal import Portal

_AROUND = 2
"""Lines shown before and after the one that is meant."""
_CODE = r"\{[{%][^}]*?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a file."""

    number: int
    text: str
    meant: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """Why there is nothing to see."""

    problem: str
    remedy: str = ""
    file: str = ""
    """Within the portal's folder; empty where it is not known."""
    lines: tuple[Line, ...] = ()


def breakage_of(error: Exception, portal: Portal, language: str, files: Iterable[str]) -> Breakage:
    """What went wrong, in the words of the error, and the place, as far as it can be told.

    Where the error is about a variable, it is looked for in these files.
    """
    file, number = _place(error, portal, language) or _mention(error, portal, files) or ("", 0)
    problem, remedy = _words(error)
    return Breakage(problem=problem, remedy=remedy, file=file, lines=_lines(portal, file, number))


def _words(error: Exception) -> tuple[str, str]:
    if isinstance(error, InvalidEmail):
        return f"{error.field}: {error.problem}", error.remedy
    if isinstance(error, PostroomError):
        problem, _, remedy = str(error).partition("; ")
        return problem, remedy
    return f"{type(error).__name__}: {error}", "correct the template, or the code that its variables are made by"


def _place(error: Exception, portal: Portal, language: str) -> tuple[str, int] | None:
    """From what Jinja knows of it."""
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    if isinstance(cause, TemplateSyntaxError):
        named = _within(portal, cause.filename) if cause.filename else cause.name or ""
        return portal.files.find(named, portal.languages.chain(language)) or named, cause.lineno
    return _innermost(cause.__traceback__, portal)


def _innermost(traceback: TracebackType | None, portal: Portal) -> tuple[str, int] | None:
    """The last frame that is a template's own; its lines are those of the code that Jinja made of it."""
    found = None
    while traceback is not None:
        template = traceback.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            found = _within(portal, template.filename or ""), template.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _mention(error: Exception, portal: Portal, files: Iterable[str]) -> tuple[str, int] | None:
    """Where the variable stands that the error is about."""
    if not isinstance(error, InvalidTemplate) or not error.variable:
        return None
    name = re.escape(error.variable.partition(".")[0])
    named = re.compile(rf"{_CODE}(?<![.\w]){name}\b|^\s*{name}\s*=")
    for file in files:
        for number, line in enumerate(_text(portal, file).splitlines(), 1):
            if named.search(line):
                return file, number
    return None


def _text(portal: Portal, file: str) -> str:
    return (portal.files.content(file) or b"").decode("utf-8", "replace")


def _within(portal: Portal, filename: str) -> str:
    return filename.removeprefix(f"{portal.root}/")


def _lines(portal: Portal, file: str, number: int) -> tuple[Line, ...]:
    lines = _text(portal, file).splitlines() if file else []
    first, last = max(number - _AROUND, 1), min(number + _AROUND, len(lines))
    return tuple(Line(number=each, text=lines[each - 1], meant=each == number) for each in range(first, last + 1))
