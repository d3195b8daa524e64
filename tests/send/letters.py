"""Envelopes to send in tests."""

from __future__ import annotations

from postroom.send.contract import Envelope

ADA, BOB, EVE = "ada@example.org", "bob@example.org", "eve@example.org"


def letter(number: int = 1, *recipients: str, text: bytes = b"Hello.\r\n") -> Envelope:
    """An envelope whose Message-ID is `<number@example.com>`."""
    header = b"Message-ID: <%d@example.com>\r\nSubject: Letter %d\r\n\r\n" % (number, number)
    return Envelope(sender="shop@example.com", recipients=recipients or (ADA,), message=header + text)


def message_id(number: int = 1) -> str:
    return f"<{number}@example.com>"
