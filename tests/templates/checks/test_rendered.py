"""Each rule about a rendered email fails on one that is broken in just that way, and on no other."""

from __future__ import annotations

import pytest

from postroom.templates.checks import Severity, check_rendered
from postroom.templates.template import Rendered
from tests.templates.checks.conftest import GOOD, LAYOUT, Workshop, rules


def test_nothing_is_said_of_a_template_in_which_all_is_well(workshop: Workshop) -> None:
    assert workshop.check() == []


@pytest.mark.parametrize(
    ("html", "rule", "told"),
    [
        ('<a class="button" href="/begin">On</a>', "relative-link", "'/begin'"),
        ('<a class="button" href="#top">Up</a>', "relative-link", "'#top'"),
        ('<a class="button" href="">Nowhere</a>', "relative-link", "Nowhere"),
        ('<a class="button" href="javascript:go()">Go</a>', "relative-link", "javascript"),
        ('<img src="logo.png" alt="Hub">', "relative-link", "'logo.png'"),
        ('<img src="cid:logo.hub">', "image-without-alt", "cid:logo.hub"),
        ('<a href="{{ link }}"><img src="cid:logo.hub" alt=""></a>', "image-without-alt", "all there is of a link"),
        ('<img src="https://track.example/p.gif?ada" alt="">', "remote-content", "track.example"),
        ('<img src="//track.example/p.gif" alt="">', "remote-content", "track.example"),
        ('<img src="cid:a" srcset="https://pics.example/2.png 2x" alt="">', "remote-content", "pics.example"),
        ('<table background="https://pics.example/b.png"></table>', "remote-content", "pics.example"),
        ('<p style="background-image: url( \'https://pics.example/b.png\')">.</p>', "remote-content", "pics.example"),
        ("<iframe></iframe>", "remote-content", "<iframe>"),
        ("<script>go()</script>", "remote-content", "<script>"),
        ('<form action="https://hub.example/x"></form>', "remote-content", "<form>"),
        ('<!--[if mso]><v:fill src="https://pics.example/x.png" /><![endif]-->', "remote-content", "Outlook"),
        ('<p style="color: #999999">Small print</p>', "contrast", "#999999 on #ffffff"),
        ("<p dir=auto>" + "word " * 22_000 + "</p>", "too-heavy", "Gmail cuts off"),
    ],
)  # fmt: skip
def test_each_rule_finds_what_is_broken_in_just_its_way(workshop: Workshop, html: str, rule: str, told: str) -> None:
    [finding] = workshop.with_html(html)

    assert (finding.rule, finding.severity, finding.template) == (rule, Severity.ERROR, "hub.welcome")
    assert (finding.language, finding.sample, finding.file) == ("en", "ada", "welcome/body.html")
    assert told in finding.problem
    assert finding.remedy


@pytest.mark.parametrize(
    "styles",
    [
        "@import url(https://fonts.example/a.css);",
        "@font-face { font-family: A; src: url(https://fonts.example/a.woff2) }",
        "@media screen { p { background: url(//pics.example/b.png) } }",
    ],
)
def test_what_styles_would_fetch_is_remote_content(workshop: Workshop, styles: str) -> None:
    findings = workshop.check({"layout.html": LAYOUT.replace("<style>", f"<style>{styles}")})

    assert {*rules(findings)} == {"remote-content"}


def test_a_linked_stylesheet_is_remote_content(workshop: Workshop) -> None:
    link = '<link rel="stylesheet" href="https://fonts.example/a.css">'

    assert rules(workshop.check({"layout.html": LAYOUT.replace("<style>", f"{link}<style>")})) == ["remote-content"]


@pytest.mark.parametrize(
    "html",
    [
        '<img src="cid:logo.hub" alt="Hub">',
        '<img src="cid:line" alt="">',
        '<a href="{{ link }}"><img src="cid:logo.hub" alt="Begin"></a>',
        '<a class="button" href="mailto:desk@hub.example">Write</a> <a class="button" href="tel:+49301234">Call</a>',
        '<a name="here">Here</a>',
        "<!--[if mso]><table><tr><td><![endif]-->in Outlook<!--[if mso]></td></tr></table><![endif]-->",
        '<!--[if mso]><v:roundrect href="{{ link }}" fillcolor="{{ brand.colour }}"></v:roundrect><![endif]-->',
        '<div style="display: none; color: #ffffff">preheader</div>',
    ],
)
def test_what_is_good_passes(workshop: Workshop, html: str) -> None:
    assert workshop.with_html(html, "desk@hub.example +49301234") == []


