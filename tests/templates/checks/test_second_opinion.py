"""Two engines that nobody here wrote agree on what templates say; and where they do not, it is told."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import DictLoader
from jinja2.filters import FILTERS

from postroom.templates.budget import Budget, within
from postroom.templates.checks import Severity
from postroom.templates.checks.second_engine import SecondEngine, comparable
from postroom.templates.checks.second_opinion import _near, _spelled
from postroom.templates.engine import Engine
from postroom.templates.locale import filters
from tests.templates.checks.conftest import TEXT, Workshop

FILES = {
    "layout.html": "<html>{% block title %}Hub{% endblock %}|{% block body %}{% endblock %}</html>",
    "pieces.html": '{% macro button(to, words="Go") %}<a href="{{to}}">{{ words }} {{ brand.name }}</a>{% endmacro %}',
    "pieces.txt": "{% macro button(to, words='Go') %}{{ words }}: {{ to }} {{ brand.name }}{% endmacro %}\n",
    "note.txt": "Note: {{ s }}\n",
}
VALUES: dict[str, Any] = {
    "s": "it's <b>big</b> & \"é\" / straße",
    "empty": "", "spaced": "  x  y ", "lines": "a\nb\n\nc", "n": -7, "f": 2.675,
    "whole": 10.0, "yes": True, "no": False, "nothing": None, "numbers": [3, 1, 2, 1], "words": ["b", "A", "<i>", "a"],
    "people": [{"name": "Ada", "age": 36}, {"name": "bob", "age": 7}, {"name": "Cy", "age": 36}],
    "table": {"b": 1, "a": 2},
    "day": date(2026, 5, 17), "later": date(2026, 6, 1),
    "at": datetime(2026, 5, 17, 9, 30, tzinfo=UTC), "total": Decimal("19.90"),
    "long": "the quick brown fox jumps over the lazy dog and averyveryverylongwordindeed",
}  # fmt: skip

EXPRESSIONS = """
s|upper; s|lower; s|capitalize; s|title; spaced|trim; s|replace('b', '<'); s|replace('b', 'B', 1); s|e
s|urlencode; long|truncate(20); long|truncate(20, true, '…'); long|wordwrap(20); lines|indent(2)
lines|indent(2, true); n|abs; f|round(2); f|round(1, 'floor'); whole; f; n; '12'|int; 'x'|int; 'x'|int(5)
numbers|sort|join(','); words|sort|join(','); numbers|sort(reverse=true)|join(',')
people|sort(attribute='age')|map(attribute='name')|join(','); numbers|unique|join; numbers|reverse|join
numbers|first; numbers|last; s|length; table|length; numbers|sum; people|sum(attribute='age'); numbers|max
words|min; words|join(', '); people|join(',', attribute='name'); numbers|batch(2)|map('join', ',')|join(';')
numbers|select('odd')|join; numbers|reject('odd')|join
people|selectattr('age', 'eq', 36)|map(attribute='name')|join(',')
people|rejectattr('age', 'gt', 7)|map(attribute='name')|join(','); words|map('upper')|join(',')
empty|default('x', true); nowhere|default('x'); 7 // 2; -7 // 2; -7 % 3; 10 / 4; 4 / 2; n * 2; 1.1 + 2.2
'a' ~ n ~ f ~ s; 'a' + s; s[0]; s[-1]; s[1:3]; numbers[0]; numbers[-1]; numbers[1:]|join; table.a; table['b']
people[0].name; 1 if yes else 2; 'x' if no; empty or s; s and 'q'; 1 if 'big' in s; 1 if 3 in numbers
1 if 'b' in table; 1 if numbers is sequence; 1 if table is mapping; 1 if n is number; 1 if yes is boolean
1 if n is integer; 1 if f is float; 1 if s is string; 1 if n is odd; 1 if n is divisibleby 7
1 if nothing is none; 1 if nowhere is not defined; 1 if n is lt 3; 1 if n is in [1, -7]
1 if numbers == [3, 1, 2, 1]; 1 if 1 < 2 < 3; range(3)|join; range(9, 1, -3)|join; 'ß'|upper
"it's o'neil-smith x2y"|title; 'a\\tb'; day; at; day.year; at.hour; day|date; day|date('short'); at|datetime
at|time(timezone='Europe/Berlin'); f|number; f|percent; total|money('EUR'); total
numbers|length|plural(one='{} day', other='{} days'); 1 if day < later else 2; 1 if day == day
"""
STATEMENTS = [
    "{% for x in numbers %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ x }}{% endfor %}",
    "{% for x in numbers if x > 1 %}{{ x }}{% if not loop.last %}, {% endif %}{% else %}none{% endfor %}",
    "{% for x in [] %}{{ x }}{% else %}none{% endfor %}",
    "{% for k, v in table|items %}{{ k }}={{ v }};{% endfor %}{% for k in table %}{{ k }}{% endfor %}",
    "{% for x in numbers %}{{ loop.cycle('a', 'b') }}{% if loop.changed(x) %}!{% endif %}{% endfor %}",
    "{% for x in numbers %}{{ loop.previtem if not loop.first }}{{ loop.nextitem if not loop.last }}{% endfor %}",
    "{% if n > 0 %}more{% elif n < 0 %}less{% else %}none{% endif %}",
    "{% set x = 1 %}{% if yes %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% set x = 1 %}{% for y in numbers %}{% set x = y %}{% endfor %}{{ x }}",
    "{% set x %}<i>{{ s }}</i>{% endset %}{{ x }}",
    "{% with x = n %}{{ x }}{% endwith %}",
    "{% filter upper %}a {{ n }}{% endfilter %}",
    "{% macro m(a, b='<') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(s) }}{{ m(1, b=2) }}",
    "{% macro m(a) %}<p>{{ caller(a) }}</p>{% endmacro %}{% call(x) m(s) %}{{ x }}!{% endcall %}",
    '{% from "pieces.html" import button %}{{ button("https://a.example/?a=1&b=2", words=s) }}',
    '{% import "pieces.html" as pieces %}{{ pieces.button(s) }}',
    '{% include "note.txt" %}|{% include "nowhere.txt" ignore missing %}',
    '{% extends "layout.html" %}{% block title %}{{ super() }}!{% endblock %}{% block body %}{{ s }}{% endblock %}',
    '{% extends "layout.html" %}{% from "pieces.html" import button %}{% block body %}{{ button(s) }}{% endblock %}',
    "{% raw %}{{ not this }}{% endraw %}{# nor this #}",
    "a\n  {% if yes %}\n  b\n  {% endif %}\n  c\n{%- if yes -%}  d  {%- endif %}  \n{%+ if yes %}e{% endif %}\n\n",
    "a\r\n{% if yes %}\r\nb\r\n{% endif %}\r\nc\r\n",
    "{{ brand.name }} {{ language }} {{ direction }} {{ portal }}",
    "<p title=\"{{ s }}\" data-x='{{ s }}'>{{ s }}</p><!-- {{ s }} -->",
]  # fmt: skip


def both(source: str, name: str, values: dict[str, Any], language: str = "de") -> tuple[str, str]:
    """What the engines make of it."""
    known = {"brand": {"name": "Hub & Co"}, "portal": "hub", "language": language, "direction": "ltr"}
    engine = Engine(DictLoader({**FILES, name: source}), known=known, filters=filters(language))
    values = comparable(values)
    with within(Budget()):
        return engine.get_template(name).render(values), SecondEngine(engine, language)._environment.render_template(
            name, **values
        )


@pytest.mark.parametrize("name", ["x.txt", "x.html"])
def test_the_engines_agree_on_what_our_filters_tests_and_operators_mean(name: str) -> None:
    for expression in re.split(r";\s|\n", EXPRESSIONS.strip()):
        first, second = both(f"{{{{ {expression} }}}}", name, VALUES)
        assert _spelled(first) == _spelled(second), expression


@pytest.mark.parametrize("name", ["x.txt", "x.html"])
@pytest.mark.parametrize("source", STATEMENTS)
def test_the_engines_agree_on_loops_macros_blocks_and_blanks(source: str, name: str) -> None:
    if name == "x.txt" and "pieces.html" in source:
        source = source.replace(
            "pieces.html", "pieces.txt"
        )  # who escapes what another file wrote, they see differently
    first, second = both(source, name, VALUES)

    assert _spelled(first) == _spelled(second)


PLAIN = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)


@settings(deadline=None)
@given(
    s=PLAIN,
    n=st.integers(-(10**12), 10**12),
    f=st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-4),
    words=st.lists(PLAIN, max_size=4),
)
def test_the_engines_agree_whatever_the_values(s: str, n: int, f: float, words: list[str]) -> None:
    """C2: what a template says does not hang on the engine that says it."""
    source = (
        "{{ s }}|{{ s|upper }}|{{ n }}|{{ n + 1 }}|{{ f }}|{{ s|length }}|{{ s|urlencode }}|{{ s|e }}|"
        "{{ words|join('/') }}"
        "{% for word in words %}{% if word %}{{ loop.index }}:{{ word }}{% else %}-{% endif %}{% endfor %}"
    )
    first, second = both(source, "x.html", {"s": s, "n": n, "f": f, "words": words})

    assert _spelled(first) == _spelled(second)


@pytest.mark.parametrize(
    ("planted", "shown"),
    [
        ("{{ 'a list' if name is sequence else 'a text' }}", ("a list", "a text")),
        ("{{ 10000000000000000.0 * 10 }}", ("1e+17", "100000000000000000.0")),
    ],
)
def test_a_difference_between_the_engines_is_found_and_shown(
    workshop: Workshop, planted: str, shown: tuple[str, str]
) -> None:
    [finding] = workshop.check({"welcome/body.txt": TEXT + planted})

    assert (finding.rule, finding.severity, finding.file) == ("second-opinion", Severity.ERROR, "welcome/body.txt")
    ours, _, theirs = finding.problem.partition("MiniJinja")
    assert shown[0] in ours
    assert shown[1] in theirs


def test_a_difference_in_the_page_is_found(workshop: Workshop) -> None:
    [finding] = workshop.with_html("<p>{{ 'a list' if name is sequence else 'a text' }}</p>")

    assert (finding.rule, finding.file) == ("second-opinion", "welcome/body.html")


def test_a_filter_that_renders_differently_is_found(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if an upgrade of one of them had changed what it means."""
    monkeypatch.setitem(FILTERS, "upper", FILTERS["lower"])

    [finding] = workshop.check({"welcome/body.txt": TEXT + "{{ name|upper }}"})

    assert (finding.rule, finding.file) == ("second-opinion", "welcome/body.txt")
    assert "ada & <co>" in finding.problem.partition("MiniJinja")[0]
    assert "ADA & <CO>" in finding.problem.partition("MiniJinja")[2]


