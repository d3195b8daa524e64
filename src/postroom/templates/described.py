"""What there is: the templates of a portal with their variables, languages and versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

from postroom.errors import ConfigurationError, InvalidTemplate
from postroom.templates.portal import Portal


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableView:
    """A variable as its class has it."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateView:
    """A template as a list of them has it."""

    portal: str
    name: str
    kind: str
    context: str
    """The class of its variables."""
    variables: tuple[VariableView, ...]
    languages: tuple[str, ...]
    """Those it is complete in."""
    versions: Mapping[str, str]
    """By language; without those in which it cannot be read."""


def templates_of(portal: Portal) -> Iterator[TemplateView]:
    """The templates of a portal, in the order in which code names them."""
    for name in portal.names:
        context = portal.contract(name).context
        languages = tuple(each for each in portal.languages.spoken if portal.files.speaks(name, each))
        yield TemplateView(
            portal=portal.name,
            name=name,
            kind=f"{portal.name}.{name}",
            context=context.__name__,
            variables=tuple(map(_variable, fields(context))),
            languages=languages,
            versions=dict(_versions(portal, name, languages)),
        )


def _variable(field: Field[Any]) -> VariableView:
    kind = field.type if isinstance(field.type, str) else _spelled(field.type)
    return VariableView(
        name=field.name, type=kind, required=field.default is MISSING and field.default_factory is MISSING
    )


def _spelled(kind: Any) -> str:
    """`str` and `list[str]` as somebody wrote them."""
    return kind.__name__ if type(kind) is type else str(kind).removeprefix("typing.")


def _versions(portal: Portal, name: str, languages: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for language in languages:
        try:
            yield language, portal.in_language(name, language).version
        except (InvalidTemplate, ConfigurationError):
            continue  # `check` says why