@pytest.mark.parametrize(
    ("subject", "severity", "told"),
    [
        ("{{ name if false else '' }}", Severity.ERROR, "is empty"),
        ("{{ name }}" + "x" * 150, Severity.ERROR, "160 characters"),
        ("{{ name }}" + "x" * 69, Severity.WARNING, "79 characters"),
        ("{{ name }}\nAnd more", Severity.ERROR, "several lines"),
    ],
)
def test_a_subject_says_something_on_one_line_that_is_shown_whole(
    workshop: Workshop, subject: str, severity: Severity, told: str
) -> None:
    [finding] = workshop.check({"welcome/subject.txt": subject})

    assert (finding.rule, finding.severity, finding.file) == ("subject", severity, "welcome/subject.txt")
    assert told in finding.problem


def test_a_text_that_says_nothing_is_found() -> None:
    page = '<html lang="en"><body><p>Hello</p></body></html>'

    findings = check_rendered(Rendered(subject="Hi", text="-- \n", html=page), template="hub.welcome", language="en")

    assert rules(list(findings)) == ["text-empty"]


def test_a_page_that_is_nearly_cut_is_a_warning(workshop: Workshop) -> None:
    [finding] = workshop.with_html("<p>" + "word " * 17_000 + "</p>")

    assert (finding.rule, finding.severity) == ("too-heavy", Severity.WARNING)


@pytest.mark.parametrize(
    ("tag", "language", "severity"),
    [
        ("<html>", "en", Severity.WARNING),
        ('<html lang="de">', "en", Severity.ERROR),
        ('<html lang="?">', "en", Severity.ERROR),
        ('<html lang="en" dir="rtl">', "en", Severity.ERROR),
        ('<html lang="ar">', "ar", Severity.ERROR),
        ('<html lang="ar" dir="ltr">', "ar", Severity.ERROR),
    ],
)
def test_a_page_says_its_language_and_direction(
    workshop: Workshop, tag: str, language: str, severity: Severity
) -> None:
    layout = LAYOUT.replace('<html lang="{{ language }}" dir="{{ direction }}">', tag)

    [finding] = workshop.check({"layout.html": layout}, languages=(language,))

    assert (finding.rule, finding.severity) == ("language-attribute", severity)


@pytest.mark.parametrize(
    ("tag", "language"),
    [('<html lang="en-GB">', "en"), ('<html lang="de">', "de-CH"), ('<html lang="ar" dir="rtl">', "ar")],
)
def test_a_region_more_or_less_is_the_same_language(workshop: Workshop, tag: str, language: str) -> None:
    layout = LAYOUT.replace('<html lang="{{ language }}" dir="{{ direction }}">', tag)

    assert workshop.check({"layout.html": layout}, languages=(language,)) == []


def test_what_several_samples_show_alike_is_said_once_for_each_language(workshop: Workshop) -> None:
    """C3: the matrix says where something is wrong, and the list says what."""
    german = {name.replace(".", ".de.", 1): text for name, text in GOOD.items() if "welcome/" in name}
    broken = GOOD["welcome/body.html"].replace("<b>", '<img src="cid:x"><b>')
    samples = GOOD["welcome/sample.toml"] + GOOD["welcome/sample.toml"].replace("[ada]", "[bob]")

    findings = workshop.check(
        {**german, "welcome/body.html": broken, "welcome/body.de.html": broken, "welcome/sample.toml": samples},
        languages=("en", "de"),
    )

    assert [(each.rule, each.language, each.sample) for each in findings] == [
        ("image-without-alt", "en", "ada"),
        ("image-without-alt", "de", "ada"),
    ]
    assert [each.file for each in findings] == ["welcome/body.html", "welcome/body.de.html"]
