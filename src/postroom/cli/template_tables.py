"""Templates as people read them: which there are, how they do in each language, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from postroom.cli.tables import bare_table
from postroom.templates.checks import Cell, Finding, Matrix, Severity
from postroom.templates.described import TemplateView
from postroom.templates.portal import Portal

_MARKS: Mapping[str, tuple[str, str]] = {
    Cell.OK: ("✓", "green"),
    Cell.WARNINGS: ("!", "yellow"),
    Cell.ERRORS: ("✗", "bold red"),
    Cell.MISSING: ("–", "bold red"),
}
_SEVERITIES = {Severity.ERROR: ("✗", "bold red"), Severity.WARNING: ("!", "yellow")}


def templates_table(templates: Iterable[TemplateView]) -> Table:
    """What there is to be sent."""
    table = bare_table("template", "variables", "languages", "version")
    for each in templates:
        told = ", ".join(f"{variable.name}: {variable.type}" for variable in each.variables)
        table.add_row(
            each.kind, told or "none", ", ".join(each.languages) or "none", next(iter(each.versions.values()), "–")
        )
    return table


def matrix_table(matrices: Sequence[tuple[Portal, Matrix]]) -> Table:
    """Portal × template × language."""
    languages = list(dict.fromkeys(language for _, matrix in matrices for language in matrix.languages))
    table = bare_table("template", *languages)
    for portal, matrix in matrices:
        for name, cells in matrix.rows.items():
            marks = (_mark(portal, name, language, cells.get(language)) for language in languages)
            table.add_row(f"{portal.name}.{name}", *marks)
    return table


def _mark(portal: Portal, name: str, language: str, cell: Cell | None) -> Text:
    if cell is None:
        return Text("")
    if cell is Cell.FALLBACK:
        stands = next(each for each in portal.languages.chain(language) if portal.files.speaks(name, each))
        return Text(f"→ {stands}", style="yellow")
    mark, style = _MARKS[cell]
    return Text(mark, style=style)


def findings_text(findings: Iterable[Finding], roots: Mapping[str, Path]) -> Iterator[Text]:
    """What is wrong, by template; what is wrong in several languages alike is said once."""
    by_template: dict[str, dict[tuple[str, str], list[Finding]]] = {}
    for each in findings:
        by_template.setdefault(each.template, {}).setdefault((each.rule, each.problem), []).append(each)
    for template, groups in by_template.items():
        yield Text(f"\n{template}", style="bold")
        for same in groups.values():
            yield _told(same, roots[template.partition(".")[0]])


def _told(same: list[Finding], root: Path) -> Text:
    first = same[0]
    mark, style = _SEVERITIES[first.severity]
    where = ", ".join(dict.fromkeys(each.language for each in same if each.language))
    seen = " ".join(each for each in (where, f"with sample {first.sample}" if first.sample else "") if each)
    line = Text("  ") + Text(f"{mark} {first.rule}", style=style) + Text(f" ({seen})" if seen else "", style="dim")
    line += Text(f"\n      {first.problem}; {first.remedy}.")
    files = dict.fromkeys(each.file for each in same if each.file)
    return line + Text("".join(f"\n      {shown(root / file)}" for file in files), style="cyan")


def shown(path: Path) -> str:
    """A path as somebody would write it here."""
    near = os.path.relpath(path)
    return near if not near.startswith("..") else str(path)
