"""Colours can be told apart: WCAG 2.1 AA, computed from the names in the style sheet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import postroom.admin

SHEET = (Path(postroom.admin.__file__).parent / "static" / "base.css").read_text()
WORDS = 4.5
"""The least contrast of text."""
SHAPES = 3.0
"""The least contrast of what must be seen but is not read."""

TEXT = [
    *[(ink, ground) for ink in ("ink", "quiet", "accent") for ground in ("paper", "surface", "sunken")],
    *[(hue, f"{hue}-wash") for hue in ("blue", "teal", "amber", "red", "violet", "green", "grey")],
    *[("ink", f"{hue}-wash") for hue in ("red", "blue")],
    ("red", "surface"),
    ("accent-ink", "accent"),
]
SHAPED = [("line-strong", "surface"), ("focus", "surface"), ("focus", "paper")]


def colours(scheme: str) -> dict[str, str]:
    """Every named colour of a scheme; dark changes some of the light ones."""
    light, dark = SHEET.split("@media (prefers-color-scheme: dark)")
    read = lambda text: dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", text))  # noqa: E731
    return read(light) | (read(dark) if scheme == "dark" else {})


def luminance(colour: str) -> float:
    channels = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), TEXT)
def test_words_can_be_read_on_their_ground(scheme: str, ink: str, ground: str) -> None:
    named = colours(scheme)

    assert contrast(named[ink], named[ground]) >= WORDS


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("shape", "ground"), SHAPED)
def test_edges_of_fields_and_the_focus_can_be_seen(scheme: str, shape: str, ground: str) -> None:
    named = colours(scheme)

    assert contrast(named[shape], named[ground]) >= SHAPES


def test_what_stands_in_an_empty_field_is_quiet_text_and_not_paler_as_browsers_have_it() -> None:
    assert "::placeholder { color: var(--quiet); opacity: 1; }" in SHEET


def test_black_on_white_has_the_greatest_contrast_there_is() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
