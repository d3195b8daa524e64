"""Plurals, dates, numbers and money as each language writes them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from postroom.errors import ConfigurationError, InvalidTemplate
from tests.templates.conftest import Write, template


@dataclass(frozen=True)
class Bill:
    days: int = 1
    total: Decimal = Decimal("1234.5")
    at: datetime = datetime(2026, 11, 18, 23, 30, tzinfo=UTC)


def said(portal: Write, source: str, language: str, **given: object) -> str:
    files: dict[str, str | bytes] = {}
    for part, content in (("subject", "x"), ("body", source)):
        files[f"bill/{part}.txt"] = files[f"bill/{part}.{language}.txt"] = content
    files["bill/body.html"] = files[f"bill/body.{language}.html"] = "<p>x</p>"
    found = portal({**template("bill"), **files}, languages=("eo", language))

    @dataclass(frozen=True)
    class Own(Bill):
        pass

    found.template(name="bill")(Own)
    return found.email(Own(**given), to="ada@example.org", language=language).text.strip()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "language", "expected"),
    [
        ("{{ total|money('EUR') }}", "de", "1.234,50\xa0€"),
        ("{{ total|money('EUR') }}", "en", "€1,234.50"),
        ("{{ total|number }}", "de-CH", "1’234.5"),
        ("{{ at|date }}", "de", "18. November 2026"),
        ("{{ at|date('short') }}", "en", "11/18/26"),
        ("{{ at|datetime('medium', timezone='Europe/Berlin') }}", "de", "19.11.2026, 00:30:00"),
        ("{{ at|time(timezone='Asia/Tokyo') }}", "de", "08:30"),
        ("{{ 0.25|percent }}", "de", "25\xa0%"),
    ],
)
def test_a_value_is_written_as_its_language_does(portal: Write, source: str, language: str, expected: str) -> None:
    assert said(portal, source, language) == expected


@pytest.mark.parametrize(
    ("language", "number", "expected"),
    [
        ("en", 1, "1 day"),
        ("en", 2, "2 days"),
        ("ar", 3, "few"),
        ("ar", 11, "many"),
        ("ar", 2, "two"),
        ("en", 1000, "1,000 days"),
    ],
)
def test_a_number_takes_the_form_that_its_language_has_for_it(
    portal: Write, language: str, number: int, expected: str
) -> None:
    source = "{{ days|plural(one='{} day', other='{} days', two='two', few='few', many='many') }}"

    assert said(portal, source, language, days=number) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{ days|date }}",
        "{{ at|money('EUR') }}",
        "{{ at|date('huge') }}",
        "{{ at|time(timezone='Mars/X') }}",
        "{{ days|plural(one='x') }}",
    ],
)
def test_what_cannot_be_written_so_is_told(portal: Write, source: str) -> None:
    with pytest.raises(InvalidTemplate, match=r"hub\.bill"):
        said(portal, source, "de")


def test_without_babel_the_error_says_what_to_install(portal: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "babel", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'postroom\[languages\]'"):
        said(portal, "{{ days|number }}", "de")
