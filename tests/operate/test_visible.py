"""Somebody else's text is seen whole, and does nothing."""

from __future__ import annotations

import pytest

from postroom.operate.visible import visible

LOST = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain text,\r\nover\tlines\n", "plain text,\nover\tlines\n"),
        ("\x1b[2J\0\x07\x7f\x9b", f"{LOST}[2J{LOST * 4}"),
        ("over\rwritten", f"over{LOST}written"),
        ("\u202egnp.exe\u202c \u2066x\u2069 \u200f", f"{LOST}gnp.exe{LOST} {LOST}x{LOST} {LOST}"),
        ("\ufeff\u2028\u2029\ud800", LOST * 4),
        ("a\u00a0b\u3000c", "a b c"),
        ("שלום, مرحبا, 你好, é", "שלום, مرحبا, 你好, é"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_what_would_be_obeyed_is_seen_instead(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_nothing_gets_longer() -> None:
    assert len(visible("\0" * 1_000_000)) == 1_000_000
