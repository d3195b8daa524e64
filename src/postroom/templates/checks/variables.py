"""What a template asks for, and what it is given: one should be the other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from minijinja import TemplateError

from postroom.spelling import nearest
from postroom.templates.checks.finding import Finding, Place
from postroom.templates.checks.second_engine import SecondEngine
from postroom.templates.checks.second_opinion import RULE
from postroom.templates.contract import Contract
from postroom.templates.template import Template


def check_variables(place: Place, template: Template, second: SecondEngine) -> Iterator[Finding]:
    """Variables that nobody uses, fields of them that are not there, and those that only the second engine sees."""
    contract, used = template.contract, set[str]()
    for file, source in template.sources.items():
        asked = template.facts[file].asks & {*contract.names}
        used |= asked
        try:
            paths = second.variables(source)
        except TemplateError:
            continue  # said when it is rendered, with the line
        # Not the other way round: it overlooks what is only cut (`code[:3]`) or named anew (`set name = name|upper`).
        if overlooked := {_first(path) for path in paths} & {*contract.names} - asked:
            yield place.error(
                RULE,
                f"the engines differ on what {file} asks for: MiniJinja lists {_listed(overlooked)}, Jinja2 does not",
                "write it in a way that both read alike",
                file=file,
            )
        yield from _check_paths(place, sorted(paths), template, file)
    for name in contract.names:
        if name not in used:
            yield place.error(
                "unused-variable",
                f"{name} is asked of everybody who sends it, and stands in none of its parts",
                f"use it, or take it out of {contract.context.__name__}",
                file=template.contract.template.partition(".")[2],
            )


def _check_paths(place: Place, paths: Iterable[str], template: Template, file: str) -> Iterator[Finding]:
    """`order.totl`, also where a condition never lets it be rendered with the samples."""
    hints = _hints(template.contract)
    for path in paths:
        first, *rest = path.split(".")
        if first in hints:
            lacking = _lacking(hints[first], rest)
        elif isinstance(known := template.engine.globals.get(first), dict) and rest and rest[0] not in known:
            lacking = (rest[0], tuple(known))
        else:
            continue
        if lacking is not None:
            name, known_names = lacking
            meant = nearest(name, known_names)
            yield place.error(
                "unknown-variable",
                f"{path}: there is no {name!r}",
                f"did you mean {meant}?" if meant else f"it has {', '.join(known_names)}",
                file=file,
            )


def _lacking(kind: Any, path: list[str]) -> tuple[str, tuple[str, ...]] | None:
    """The first name of a path that a type surely does not have, with those that it has; None where it may have it."""
    kind = _bare(kind)
    if not path or not isinstance(kind, type) or not is_dataclass(kind):
        return None
    names = tuple(each.name for each in fields(kind))
    if path[0] not in names:
        return path[0], names
    return _lacking(get_type_hints(kind, include_extras=True)[path[0]], path[1:])


def _bare(kind: Any) -> Any:
    """A type without `| None` and without what is noted beside it."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        others = [each for each in get_args(kind) if each is not NoneType]
        return _bare(others[0]) if len(others) == 1 else None
    return kind


def _hints(contract: Contract) -> dict[str, Any]:
    try:
        return get_type_hints(contract.context, include_extras=True)
    except NameError:
        return {}  # said when a sample is read: nothing can be sent with it


def _first(path: str) -> str:
    return path.partition(".")[0]


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
