"""The command line: `python -m examples.booking book Ada ada@example.org 2027-05-14T19:00`."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime

from examples.booking.bookings import ZONE, NoSuchBookingError
from examples.booking.desk import Desk
from postroom import Outbox, PostroomError


def moment(text: str) -> datetime:
    """A time by the restaurant's clock."""
    return datetime.fromisoformat(text).replace(tzinfo=ZONE)


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    with Outbox() as outbox:  # the settings come from the environment
        desk = Desk(outbox, now=given.now)
        desk.open()
        try:
            print(_act(desk, given))
        except (NoSuchBookingError, PostroomError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


def _act(desk: Desk, given: argparse.Namespace) -> str:
    match given.act:
        case "book":
            return desk.book(guest=given.guest, email=given.email, start=given.start)
        case "move":
            return desk.move(given.number, start=given.start)
        case _:
            return desk.cancel(given.number)


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--now", action="store_true", help="try the mail server at once")
    parser = argparse.ArgumentParser(prog="python -m examples.booking", description="Books tables.")
    acts = parser.add_subparsers(dest="act", required=True)
    book = acts.add_parser("book", parents=[shared])
    book.add_argument("guest")
    book.add_argument("email")
    book.add_argument("start", type=moment)
    move = acts.add_parser("move", parents=[shared])
    move.add_argument("number", type=int)
    move.add_argument("start", type=moment)
    cancel = acts.add_parser("cancel", parents=[shared])
    cancel.add_argument("number", type=int)
    return parser


if __name__ == "__main__":
    sys.exit(main())
