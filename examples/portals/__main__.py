"""The command line: `python -m examples.portals`, or `make portals`."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from examples.portals.company import PASSWORD, REGIONS, staff_of
from examples.portals.serving import Addresses, running
from examples.portals.story import tell
from postroom import PostroomError

DATA = Path("portals-data")


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    output = Console(highlight=False)
    with ExitStack() as stack:
        folder = given.data or (_gone_afterwards(stack) if given.once else DATA)
        try:
            at = stack.enter_context(running(folder, port=0 if given.once else given.port, postgres=given.postgres))
        except PostroomError as error:
            print(error, file=sys.stderr)
            return 1
        _introduce(output, at)
        if given.once:
            for line in tell(at):
                output.print(Text(f"• {line}"), soft_wrap=True)
            return 0
        _wait_for_the_end(output, folder)
    return 0


def _gone_afterwards(stack: ExitStack) -> Path:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="portals-")))
    folder.chmod(0o711)  # a PostgreSQL of another user's may be beneath it
    return folder


def _wait_for_the_end(output: Console, folder: Path) -> None:
    with suppress(KeyboardInterrupt):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.default_int_handler)
        output.print(Text(f"\nWhat is kept is in {folder}/. Ctrl-C ends it."), soft_wrap=True)
        output.file.flush()
        threading.Event().wait()


def _introduce(output: Console, at: Addresses) -> None:
    """Where everything is, for whoever has just started it."""
    output.print(Text("Alder", style="bold") + Text(f"  {at.site}"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("portal", "for", "address"):
        table.add_column(heading, header_style="dim", no_wrap=True)
    for name, whom in {"hub": "people", "org": "employers", "agency": "recruiters", "staff": "ourselves"}.items():
        table.add_row(name, whom, f"{at.site}/{name}")
    output.print(table)
    output.print()
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("region", "", "mail", "who signs in at staff"):
        table.add_column(heading, header_style="dim", no_wrap=True)
    for name, country in REGIONS.items():
        table.add_row(name, country, at.inboxes[name], staff_of(name))
    output.print(table)
    output.print(
        Text(f"\nTheir password is «{PASSWORD}»; the code arrives in the mail of their region."), soft_wrap=True
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m examples.portals", description="Four portals in three regions, with their mail."
    )
    parser.add_argument("--port", type=int, default=8400, help="of the application; the inboxes are at the next three")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help=f"where everything is kept; else {DATA}/")
    parser.add_argument(
        "--postgres",
        nargs="?",
        const="",
        metavar="URL",
        help="three databases on that PostgreSQL server instead of three SQLite files; on one of its own without URL",
    )
    parser.add_argument("--once", action="store_true", help="play the whole story over HTTP, tell it, and leave")
    return parser


if __name__ == "__main__":
    sys.exit(main())
