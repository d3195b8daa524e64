"""Plurals, dates, numbers and money as a language writes them: filters of templates, by Babel.

{{ minutes|plural(one="{} minute", other="{} minutes") }}
{{ day|date }} · {{ changed_at|datetime(timezone="Europe/Berlin") }} · {{ total|money("EUR") }}
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from postroom.errors import ConfigurationError
from postroom.templates.engine import NUMBERS, Hole

if TYPE_CHECKING:
    from babel import Locale

_LENGTHS = ("short", "medium", "long", "full")


def filters(language: str) -> dict[str, Callable[..., str]]:
    """What templates in this language write with."""
    found: dict[str, Callable[..., str]] = {
        "date": _date,
        "datetime": _datetime,
        "money": _money,
        "number": _number,
        "percent": _percent,
        "plural": _plural,
        "time": _time,
    }
    return {name: _bound(function, language) for name, function in found.items()}


def _bound(function: Callable[..., str], language: str) -> Callable[..., str]:
    def filter(value: Any, *given: Any, **named: Any) -> str:
        return function(_locale(language), value, *given, **named)

    return filter


def _locale(language: str) -> Locale:
    try:
        from babel import Locale, UnknownLocaleError
    except ModuleNotFoundError:
        raise ConfigurationError(
            "plurals, dates and money in templates need Babel; install it with `pip install 'postroom[languages]'`"
        ) from None
    try:
        return Locale.parse(language, sep="-")
    except UnknownLocaleError:
        raise ConfigurationError(
            f"Babel knows no language {language!r}; write numbers and dates by hand there"
        ) from None


def _date(locale: Locale, value: Any, length: str = "long") -> str:
    from babel.dates import format_date

    return format_date(_checked(value, date, "a date"), _length(length), locale)


def _time(locale: Locale, value: Any, length: str = "short", timezone: str = "UTC") -> str:
    from babel.dates import format_time

    moment = _checked(value, (time, datetime), "a time")
    return format_time(moment, _length(length), tzinfo=_zone(timezone), locale=locale)


def _datetime(locale: Locale, value: Any, length: str = "long", timezone: str = "UTC") -> str:
    from babel.dates import format_datetime

    moment = _checked(value, datetime, "a date with a time")
    return format_datetime(moment, _length(length), tzinfo=_zone(timezone), locale=locale)


def _number(locale: Locale, value: Any) -> str:
    from babel.numbers import format_decimal

    return format_decimal(_checked(value, NUMBERS, "a number"), locale=locale)


def _percent(locale: Locale, value: Any) -> str:
    from babel.numbers import format_percent

    return format_percent(_checked(value, NUMBERS, "a number"), locale=locale)


def _money(locale: Locale, value: Any, currency: str) -> str:
    from babel.numbers import format_currency

    return format_currency(_checked(value, NUMBERS, "a number"), currency, locale=locale)


def _plural(locale: Locale, value: Any, **forms: str) -> str:
    """The form that the number takes, with the number in place of `{}`; `other` stands for those not given."""
    from babel.numbers import format_decimal

    number = _checked(value, NUMBERS, "a number")
    if "other" not in forms:
        raise Hole("plural needs at least other=…, as in plural(one='{} day', other='{} days')")
    form = forms.get(locale.plural_form(Decimal(str(number))), forms["other"])
    return form.replace("{}", format_decimal(number, locale=locale))


def _checked(value: Any, kind: Any, wanted: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Hole(f"{wanted} was expected, and {type(value).__name__} came")
    return value


def _length(length: str) -> Any:
    if length not in _LENGTHS:
        raise Hole(f"{length!r} is no length of a date; use {', '.join(_LENGTHS)}")
    return length


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError):
        raise Hole(f"{name!r} is no timezone; write it like Europe/Berlin") from None
