"""The email of a sign-in is the template `tfa` of the portal `admin`, ours or the application's own (C3, C4)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from postroom.accounts.code_email import ADMIN, Tfa, code_email

CODE = Tfa(code="048213", minutes=10, address="192.0.2.44")

OWN = """
from dataclasses import dataclass
from postroom import Brand, Portal

admin = Portal("admin", templates="templates", sender="Staff <staff@shop.example>", brand=Brand(name="Shop"))

@admin.template
@dataclass(frozen=True)
class Tfa:
    code: str
{more}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An application with an admin portal of its own, found from the working directory."""
    folder = tmp_path / "templates/tfa"
    folder.mkdir(parents=True)
    (folder / "subject.txt").write_text("Shop: your code")
    (folder / "body.html").write_text("<p>The shop's code: {{ code }}</p>")
    (folder / "body.txt").write_text("The shop's code: {{ code }}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def named(shop: Path, module: str, more: str = "") -> tuple[str, ...]:
    (shop / f"{module}.py").write_text(OWN.format(more=more))
    return (f"{module}:admin",)


def test_the_code_is_in_both_bodies_and_not_in_the_subject() -> None:
    email = code_email(CODE, to="ada@example.org")

    assert "048213" in email.text
    assert "048 213" in str(email.html)
    assert "048" not in email.subject
    assert "192.0.2.44" in email.text
    assert email.edition is not None
    assert email.edition.kind == "admin.tfa"
    assert "this machine" in code_email(Tfa(code="1", minutes=10, address=""), to="ada@example.org").text


def test_both_samples_can_be_rendered() -> None:
    assert {*ADMIN.samples("tfa", "en")} == {"elsewhere", "on_the_machine"}
    for sample in ADMIN.samples("tfa", "en").values():
        assert ADMIN.email(sample, to="ada@example.org").html


def test_an_application_may_have_its_own_words(shop: Path) -> None:
    email = code_email(CODE, to="ada@example.org", portals=named(shop, "shop_with_own_words"))

    assert email.text == "The shop's code: 048213\n"
    assert email.sender[0].address == "staff@shop.example"


def test_where_its_own_words_fail_ours_are_sent_because_somebody_waits(
    shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A person can sign in although a template is broken (F7)."""
    asks_for_more = named(shop, "shop_that_asks_for_more", "    shoe_size: int")

    email = code_email(CODE, to="ada@example.org", portals=asks_for_more)

    assert "Your code to sign in to Postroom is 048213" in email.text
    assert "shoe_size" in caplog.text
    assert "048213" not in caplog.text
    assert "Postroom" in code_email(CODE, to="ada@example.org", portals=("nowhere:admin",)).text
