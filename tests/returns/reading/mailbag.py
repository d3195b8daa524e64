"""Messages in the manner of many mail systems, written for these tests."""

from __future__ import annotations

from pathlib import Path

from postroom.returns.reading import Reading, read

MAILS = Path(__file__).parent / "mails"
ORIGINAL = "<0193f3a1c0de7abc8def0123456789ab@shop.example.com>"
"""The Message-ID of the email that most of them are about."""


def octets_of(name: str) -> bytes:
    return (MAILS / f"{name}.eml").read_bytes()


def reading_of(name: str) -> Reading:
    return read(octets_of(name))


def message(*headers: str, body: str = "") -> bytes:
    """A message with these headers, from a person to us, on a Wednesday."""
    lines = [
        "From: Ada <ada@example.org>",
        "To: desk@shop.example.com",
        "Date: Wed, 18 Nov 2026 09:00:05 +0000",
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()
