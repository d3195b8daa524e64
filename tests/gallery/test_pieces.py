"""What the pages are made of: the beginning that an inbox shows, the framed document, what is broken and where."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from postroom import Portal
from postroom.gallery.breakage import Breakage
from postroom.gallery.collection import Collection
from postroom.gallery.document import document_of
from postroom.gallery.exhibit import exhibit
from postroom.gallery.snippet import LONGEST, snippet_of
from postroom.gallery.watch import state_of


def broken(shop: Portal, file: str, change: Callable[[str], str]) -> Breakage:
    """What is told once a file of the English welcome is changed so."""
    place = shop.root / file
    place.write_text(change(place.read_text()))
    shop.reload()
    found = exhibit(shop, "welcome", language="en", sample="ada").breakage
    assert found is not None
    return found


def test_an_inbox_shows_the_preheader_first_and_no_filling() -> None:
    unseen = "<head><title>No</title><style>p{}</style></head><!-- no -->"
    html = f"{unseen}<div hidden>Soon&nbsp;&zwnj;&nbsp;</div><p>Hi &amp; bye"

    assert snippet_of(html) == "Soon Hi & bye"
    assert len(snippet_of("<p>" + "word " * 100)) <= LONGEST
    assert snippet_of("") == ""


def test_a_framed_document_holds_its_own_pictures_and_leads_nowhere(shop: Portal) -> None:
    email = exhibit(shop, "welcome", language="en", sample="ada").email
    assert email is not None
    assert email.html is not None
    document = document_of(email.html + '<img src="cid:other">', email.attachments, "light")

    assert 'src="data:image/png;base64,' in document
    assert 'src="cid:other"' in document
    assert '<base target="_blank">' in document


def test_an_unknown_variable_is_shown_with_its_file_line_and_the_nearest_name(shop: Portal) -> None:
    found = broken(shop, "welcome/body.html", lambda text: text.replace("{{ name }}", "{{ nam }}"))

    assert found.problem == "shop.welcome: nam: there is no such variable"
    assert found.remedy == "did you mean name?"
    assert found.file == "welcome/body.html"
    assert [line.text for line in found.lines if line.meant] == ["<p>Good morning {{ nam }}</p>"]


def test_a_sample_that_does_not_fit_is_shown_with_its_line(shop: Portal) -> None:
    found = broken(shop, "welcome/sample.toml", lambda text: text.replace('name = "Ada"', "name = 7"))

    assert found.problem == "shop.welcome: name: should be a valid string"
    assert found.file == "welcome/sample.toml"
    assert [line.text for line in found.lines if line.meant] == ["name = 7"]


def test_broken_syntax_is_shown_with_its_file_and_line(shop: Portal) -> None:
    found = broken(shop, "welcome/body.txt", lambda text: text + "{% if %}\n")

    assert "Expected an expression" in found.problem
    assert found.file == "welcome/body.txt"
    assert [(line.number, line.text) for line in found.lines if line.meant] == [(4, "{% if %}")]


def test_what_fails_while_it_is_rendered_is_shown_with_its_line(shop: Portal) -> None:
    found = broken(shop, "welcome/body.html", lambda text: text.replace("{{ name }}", "{{ name / 2 }}"))

    assert found.file == "welcome/body.html"
    assert [line.text for line in found.lines if line.meant] == ["<p>Good morning {{ name / 2 }}</p>"]


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("welcome/sample.toml", b"[ada\n", "is no TOML"),
        ("welcome/sample.toml", None, "it has no sample"),
        ("welcome/body.html", b"\xff\xfe", "is not UTF-8"),
        ("welcome/subject.txt", None, "lacks subject.txt"),
        ("logo.png", None, "there is no logo"),
    ],
    ids=["no TOML", "no sample", "no UTF-8", "no subject", "no logo"],
)
def test_whatever_is_wrong_is_told_in_words(shop: Portal, file: str, content: bytes | None, problem: str) -> None:
    place = shop.root / file
    if content is None:
        place.unlink()
    else:
        place.write_bytes(content)
    shop.reload()
    found = exhibit(shop, "welcome", language="en", sample="ada")

    assert found.email is None
    assert found.breakage is not None
    assert problem in found.breakage.problem


def test_a_language_that_is_not_written_is_shown_in_the_one_that_stands_for_it(shop: Portal) -> None:
    shown = exhibit(shop, "goodbye", language="de", sample="")

    assert (shown.look.language, shown.written_in, shown.look.sample) == ("de", "en", "eve")


def test_every_change_of_a_file_is_another_state(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "inside").mkdir(parents=True)
    place = folder / "inside" / "body.html"
    seen = [state_of([folder])]
    place.write_text("one")
    seen.append(state_of([folder]))
    os.utime(place, ns=(1, 1))
    seen.append(state_of([folder]))
    place.rename(folder / "inside" / "body.txt")
    seen.append(state_of([folder]))

    assert len({*seen}) == 4
    assert state_of([folder], but=["inside"]) == seen[0]
    assert state_of([folder / "none"]) == state_of([folder / "none"])


async def test_a_change_is_told_at_once_and_nobody_waits_when_it_is_closed(
    collection: Collection, shop: Portal
) -> None:
    collection.portals()
    before = collection.state()
    (shop.root / "welcome" / "subject.txt").write_text("Another subject")
    after = await collection.changed(before)
    collection.close()

    assert after != before
    assert await collection.changed(after) == after


def test_findings_are_looked_for_again_only_where_a_file_has_changed(collection: Collection, shop: Portal) -> None:
    collection.portals()
    goodbye = collection.findings(shop, "goodbye", "en")
    assert not any(each.rule == "subject" for each in collection.findings(shop, "welcome", "en"))
    (shop.root / "welcome" / "subject.txt").write_text("Welcome {{ name }}, " + "and on " * 20)
    collection.portals()

    assert any(each.rule == "subject" for each in collection.findings(shop, "welcome", "en"))
    assert collection.findings(shop, "goodbye", "en") is goodbye
