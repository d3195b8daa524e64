"""One message on standard input, as mail systems hand it to a program."""

from __future__ import annotations

from typing import IO

from postroom.returns.intake.taking import READ, Taken, Taker

TRY_AGAIN = 75
"""EX_TEMPFAIL: the exit code by which a mail system keeps the message and tries again."""
_CHUNK = 1 << 20


def take_from(stream: IO[bytes], taker: Taker) -> Taken:
    """Read it to its end, however long it is, for who writes to us must not meet a closed pipe; then take it in."""
    octets = stream.read(READ)
    size = len(octets)
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
    return taker.take(octets, size=size)
