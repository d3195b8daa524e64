"""How much of a message is read. Whoever can send us mail chooses its octets, so every work has an end."""

from __future__ import annotations

OCTETS = 10_000_000
"""Of a message. What is longer is read to here, which its headers and first parts seldom pass."""
HEADERS = 200_000
"""Octets of one block of headers."""
HEADER = 10_000
"""Characters of one header."""
PARTS = 100
DEPTH = 8
"""Parts within parts."""
TEXT = 100_000
"""Octets of a text that are looked at."""
LINE = 1_000
"""Characters of a line that are looked at."""
LINES = 2_000
RECIPIENTS = 1_000
"""Of a message, in all its parts."""
BLOCKS = 2_000
"""Of fields, in all reports of a message; most name a recipient."""
SAID = 500
"""Characters kept of what the other end said."""
