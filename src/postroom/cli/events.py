"""`postroom events`: what happened to emails, to the end of the stream or for as long as somebody looks."""

from __future__ import annotations

import json as json_format
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.choice import Json
from postroom.cli.screen import standard_error
from postroom.cli.target import Target
from postroom.cli.watching import AWAY, interval_in_seconds
from postroom.errors import ConfigurationError, StoreUnavailable
from postroom.operate import Operations
from postroom.store.changes import BEGINNING, Cursor, Event, Events, Wanted
from postroom.store.records import event_record
from postroom.vocabulary import Change

PAGE = 500
SHOWN_FIRST = 10
"""What `--follow` begins with when it is not told where to."""


def events(
    target: Target,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as things happen; Ctrl-C ends it.")] = False,
    after: Annotated[
        str | None,
        typer.Option(help="Only what happened after this event: the `id` of the last one read.", metavar="ID"),
    ] = None,
    tail: Annotated[int | None, typer.Option(min=0, max=200, help="Begin with the last so many.")] = None,
    of: Annotated[list[Change] | None, typer.Option(help="Only these changes; may be said several times.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only emails of this kind.")] = None,
    interval: Annotated[str, typer.Option(help="With --follow: how often to look.", metavar="TIME")] = "1s",
    json: Json = False,
) -> None:
    """Tell what happened to emails, oldest first, in order and without gaps.

    Begins with the oldest that is kept; with --follow, with the last few.
    """
    if after is not None and tail is not None:
        raise ConfigurationError("--after and --tail exclude each other; choose one")
    start = None if after is None else Cursor.parse(after)
    wanted, seconds = Wanted(of=frozenset(of or ()) or None, kind=kind), interval_in_seconds(interval)
    if follow and start is None and tail is None:
        tail = SHOWN_FIRST
    with target.operations() as operations, suppress(KeyboardInterrupt):
        place = _begin(operations, start, tail, wanted, json=json)
        for piece in _pieces(operations, place, wanted, seconds=seconds if follow else None):
            _print(piece, json=json)


def _begin(operations: Operations, start: Cursor | None, tail: int | None, wanted: Wanted, *, json: bool) -> Cursor:
    """Print the last few if they are asked for; where to go on."""
    if tail is None:
        return start or BEGINNING
    last = operations.newest_events(tail, wanted=wanted)
    _print(last, json=json)
    return last.next


def _pieces(operations: Operations, place: Cursor, wanted: Wanted, *, seconds: float | None) -> Iterator[Events]:
    """The stream from there on; to its end, or looking again after so many seconds."""
    while True:
        try:
            piece = operations.events(place, limit=PAGE, wanted=wanted)
        except StoreUnavailable:
            if seconds is None:
                raise
            standard_error().print(Text(AWAY, style="red"))
        else:
            place = piece.next
            yield piece
            if piece.more:
                continue
        if seconds is None:
            return
        time.sleep(seconds)


def _print(piece: Events, *, json: bool) -> None:
    for event in piece.events:
        sys.stdout.write((json_format.dumps(event_record(event)) if json else _line(event)) + "\n")
    sys.stdout.flush()  # a reader who has gone is noticed here


def _line(event: Event) -> str:
    """What fits into a line, in columns that do not move."""
    at = event.at.strftime("%Y-%m-%d %H:%M:%SZ")
    facts = [event.route, event.kind, event.workspace and f"in {event.workspace}"]
    beside = "  ".join(_printable(each) for each in facts if each)
    return f"{at}  {event.change.value:<13}  {event.email_id}  {event.attempts:>3}  {beside}".rstrip()


def _printable(text: str) -> str:
    """Names are somebody's input, and a terminal obeys control characters."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
