"""Portals by the names that the settings give, and the words of late emails."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from postroom.errors import ConfigurationError, InvalidTemplate
from postroom.templates.found import find_portals
from postroom.templates.late import words_of
from tests.templates.conftest import Write, template

MODULE = """
from postroom import Brand, Portal
hub = Portal("hub", templates="templates", brand=Brand(name="Hub"))
again = Portal("hub", templates="templates", brand=Brand(name="Hub"))
other = 7
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of an application's own, in the working directory."""
    name = f"shop_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return name


def test_portals_are_found_by_module_and_name(shop: str) -> None:
    assert find_portals((f"{shop}:hub",))["hub"].name == "hub"


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (("{shop}",), "write module:name"),
        (("{shop}:other",), "'other' in .* is no Portal"),
        (("{shop}:nothing",), "'nothing' in .* is no Portal"),
        (("nowhere.mail:hub",), "there is no module nowhere.mail here"),
        (("{shop}:hub", "{shop}:again"), "two portals are called hub"),
    ],
)
def test_what_cannot_be_found_is_told(shop: str, places: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        find_portals(place.format(shop=shop) for place in places)


@dataclass(frozen=True)
class Welcome:
    name: str


def test_late_words_are_those_of_the_files_as_they_are_then(portal: Write, tmp_path: Path) -> None:
    found = portal(template("welcome"))
    found.template(Welcome)
    email = found.email(Welcome(name="Ada"), to="ada@example.org", late=True)
    assert email.edition is not None
    assert email.late is not None
    (tmp_path / "hub/welcome/subject.txt").write_text("Dear {{ name }}")
    found.reload()

    words = words_of(email.edition, email.late, {"hub": found})

    assert words.subject == "Dear Ada"
    assert words.edition.version != email.edition.version
    assert words.edition == found.email(Welcome(name="Ada"), to="ada@example.org").edition
    with pytest.raises(InvalidTemplate, match=r"hub\.welcome: nme"):
        words_of(email.edition, '{"nme": "Ada"}', {"hub": found})
    with pytest.raises(ConfigurationError, match=r"no template hub\.welcome is known here"):
        words_of(email.edition, email.late, {})
    with pytest.raises(ConfigurationError, match=r"no template hub\.other is known here"):
        words_of(replace(email.edition, template="other"), email.late, {"hub": found})
