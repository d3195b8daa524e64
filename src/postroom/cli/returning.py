"""`postroom returns`: messages that come back are taken in, or told what they say."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from postroom.cli.choice import Json
from postroom.cli.kept_returns import Kept, show_kept
from postroom.cli.screen import print_json, somebody_is_there, standard_error, standard_output
from postroom.cli.taking_in import Intake, take_in
from postroom.cli.target import Target
from postroom.errors import ConfigurationError
from postroom.returns.reading import Reading, Returned, limits, read

STANDARD_INPUT = "-"

Files = Annotated[
    list[Path] | None,
    typer.Argument(help="Messages, each in a file; else one on standard input.", metavar="FILE", show_default=False),
]


def returns(
    target: Target,
    intake: Intake,
    kept: Kept,
    files: Files = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what is read out of a message, and touch nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Take in messages that come back: bounces, complaints, answers. Each is recorded once, on its email."""
    if dry_run + bool(files and not dry_run) + intake.asked + kept.asked > 1:
        raise ConfigurationError(
            "files, --dry-run, --maildir, --lmtp or --smtp, and --list or --source exclude each other"
        )
    if kept.asked:
        show_kept(target, kept, json=json)
    elif dry_run:
        _tell_what_is_read(files, json=json)
    else:
        take_in(target, intake, files or (), json=json)


def _tell_what_is_read(files: list[Path] | None, *, json: bool) -> None:
    read_ones = {name: read(octets) for name, octets in _messages(files or [Path(STANDARD_INPUT)])}
    if json:
        print_json(_records(read_ones))
        return
    for number, (name, reading) in enumerate(read_ones.items()):
        _show(reading, name if len(read_ones) > 1 else "", apart=number > 0)


def _messages(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Each by the name of its file; of a large one, as much as is read of it."""
    for file in files:
        if str(file) == STANDARD_INPUT:
            if somebody_is_there():
                standard_error().print("Reading a message from the terminal; Ctrl-D ends it.")
            yield STANDARD_INPUT, sys.stdin.buffer.read(limits.OCTETS)
        else:
            with file.open("rb") as message:
                yield str(file), message.read(limits.OCTETS)


def _records(read_ones: dict[str, Reading]) -> Any:
    """One object for one message; for several a list, in which each has the name of its file."""
    if len(read_ones) == 1:
        return record(next(iter(read_ones.values())))
    return [{"file": name} | record(reading) for name, reading in read_ones.items()]


def record(reading: Reading) -> dict[str, Any]:
    """A reading for programs."""
    return {
        "kind": reading.kind.value,
        "recipients": [_recipient(reading, each) for each in reading.recipients],
        "message_id": reading.message_id,
        "about": list(reading.about),
        "until": reading.until and reading.until.isoformat(),
        "reader": reading.reader,
        "problem": reading.problem,
        "feedback": reading.feedback,
    }


def _recipient(reading: Reading, returned: Returned) -> dict[str, Any]:
    return {
        "address": returned.address,
        "kind": reading.kind_of(returned).value,
        "class": returned.bounce_class and returned.bounce_class.value,
        "status": returned.status,
        "code": returned.code,
        "text": returned.text,
    }


def _show(reading: Reading, name: str, *, apart: bool) -> None:
    output = standard_output()
    if apart:
        output.print()
    for label, value in _lines(reading, name):
        output.print(Text(f"{label:<10} ", style="bold") + Text(_printable(value)), soft_wrap=True)


def _lines(reading: Reading, name: str) -> Iterator[tuple[str, str]]:
    """What there is to say, each with its label."""
    told = {
        "file": name,
        "kind": reading.kind.value,
        "reader": reading.reader,
        "feedback": reading.feedback,
        "until": reading.until.isoformat() if reading.until else "",
        "problem": reading.problem,
        "message": reading.message_id,
        "about": " ".join(reading.about),
    }
    yield from ((label, value) for label, value in told.items() if value)
    for each in reading.recipients:
        code = "" if each.code is None else str(each.code)
        kind, verdict = each.kind or "", each.bounce_class or ""
        facts = (each.address or "somebody", kind, verdict, code, each.status, each.text)
        yield "recipient", " ".join(filter(None, facts))


def _printable(text: str) -> str:
    """A message is somebody's input, and a terminal obeys control characters."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
