"""The command line: `python -m examples.outreach`, or `make outreach`."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.text import Text

from examples.outreach.live import PASSWORD, PERSON, Addresses, forget, running
from examples.outreach.once import tell_once
from examples.outreach.team import PROSPECTS
from postroom import PostroomError
from postroom.cli.logs import write_logs

DATA = Path("outreach-data")


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    write_logs("error")  # the story itself says what goes wrong
    output = Console(highlight=False)
    if given.once:
        return 0 if tell_once(output) else 1
    folder = given.data or DATA
    if given.fresh:
        forget(folder)
    try:
        with running(folder, port=given.port, inbox_port=given.inbox_port, draft=given.draft) as at:
            _introduce(output, at, draft=given.draft)
            _wait_for_the_end(output, folder)
    except PostroomError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _introduce(output: Console, at: Addresses, *, draft: bool) -> None:
    """Where everything is, and what to try, for whoever has just started it."""
    lines = {
        "Campaign": at.campaign,
        "Sign in as": f"{PERSON}, password «{PASSWORD}»; the code arrives in the dev inbox",
        "Dev inbox": at.inbox,
    }
    for name, value in lines.items():
        output.print(Text(f"{name:<12} ", style="bold") + Text(value), soft_wrap=True)
    output.print(Text(f"\n{pace(at, draft=draft)} Try next\n", style="bold"))
    for line in (
        *([f"import {PROSPECTS} on the page of the campaign, look at the forecast, and launch it"] if draft else ()),
        "open a letter in the dev inbox, follow the link in its last line, and press the button there",
        "see on the page of the campaign that both follow-ups of that person are stopped, and why",
        "pause the campaign, and go on with it",
        "look at the waiting mails: each says why, and when it leaves",
    ):
        output.print(Text(f"  • {line}"), soft_wrap=True)


def pace(at: Addresses, *, draft: bool) -> str:
    """What leaves, and when."""
    if at.ready:
        return f"{at.ready} letters leave now, one every second or two; follow-ups days later."
    if at.waiting:
        return f"{at.waiting} follow-ups wait for their day; each says on the page of the campaign which that is."
    if draft:
        return "Launched, a letter leaves every second or two."
    return "All letters have left; --fresh begins anew."


def _wait_for_the_end(output: Console, folder: Path) -> None:
    with suppress(KeyboardInterrupt):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.default_int_handler)
        output.print(Text(f"\nWhat is kept is in {folder}/. Ctrl-C ends it."), soft_wrap=True)
        output.file.flush()
        threading.Event().wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.outreach", description="An outreach team's campaign.")
    parser.add_argument("--once", action="store_true", help="play its weeks in seconds, tell them, and leave")
    parser.add_argument("--port", type=int, default=8500, help="of the admin app; 0 for any that is free")
    parser.add_argument("--inbox-port", type=int, default=8501, help="of the dev inbox's page; 0 likewise")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help=f"where everything is kept; else {DATA}/")
    parser.add_argument("--draft", action="store_true", help="leave it to you to import people and to launch it")
    parser.add_argument("--fresh", action="store_true", help="forget what is kept there, and begin anew")
    return parser


if __name__ == "__main__":
    sys.exit(main())
