"""The whole of a portal: its files, its variables, its samples, and what the matrix says of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest

from postroom.templates.checks import Cell, Matrix, Severity, check_portal, check_template
from tests.templates.checks.conftest import BODY, GOOD, TEXT, Workshop, rules


@dataclass(frozen=True)
class Line:
    what: str
    price: int


@dataclass(frozen=True)
class Order:
    number: str
    lines: list[Line]
    first: Line | None = None


def german(**changed: str | None) -> dict[str, str | None]:
    files: dict[str, str | None] = {
        "welcome/subject.de.txt": "Willkommen {{ name }}",
        "welcome/body.de.html": GOOD["welcome/body.html"],
        "welcome/body.de.txt": GOOD["welcome/body.txt"],
    }
    return {**files, **{f"welcome/{name.replace('_', '.')}": text for name, text in changed.items()}}


def test_a_language_that_is_declared_and_not_complete_is_an_error_that_names_the_files(workshop: Workshop) -> None:
    portal = workshop.portal(german(subject_de_txt=None, body_de_txt=None), languages=("en", "de"))
    [finding] = findings = list(check_portal(portal))

    assert (finding.rule, finding.language, finding.severity) == ("missing-language", "de", Severity.ERROR)
    assert "subject.de.txt, body.de.txt are not there" in finding.problem
    assert Matrix.of(portal, findings).rows == {"welcome": {"en": Cell.OK, "de": Cell.FALLBACK}}


def test_without_the_default_language_there_is_nothing_to_fall_back_to(workshop: Workshop) -> None:
    portal = workshop.portal({**german(), "welcome/subject.txt": None}, languages=("en", "de", "fr"))
    findings = list(check_portal(portal))

    assert rules(findings) == ["missing-language", "missing-language"]
    assert Matrix.of(portal, findings).rows == {
        "welcome": {"en": Cell.MISSING, "de": Cell.OK, "fr": Cell.MISSING},
    }


def test_the_matrix_tells_errors_from_warnings_by_language(workshop: Workshop) -> None:
    """C3: which template does how in which language, at a glance."""
    files = german(subject_de_txt="{{ name }}" + "x" * 90)
    files["welcome/body.fr.html"] = GOOD["welcome/body.html"].replace("<b>", '<img src="cid:x"><b>')
    files |= {"welcome/subject.fr.txt": "Bonjour {{ name }}", "welcome/body.fr.txt": TEXT}
    portal = workshop.portal(files, languages=("en", "de", "fr"))

    matrix = Matrix.of(portal, check_portal(portal))

    assert matrix.languages == ("en", "de", "fr")
    assert matrix.rows == {"welcome": {"en": Cell.OK, "de": Cell.WARNINGS, "fr": Cell.ERRORS}}


def test_a_check_may_be_of_some_languages_only(workshop: Workshop) -> None:
    portal = workshop.portal(german(subject_de_txt=""), languages=("en", "de"))

    assert list(check_template(portal, "welcome", ["en"])) == []
    assert rules(list(check_template(portal, "welcome", ["de"]))) == ["subject"]


def test_a_folder_without_a_class_and_a_class_without_a_folder_are_found(workshop: Workshop) -> None:
    portal = workshop.portal({"goodbye/subject.txt": "Bye"})

    @portal.template
    @dataclass(frozen=True)
    class Invite:
        name: str

    findings = list(check_portal(portal))

    assert [(each.rule, each.template) for each in findings] == [
        ("no-class", "hub.goodbye"),
        ("no-folder", "hub.invite"),
    ]
    assert "postroom template new hub invite" in findings[1].remedy


@pytest.mark.parametrize(
    ("sample", "rule", "told"),
    [
        (None, "no-sample", "no sample"),
        ('[ada]\nname = "Ada"\n', "sample", "link: is missing"),
        ('[ada]\nname = 7\nlink = "https://hub.example/"\n', "sample", "name"),
        ('[ada]\nname = "Ada"\nlink = "https://a.example/"\nnick = "a"\n', "sample", "nick: there is no such variable"),
        ("[ada\n", "sample", "no TOML"),
    ],
)
def test_a_template_has_a_sample_that_fits(workshop: Workshop, sample: str | None, rule: str, told: str) -> None:
    [finding] = workshop.check({"welcome/sample.toml": sample})

    assert (finding.rule, finding.file) == (rule, "welcome/sample.toml")
    assert told in finding.problem


def test_a_sample_that_does_not_fit_leaves_the_others_to_be_checked(workshop: Workshop) -> None:
    samples = '[bob]\nname = "Bob"\n' + GOOD["welcome/sample.toml"]
    broken = GOOD["welcome/body.html"].replace("<b>", '<img src="cid:x"><b>')

    findings = workshop.check({"welcome/sample.toml": samples, "welcome/body.html": broken})

    assert [(each.rule, each.sample) for each in findings] == [("sample", "bob"), ("image-without-alt", "ada")]


def test_a_variable_that_stands_in_no_part_is_found(workshop: Workshop) -> None:
    sample = GOOD["welcome/sample.toml"] + "minutes = 3\n"

    [finding] = workshop.check({"welcome/sample.toml": sample}, fields={"minutes": int})

    assert (finding.rule, finding.severity) == ("unused-variable", Severity.ERROR)
    assert finding.problem.startswith("minutes ")


@pytest.mark.parametrize(
    "files",
    [
        {"welcome/subject.txt": "{{ minutes }} minutes, {{ name }}"},
        {"layout.html": GOOD["layout.html"].replace("</body>", "<p>{{ minutes }}</p></body>")},
        {"welcome/body.txt": TEXT + "{% if minutes > 3 %}soon{% endif %}"},
    ],
    ids=["subject", "layout", "condition"],
)
def test_a_variable_is_used_wherever_it_stands(workshop: Workshop, files: dict[str, str | None]) -> None:
    sample = {"welcome/sample.toml": GOOD["welcome/sample.toml"] + "minutes = 3\n"}

    assert workshop.check({**sample, **files}, fields={"minutes": int}) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ nme }}", "nme: there is no such variable"),
        ("{% if false %}{{ order.nmber }}{% endif %}", "order.nmber: there is no 'nmber'"),
        ("{% if false %}{{ order.first.prce }}{% endif %}", "order.first.prce: there is no 'prce'"),
        ("{% if false %}{{ brand.nam }}{% endif %}", "brand.nam: there is no 'nam'"),
    ],
)
def test_a_name_that_is_none_is_found_also_where_no_sample_comes_by(workshop: Workshop, text: str, told: str) -> None:
    order = '[ada.order]\nnumber = "7"\nlines = [{what = "Tea", price = 3}]\n'
    given: dict[str, Any] = {"order": Order}
    files = {"welcome/sample.toml": GOOD["welcome/sample.toml"] + order}
    files["welcome/body.txt"] = (
        TEXT + "{{ order.number }}{% for line in order.lines %}{{ line.what }}{% endfor %}" + text
    )

    [finding] = workshop.check({**files}, fields=given)

    assert (finding.rule, finding.language) == ("unknown-variable", "en")
    assert told in finding.problem
    assert "did you mean" in finding.remedy


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"welcome/body.html": BODY.replace("PLACE", "{% if %}")}, "line 5 of welcome/body.html"),
        ({"welcome/body.html": BODY.replace("PLACE", "{{ name|safe }}")}, "no filter 'safe'"),
        ({"welcome/body.txt": "Hello {{ name }}"}, "its text does not name"),
        ({"welcome/body.txt": TEXT + "{{ none }}"}, "nothing at all"),
        ({"layout.html": None}, "there is no file layout.html"),
        ({"welcome/body.txt": TEXT + "{{ name.x }}"}, "there is no 'x'"),
    ],
)
def test_what_the_engine_refuses_is_told_in_its_words(
    workshop: Workshop, files: dict[str, str | None], told: str
) -> None:
    [finding] = workshop.check(files)

    assert finding.rule in ("broken", "unknown-variable")
    assert told in finding.problem


def test_a_logo_that_is_not_there_is_told(workshop: Workshop) -> None:
    from postroom import Brand

    [finding] = workshop.check(brand=Brand(name="Hub", logo="logo.png", footer="Hub Ltd"))

    assert finding.rule == "no-logo"
    assert "there is no logo.png" in finding.problem


def test_a_template_that_shows_a_logo_which_is_not_there_is_told_by_itself(workshop: Workshop) -> None:
    from postroom import Brand

    brand = Brand(name="Hub", logo="logo.png", footer="Hub Ltd")
    found = workshop.with_html('<img src="{{ brand.logo }}" alt="Hub">', brand=brand)

    assert {(each.template, each.rule) for each in found} == {("hub", "no-logo"), ("hub.welcome", "no-logo")}


@pytest.mark.parametrize(
    "hostile",
    [
        "{% for a in range(1000) %}{% for b in range(1000) %}x{% endfor %}{% endfor %}",
        "{% macro m(n) %}{{ m(n) }}{% endmacro %}{{ m(1) }}",
        "{% include 'welcome/body.txt' %}",
        "{{ name|sort|sort" + "|sort" * 3_000 + " }}",
        "{{ 'x' * 10000000 }}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ name.__class__.__mro__ }}",
        "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
        "{% if name %}" * 2_000 + "{% endif %}" * 2_000,
    ],
)  # fmt: skip
def test_a_hostile_template_is_a_finding_and_holds_nobody_up(workshop: Workshop, hostile: str) -> None:
    before = time.process_time()
    findings = workshop.check({"welcome/body.txt": TEXT + hostile})

    assert rules(findings)
    assert time.process_time() - before < 20


@pytest.mark.parametrize(
    "hostile",
    [
        "<div>" * 3_000,
        "<b><p>" * 1_000,
        "<style>" + "@media " * 5_000 + "</style>",
        "<style>@media (prefers-color-scheme: dark) {" + "a" * 50_000 + "</style>",
        "<style>" + "/*" * 20_000 + "</style>",
        '<p style="background: url(' + " " * 50_000 + '">x</p>',
        '<p style="' + "color: rgb( " * 4_000 + '">x</p>',
        "<style>@media (prefers-color-scheme: dark) {" + "div p a b { color: red !important }" * 1_500 + "}</style>"
        + "<p>x</p>" * 2_000,
    ],
    ids=range(8),
)  # fmt: skip
def test_a_hostile_page_holds_nobody_up(workshop: Workshop, hostile: str) -> None:
    before = time.process_time()
    workshop.with_html(hostile)

    assert time.process_time() - before < 20


def test_dates_numbers_and_lists_are_checked_like_texts(workshop: Workshop) -> None:
    from decimal import Decimal

    sample = GOOD["welcome/sample.toml"] + 'day = 2026-05-17\ntotal = "19.90"\nlines = [{what = "Tea", price = 3}]\n'
    said = "{{ day|date }} {{ day }} {{ total }} {{ total|money('EUR') }} {{ lines[0].what }}"
    fields: dict[str, Any] = {"day": date, "total": Decimal, "lines": list[Line]}

    assert workshop.check({"welcome/sample.toml": sample, "welcome/body.txt": TEXT + said}, fields=fields) == []
