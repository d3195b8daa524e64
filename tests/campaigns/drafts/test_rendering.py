"""What a step says to somebody: never with a hole, never with anything of Python, never without end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from postroom import UNSUBSCRIBE_URL, Brand, Portal
from postroom.campaigns.drafts.rendering import TooSlow, Wording
from postroom.campaigns.values import Prospect, Step
from postroom.errors import InvalidCampaign
from postroom.templates import budget, engine

ADA = Prospect(id="p1", address="ada@example.org", name="Ada", fields={"company": "A & <B>", "note": "two\nlines"})


def said(part: str, words: str, prospect: Prospect = ADA) -> str | None:
    step = Step(number=1, **{"subject": "Hi", "text": "Hello", part: words})
    return getattr(Wording((step,), {}).render(1, prospect), part)  # type: ignore[no-any-return]


def test_words_know_the_prospect_and_html_is_escaped() -> None:
    assert said("text", "{{ name }} of {{ company }}, {{ address }}") == "Ada of A & <B>, ada@example.org"
    assert said("html", "<p>{{ company }}</p>") == "<p>A &amp; &lt;B&gt;</p>"
    assert said("subject", " {{ name | upper }} ") == "ADA"


def test_words_can_say_the_link_to_unsubscribe_which_no_field_takes_the_place_of() -> None:
    stored = Prospect(id="p2", address="eve@example.org", fields={"unsubscribe_url": "https://eve.example/"})

    assert said("text", "Stop: {{ unsubscribe_url }}", stored) == f"Stop: {UNSUBSCRIBE_URL}"
    assert said("html", '<a href="{{ unsubscribe_url }}">Stop</a>') == f'<a href="{UNSUBSCRIBE_URL}">Stop</a>'
    with pytest.raises(InvalidCampaign, match=r"steps\[1\]\.subject: has the link to unsubscribe; put it into"):
        said("subject", "Or {{ unsubscribe_url }}")


def test_a_follow_up_without_a_subject_stays_in_its_thread() -> None:
    words = Wording((Step(number=1, subject="A", text="B"), Step(number=2, text="C")), {}).render(2, ADA)

    assert (words.subject, words.text, words.html) == (None, "C", None)


def test_what_is_missing_is_an_error_and_a_default_is_none() -> None:
    nameless = Prospect(id="p2", address="bob@example.org")

    assert said("text", "Hi {{ name | default('there') }}", nameless) == "Hi there"
    with pytest.raises(InvalidCampaign, match=r"steps\[1\]\.text: there is no 'name'; give every prospect one, or"):
        said("text", "Hi {{ name }}", nameless)
    with pytest.raises(InvalidCampaign, match=r"there is no 'compny'; did you mean company\?"):
        said("text", "{{ compny }}")


@pytest.mark.parametrize(
    ("part", "words", "told"),
    [
        ("text", "{{ name", r"steps\[1\]\.text: line 1: "),
        ("text", "{{ name | shout }}", "there is no filter 'shout'"),
        ("text", "{% if name == 'Bob' %}x{% endif %}", r"steps\[1\]\.text: says nothing"),
        ("text", "{{ name.__class__ }}", "there is no '__class__'"),
        ("text", "{{ name.upper() }}", r"steps\[1\]\.text: "),
        (
            "text",
            "{% for a in range(900) %}{% for b in range(900) %}x{% endfor %}{% endfor %}",
            "more than 100,000 turns",
        ),
        ("text", "{% for a in range(900) %}" + "x" * 3_000 + "{% endfor %}", "more than 2,000,000 characters"),
        ("text", "{% include '1/text.txt' %}", r"steps\[1\]\.text: RecursionError; correct"),
        ("text", "{{ [name] }}", "a list was to be put out"),
        ("subject", "{{ note }}", r"steps\[1\]\.subject: contains the line feed; remove it"),
    ],
)
def test_what_cannot_be_said_is_told_by_its_step_and_part(part: str, words: str, told: str) -> None:
    with pytest.raises(InvalidCampaign, match=told):
        said(part, words)


def test_a_machine_that_stalls_is_no_fault_of_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the processor's time that writing them took, and not what passed on the clock meanwhile."""
    monkeypatch.setattr(budget, "SECONDS", 0.5)  # more than whatever else this thread may have to do
    monkeypatch.setattr(engine, "printed", stalling(0.6))

    assert said("text", "{{ 1 }}, {{ 2 }}, {{ name }}") == "1, 2, Ada"


def test_a_machine_that_never_comes_to_it_is_told_from_words_that_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "SECONDS", 0.5)
    with pytest.raises(TooSlow, match=r"steps\[1\]\.text: it takes the processor longer .*; make its loops shorter$"):
        said("text", "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}")

    monkeypatch.setattr(budget, "PATIENCE", 0.01)
    monkeypatch.setattr(engine, "printed", stalling(0.6))
    with pytest.raises(TooSlow, match=r"the machine did not come to it .*; give it less to do, and try again$"):
        said("text", "{{ 1 }}, {{ 2 }}, {{ name }}")


def test_a_template_of_a_portal_that_takes_too_long_may_be_tried_again(
    hub: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "SECONDS", -1.0)

    with pytest.raises(TooSlow, match=r"steps\[1\]\.template: it takes the processor longer"):
        Wording((Step(number=1, template="hub.welcome"),), {"hub": hub}).render(1, ADA)


def stalling(seconds: float) -> Callable[[object], str]:
    """Another program has the processor for so long before each value is put out."""

    def printed(value: object) -> str:
        time.sleep(seconds)
        return str(value)

    return printed


def test_steps_that_cannot_be_compiled_are_found_without_a_prospect() -> None:
    steps = (Step(number=1, subject="{% if %}", text="B"), Step(number=2, text="C", html="{{ x | nope }}"))

    assert [each.field for each in Wording(steps, {}).check()] == ["steps[1].subject", "steps[2].html"]


@pytest.fixture
def hub(tmp_path: Path) -> Portal:
    folder = tmp_path / "hub" / "welcome"
    folder.mkdir(parents=True)
    (folder / "subject.txt").write_text("Welcome, {{ name }}")
    (folder / "body.txt").write_text("Hello {{ name }} of {{ company }}")
    (folder / "body.html").write_text("<html><body><p>Hello {{ name }} of {{ company }}</p></body></html>")
    portal = Portal("hub", templates=tmp_path / "hub", brand=Brand(name="Hub"))

    @portal.template
    @dataclass(frozen=True)
    class Welcome:
        name: str
        company: str

    return portal


def test_a_template_of_a_portal_says_it_in_the_portals_way(hub: Portal) -> None:
    wording = Wording((Step(number=1, template="hub.welcome"),), {"hub": hub})
    words = wording.render(1, ADA)

    assert list(wording.check()) == []
    assert (words.subject, words.text) == ("Welcome, Ada", "Hello Ada of A & <B>\n")
    assert "Hello Ada of A &amp; &lt;B&gt;" in (words.html or "")
    with pytest.raises(InvalidCampaign, match=r"steps\[1\]\.template: company: is missing"):
        wording.render(1, Prospect(id="p2", address="bob@example.org", name="Bob"))


@pytest.mark.parametrize(
    ("template", "told"),
    [("hbu.welcome", "there is no portal 'hbu' here; did you mean hub"), ("hub.bye", "no template")],
)
def test_a_template_that_nobody_knows_is_told_of(hub: Portal, template: str, told: str) -> None:
    [problem] = Wording((Step(number=1, template=template),), {"hub": hub}).check()

    assert problem.field == "steps[1].template"
    assert told in str(problem)
