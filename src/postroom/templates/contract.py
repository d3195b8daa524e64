"""What a template must be told: the fields of a dataclass, with their types.

A context is checked before anything is rendered, strictly: a number is no text, and nothing is guessed. What templates
see of it is plain data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cached_property, wraps
from typing import Any, NotRequired, get_type_hints
from uuid import UUID

from pydantic import ConfigDict, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import to_json
from typing_extensions import TypedDict

from postroom.errors import ConfigurationError, InvalidTemplate
from postroom.spelling import nearest

TAKEN = frozenset((
    "brand", "direction", "language", "portal", "subject", "unsubscribe_url",
    "loop", "self", "super", "caller", "range",
))  # fmt: skip
"""What templates know by other means."""


class Contract:
    """The typed context of one template."""

    def __init__(self, template: str, context: type) -> None:
        """`template` is its full name, `hub.welcome`."""
        if not is_dataclass(context):
            raise ConfigurationError(
                f"{template}: {context.__name__} is no dataclass; put @dataclass beneath @template"
            )
        self.template = template
        self.context = context
        self._fields = fields(context)
        self.names = tuple(field.name for field in self._fields)
        for name in TAKEN.intersection(self.names):
            raise ConfigurationError(
                f"{template}: a variable cannot be called {name}; templates know that name already"
            )

    @cached_property
    def _types(self) -> TypeAdapter[Any]:
        """Made when first asked for: an annotation may name what is defined further below."""
        try:
            hints = get_type_hints(self.context, include_extras=True)
            wanted = {
                each.name: NotRequired[hints[each.name]] if _has_default(each) else hints[each.name]
                for each in self._fields
            }
            shape: Any = _table(self.context.__name__, wanted)
            shape.__pydantic_config__ = ConfigDict(
                strict=True, extra="forbid", hide_input_in_errors=True, revalidate_instances="always"
            )
            return TypeAdapter(shape)
        except (NameError, PydanticSchemaGenerationError, PydanticUserError) as error:
            raise ConfigurationError(
                f"{self.template}: its variables hold something that no email can show ({str(error).splitlines()[0]}); "
                "use texts, numbers, dates, enums, lists, and dataclasses of them"
            ) from error

    def plain(self, context: object) -> dict[str, Any]:
        """A context as templates see it, checked."""
        if type(context) is not self.context:
            raise InvalidTemplate(
                self.template,
                f"expected {self.context.__name__}, got {type(context).__name__}",
                "give it its own context",
            )
        values = {name: getattr(context, name) for name in self.names}
        try:
            self._types.validate_python(values)
        except ValidationError as error:
            raise self._refused(error) from None
        return {name: _plain(value) for name, value in values.items()}

    def read(self, given: Mapping[str, Any]) -> Any:
        """A context from names and values as files and other programs have them: dates may be texts."""
        return self.from_json(to_json(dict(given)))

    def from_json(self, text: str | bytes) -> Any:
        """A context from JSON."""
        self._check_names(json.loads(text))
        try:
            return self.context(**self._types.validate_json(text))
        except ValidationError as error:
            raise self._refused(error) from None

    def to_json(self, context: object) -> str:
        """A context as JSON, checked; `from_json` gives it back."""
        self.plain(context)
        return self._types.dump_json({name: getattr(context, name) for name in self.names}).decode()

    def watch(self) -> None:
        """Have the context's own constructor tell what is wrong in the words of the template."""
        context: Any = self.context
        construct: Callable[..., None] = context.__init__

        @wraps(construct)
        def checked(instance: object, *given: Any, **named: Any) -> None:
            try:
                construct(instance, *given, **named)
            except TypeError:
                self._check_names([*self.names[: len(given)], *named])
                raise

        context.__init__ = checked

    def _check_names(self, given: Iterable[str]) -> None:
        """Refuse what is missing, and what is too much."""
        given = list(given)
        for name in given:
            if name not in self.names:
                raise self.unknown(name)
        for field in self._fields:
            if field.name not in given and not _has_default(field) and field.init:
                raise InvalidTemplate(self.template, "is missing", "give it a value", variable=field.name)

    def unknown(self, name: str) -> InvalidTemplate:
        """Somebody used a variable that is none."""
        meant = nearest(name, self.names)
        known = f"did you mean {meant}?" if meant else f"it has {', '.join(self.names) or 'none'}"
        return InvalidTemplate(self.template, "there is no such variable", known, variable=name)

    def _refused(self, error: ValidationError) -> InvalidTemplate:
        """What is wrong with a value; never the value, which may be anybody's."""
        wrong = error.errors(include_input=False, include_url=False)[0]
        variable = ".".join(map(str, wrong["loc"])) or "its variables"
        said = wrong["msg"].removeprefix("Input ")
        return InvalidTemplate(
            self.template, said[:1].lower() + said[1:], "give it what it asks for", variable=variable
        )


_table: Any = TypedDict
"""Called with what is known at run time only, which type checkers do not follow."""


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _plain(value: Any) -> Any:
    """Data without behaviour."""
    if isinstance(value, str) and type(value) is not str:
        return _plain(value.value) if isinstance(value, Enum) else str.__str__(value)
    if isinstance(value, Enum):
        return _plain(value.value)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, UUID) else value
