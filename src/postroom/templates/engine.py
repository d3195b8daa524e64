"""The engine: Jinja2 with nothing of the interpreter in reach.

A template is given plain data (texts, numbers, dates, lists and tables of them) and a short list of filters. It cannot
call a method, reach an attribute of a Python object, loop without end or put out something that is no text: `None`, a
list or a truth value on a page is a hole in the email, and an error here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, time
from decimal import Decimal
from functools import wraps
from typing import TYPE_CHECKING, Any

from jinja2 import BaseLoader, StrictUndefined, TemplateSyntaxError, UndefinedError, nodes, pass_context
from jinja2.environment import TemplateModule
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, Undefined, markup_join, str_join
from jinja2.sandbox import SandboxedEnvironment
from jinja2.tests import TESTS
from jinja2.visitor import NodeTransformer
from markupsafe import Markup, escape

from postroom.spelling import nearest
from postroom.templates.budget import current

if TYPE_CHECKING:
    from postroom.templates.facts import Facts

NUMBERS = (int, float, Decimal)
_LARGEST = 10**30
_LONGEST_RANGE = 1_000

_OF_TEXT = (
    "capitalize", "e", "escape", "indent", "lower", "replace", "title", "trim", "truncate", "upper", "urlencode",
    "wordwrap",
)  # fmt: skip
_OF_VALUES = (
    "abs", "batch", "count", "d", "default", "first", "int", "items", "last", "length", "list", "map", "max", "min",
    "reject", "rejectattr", "reverse", "round", "select", "selectattr", "sort", "sum", "unique",
)  # fmt: skip
_TESTS = (
    "!=", "<", "<=", "==", ">", ">=", "boolean", "defined", "divisibleby", "eq", "equalto", "even", "false", "float",
    "ge", "greaterthan", "gt", "in", "integer", "le", "lessthan", "lower", "lt", "mapping", "ne", "none", "number",
    "odd", "sameas", "sequence", "string", "true", "undefined", "upper",
)  # fmt: skip
_OF_A_LOOP = frozenset((
    "changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length", "nextitem", "previtem",
    "revindex", "revindex0",
))  # fmt: skip
_OF_A_MOMENT = frozenset(("year", "month", "day", "hour", "minute", "second"))


class Hole(SecurityError):
    """Something that is no text was to be put out."""


class UnknownName(UndefinedError):
    """A name that is not there; `known` are those that are."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name, self.known = name, sorted(known)
        meant = nearest(name, self.known)
        super().__init__(f"there is no {name!r}" + (f"; did you mean {meant}?" if meant else ""))


class _Missing(StrictUndefined):
    """Whatever is done with it, it says what is missing and what there is."""

    __slots__ = ()

    def __init__(self, hint: Any = None, obj: Any = None, name: Any = None, exc: Any = None) -> None:
        super().__init__(hint, obj, name, exc or UndefinedError)
        if exc is None:
            known = obj if isinstance(obj, dict) else ()
            self._undefined_exception = lambda _message: UnknownName(str(name), map(str, known))  # type: ignore[assignment]


def printed(value: Any) -> str:
    """A value as text; `Hole` for what has none."""
    if isinstance(value, str):
        return value
    if isinstance(value, NUMBERS) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Undefined):
        return str(value)  # raises, and says what is missing
    told = {type(None): "nothing at all (None)", bool: "a truth value", list: "a list", dict: "a table"}
    raise Hole(f"{told.get(type(value), 'no text')} was to be put out; say in the template what to write then")


def _mark(number: int) -> Markup:
    """What stands in the page for a value: see `skeleton.py`."""
    return Markup(f"\ue000{number}\ue001")  # noqa: S704  a number between two marks


_MARKS = tuple(map(_mark, range(100)))


@pass_context
def _put_out(_context: Context, value: Any) -> Any:
    """Every value passes here on its way into the text."""
    budget = current()
    text = value if type(value) is str or type(value) is Markup else printed(value)
    budget.put_out(len(text))
    if budget.values is None or isinstance(text, Markup):
        return text
    budget.values.append(text)
    number = len(budget.values) - 1
    return _MARKS[number] if number < len(_MARKS) else _mark(number)


@pass_context
def _turns(_context: Context, values: Any) -> Any:
    """What a loop goes through, counted before it does."""
    if isinstance(values, Undefined):
        return iter(values)  # raises
    if not isinstance(values, list | tuple | dict | str | range):
        values = list(values)
    current().turn(len(values))
    return values


@pass_context
def _joined(context: Context, values: list[Any]) -> str:
    """`~`: texts put together."""
    texts = [printed(value) for value in values]
    current().put_out(sum(map(len, texts)))
    return markup_join(texts) if context.eval_ctx.autoescape else str_join(texts)


@pass_context
def _join(context: Context, values: Any, d: str = "", attribute: str | int | None = None) -> str:
    """`join`, of what has a text."""
    if attribute is not None:
        values = [context.environment.getitem(value, attribute) for value in values]
    texts = [printed(value) for value in values]
    current().put_out(sum(map(len, texts)) + len(d) * len(texts))
    return str(FILTERS["join"](context.eval_ctx, texts, d))


