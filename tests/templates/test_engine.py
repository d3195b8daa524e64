"""Nothing of the interpreter is reachable from a template, and none runs for ever (F6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

import pytest

from postroom.errors import InvalidTemplate
from tests.templates.conftest import Write, template


@dataclass(frozen=True)
class Line:
    title: str
    price: int


@dataclass(frozen=True)
class Order:
    name: str = "Ada"
    nickname: str | None = None
    paid: bool = True
    day: date = date(2026, 11, 18)
    lines: list[Line] = field(default_factory=lambda: [Line("Tea", 3), Line("Milk", 2)])
    notes: dict[str, str] = field(default_factory=lambda: {"items": "two"})


def said(portal: Write, source: str) -> str:
    """What a text says that is written so."""
    found = portal(template("order", text=source, html="<p>x</p>", subject="x"))

    @dataclass(frozen=True)
    class Own(Order):
        pass

    found.template(name="order")(Own)
    return found.email(Own(), to="ada@example.org").text.strip()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ name|upper }}", "ADA"),
        (
            "{% for line in lines %}{{ loop.index }} {{ line.title }}{% if not loop.last %}, {% endif %}{% endfor %}",
            "1 Tea, 2 Milk",
        ),
        ("{{ lines|map(attribute='title')|join(' and ') }}", "Tea and Milk"),
        ("{{ lines|sum(attribute='price') }}", "5"),
        ("{{ notes.items }} {{ notes['items'] }}", "two two"),
        ("{{ nickname|default('friend', true) }}", "friend"),
        ("{% if paid %}paid{% else %}due{% endif %}", "paid"),
        ("{{ day.year }} {{ day }}", "2026 2026-11-18"),
        ("{% set total = lines|length * 2 %}{{ total }}", "4"),
        ("{{ 'a' ~ name ~ 1 }}", "aAda1"),
        ("{% macro hi(who) %}Hi {{ who }}{% endmacro %}{{ hi(name) }}", "Hi Ada"),
        ("{% for n in range(3) %}{{ n }}{% endfor %}", "012"),
        ("{{ name[0] }}{{ name[1:] }}", "Ada"),
        ("{% for key, value in notes|items %}{{ key }}={{ value }}{% endfor %}", "items=two"),
        ("{% if nickname is none %}none{% endif %}", "none"),
        ("{{ language }} {{ direction }} {{ portal }} {{ brand.name }}", "en ltr hub Hub"),
    ],
)
def test_what_a_template_can_say(portal: Write, source: str, expected: str) -> None:
    assert said(portal, source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ }}",
        "{{ name.__class__.__mro__ }}",
        "{{ name.upper() }}",
        "{{ name['upper']() }}",
        "{{ lines.append(1) }}",
        "{{ notes.keys() }}",
        "{{ notes.__init__ }}",
        "{{ range.__globals__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ loop }}",
        "{{ '{0.__class__}'.format(name) }}",
        "{{ '%s' % name }}",
        "{{ name|attr('__class__') }}",
        "{{ name|safe }}",
        "{{ lipsum() }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{{ joiner }}",
        "{{ namespace(a=1) }}",
        "{{ dict(a=1) }}",
        "{{ day.replace(year=1) }}",
        "{{ day.__reduce__ }}",
        "{{ brand.__class__ }}",
        "{% for x in lines %}{{ loop.__init__ }}{% endfor %}",
        "{% for x in lines %}{{ loop._iterable }}{% endfor %}",
        "{% include '../../../../etc/passwd' %}",
        "{% include '/etc/passwd' %}",
        "{% include name %}",
        "{% import 'os' as os %}",
        "{{ lines|_turns }}",
        "{{ lines|map('attr', '__class__')|join }}",
    ],
)
def test_nothing_of_the_interpreter_is_reachable(portal: Write, source: str) -> None:
    with pytest.raises(InvalidTemplate):
        said(portal, source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ nickname }}",
        "{{ nickname|upper }}",
        "{{ 'a' ~ nickname }}",
        "{{ [nickname]|join(',') }}",
        "{{ paid }}",
        "{{ lines }}",
        "{{ notes }}",
        "{{ lines[0] }}",
        "{{ lines[7].title }}",
        "{{ lines[0].titel }}",
    ],
)
def test_what_is_no_text_is_never_put_out(portal: Write, source: str) -> None:
    with pytest.raises(InvalidTemplate):
        said(portal, source)


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(99) %}{% for b in range(99) %}{% for c in range(99) %}{% endfor %}{% endfor %}{% endfor %}",
        "{% for a in range(1000) %}{% for b in range(1000) %}x{% endfor %}{% endfor %}",
        "{{ range(1000000) }}",
        "{{ 'x' * 1000000000 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{{ [1] * 1000000000 }}",
        "{{ 'x'|indent(1000000000, true) }}",
        "{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('xxxxxxxx') }}",
        "{% macro m(x) %}{% set y %}{{ x }}{{ x }}{% endset %}{{ m(y) }}{% endmacro %}{{ m('xxxxxxxx') }}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ 'x'|wordwrap(1000000000) }}",
    ],
)
def test_what_has_no_end_is_ended(portal: Write, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.templates.budget.SECONDS", 0.3)

    with pytest.raises(InvalidTemplate):
        said(portal, source)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("{% for n in range(1000) %}" + "x" * 3_000 + "{% endfor %}", "it has more than 2,000,000 characters"),
        ("{% for a in range(400) %}{% for b in range(400) %}{% endfor %}{% endfor %}", "more than 100,000 turns"),
    ],
    ids=["size", "turns"],
)
def test_size_and_turns_end_what_time_would_allow(
    portal: Write, source: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.templates.budget.SECONDS", 60)

    with pytest.raises(InvalidTemplate, match=told):
        said(portal, source)


def test_a_mistake_in_a_file_is_told_with_its_line(portal: Write) -> None:
    with pytest.raises(InvalidTemplate, match=r"hub\.order: line 2 of order/body\.txt: .*endif"):
        said(portal, "one\n{% if name %}\n")


def test_an_unknown_filter_is_told_with_the_nearest(portal: Write) -> None:
    with pytest.raises(InvalidTemplate, match=r"there is no filter 'uper'; did you mean upper\?"):
        said(portal, "{{ name|uper }}")


def test_an_unknown_field_is_told_with_the_nearest(portal: Write) -> None:
    with pytest.raises(
        InvalidTemplate, match=r"hub\.order: titel: there is no 'titel'; did you mean title\?"
    ) as refused:
        said(portal, "{{ lines[0].titel }}")

    assert refused.value.variable == "titel"
