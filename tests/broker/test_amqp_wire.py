"""AMQP as bytes: what is written by hand is what pamqp would write, and what is read does not depend on its cuts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pamqp import commands
from pamqp.body import ContentBody
from pamqp.common import FieldTable
from pamqp.frame import marshal
from pamqp.header import ContentHeader, ProtocolHeader
from pamqp.heartbeat import Heartbeat

from postroom.broker.amqp import wire
from postroom.broker.amqp.wire import Confirmed, Delivered, Event, Garbled, Posting, Reader, Returned, Said

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=63)
"""No longer than 255 bytes in UTF-8, which is what a short string has room for."""
NUMBERS = st.integers(min_value=0, max_value=2**63 - 1)

# ---------------------------------------------------------------- what we say


def content(properties: commands.Basic.Properties, body: bytes, most: int) -> list[bytes]:
    """The frames that follow the method which announces a message."""
    pieces = [body[start : start + most] for start in range(0, len(body), most)]
    header = marshal(ContentHeader(body_size=len(body), properties=properties), wire.CHANNEL)
    return [header, *(marshal(ContentBody(piece), wire.CHANNEL) for piece in pieces)]


@given(queue=NAMES, key=NAMES, body=st.binary(max_size=300), largest=st.integers(9, 400))
def test_a_message_is_published_in_the_words_that_pamqp_has_for_it(
    queue: str, key: str, body: bytes, largest: int
) -> None:
    method = commands.Basic.Publish(exchange="", routing_key=queue, mandatory=True)
    properties = commands.Basic.Properties(content_type="application/json", delivery_mode=2, message_id=key)
    expected = marshal(method, wire.CHANNEL) + b"".join(content(properties, body, largest - wire.AROUND))

    assert wire.publish(Posting(queue, key, body), largest=largest) == expected


@given(tag=NUMBERS, all_before=st.booleans())
def test_a_message_is_acknowledged_in_the_words_that_pamqp_has_for_it(tag: int, all_before: bool) -> None:
    expected = marshal(commands.Basic.Ack(tag, all_before), wire.CHANNEL)

    assert wire.acknowledge(tag, all_before=all_before) == expected


# ---------------------------------------------------------------- what we hear

Heard = tuple[list[bytes], Event]
"""Frames, and the event that the last of them completes."""

METHODS: list[tuple[int, Any]] = [
    (0, commands.Connection.Start(server_properties={"product": "RabbitMQ", "capabilities": {"basic.nack": True}})),
    (0, commands.Connection.Tune(2047, 131_072, 60)),
    (0, commands.Connection.Close(320, "CONNECTION_FORCED", 0, 0)),
    (1, commands.Channel.Close(404, "NOT_FOUND", 50, 10)),
    (1, commands.Queue.DeclareOk("email.dispatcher.send", 3, 1)),
    (1, commands.Basic.ConsumeOk("postroom-1")),
    (1, commands.Basic.Cancel("postroom-1")),
]
BETWEEN = [marshal(Heartbeat(), 0), marshal(commands.Connection.Unblocked(), 0)]
"""What belongs to the connection may come between the frames of a message."""


@st.composite
def deliveries(draw: st.DrawFn) -> Heard:
    consumer, tag, body = draw(NAMES), draw(NUMBERS), draw(st.binary(max_size=40))
    redelivered = draw(st.booleans())
    method = commands.Basic.Deliver(consumer, tag, redelivered, "", "email.dispatcher.send")
    headers: FieldTable = {"x-delivery-count": 1}
    properties = commands.Basic.Properties(headers=draw(st.sampled_from([None, headers])))
    frames = [marshal(method, wire.CHANNEL), *content(properties, body, draw(st.integers(1, 50)))]
    return frames, Delivered(consumer.encode(), tag, body, redelivered)


@st.composite
def returns(draw: st.DrawFn) -> Heard:
    key, body = draw(st.none() | NAMES), draw(st.binary(max_size=40))
    method = commands.Basic.Return(312, "NO_ROUTE", "", "email.dispatcher.send")
    properties = commands.Basic.Properties(content_type="application/json", delivery_mode=2, message_id=key)
    frames = [marshal(method, wire.CHANNEL), *content(properties, body, draw(st.integers(1, 50)))]
    return frames, Returned(key or "")


@st.composite
def confirmations(draw: st.DrawFn) -> Heard:
    number, all_before, taken = draw(NUMBERS), draw(st.booleans()), draw(st.booleans())
    method = commands.Basic.Ack(number, all_before) if taken else commands.Basic.Nack(number, all_before, False)
    return [marshal(method, wire.CHANNEL)], Confirmed(number, all_before, taken)


def other_methods() -> st.SearchStrategy[Heard]:
    return st.sampled_from(METHODS).map(lambda said: ([marshal(said[1], said[0])], Said(*said)))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[bytes, list[Event]]:
    """What a broker says, and what is to be made of it: heartbeats and the like stand anywhere between two frames."""
    octets: list[bytes] = []
    events: list[Event] = []
    for frames, event in draw(st.lists(st.one_of(deliveries(), returns(), confirmations(), other_methods()))):
        for frame in frames:
            between = draw(st.none() | st.sampled_from(BETWEEN))
            octets += [between or b"", frame]
            if between == BETWEEN[1]:
                events.append(Said(0, commands.Connection.Unblocked()))
        events.append(event)
    return b"".join(octets), events


def plain(events: Sequence[Event]) -> list[object]:
    """Events that can be compared; pamqp's methods cannot."""
    return [
        (event.channel, event.method.name, dict(event.method)) if isinstance(event, Said) else event for event in events
    ]


