"""The front page: portal × template × language, and how each does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from postroom.gallery.collection import Collection
from postroom.operate.wording import count_of
from postroom.templates.checks import Cell, Finding, Matrix, Severity
from postroom.templates.portal import Portal

_WORDS = {Cell.OK: "fine", Cell.FALLBACK: "not written", Cell.MISSING: "missing"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A template in a language."""

    language: str
    cell: Cell
    words: str
    """How it does, in a word or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A template in all languages of its portal."""

    name: str
    samples: str
    """How many it has, in words."""
    subject: str
    """As it is in the first language with the first sample; empty where that cannot be said."""
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """A portal with all its templates."""

    name: str
    title: str
    colour: str
    sender: str
    folder: str
    languages: tuple[str, ...]
    rows: tuple[Row, ...]
    loose: tuple[Finding, ...]
    """What is wrong, and about none of the rows: folders that no code knows, a logo that is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How the whole collection does."""

    templates: int
    places: int
    """Templates in their languages."""
    errors: int
    warnings: int

    @property
    def size(self) -> str:
        return f"{count_of(self.templates, 'template')}, {count_of(self.places, 'wording')}."

    @property
    def sentence(self) -> str:
        if not self.errors and not self.warnings:
            return "No finding."
        parts = [count_of(self.errors, "error")] if self.errors else []
        parts += [count_of(self.warnings, "warning")] if self.warnings else []
        return f"{' and '.join(parts)}."


def walls(collection: Collection, portals: Mapping[str, Portal]) -> tuple[tuple[Wall, ...], Tally]:
    """Every portal, and the sum of it."""
    findings = {portal.name: collection.all_findings(portal) for portal in portals.values()}
    found = tuple(_wall(portal, findings[portal.name]) for portal in portals.values())
    severities = [each.severity for every in findings.values() for each in every]
    tally = Tally(
        templates=sum(len(wall.rows) for wall in found),
        places=sum(len(row.places) for wall in found for row in wall.rows),
        errors=severities.count(Severity.ERROR),
        warnings=severities.count(Severity.WARNING),
    )
    return found, tally


def _wall(portal: Portal, findings: tuple[Finding, ...]) -> Wall:
    matrix = Matrix.of(portal, findings)
    templates = {f"{portal.name}.{name}" for name in portal.names}
    return Wall(
        name=portal.name,
        title=portal.brand.name,
        colour=portal.brand.colour,
        sender=", ".join(map(str, portal.sender)),
        folder=str(portal.root),
        languages=portal.languages.spoken,
        rows=tuple(_row(portal, name, cells, findings) for name, cells in matrix.rows.items()),
        loose=tuple(each for each in findings if each.template not in templates),
    )


def _row(portal: Portal, name: str, cells: Mapping[str, Cell], findings: tuple[Finding, ...]) -> Row:
    samples, subject = _first_words(portal, name)
    about = [each for each in findings if each.template == f"{portal.name}.{name}"]
    return Row(
        name=name,
        samples=count_of(samples, "sample"),
        subject=subject,
        places=tuple(_places(portal, name, cells, about)),
    )


def _places(portal: Portal, name: str, cells: Mapping[str, Cell], findings: list[Finding]) -> Iterator[Place]:
    for language, cell in cells.items():
        concerned = [each.severity for each in findings if each.language in ("", language)]
        yield Place(language=language, cell=cell, words=_words(portal, name, language, cell, concerned))


def _words(portal: Portal, name: str, language: str, cell: Cell, concerned: list[Severity]) -> str:
    match cell:
        case Cell.ERRORS:
            return count_of(concerned.count(Severity.ERROR), "error")
        case Cell.WARNINGS:
            return count_of(concerned.count(Severity.WARNING), "warning")
        case Cell.FALLBACK:
            stands = next(tag for tag in portal.languages.chain(language) if portal.files.speaks(name, tag))
            return f"{_WORDS[cell]}, {stands} is sent"
        case _:
            return _WORDS[cell]


def _first_words(portal: Portal, name: str) -> tuple[int, str]:
    """How many samples there are, and the subject of the first."""
    language = portal.languages.default
    samples = 0
    try:
        contexts = portal.samples(name, language)
        samples = len(contexts)
        first = next(iter(contexts.values()))
        template = portal.in_language(name, language)
        return samples, template.render(template.contract.plain(first)).subject
    except Exception:  # noqa: BLE001 -- what is wrong is told by the findings
        return samples, ""
