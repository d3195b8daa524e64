"""A portal at a glance: how each of its templates does in each of its languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from postroom.templates.checks.finding import Finding, Severity
from postroom.templates.portal import Portal


class Cell(StrEnum):
    """How a template does in a language."""

    OK = "ok"
    WARNINGS = "warnings"
    ERRORS = "errors"
    FALLBACK = "fallback"
    """It is not complete in this language, and another stands for it."""
    MISSING = "missing"
    """It is not complete in this language, nor in any that could stand for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Templates × languages of one portal."""

    portal: str
    languages: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Cell]]
    """For each template by its own name, `welcome`, how it does in each language."""

    @classmethod
    def of(cls, portal: Portal, findings: Iterable[Finding]) -> Matrix:
        """The matrix of a portal, from all that was found about it."""
        found = list(findings)
        return cls(
            portal=portal.name,
            languages=portal.languages.spoken,
            rows={
                name: {language: _cell(portal, name, language, found) for language in portal.languages.spoken}
                for name in portal.names
            },
        )


def _cell(portal: Portal, name: str, language: str, findings: list[Finding]) -> Cell:
    if not portal.files.speaks(name, language):
        chain = portal.languages.chain(language)
        return Cell.FALLBACK if any(portal.files.speaks(name, each) for each in chain) else Cell.MISSING
    template = f"{portal.name}.{name}"
    concerned = {each.severity for each in findings if each.template == template and each.language in ("", language)}
    if Severity.ERROR in concerned:
        return Cell.ERRORS
    return Cell.WARNINGS if Severity.WARNING in concerned else Cell.OK