def _of_text(filter: Callable[..., Any]) -> Callable[..., Any]:
    """A filter of texts, refusing what has none: `None|upper` would be `NONE`."""
    place = 1 if hasattr(filter, "jinja_pass_arg") else 0

    @wraps(filter)
    def checked(*given: Any, **options: Any) -> Any:
        value = given[place]
        text = value if isinstance(value, str) else printed(value)
        if any(isinstance(each, int) and each > _LONGEST_RANGE for each in (*given[place + 1 :], *options.values())):
            raise SecurityError(f"more than {_LONGEST_RANGE:,} was asked of a filter")
        return filter(*given[:place], text, *given[place + 1 :], **options)

    return checked


def _range(*given: int) -> range:
    found = range(*given)
    if len(found) > _LONGEST_RANGE:
        raise SecurityError(f"a range has at most {_LONGEST_RANGE:,} numbers")
    return found


class _Bounded(NodeTransformer):
    """Loops and the putting together of texts led past the budget, and what is the same in every email written out."""

    def __init__(self, same: dict[str, Any], *, escaped: bool) -> None:
        """`same`: what every template of the portal knows, by name."""
        self._same = same
        self._escaped = escaped

    def visit_Output(self, node: nodes.Output) -> nodes.Node:  # noqa: N802  jinja's name
        self.generic_visit(node)
        node.nodes = [self._written_out(each) for each in node.nodes]
        return node

    def _written_out(self, node: nodes.Expr) -> nodes.Expr:
        """`brand.colour`, `language` and the like as a part of the page, like what stands around it."""
        value = self._known(node)
        if not isinstance(value, str):
            return node
        return nodes.TemplateData(str(escape(value)) if self._escaped else value, lineno=node.lineno)

    def _known(self, node: nodes.Node) -> Any:
        if isinstance(node, nodes.Name):
            return self._same.get(node.name)
        if isinstance(node, nodes.Getattr):
            table = self._known(node.node)
            return table.get(node.attr) if isinstance(table, dict) else None
        return None

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "_turns")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "_joined")


def _filtered(node: Any, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


class Engine(SandboxedEnvironment):
    """Renders the files of one portal in one language."""

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, loader: BaseLoader, *, known: dict[str, Any], filters: dict[str, Callable[..., Any]]) -> None:
        """`known` is what every template knows; `filters` come beside those of texts and values."""
        super().__init__(
            loader=loader,
            autoescape=lambda name: bool(name) and str(name).endswith((".html", ".mjml")),
            undefined=_Missing,
            finalize=_put_out,
            trim_blocks=True,
            lstrip_blocks=True,
            cache_size=-1,
            auto_reload=False,
        )
        self.facts: dict[tuple[str, str], Facts] = {}
        """What was found out about files, by their names and what they say: see `facts.py`."""
        self.globals = {"range": _range, **known}
        self.filters = {
            **{name: _of_text(FILTERS[name]) for name in _OF_TEXT},
            **{name: FILTERS[name] for name in _OF_VALUES},
            "join": _join,
            "_turns": _turns,
            "_joined": _joined,
            **filters,
        }
        self.tests = {name: TESTS[name] for name in _TESTS}

    def filter_names(self) -> list[str]:
        """Those that a template may use."""
        return sorted(name for name in self.filters if not name.startswith("_"))

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for filtered in tree.find_all(nodes.Filter):
            if filtered.name not in self.filters or filtered.name.startswith("_"):
                raise TemplateSyntaxError(self._no_filter(filtered.name), filtered.lineno, name, filename)
        own = {each.name for each in tree.find_all(nodes.Name) if each.ctx != "load"}
        same = {each: value for each, value in self.globals.items() if each not in own}
        escaped = callable(self.autoescape) and self.autoescape(name)
        return _Bounded(same, escaped=escaped).visit(tree)  # type: ignore[no-any-return]

    def _no_filter(self, name: str) -> str:
        meant = nearest(name, self.filter_names())
        return f"there is no filter {name!r}" + (f"; did you mean {meant}?" if meant else "")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, NUMBERS) and isinstance(right, NUMBERS) and operator != "**":
            found = super().call_binop(context, operator, left, right)
            if abs(found) > _LARGEST:
                raise SecurityError("a number grew too large")
            return found
        if operator == "+":
            return _joined(context, [left, right])
        raise SecurityError(f"{operator!r} is for numbers only")

    def is_safe_callable(self, obj: Any) -> bool:
        """Macros, blocks, loops, and nothing else but `range`."""
        return (
            isinstance(obj, Macro | BlockReference | LoopContext)
            or isinstance(getattr(obj, "__self__", None), LoopContext)
            or obj is _range
        )

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A field of a table, or one of the few attributes that are known."""
        if isinstance(obj, dict):
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
        if self._may_ask(obj, attribute):
            return getattr(obj, attribute)
        if isinstance(obj, Undefined):
            return obj._fail_with_undefined_error()
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An element of a list or a field of a table."""
        if isinstance(obj, dict | list | tuple | str | Undefined):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                return self.undefined(obj=obj, name=argument)
        return self.undefined(obj=obj, name=argument)

    def _may_ask(self, obj: Any, attribute: str) -> bool:
        if isinstance(obj, LoopContext):
            return attribute in _OF_A_LOOP
        if isinstance(obj, date | time):
            return attribute in _OF_A_MOMENT and hasattr(obj, attribute)
        return isinstance(obj, TemplateModule) and not attribute.startswith("_")
