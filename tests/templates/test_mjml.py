"""Bodies in MJML, rendered first and compiled then."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from postroom.errors import ConfigurationError, InvalidTemplate
from tests.templates.conftest import Write

BODY = """<mjml><mj-body><mj-section><mj-column>
{% for name in names %}<mj-text>Hello {{ name }}</mj-text>{% endfor %}
</mj-column></mj-section></mj-body></mjml>"""


@dataclass(frozen=True)
class Welcome:
    names: list[str]


def html(portal: Write, body: str) -> str:
    found = portal({"welcome/subject.txt": "Hi", "welcome/body.mjml": body, "welcome/body.txt": "Hello"})

    @dataclass(frozen=True)
    class Own(Welcome):
        pass

    found.template(name="welcome")(Own)
    return str(found.email(Own(names=["Ada", "<Bob>"]), to="ada@example.org").html)


def test_mjml_becomes_html_with_its_values_escaped(portal: Write) -> None:
    found = html(portal, BODY)

    assert "Hello Ada" in found
    assert "Hello &lt;Bob&gt;" in found
    assert "<mj-" not in found
    assert "googleapis" not in found


def test_mjml_that_cannot_be_read_is_told(portal: Write) -> None:
    with pytest.raises(InvalidTemplate, match=r"hub\.welcome: its MJML cannot be read"):
        html(portal, "<mjml><mj-body><mj-nothing></mjml>")


def test_mjml_includes_no_file(portal: Write) -> None:
    with pytest.raises(InvalidTemplate):
        html(portal, '<mjml><mj-body><mj-include path="/etc/passwd" /></mj-body></mjml>')


def test_without_the_compiler_the_error_says_what_to_install(portal: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mjml", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'postroom\[mjml\]'"):
        html(portal, BODY)
