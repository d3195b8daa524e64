"""Templates: template list, check, new, preview."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import track
from rich.text import Text

from postroom.cli.choice import Json
from postroom.cli.command import command
from postroom.cli.previewing import preview
from postroom.cli.problems import ExitCode
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.target import Target
from postroom.cli.template_tables import findings_text, matrix_table, shown, templates_table
from postroom.errors import ConfigurationError
from postroom.operate.wording import count_of
from postroom.spelling import suggestion
from postroom.templates.beginning import USUAL, Beginning, Variable
from postroom.templates.checks import Finding, Matrix, Severity, check_folders, check_template
from postroom.templates.checks.colours import WHITE, colour_of, contrast
from postroom.templates.described import templates_of
from postroom.templates.found import find_portals
from postroom.templates.languages import canonical
from postroom.templates.portal import Portal

_PANEL = "Which templates"
_READABLE = 4.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which templates a command is about. Several options narrow together."""

    portal: Annotated[str | None, typer.Option(help="Of this portal.", metavar="NAME", rich_help_panel=_PANEL)] = None
    template: Annotated[
        str | None,
        typer.Option(help="This template: welcome, or hub.welcome.", metavar="NAME", rich_help_panel=_PANEL),
    ] = None
    language: Annotated[
        str | None, typer.Option(help="In this language: de.", metavar="TAG", rich_help_panel=_PANEL)
    ] = None

    def portals(self, target: Target) -> list[Portal]:
        """The portals that are chosen; an error where there is none."""
        portals = known_portals(target)
        wanted = self.portal or (self.template or "").rpartition(".")[0] or None
        if wanted is not None and wanted not in portals:
            raise ConfigurationError(f"there is no portal {wanted!r}; {suggestion(wanted, portals)}")
        return [each for each in portals.values() if wanted in (None, each.name)]

    def names(self, portal: Portal) -> list[str]:
        """The templates of a portal that are chosen."""
        wanted = (self.template or "").rpartition(".")[2]
        return [name for name in portal.names if wanted in ("", name)]

    def languages(self, portal: Portal) -> tuple[str, ...]:
        """The languages of a portal that are chosen."""
        wanted = self.language and canonical(self.language)
        return tuple(each for each in portal.languages.spoken if wanted in (None, each))


def known_portals(target: Target) -> dict[str, Portal]:
    """The portals that the settings name; an error that says how to name them where they name none."""
    portals = find_portals(target.settings().portals)
    if not portals:
        raise ConfigurationError(
            'no portal is known; name them in postroom.toml, portals = ["shop.mail:hub"], or in POSTROOM_PORTALS'
        )
    return portals


def list_templates(target: Target, choice: Choice, json: Json = False) -> None:
    """Every template of the portals in the settings: its variables, languages and version."""
    portals = choice.portals(target)
    found = {
        portal.name: [
            each
            for each in templates_of(portal)
            if each.name in choice.names(portal)
            and (choice.language is None or {*choice.languages(portal)} & {*each.languages})
        ]
        for portal in portals
    }
    if json:
        print_json({"portals": [_portal_record(each, found[each.name]) for each in portals]})
    else:
        for portal in portals:
            said = f"{portal.brand.name}, {', '.join(portal.languages.spoken)}, {shown(portal.root)}"
            standard_output().print(Text(portal.name, style="bold") + Text(f"  {said}", style="dim"), soft_wrap=True)
        standard_output().print(templates_table(each for views in found.values() for each in views))


