"""The form of segments and records, and how much of one can be read back after anything may have happened to it.

    segment    magic, version, size, checksum; then records; then nothing but zeros up to its size
    record     length, the length's complement, checksum; then the body, a line of text

A process that is killed while it copies a record leaves the beginning of one and zeros behind it: a torn tail, which is
a record never written. Anything else that does not fit is damage. The complement tells a torn record from one whose
length was changed, the end of the line a torn one from a complete one, and the size a segment that was cut short.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

VERSION: Final = 2
DOT, UNDONE, REPLY, NOTHING = b"d", b"u", b"r", b"n"
LONGEST: Final = (1 << 24) - 1
"""Bytes of a body. Up to here the complement of a length ends in 0xFF, which no text contains: see `_next_record`."""

_MAGIC = b"Postroom"
_SEGMENT = struct.Struct("<8sIQI")
_RECORD = struct.Struct("<IiI")
_OLD_RECORD = struct.Struct("<II")
SEGMENT_HEAD: Final = _SEGMENT.size
RECORD_HEAD: Final = _RECORD.size
_END_OF_LINE = ord("\n")

head = _RECORD.pack
"""Of a body: `head(length, ~length, crc32(body))`."""


@dataclass(slots=True)
class Reading:
    """What could be read of a segment."""

    bodies: list[bytes] = field(default_factory=list)
    sound: bool = True
    """Nothing that was ever written is missing."""


def framed(body: bytes) -> bytes:
    """A body as a record."""
    return head(len(body), ~len(body), crc32(body)) + body


def segment_head(size: int) -> bytes:
    """How a segment of so many bytes begins."""
    known = _SEGMENT.pack(_MAGIC, VERSION, size, 0)
    return known[:-4] + crc32(known[:-4]).to_bytes(4, "little")


def read_segment(data: bytes, *, last: bool) -> Reading:
    """Read a segment. Only the last one of a journal may have a torn tail."""
    version, size = _read_head(data)
    if version not in (None, VERSION):
        return Reading(sound=False)  # of a later version: nobody here knows what its records mean
    reading = Reading(sound=version == VERSION and size == len(data))
    end = len(data.rstrip(b"\0"))
    at = SEGMENT_HEAD if version else 0
    while at < end:
        body = body_at(data, at)
        if body is not None:
            reading.bodies.append(body)
            at += RECORD_HEAD + len(body)
        elif last and _is_torn(data, at, end):
            break
        else:
            reading.sound = False
            at = _next_record(data, at + 1, end)
    return reading


def body_at(data: bytes, at: int) -> bytes | None:
    """The body of the record that begins there, if one does and is whole."""
    if at + RECORD_HEAD > len(data):
        return None
    length, complement, checksum = _RECORD.unpack_from(data, at)
    body = data[at + RECORD_HEAD : at + RECORD_HEAD + length]
    whole = length and ~length == complement and len(body) == length and crc32(body) == checksum
    return body if whole else None


def _read_head(data: bytes) -> tuple[int | None, int]:
    """Version and size; no version where the head is damaged."""
    if len(data) < SEGMENT_HEAD:
        return None, 0
    magic, version, size, checksum = _SEGMENT.unpack_from(data)
    sound = magic == _MAGIC and checksum == crc32(data[: SEGMENT_HEAD - 4])
    return (version if sound else None), size


def _is_torn(data: bytes, at: int, end: int) -> bool:
    """Whether what stands there is the beginning of a record whose writer was killed."""
    if end - at < RECORD_HEAD:
        return True
    length, complement, _checksum = _RECORD.unpack_from(data, at)
    unwritten = ~length == complement and end < at + RECORD_HEAD + length <= len(data)
    return unwritten and data[end - 1] != _END_OF_LINE


def _next_record(data: bytes, start: int, end: int) -> int:
    """Where the next whole record begins; the end if there is none."""
    found = data.find(b"\xff", start + 7, end)
    while found >= 0:
        if body_at(data, found - 7) is not None:
            return found - 7
        found = data.find(b"\xff", found + 1, end)
    return end


# ---------------------------------------------------------------- as workers of version 1 appended them


def read_old_segment(data: bytes) -> Reading:
    """Read a file of records that were appended: length, checksum, body.

    What is cut off at the end was never written, for such files end where the writing did; so did those that a full
    disk cut short in the middle of a journal.
    """
    reading, at = Reading(), 0
    while at < len(data):
        body = _old_body_at(data, at)
        if body is not None:
            reading.bodies.append(body)
            at += _OLD_RECORD.size + len(body)
            continue
        following = next(_starts(data, at + 1, _old_body_at), len(data))
        if following < len(data) or not _old_is_torn(data, at):
            reading.sound = False
        at = following
    return reading


def _old_body_at(data: bytes, at: int) -> bytes | None:
    if at + _OLD_RECORD.size > len(data):
        return None
    length, checksum = _OLD_RECORD.unpack_from(data, at)
    body = data[at + _OLD_RECORD.size : at + _OLD_RECORD.size + length]
    return body if length and len(body) == length and crc32(body) == checksum else None


def _old_is_torn(data: bytes, at: int) -> bool:
    if at + _OLD_RECORD.size > len(data):
        return True
    length, _checksum = _OLD_RECORD.unpack_from(data, at)
    return bool(length > len(data) - at - _OLD_RECORD.size)


def _starts(data: bytes, at: int, body_at: Callable[[bytes, int], bytes | None]) -> Iterator[int]:
    return (place for place in range(at, len(data)) if body_at(data, place) is not None)
