"""template list, check, new."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.templates.found import _found
from tests.cli.conftest import CommandLine

MODULE = """\
from dataclasses import dataclass
from postroom import Brand, Portal

hub = Portal("hub", templates="templates/hub", brand=Brand(name="Hub", footer="Hub Ltd"), languages=LANGUAGES)
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An application with a portal that has no template yet, named in the settings."""
    module = tmp_path / "shop_mail.py"
    module.write_text(MODULE.replace("LANGUAGES", '("en",)'))
    (tmp_path / "postroom.toml").write_text('portals = ["shop_mail:hub"]\n')
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield module
    forget()


def forget() -> None:
    """As a new process would begin."""
    sys.modules.pop("shop_mail", None)
    _found.cache_clear()


def paste(module: Path, said: str) -> None:
    with module.open("a") as file:
        file.write("\n" + said[said.index("from dataclasses") :])
    forget()


def begin(postroom: CommandLine, module: Path, name: str, *options: str) -> str:
    answer = postroom("template", "new", "hub", name, *options)
    assert answer.code == 0, answer.err
    paste(module, answer.out.partition("\nStill to be written")[0])
    return answer.out


def test_a_new_template_passes_the_check_once_its_class_is_pasted(postroom: CommandLine, shop: Path) -> None:
    """C3: from nothing to a template in which all is well, with two commands and one paste."""
    said = begin(postroom, shop, "welcome", "--variable", "name:str", "--variable", "link:str", "--variable", "n:int")

    assert "wrote templates/hub/welcome/body.html" in said
    answer = postroom("template", "check")
    assert answer.code == 0, answer.out
    assert re.search(r"template +en", answer.out)
    assert re.search(r"hub\.welcome +✓", answer.out)
    assert "All is well." in answer.out


def test_a_check_fails_and_says_what_to_do_where(postroom: CommandLine, shop: Path) -> None:
    begin(postroom, shop, "welcome")
    body = Path("templates/hub/welcome/body.html")
    body.write_text(body.read_text().replace("<h1>", '<img src="cid:x"><h1>'))

    answer = postroom("template", "check")

    assert answer.code == 1
    assert re.search(r"hub\.welcome +✗", answer.out)
    assert "image-without-alt (en with sample ada)" in answer.out
    assert "has no alt; say what it shows" in answer.out
    assert "templates/hub/welcome/body.html" in answer.out
    assert "1 error, 0 warnings." in answer.out


def test_a_warning_is_shown_and_fails_nothing(postroom: CommandLine, shop: Path) -> None:
    begin(postroom, shop, "welcome")
    Path("templates/hub/welcome/subject.txt").write_text("x" * 100)

    answer = postroom("template", "check")

    assert answer.code == 0
    assert re.search(r"hub\.welcome +!", answer.out)
    assert "0 errors, 1 warning." in answer.out


def test_the_matrix_shows_which_language_stands_for_a_missing_one(postroom: CommandLine, shop: Path) -> None:
    shop.write_text(MODULE.replace("LANGUAGES", '("en", "de")'))
    said = begin(postroom, shop, "welcome")

    answer = postroom("template", "check")

    assert "Still to be written: de" in said
    assert answer.code == 1
    assert re.search(r"hub\.welcome +✓ +→ en", answer.out)
    assert "subject.de.txt, body.de.txt, body.de.html are not there" in answer.out
    assert postroom("template", "check", "--language", "EN").code == 0


def test_programs_are_told_everything(postroom: CommandLine, shop: Path, tmp_path: Path) -> None:
    begin(postroom, shop, "welcome")
    Path("templates/hub/welcome/subject.txt").write_text("{{ '' }}")

    answer = postroom("template", "check", "--json")

    assert answer.code == 1
    assert answer.json["ok"] is False
    assert answer.json["portals"] == [
        {
            "portal": "hub",
            "folder": str(tmp_path / "templates/hub"),
            "languages": ["en"],
            "templates": {"welcome": {"en": "errors"}},
        }
    ]
    [finding] = answer.json["findings"]
    assert finding == {
        "template": "hub.welcome",
        "language": "en",
        "sample": "ada",
        "rule": "subject",
        "severity": "error",
        "problem": "its subject is empty",
        "remedy": "write one in subject.txt",
        "file": "welcome/subject.txt",
    }


@pytest.mark.parametrize("name", ["welcome", "hub.welcome"])
def test_a_check_is_narrowed_to_a_template(postroom: CommandLine, shop: Path, name: str) -> None:
    begin(postroom, shop, "welcome")
    begin(postroom, shop, "goodbye")
    Path("templates/hub/goodbye/subject.txt").write_text("")

    assert postroom("template", "check").code == 1
    answer = postroom("template", "check", "--template", name)

    assert answer.code == 0
    assert "goodbye" not in answer.out


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--portal", "hup", "did you mean hub?"),
        ("--template", "welcom", "did you mean welcome?"),
        ("--template", "org.welcome", "there is no portal 'org'"),
        ("--language", "dee", "'dee' is not spoken here"),
    ],
)
def test_a_check_of_nothing_is_an_error(postroom: CommandLine, shop: Path, option: str, value: str, told: str) -> None:
    begin(postroom, shop, "welcome")

    answer = postroom("template", "check", option, value)

    assert answer.code == 2
    assert told in answer.err


def test_without_portals_it_says_how_to_name_them(postroom: CommandLine) -> None:
    for command in ("check", "list"):
        answer = postroom("template", command)

        assert answer.code == 2
        assert 'portals = ["shop.mail:hub"]' in answer.err
        assert "POSTROOM_PORTALS" in answer.err


def test_a_portal_without_templates_is_told(postroom: CommandLine, shop: Path) -> None:
    answer = postroom("template", "check")

    assert answer.code == 0
    assert "postroom template new hub welcome" in answer.out


def test_the_list_tells_variables_with_their_types_languages_and_version(postroom: CommandLine, shop: Path) -> None:
    begin(postroom, shop, "welcome", "--variable", "name:str", "--variable", "total:Decimal")

    answer = postroom("template", "list")
    assert answer.code == 0
    assert re.search(r"hub\.welcome +name: str, total: Decimal +en +[0-9a-f]{12}", answer.out)

    [portal] = postroom("template", "list", "--json").json["portals"]
    [template] = portal["templates"]
    assert (portal["name"], portal["languages"]) == ("hub", ["en"])
    assert (template["kind"], template["context"], template["languages"]) == ("hub.welcome", "Welcome", ["en"])
    assert template["variables"][0] == {"name": "name", "type": "str", "required": True}
    assert re.fullmatch(r"[0-9a-f]{12}", template["versions"]["en"])


def test_the_list_goes_on_where_a_template_is_broken(postroom: CommandLine, shop: Path) -> None:
    begin(postroom, shop, "welcome")
    Path("templates/hub/welcome/body.txt").write_text("{% if %}")

    answer = postroom("template", "list")

    assert answer.code == 0
    assert re.search(r"hub\.welcome .* –", answer.out)


def test_a_portal_that_no_setting_names_begins_in_a_folder(postroom: CommandLine, tmp_path: Path) -> None:
    answer = postroom("template", "new", "org", "invite", "--folder", "templates/org")

    assert answer.code == 0
    assert (tmp_path / "templates/org/invite/body.html").exists()
    assert "@org.template" in answer.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("org", "welcome"), "--folder templates/org"),
        (("hub", "Welcome"), "use small letters"),
        (("hub", "../../x"), "use small letters"),
        (("hub", "welcome", "--variable", "brand:str"), "templates know that name already"),
        (("hub", "welcome", "--variable", "x:object"), "there is no type 'object'"),
    ],
)
def test_what_cannot_begin_is_refused_with_a_sentence(
    postroom: CommandLine, shop: Path, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    answer = postroom("template", "new", *arguments)

    assert answer.code == 2
    assert told in answer.err
    assert not (tmp_path / "templates").exists()


def test_a_second_time_nothing_is_overwritten(postroom: CommandLine, shop: Path) -> None:
    begin(postroom, shop, "welcome")

    answer = postroom("template", "new", "hub", "welcome")

    assert answer.code == 2
    assert "is there already, and stays as it is" in answer.err