def check(target: Target, choice: Choice, json: Json = False) -> None:
    """Render every template in every language with every sample, and tell what is wrong. Nothing is sent or fetched."""
    portals = choice.portals(target)
    _check_choice(choice, portals)
    findings = list(_found(portals, choice))
    matrices = [(each, _narrowed(Matrix.of(each, findings), each, choice)) for each in portals]
    errors = sum(each.severity is Severity.ERROR for each in findings)
    if json:
        print_json({
            "ok": not errors,
            "portals": [_matrix_record(portal, matrix) for portal, matrix in matrices],
            "findings": [asdict(each) for each in findings],
        })  # fmt: skip
    else:
        standard_output().print(matrix_table(matrices))
        for line in findings_text(findings, {each.name: each.root for each in portals}):
            standard_output().print(line, soft_wrap=True)
        standard_output().print(Text(f"\n{_summary(errors, len(findings) - errors)}"), soft_wrap=True)
    if errors:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def new(
    target: Target,
    portal: Annotated[str, typer.Argument(help="Whose template it is.", metavar="PORTAL")],
    type: Annotated[str, typer.Argument(help="What it is called: forgot_password.", metavar="TYPE")],
    variable: Annotated[
        list[str] | None,
        typer.Option(help="A variable and its type: name:str. May be given often.", metavar="NAME:TYPE"),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="The portal's folder, for a portal that no setting names yet.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Begin a template: files that pass every check, and the class to paste. Nothing is overwritten."""
    known = None if folder is not None else _known(target, portal)
    variables = USUAL if variable is None else tuple(map(Variable.of, variable))
    beginning = Beginning(
        portal=portal,
        name=type,
        variables=variables,
        dark_button=_is_light(known),
        by_locale=find_spec("babel") is not None,
    )
    root = folder.absolute() if folder is not None else known.root if known is not None else Path()
    for path in beginning.write(root):
        standard_output().print(Text(f"wrote {shown(path)}"), soft_wrap=True)
    if known is None or type not in known.names:
        standard_output().print(Text(f"\nPut this beside the portal:\n\n{beginning.code()}"), soft_wrap=True)
    if known is not None and (others := known.languages.spoken[1:]):
        standard_output().print(
            Text(f"\nStill to be written: {', '.join(others)}; as {type}/subject.{others[0]}.txt and so on."),
            soft_wrap=True,
        )


def _known(target: Target, portal: str) -> Portal:
    portals = find_portals(target.settings().portals)
    if portal not in portals:
        raise ConfigurationError(
            f"no setting names a portal {portal!r}; say where its files belong, --folder templates/{portal}, "
            "or name it in the setting portals"
        )
    return portals[portal]


def _is_light(portal: Portal | None) -> bool:
    """Whether nobody could read white on the brand's colour."""
    colour = colour_of(portal.brand.colour) if portal else None
    return colour is not None and contrast(colour, WHITE) < _READABLE


def _check_choice(choice: Choice, portals: list[Portal]) -> None:
    """Refuse what no portal has: a check of nothing would find nothing wrong."""
    names = [name for each in portals for name in each.names]
    if choice.template and not any(choice.names(each) for each in portals):
        wanted = choice.template.rpartition(".")[2]
        raise ConfigurationError(f"there is no template {choice.template!r}; {suggestion(wanted, names)}")
    spoken = [language for each in portals for language in each.languages.spoken]
    if choice.language and canonical(choice.language) not in spoken:
        raise ConfigurationError(f"{choice.language!r} is not spoken here; {suggestion(choice.language, spoken)}")


def _found(portals: Iterable[Portal], choice: Choice) -> Iterator[Finding]:
    """All findings, with a bar for whoever waits for them."""
    chosen = [(portal, name) for portal in portals for name in choice.names(portal)]
    if choice.template is None:
        for portal in portals:
            yield from check_folders(portal)
    console = standard_error()
    for portal, name in track(
        chosen, "Checking templates", console=console, transient=True, disable=not console.is_terminal
    ):
        yield from check_template(portal, name, choice.languages(portal))


def _narrowed(matrix: Matrix, portal: Portal, choice: Choice) -> Matrix:
    languages = choice.languages(portal)
    rows = {
        name: {language: cells[language] for language in languages}
        for name, cells in matrix.rows.items()
        if name in choice.names(portal)
    }
    return Matrix(portal=matrix.portal, languages=languages, rows=rows)


def _summary(errors: int, warnings: int) -> str:
    if not errors and not warnings:
        return "All is well."
    return f"{count_of(errors, 'error')}, {count_of(warnings, 'warning')}."


def _matrix_record(portal: Portal, matrix: Matrix) -> dict[str, Any]:
    return {
        "portal": matrix.portal,
        "folder": str(portal.root),
        "languages": list(matrix.languages),
        "templates": matrix.rows,
    }


def _portal_record(portal: Portal, templates: list[Any]) -> dict[str, Any]:
    return {
        "name": portal.name,
        "brand": portal.brand.name,
        "folder": str(portal.root),
        "languages": list(portal.languages.spoken),
        "templates": [asdict(each) for each in templates],
    }


COMMANDS: dict[str, Callable[..., None]] = {"list": list_templates, "check": check, "new": new, "preview": preview}

app = typer.Typer(help="Templates: which there are, and what is wrong with them.", no_args_is_help=True)

for command_name, function in COMMANDS.items():
    app.command(command_name)(command(function))
