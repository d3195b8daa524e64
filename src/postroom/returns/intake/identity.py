"""What a message is known by, however often and by whichever way it comes. Pure.

A mail system that did not hear our answer hands the message over again, and what it puts before it may differ then: the
line that begins a mailbox file, line ends, and what each station on the way adds at the top. All of that is left out.
"""

from __future__ import annotations

import hashlib
import re

SOURCE = "mail"
"""Of everything that comes in as a message."""

_FROM_LINE = re.compile(rb"\A>?From [^\n]*\n")
_TRACE = re.compile(
    rb"\A(?:(?:Return-Path|Delivered-To|X-Original-To|Envelope-To|X-Envelope-To|X-Delivered-To|X-Envelope-From|Received)"
    rb":[^\n]*\n(?:[ \t][^\n]*\n)*)+",
    re.IGNORECASE,
)


def identity(octets: bytes) -> str:
    """The same for the same message."""
    text = _FROM_LINE.sub(b"", octets.replace(b"\r\n", b"\n"), count=1)
    return hashlib.sha256(_TRACE.sub(b"", text, count=1).rstrip(b"\n")).hexdigest()
