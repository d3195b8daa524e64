"""Putting values into a page that was inlined before gives the same octets as inlining it with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroom import Brand, Portal
from postroom.templates import inlining
from postroom.templates.budget import Budget, within
from postroom.templates.skeleton import Skeleton
from postroom.templates.template import Template
from tests.templates.conftest import Write, template

PAGE = """<!doctype html><html lang="{{ language }}"><head><title>{{ subject }}</title><style>
p { margin: 0 } .b { color: {{ brand.colour }} } a[href^="https"] { color: red } @media print { p { color: blue } }
</style></head><body><p title="{{ name }}">Hello {{ name }}, {{ 'x' ~ name }}</p>
{% if note %}<table><tr><td class="b">{{ note }}</td></tr></table>{% endif %}
{% for each in lines %}<li data-n="{{ loop.index }}">{{ each }}</li>{% endfor %}</body></html>"""


@dataclass(frozen=True)
class Note:
    name: str
    note: str
    lines: list[str]


def written(folder: Path, page: str) -> Template:
    files = template("note", html=page, text="x", subject="For {{ name|upper|truncate(20) }}")
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(str(content))
    portal = Portal("hub", templates=folder, brand=Brand(name="Hub", colour="#112233"))

    @dataclass(frozen=True)
    class Own(Note):
        pass

    portal.template(name="note")(Own)
    return portal.in_language("note", None)


@pytest.fixture(scope="module")
def note(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return written(tmp_path_factory.mktemp("hub"), PAGE)


def whole(template: Template, values: dict[str, object]) -> str:
    """The same page, inlined with its values."""
    with within(Budget()):
        return template._whole_page(values)[0]


texts = st.text(st.characters(codec="utf-8") | st.sampled_from("<>&\"'\xa0\r\n\0\ue000\ue001 0;#"), max_size=20)


@settings(max_examples=300)
@given(name=texts, note_=texts, lines=st.lists(texts, max_size=3))
def test_a_page_is_the_same_however_it_was_inlined(note: Template, name: str, note_: str, lines: list[str]) -> None:
    values = {"name": name, "note": note_, "lines": lines}

    rendered = note.render(values)

    assert rendered.html == whole(note, {**values, "subject": rendered.subject})


def test_a_page_is_inlined_once_for_all_who_get_it(note: Template, monkeypatch: pytest.MonkeyPatch) -> None:
    note.render({"name": "Ada", "note": "", "lines": []})
    inlinings: list[str] = []

    def counted(page: str) -> str:
        inlinings.append(page)
        return inlining.inlined(page)

    monkeypatch.setattr("postroom.templates.template.inlined", counted)
    monkeypatch.setattr("postroom.templates.skeleton.inlined", counted)

    for number in range(100):
        note.render({"name": f"Ada {number}", "note": "", "lines": []})

    assert inlinings == []


@pytest.mark.parametrize(
    "page",
    [
        '<style>.a { color: red }</style><p class="{{ name }}">x</p>',
        "<style>{{ name }} { color: red }</style><p>x</p>",
        '<p id="{{ name }}">x</p>',
        '<p style="color: {{ name }}">x</p>',
        "<!-- {{ name }} --><p>x</p>",
        "<!--[if mso]>{{ name }}<![endif]--><p>x</p>",
        "<style>p[title=a] { color: red }</style><p title='{{ name }}'>x</p>",
        "<style>p:empty { color: red }</style><p>{{ name }}</p>",
        "<pre>{{ name }}</pre>",
        "<p {{ name }}>x</p>",
        "<{{ name }}>x",
        "<p title={{ name }}>x</p>",
        "<p>&{{ name }}; &#3{{ name }}</p>",
        "<p title='a={{ name }}'>1 < {{ name }}</p>",
        "<p>{% filter upper %}{{ name }}{% endfilter %}</p>",
        "<p>{% set x %}{{ name }}{% endset %}{{ x|length }}</p>",
        "{% macro m(x) %}{{ x }}{% endmacro %}<p>{{ m(name)|upper }}</p>",
        "{% macro m(x) %}{{ x }}{% endmacro %}<p>{% if m(name) == 'a' %}yes{% endif %}</p>",
        "{% macro m() %}{{ caller() }}{% endmacro %}<p>{% call m() %}{{ name }}{% endcall %}</p>",
        "<p>\ue0000\ue001{{ name }}</p>",
        "<table>{{ name }}<tr><td>x</td></tr></table>",
        "<script>{{ name }}</script><p>x</p>",
    ],
)
@pytest.mark.parametrize("name", ["a", "amp", "a b='c'", " "])
def test_where_a_value_could_matter_to_styles_the_page_is_inlined_with_it(page: str, name: str, tmp_path: Path) -> None:
    found = written(tmp_path, page)
    values: dict[str, object] = {"name": name, "note": "", "lines": []}

    for _ in range(2):
        rendered = found.render(values)

    assert rendered.html == whole(found, {**values, "subject": rendered.subject})


def test_a_thousand_different_pages_do_not_fill_the_memory(portal: Write, note: Template) -> None:
    for number in range(100):
        note.render({"name": "Ada", "note": "", "lines": ["x"] * number})

    assert len(note._pages) <= 32


def test_links_are_known_with_their_values() -> None:
    page = '<p><a href="https://hub.example/\ue0000\ue001">x</a> <a href="\ue0001\ue001">y</a></p>'
    skeleton = Skeleton.of(page)

    assert skeleton is not None
    assert skeleton.filled_links(["a&b", "tel:1"]) == ["https://hub.example/a&amp;b", "tel:1"]
