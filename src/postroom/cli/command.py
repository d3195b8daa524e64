"""From a plain function to a command.

Options that travel together are fields of a dataclass, each annotated as Typer wants it. A command names the dataclass
as one argument; here it is spread out into options for Typer and gathered up again for the function. `Target` is such a
dataclass, and its options are understood before and after the name of a command.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

import typer

from postroom.cli.problems import told_plainly
from postroom.cli.target import Target

_CONTEXT = "typer_context"


def command(function: Callable[..., None]) -> Callable[..., None]:
    """What Typer can register: options spread out, logging set up, problems told in one line."""
    hints = get_type_hints(function, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint) and isinstance(hint, type)}

    def run(**given: Any) -> None:
        context: typer.Context = given.pop(_CONTEXT)
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        with told_plainly():
            given["target"] = given["target"].beneath(context.obj)
            given["target"].prepare()
            if "context" in hints:
                given["context"] = context
            function(**given)

    run.__name__ = function.__name__
    run.__doc__ = function.__doc__
    run.__module__ = function.__module__
    _describe(
        run, [*_spread(function, hints, groups), Parameter(_CONTEXT, Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    )
    return run


def _spread(function: Callable[..., None], hints: dict[str, Any], groups: dict[str, type]) -> list[Parameter]:
    """The function's parameters with every group in place of its dataclass; `target` last, for it is in every help."""
    found: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        if name in groups and name != "target":
            found += _options(groups[name])
        elif name not in ("context", "target"):
            found.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))
    return found + _options(Target)


def _options(group: type) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            annotation=hints[field.name],
            default=Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(group)
    ]


def _describe(run: Any, parameters: list[Parameter]) -> None:
    """Typer asks a function for its signature and its annotations; both are what was worked out here."""
    run.__signature__ = Signature(parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
