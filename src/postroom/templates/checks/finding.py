"""What a check has found, in words that somebody can act on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much it matters."""

    ERROR = "error"
    """It fails `postroom template check`."""
    WARNING = "warning"
    """It is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with a template."""

    template: str
    """Its full name, `hub.welcome`; `hub` where it is about the portal."""
    language: str = ""
    """Empty where it is about all of them."""
    sample: str = ""
    """Empty where it is about all of them."""
    rule: str
    """What it is called: `missing-language`, `contrast`, …"""
    severity: Severity = Severity.ERROR
    problem: str
    """What is wrong."""
    remedy: str
    """What to do about it."""
    file: str = ""
    """Where to look, within the portal's folder: `welcome/body.de.html`."""

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which email a finding is about."""

    template: str
    language: str = ""
    sample: str = ""

    def error(self, rule: str, problem: str, remedy: str, *, file: str = "") -> Finding:
        return self._finding(Severity.ERROR, rule, problem, remedy, file)

    def warning(self, rule: str, problem: str, remedy: str, *, file: str = "") -> Finding:
        return self._finding(Severity.WARNING, rule, problem, remedy, file)

    def _finding(self, severity: Severity, rule: str, problem: str, remedy: str, file: str) -> Finding:
        return Finding(
            template=self.template,
            language=self.language,
            sample=self.sample,
            rule=rule,
            severity=severity,
            problem=problem,
            remedy=remedy,
            file=file,
        )
