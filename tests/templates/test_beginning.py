"""What `postroom template new` writes is good as it stands, and nothing that was there is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom import Brand, Portal
from postroom.errors import ConfigurationError
from postroom.templates.beginning import Beginning, Variable
from postroom.templates.checks import Finding, check_portal

EVERY_TYPE = (
    "name:str",
    "link",
    "minutes:int",
    "share:float",
    "is_new:bool",
    "day:date",
    "at:datetime",
    "total:Decimal",
)


def paste(beginning: Beginning, portal: Portal) -> None:
    exec(compile(beginning.code(), "pasted", "exec", dont_inherit=True), {"hub": portal})


def pasted(beginning: Beginning, root: Path, **given: object) -> list[Finding]:
    """What a check finds once the class is pasted beside the portal."""
    brand = Brand(name="Hub & Co", footer="Hub's Ltd", website="https://hub.example", **given)  # type: ignore[arg-type]
    portal = Portal("hub", templates=root, brand=brand)
    paste(beginning, portal)
    return list(check_portal(portal))


@pytest.mark.parametrize("by_locale", [True, False], ids=["by locale", "plainly"])
@pytest.mark.parametrize("variables", [EVERY_TYPE, ("name:str",), (), ("reset_link:str", "other_url")])
def test_what_is_begun_passes_every_check_once_its_class_is_pasted(
    tmp_path: Path, variables: tuple[str, ...], by_locale: bool
) -> None:
    beginning = Beginning(
        portal="hub",
        name="forgot_password",
        variables=tuple(map(Variable.of, variables)),
        by_locale=by_locale,
    )

    written = beginning.write(tmp_path)

    assert [str(each.relative_to(tmp_path)) for each in written] == [
        "layout.html",
        "layout.txt",
        "forgot_password/subject.txt",
        "forgot_password/body.html",
        "forgot_password/body.txt",
        "forgot_password/sample.toml",
    ]
    assert pasted(beginning, tmp_path) == []


def test_a_light_brand_has_dark_words_on_its_button(tmp_path: Path) -> None:
    beginning = Beginning(portal="hub", name="welcome", dark_button=True)
    beginning.write(tmp_path)

    assert pasted(beginning, tmp_path, colour="#facc15") == []


def test_a_layout_that_is_there_is_extended_and_left_alone(tmp_path: Path) -> None:
    layout = '<html lang="en"><title>{% block title %}{% endblock %}</title>{% block words %}{% endblock %}</html>'
    (tmp_path / "layout.html").write_text(layout)
    beginning = Beginning(portal="hub", name="welcome")

    beginning.write(tmp_path)

    assert (tmp_path / "layout.html").read_text() == layout
    assert not (tmp_path / "layout.txt").exists()
    assert "{% block words %}" in (tmp_path / "welcome/body.html").read_text()
    assert "extends" not in (tmp_path / "welcome/body.txt").read_text()
    assert 'style="color: inherit"' in (tmp_path / "welcome/body.html").read_text()
    assert pasted(beginning, tmp_path) == []


@pytest.mark.parametrize("there", ["subject.txt", "body.html", "body.txt", "sample.toml"])
def test_nothing_is_overwritten_and_nothing_half_written(tmp_path: Path, there: str) -> None:
    (tmp_path / "welcome").mkdir()
    (tmp_path / "welcome" / there).write_text("mine")

    with pytest.raises(ConfigurationError, match="is there already, and stays as it is"):
        Beginning(portal="hub", name="welcome").write(tmp_path)

    assert [str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if each.is_file()] == [f"welcome/{there}"]
    assert (tmp_path / "welcome" / there).read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "told"),
    [("Welcome", "small letters"), ("../x", "small letters"), ("", "small letters"), ("a" * 50, "small letters")],
)
def test_a_bad_name_is_refused_with_a_sentence(name: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Beginning(portal="hub", name=name)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("brand:str", "templates know that name already"),
        ("class:str", "cannot be the name of a variable"),
        ("1x", "cannot be the name of a variable"),
        ("_x", "cannot be the name of a variable"),
        ("naïve", "cannot be the name of a variable"),
        ("x:strr", "did you mean str?"),
        ("x:object", "the known ones are str"),
    ],
)
def test_a_bad_variable_is_refused_with_a_sentence(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Variable.of(text)

    assert told in str(refused.value)


def test_a_variable_is_given_once() -> None:
    with pytest.raises(ConfigurationError, match="given twice"):
        Beginning(portal="hub", name="welcome", variables=(Variable(name="x"), Variable(name="x", type="int")))


@pytest.mark.parametrize("name", ["welcome", "forgot_password", "tfa_2", "a_b_c"])
def test_the_class_has_the_name_of_the_template(name: str, tmp_path: Path) -> None:
    portal = Portal("hub", templates=tmp_path, brand=Brand(name="Hub"))
    paste(Beginning(portal="hub", name=name), portal)

    assert portal.names == (name,)
