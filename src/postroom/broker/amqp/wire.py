"""AMQP as bytes, without a socket: what we publish and acknowledge, and what a broker's bytes say.

What is said once in a while goes through pamqp. The methods that come with every email are written and read here by
hand: building a general object for each of a delivery's three frames costs more than everything else about it.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

import pamqp.exceptions
import pamqp.frame
from pamqp import commands
from pamqp.base import Frame
from pamqp.header import ContentHeader
from pamqp.heartbeat import Heartbeat

CHANNEL = 1
"""The one we use; 0 is the connection itself."""
END = b"\xce"
AROUND = 8
"""Bytes around what a frame carries."""
LARGEST_FRAME = 131_072
"""What brokers and clients agree on, if nobody asks for something else."""

_METHOD, _HEADER, _BODY, _HEARTBEAT = 1, 2, 3, 8
_DELIVER, _RETURN, _ACK, _NACK = 0x003C_003C, 0x003C_0032, 0x003C_0050, 0x003C_0078

_frame = Struct(">BHI")
_method = Struct(">I")
_number = Struct(">Q")
_number_and_bits = Struct(">QB")
_header = Struct(">BHIHHQ")
_tag = Struct(">BHIIQB")

_PROPERTIES = b"\x90\x80" + b"\x10application/json" + b"\x02"
"""Which there are: the content type, the delivery mode (2: kept on disk), and the message id, which follows."""


class Garbled(Exception):
    """What arrived is not AMQP 0-9-1."""


class Posting(NamedTuple):
    """A message to be published."""

    queue: str
    key: str
    """Its message id."""
    body: bytes


class Delivered(NamedTuple):
    """A message for one of our consumers."""

    consumer: bytes
    tag: int
    body: bytes
    redelivered: bool
    """It may have been delivered before, to whoever did not come to the end of it."""


class Confirmed(NamedTuple):
    """The broker has, or refuses, the message that was published under this number, or all up to it."""

    number: int
    all_before: bool
    taken: bool


class Returned(NamedTuple):
    """No queue takes the message with this id."""

    key: str


class Said(NamedTuple):
    """Anything else."""

    channel: int
    method: Frame


Event = Delivered | Confirmed | Returned | Said


# ---------------------------------------------------------------- what we say


def say(method: Frame, channel: int = CHANNEL) -> bytes:
    return pamqp.frame.marshal(method, channel)


HEARTBEAT = pamqp.frame.marshal(Heartbeat(), 0)


def publish(posting: Posting, *, largest: int = LARGEST_FRAME) -> bytes:
    """A message to be kept on disk, and to be returned if no queue takes it."""
    queue, key, body = posting
    name = key.encode()
    length = len(_PROPERTIES) + 1 + len(name)
    return b"".join(
        (
            _to(queue),
            _header.pack(_HEADER, CHANNEL, 12 + length, 60, 0, len(body)),
            _PROPERTIES,
            len(name).to_bytes(),
            name,
            END,
            *_bodies(body, largest - AROUND),
        )
    )


@lru_cache(64)
def _to(queue: str) -> bytes:
    return say(commands.Basic.Publish(routing_key=queue, mandatory=True))


def _bodies(body: bytes, most: int) -> list[bytes]:
    """Its frames, piece by piece; an empty body has none."""
    pieces = []
    for start in range(0, len(body), most):
        piece = body[start : start + most]
        pieces += [_frame.pack(_BODY, CHANNEL, len(piece)), piece, END]
    return pieces


def acknowledge(tag: int, *, all_before: bool = False) -> bytes:
    """We are done with a delivered message, or with all up to it."""
    return _tag.pack(_METHOD, CHANNEL, 13, _ACK, tag, all_before) + END


# ---------------------------------------------------------------- what we hear


class _Content:
    """A message on its way: the method that announced it has come, the rest has not."""

    __slots__ = ("about", "key", "missing", "pieces")

    def __init__(self, about: tuple[bytes, int, bool] | None) -> None:
        self.about = about
        """Consumer, tag and whether it was delivered before; nothing for a message that comes back."""
        self.key = ""
        self.missing = -1
        """Bytes; nobody knows before the header has come."""
        self.pieces: list[bytes] = []

    def completed(self) -> Event:
        if self.about is None:
            return Returned(self.key)
        consumer, tag, redelivered = self.about
        body = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        return Delivered(consumer, tag, body, redelivered)


class Reader:
    """Puts together what arrives, wherever it was cut."""

    def __init__(self) -> None:
        self.largest = LARGEST_FRAME
        self._rest = b""
        self._content: _Content | None = None

    def feed(self, data: bytes) -> list[Event]:
        """What these bytes complete. Raises `Garbled`; nothing can be read after that."""
        if self._rest:
            data = self._rest + data
        events: list[Event] = []
        start, size = 0, len(data)
        while size - start >= AROUND:
            kind, channel, length = _frame.unpack_from(data, start)
            if kind == b"A"[0]:
                raise Garbled("the server speaks another version of AMQP, or none")
            if length > self.largest:
                raise Garbled(f"a frame of {length:,} bytes")
            end = start + 7 + length
            if end >= size:
                break
            if data[end] != END[0]:
                raise Garbled("a frame without its end")
            try:
                event = self._take(kind, channel, data[start : end + 1])
            except (struct.error, IndexError, ValueError, RecursionError, pamqp.exceptions.PAMQPException) as error:
                raise Garbled(f"a frame that makes no sense: {error}") from error
            if event is not None:
                events.append(event)
            start = end + 1
        self._rest = data[start:]
        return events

    def _take(self, kind: int, channel: int, frame: bytes) -> Event | None:
        """What one frame completes, if anything."""
        if kind == _METHOD:
            return self._hear(channel, frame)
        content = self._content
        if content is None or kind == _HEARTBEAT:  # nothing announced it: it is of a channel that was closed
            return None
        if kind == _HEADER and content.missing < 0:
            [content.missing] = _number.unpack_from(frame, 11)
            if content.about is None:
                content.key = _message_id(frame)
        elif kind == _BODY and content.missing >= len(frame) - AROUND:
            content.pieces.append(frame[7:-1])
            content.missing -= len(frame) - AROUND
        else:
            raise Garbled("a frame out of turn")
        if content.missing:
            return None
        self._content = None
        return content.completed()

    def _hear(self, channel: int, frame: bytes) -> Event | None:
        [method] = _method.unpack_from(frame, 7)
        if method == _DELIVER:
            after = 12 + frame[11]
            tag, bits = _number_and_bits.unpack_from(frame, after)
            self._content = _Content((frame[12:after], tag, bool(bits & 1)))
            return None
        if method in (_ACK, _NACK):
            number, bits = _number_and_bits.unpack_from(frame, 11)
            return Confirmed(number, bool(bits & 1), method == _ACK)
        if method == _RETURN:
            self._content = _Content(None)
            return None
        said = pamqp.frame.unmarshal(frame)[2]
        return Said(channel, said) if isinstance(said, Frame) else None


def _message_id(frame: bytes) -> str:
    header = pamqp.frame.unmarshal(frame)[2]
    found = header.properties.message_id if isinstance(header, ContentHeader) else None
    return found or ""