def pieces(octets: bytes, cuts: Sequence[int]) -> list[bytes]:
    places = sorted({0, len(octets), *(cut % (len(octets) + 1) for cut in cuts)})
    return [octets[start:end] for start, end in pairwise(places)]


@given(said=conversations(), cuts=st.lists(st.integers(min_value=0)))
def test_what_is_heard_does_not_depend_on_where_it_was_cut(said: tuple[bytes, list[Event]], cuts: list[int]) -> None:
    octets, events = said
    reader = Reader()
    heard = [event for piece in pieces(octets, cuts) for event in reader.feed(piece)]

    assert plain(heard) == plain(events)


@given(said=conversations())
def test_what_comes_byte_by_byte_is_heard_as_well(said: tuple[bytes, list[Event]]) -> None:
    octets, events = said
    reader = Reader()
    heard = [event for octet in octets for event in reader.feed(bytes([octet]))]

    assert plain(heard) == plain(events)


def test_a_message_that_nobody_announced_belongs_to_a_closed_channel_and_is_left_out() -> None:
    stray = b"".join(content(commands.Basic.Properties(), b"Good morning.", 5))

    assert Reader().feed(stray + wire.acknowledge(7)) == [Confirmed(7, False, True)]


# ---------------------------------------------------------------- what makes no sense


def nested(depth: int) -> bytes:
    """A greeting whose properties are arrays in arrays."""
    array = b""
    for _ in range(depth):
        array = b"A" + pack(">I", len(array)) + array
    table = b"\x01a" + array
    return framed(1, pack(">IBBI", 0x000A_000A, 0, 9, len(table)) + table)


def framed(kind: int, payload: bytes, channel: int = wire.CHANNEL) -> bytes:
    return pack(">BHI", kind, channel, len(payload)) + payload + wire.END


DELIVER = marshal(commands.Basic.Deliver("postroom-1", 1, False, "", "email.dispatcher.send"), wire.CHANNEL)
HEADER = marshal(ContentHeader(body_size=5), wire.CHANNEL)

NONSENSE = {
    "another version": ProtocolHeader(1, 0, 0).marshal(),
    "a web server": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "a mail server": b"220 mail.example.org ESMTP\r\n",
    "a frame without its end": wire.acknowledge(1)[:-1] + b"\xcd",
    "a frame that is too large": pack(">BHI", 3, wire.CHANNEL, wire.LARGEST_FRAME + 1) + b"\0",
    "a method without a number": framed(1, b""),
    "a method that there is not": framed(1, pack(">I", 0x0102_0304)),
    "half a confirmation": framed(1, pack(">IH", 0x003C_0050, 1)),
    "half a delivery": framed(1, pack(">IB", 0x003C_003C, 200)),
    "half an answer": framed(1, pack(">I", commands.Queue.DeclareOk.index) + b"\x01q\0"),
    "a table without a bottom": nested(5_000),
    "half a header": DELIVER + framed(2, b"\0\x3c\0\0"),
    "a header of half a return": marshal(commands.Basic.Return(312, "", "", "q"), 1)
    + framed(2, pack(">HHQ", 60, 0, 0)),
    "a body before its header": DELIVER + framed(3, b"12345"),
    "an empty body before its header": DELIVER + framed(3, b""),
    "a second header": DELIVER + HEADER + HEADER,
    "a body longer than announced": DELIVER + HEADER + framed(3, b"123456"),
    "a frame of no known kind within a message": DELIVER + HEADER + framed(5, b"12345"),
}


@pytest.mark.parametrize("octets", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_called_so(octets: bytes) -> None:
    with pytest.raises(Garbled):
        Reader().feed(octets)


def read(octets: Sequence[bytes]) -> list[Event]:
    """What is understood, up to where nothing is."""
    reader, events = Reader(), []
    try:
        for piece in octets:
            events += reader.feed(piece)
    except Garbled:
        pass
    return events


KNOWN = [method.index for _, method in METHODS] + [0x003C_003C, 0x003C_0032, 0x003C_0050, 0x003C_0078, 0x000A_001E]
PAYLOADS = st.binary(max_size=60) | st.builds(
    lambda method, rest: pack(">I", method) + rest, st.sampled_from(KNOWN), st.binary(max_size=60)
)
FRAMES = st.builds(framed, st.sampled_from([1, 1, 2, 3, 4, 8]), PAYLOADS, st.integers(0, 2))


@st.composite
def spoiled(draw: st.DrawFn) -> list[bytes]:
    """What a broker says, with one byte that is another."""
    octets, _ = draw(conversations())
    place = draw(st.integers(0, len(octets)))
    return [octets[:place], draw(st.binary(min_size=1, max_size=1)), octets[place + 1 :]]


@given(st.lists(FRAMES | st.binary(max_size=60)) | spoiled())
def test_no_bytes_are_worse_than_garbled(octets: list[bytes]) -> None:
    """Any other exception fails this test, and so does a reader that goes round in circles."""
    assert all(isinstance(event, Event) for event in read(octets))
