"""Messages that a mail system leaves in a Maildir.

Each is taken in and then moved into the folder `.taken` beside `new` and `cur`, which mail programs show as a folder of
the mailbox; nothing is deleted. A crash between the two leaves the file where it is, and the next round finds that the
message is known, and moves it. Several programs may work on one Maildir: whoever comes second finds the file gone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from postroom.claim.failpoint import reach
from postroom.errors import ConfigurationError, PostroomError
from postroom.logs import logger
from postroom.returns.intake.taking import READ, Taken, Taker

TAKEN = ".taken"


def take_all(maildir: Path, taker: Taker) -> Iterator[Taken]:
    """Take in what is there now, oldest names first. What cannot be opened stays, and the log says so."""
    check_maildir(maildir)
    for file in _waiting(maildir):
        try:
            octets, size = _content(file)
        except FileNotFoundError:
            continue  # somebody else was quicker
        except OSError as error:
            logger.warning("a message cannot be opened", error=error.strerror or type(error).__name__)
            continue
        taken = taker.take(octets, size=size)
        reach("returns_before_move")
        _move(file, maildir / TAKEN / "cur")
        yield taken


def check_maildir(maildir: Path) -> None:
    """Refuse what is none, rather than find no mail in it for ever."""
    if not (maildir / "new").is_dir():
        raise ConfigurationError(f"{maildir} is no Maildir: it has no folder 'new'; name the folder that has one")


def _waiting(maildir: Path) -> Iterator[Path]:
    for name in ("new", "cur"):
        folder = maildir / name
        if folder.is_dir():
            yield from sorted(file for file in folder.iterdir() if not file.name.startswith(".") and file.is_file())


def _content(file: Path) -> tuple[bytes, int]:
    with file.open("rb") as opened:
        return opened.read(READ), os.fstat(opened.fileno()).st_size


def _move(file: Path, folder: Path) -> None:
    """Into a folder that is a Maildir itself; where that cannot be, the message would be read again for ever."""
    try:
        for name in ("tmp", "new", "cur"):
            (folder.parent / name).mkdir(parents=True, exist_ok=True)
        file.rename(folder / file.name)
    except FileNotFoundError:
        pass  # somebody else was quicker
    except OSError as error:
        raise PostroomError(
            f"a message was taken in and cannot be moved to {folder}: {error.strerror or error}; "
            "give whoever runs this the right to write to the Maildir"
        ) from error
