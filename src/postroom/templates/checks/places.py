"""Which file to look into."""

from __future__ import annotations

from postroom.templates.template import Template


def body_of(template: Template) -> str:
    """`body.html`, or `body.mjml`."""
    return list(template.parts)[2]


def file_of(template: Template, part: str) -> str:
    """The file that has a part in the template's language, within the portal's folder: `welcome/body.de.html`."""
    named = template.parts[part]
    stem, _, ending = named.rpartition(".")
    return next((each for each in template.sources if each in (named, f"{stem}.{template.language}.{ending}")), named)
