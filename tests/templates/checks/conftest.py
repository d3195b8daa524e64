"""A small portal in which all is well, to be broken in one way at a time."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any

import pytest

from postroom import Brand, Portal
from postroom.templates.checks import Finding, check_portal

LAYOUT = """\
<!DOCTYPE html>
<html lang="{{ language }}" dir="{{ direction }}">
<head><title>{{ subject }}</title><style>
body { background-color: #ffffff; color: #1f2937; }
.quiet { color: #4b5563; }
.button { color: #ffffff; background: {{ brand.colour }}; }
@media (prefers-color-scheme: dark) {
  body { background-color: #111827 !important; color: #f3f4f6 !important; }
  .quiet { color: #d1d5db !important; }
}
</style></head>
<body>
{% block body %}
{% endblock %}
<p class="quiet">{{ brand.footer }}</p>
</body>
</html>
"""
BODY = """\
{% extends "layout.html" %}
{% block body %}
<p>Hello {{ name }}, it is <b>good</b> to see you.</p>
<p><a class="button" href="{{ link }}">Begin</a></p>
PLACE
{% endblock %}
"""
TEXT = "Hello {{ name }}, it is good to see you.\n\nBegin: {{ link }}\n"
SAMPLE = '[ada]\nname = "Ada & <Co>"\nlink = "https://hub.example/begin?a=1&b=2"\n'
GOOD = {
    "layout.html": LAYOUT,
    "welcome/subject.txt": "Welcome {{ name }}",
    "welcome/body.html": BODY.replace("PLACE\n", ""),
    "welcome/body.txt": TEXT,
    "welcome/sample.toml": SAMPLE,
}


@dataclass(frozen=True)
class Workshop:
    """Writes a portal, and checks it."""

    root: Path

    def portal(
        self, files: dict[str, str | None] | None = None, *, fields: dict[str, Any] | None = None, **given: Any
    ) -> Portal:
        """The good portal with other files; None takes one away."""
        for name, text in {**GOOD, **(files or {})}.items():
            place = self.root / name
            if text is not None:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
        given.setdefault("brand", Brand(name="Hub", colour="#0b6e4f", footer="Hub Ltd, 1 Hill Lane"))
        portal = Portal("hub", templates=self.root, **given)
        wanted = {"name": str, "link": str, **(fields or {})}
        portal.template(make_dataclass("Welcome", wanted.items(), frozen=True))
        return portal

    def check(self, files: dict[str, str | None] | None = None, **given: Any) -> list[Finding]:
        return list(check_portal(self.portal(files, **given)))

    def with_html(self, html: str, text: str = "", **given: Any) -> list[Finding]:
        """What is found when the good page has this in it, too."""
        return self.check(
            {"welcome/body.html": BODY.replace("PLACE", html), "welcome/body.txt": f"{TEXT}{text}\n"}, **given
        )


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "hub")


def rules(findings: list[Finding]) -> list[str]:
    return [each.rule for each in findings]
