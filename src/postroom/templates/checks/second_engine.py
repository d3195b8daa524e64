"""MiniJinja: another engine for the same templates, written by other hands in another language.

It is told the same: the files as a language sees them, what every template knows, when to escape, and that nothing may
be missing. Its filters are its own, save those that it lacks or that mean something else there (`_LENT`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, time
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateNotFound
from jinja2.nodes import EvalContext
from jinja2.utils import _PassArg
from minijinja import Environment, pass_state

from postroom.templates.budget import Budget, within
from postroom.templates.engine import Engine, printed
from postroom.templates.inlining import inlined
from postroom.templates.locale import filters
from postroom.templates.mjml import html_from_mjml
from postroom.templates.template import Rendered, Template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minijinja._lowlevel import State

FUEL = 20_000_000
"""Instructions that one part may take: far more than the first engine's budget leaves a template that gets here."""
_LENT = ("e", "escape", "int", "replace", "truncate", "urlencode", "wordwrap")
_NEWLINE = re.compile(r"\r\n|\r")


class SecondEngine:
    """Renders what an `Engine` renders."""

    def __init__(self, engine: Engine, language: str) -> None:
        self._engine = engine
        lent = {name: self._adapted(engine.filters[name]) for name in (*_LENT, *filters(language))}
        known: dict[str, Any] = dict(engine.globals)
        numbers = known.pop("range")
        self._environment = Environment(
            loader=self._load,
            filters=lent,
            globals={**known, "range": lambda *given: list(numbers(*given))},
            debug=False,
            fuel=FUEL,
            undefined_behavior="strict",
            auto_escape_callback=self._escapes,
            trim_blocks=engine.trim_blocks,
            lstrip_blocks=engine.lstrip_blocks,
            keep_trailing_newline=engine.keep_trailing_newline,
            finalizer=_put_out,
            pycompat=False,
        )

    def render(self, template: Template, values: Mapping[str, Any]) -> Rendered:
        """What a template says to these values."""
        subject, text, body = template.parts.values()
        with within(Budget()):
            said = self._environment.render_template(subject, **values).strip()
            values = {**values, "subject": said}
            plain = self._environment.render_template(text, **values).strip("\n") + "\n"
            page = self._environment.render_template(body, **values)
        return Rendered(subject=said, text=plain, html=inlined(html_from_mjml(page) if template.is_mjml else page))

    def variables(self, source: str) -> set[str]:
        """What a file asks for that it does not define itself: `name`, `order.total`."""
        return set(self._environment.undeclared_variables_in_str(_NEWLINE.sub("\n", source), nested=True))

    def _escapes(self, name: str) -> bool:
        return EvalContext(self._engine, name).autoescape

    def _load(self, name: str) -> str | None:
        try:
            source, _, _ = self._engine.loader.get_source(self._engine, name)  # type: ignore[union-attr]
        except TemplateNotFound:
            return None
        return _NEWLINE.sub("\n", source)

    def _adapted(self, filter: Callable[..., Any]) -> Callable[..., Any]:
        """A filter of the first engine's, given what it asks its engine for."""
        asks = _PassArg.from_obj(filter)
        if asks is None:
            return filter
        if asks is _PassArg.environment:
            return lambda *given, **options: filter(self._engine, *given, **options)

        @pass_state
        def with_state(state: State, *given: Any, **options: Any) -> Any:
            return filter(EvalContext(self._engine, state.name), *given, **options)

        return with_state


@lru_cache(maxsize=32)
def second_engine(engine: Engine, language: str) -> SecondEngine:
    """One for each engine: what it has compiled serves all templates of a portal."""
    return SecondEngine(engine, language)


def comparable(values: Any) -> Any:
    """Values as both engines understand them: MiniJinja has no decimal numbers, and would print 1.50 as 1.5."""
    if isinstance(values, dict):
        return {name: comparable(value) for name, value in values.items()}
    if isinstance(values, list):
        return [comparable(value) for value in values]
    return float(values) if isinstance(values, Decimal) else values


def _put_out(value: Any) -> Any:
    """Texts and numbers it writes by itself; a moment as we write it; a hole is one here, too.

    It cannot tell `None` from `{{ "so" if it_is }}` of what is not so; the first engine has refused the former.
    """
    if value is None:
        return ""
    if isinstance(value, date | time | bool | list | dict):
        return printed(value)
    return NotImplemented
