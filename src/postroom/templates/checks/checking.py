"""Goes through a portal, and says what is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from postroom.errors import ConfigurationError, InvalidTemplate
from postroom.templates.checks.finding import Finding, Place
from postroom.templates.checks.places import body_of, file_of
from postroom.templates.checks.remote import check_sources
from postroom.templates.checks.rendered import check_rendered
from postroom.templates.checks.second_engine import SecondEngine, second_engine
from postroom.templates.checks.second_opinion import check_second_opinion
from postroom.templates.checks.variables import check_variables
from postroom.templates.files import SAMPLE, SUBJECT, TEXT
from postroom.templates.portal import Portal
from postroom.templates.samples import tables_of
from postroom.templates.template import Template

_PARTS = {"subject": SUBJECT, "text-empty": TEXT}
"""Which part to look into; all else is about the body."""


def check_portal(portal: Portal) -> Iterator[Finding]:
    """All that is wrong with the templates of a portal, in all their languages, with all their samples."""
    yield from check_folders(portal)
    for name in portal.names:
        yield from check_template(portal, name)


def check_folders(portal: Portal) -> Iterator[Finding]:
    """What is wrong with the portal's folder: a logo that is not there, and what no code knows and nobody can send."""
    if not portal.names:
        yield Place(template=portal.name).warning(
            "no-class",
            "no class names a template of this portal",
            f"begin one with `postroom template new {portal.name} welcome`",
        )
    if portal.lacking_logo:
        yield Place(template=portal.name).error("no-logo", portal.lacking_logo, "put it there, or name another one")
    for name in portal.files.folders():
        if name not in portal.names:
            yield Place(template=f"{portal.name}.{name}").error(
                "no-class",
                "there are files of it, and no class that names its variables",
                f"write a dataclass with @{portal.name}.template above it, or remove the folder",
                file=name,
            )


def check_template(portal: Portal, name: str, languages: Collection[str] | None = None) -> Iterator[Finding]:
    """All that is wrong with one template, in these languages or in all of them."""
    if not (portal.root / name).is_dir():
        yield Place(template=f"{portal.name}.{name}").error(
            "no-folder",
            f"there is a class of it, and no folder {portal.root / name}",
            f"begin it with `postroom template new {portal.name} {name}`",
            file=name,
        )
        return
    seen = set[Finding]()
    for language in portal.languages.spoken:
        if languages is None or language in languages:
            for finding in _check_language(portal, name, language):
                if (same := _whatever_the_sample(finding)) not in seen:
                    seen.add(same)
                    yield finding


def _whatever_the_sample(finding: Finding) -> Finding:
    """One problem that several samples show is told once."""
    return Place(template=finding.template, language=finding.language).error(finding.rule, finding.problem, "")


def _check_language(portal: Portal, name: str, language: str) -> Iterator[Finding]:
    place = Place(template=f"{portal.name}.{name}", language=language)
    if missing := portal.files.missing(name, language):
        yield place.error(
            "missing-language",
            f"it is not complete: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not there",
            f"write {'it' if len(missing) == 1 else 'them'}, or take {language} out of the portal's languages",
            file=f"{name}/{missing[0]}",
        )
        return
    try:
        template = portal.in_language(name, language)
    except (InvalidTemplate, ConfigurationError) as error:
        yield _broken(place, error, name)
        return
    second = second_engine(template.engine, language)
    yield from check_variables(place, template, second)
    yield from check_sources(place, template.sources)
    yield from _check_samples(portal, name, template, second, place)


def _check_samples(
    portal: Portal, name: str, template: Template, second: SecondEngine, place: Place
) -> Iterator[Finding]:
    file = f"{name}/{SAMPLE}"
    try:
        tables = tables_of(template.contract, name, portal.files, portal.languages.chain(template.language))
    except (InvalidTemplate, ConfigurationError) as error:
        yield place.error("sample", _problem(error), _remedy(error), file=file)
        return
    if not tables:
        yield place.error(
            "no-sample", "it has no sample to be seen with", "write one: a table with a name, and its values", file=file
        )
    for sample, values in tables.items():
        here = Place(template=place.template, language=place.language, sample=sample)
        try:
            context = portal.context(name, values)
        except (InvalidTemplate, ConfigurationError, TypeError, ValueError) as error:
            yield here.error("sample", f"its sample does not fit: {_problem(error)}", _remedy(error), file=file)
            continue
        yield from _check_sample(portal, template, second, context, here)


def _check_sample(
    portal: Portal, template: Template, second: SecondEngine, context: Any, place: Place
) -> Iterator[Finding]:
    values = template.contract.plain(context)
    try:
        rendered = template.render(values)
    except (InvalidTemplate, ConfigurationError) as error:
        yield _broken(place, error, template.contract.template.partition(".")[2])
        return
    for finding in check_rendered(rendered, template=place.template, language=place.language, sample=place.sample):
        yield replace(finding, file=file_of(template, _PARTS.get(finding.rule, body_of(template))))
    yield from check_second_opinion(place, template, second, values, rendered)
    try:
        portal.pictures_in(rendered.html)
    except InvalidTemplate as error:
        yield place.error("no-logo", error.problem, error.remedy, file=file_of(template, body_of(template)))


def _broken(place: Place, error: Exception, file: str) -> Finding:
    rule = "unknown-variable" if getattr(error, "variable", None) else "broken"
    return place.error(rule, _problem(error), _remedy(error), file=file)


def _problem(error: Exception) -> str:
    if isinstance(error, InvalidTemplate):
        return f"{error.variable}: {error.problem}" if error.variable else error.problem
    return str(error)


def _remedy(error: Exception) -> str:
    return error.remedy if isinstance(error, InvalidTemplate) else "correct it"