def test_what_only_one_engine_knows_is_a_warning_and_not_silence(workshop: Workshop) -> None:
    [finding] = workshop.check({"welcome/body.txt": TEXT + "{{ 1 if name is eq 'x' else +1 }}"})

    assert (finding.rule, finding.severity) == ("no-second-opinion", Severity.WARNING)
    assert "only Jinja2 can render it" in finding.problem


@pytest.mark.parametrize("cut", ["{{ code[:3] }} {{ code[3:] }}", "{% set code = code|upper %}{{ code }}"])
def test_a_variable_that_is_only_cut_or_named_anew_is_used(workshop: Workshop, cut: str) -> None:
    """MiniJinja overlooks it in its list, and renders it all the same."""
    sample = '[ada]\nname = "Ada"\nlink = "https://hub.example/"\ncode = "abcdef"\n'

    assert workshop.check({"welcome/body.txt": TEXT + cut, "welcome/sample.toml": sample}, fields={"code": str}) == []


def test_a_variable_that_only_the_second_engine_sees_is_found(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SecondEngine, "variables", lambda *_: {"name", "link.host"})

    findings = workshop.check()

    assert {each.rule for each in findings} == {"second-opinion"}
    assert "MiniJinja lists link, name, Jinja2 does not" in " ".join(each.problem for each in findings)


def test_the_place_where_two_texts_part_is_shown_short() -> None:
    text = "x" * 100

    assert _near("same\nbut", "same but") == "same⏎but"
    assert _near("abc", "abcd") == "abc"
    assert len(_near(text + "1" + text, text + "2" + text)) <= 60


def test_decimals_are_compared_as_both_engines_know_them() -> None:
    assert comparable({"a": [Decimal("1.50")], "b": "x"}) == {"a": [1.5], "b": "x"}
