"""Messages that a mail system leaves in a Maildir.

Each is taken in and then moved into the folder `.taken` beside `new` and `cur`, which mail programs show as a folder of
the mailbox; nothing is deleted. A crash between the two leaves the file where it is, and the next round finds that the
message is known, and moves it. Several programs may work on one Maildir: whoever comes second finds the file gone.

Whoever may write to a Maildir does not thereby read, or write, with the rights of this program. A message is a regular
file: a link would have any file that this program may read kept as a message and shown on the desk, and a named pipe
would hold it up for ever. Such things stay where they are, and whoever runs this is told once. Nor is a folder of the
Maildir a link: what was taken in would be moved to wherever it leads.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from postroom.claim.failpoint import reach
from postroom.errors import ConfigurationError, PostroomError
from postroom.returns.intake.taking import READ, Taken, Taker

TAKEN = ".taken"

_SAFELY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""No link is followed, and nobody waited for."""


def _to_nobody(_told: str) -> None:
    """Where nobody is there to be told."""


@dataclass(frozen=True, slots=True)
class Maildir:
    """A Maildir that is looked through again and again."""

    path: Path
    tell: Callable[[str], None] = _to_nobody
    """Is told once of each file that stays where it is, and why."""
    _told: set[str] = field(default_factory=set)

    def take_all(self, taker: Taker) -> Iterator[Taken]:
        """Take in what is there now, oldest names first. What is no message or cannot be opened stays."""
        self.check()
        for place in ("new", "cur"):
            with suppress(FileNotFoundError), _folder(self.path / place) as folder:
                for name in sorted(name for name in os.listdir(folder) if not name.startswith(".")):
                    yield from self._take(taker, place, name, folder)

    def check(self) -> None:
        """Refuse what is none, rather than find no mail in it for ever."""
        if not (self.path / "new").is_dir():
            raise ConfigurationError(f"{self.path} is no Maildir: it has no folder 'new'; name the folder that has one")

    def _take(self, taker: Taker, place: str, name: str, folder: int) -> Iterator[Taken]:
        try:
            octets, size = _content(name, folder)
        except FileNotFoundError:
            return  # somebody else was quicker
        except OSError as error:
            self._stays(place, name, error.strerror or type(error).__name__)
            return
        taken = taker.take(octets, size=size)
        reach("returns_before_move")
        self._move(name, folder)
        yield taken

    def _stays(self, place: str, name: str, why: str) -> None:
        if (told := f"{place}/{name}") not in self._told:
            self._told.add(told)
            self.tell(f"{told!a} is not taken in, and stays there: {why}")

    def _move(self, name: str, folder: int) -> None:
        """Into a folder that is a Maildir itself; where that cannot be, the message would be read again for ever."""
        try:
            with (
                _made(self.path / TAKEN) as taken,
                _made("tmp", taken),
                _made("new", taken),
                _made("cur", taken) as cur,
            ):
                os.rename(name, name, src_dir_fd=folder, dst_dir_fd=cur)
        except FileNotFoundError:
            pass  # somebody else was quicker
        except OSError as error:
            raise PostroomError(
                f"a message was taken in and cannot be moved to {self.path / TAKEN}: {error.strerror or error}; "
                "give whoever runs this the right to write to the Maildir"
            ) from error


def _content(name: str, folder: int) -> tuple[bytes, int]:
    """The beginning of a message, and its size. What lies there is looked at before it is opened, which alone does
    something to some devices, and once it is: somebody may have put something else in its place meanwhile."""
    _check_regular(os.stat(name, dir_fd=folder, follow_symlinks=False))
    with os.fdopen(os.open(name, _SAFELY, dir_fd=folder), "rb") as opened:
        found = os.fstat(opened.fileno())
        _check_regular(found)
        return opened.read(READ), found.st_size


def _check_regular(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "it is a link" if stat.S_ISLNK(found.st_mode) else "it is no regular file")


@contextmanager
def _folder(path: Path | str, within: int | None = None) -> Iterator[int]:
    """A folder by its descriptor: what is done in it is done there, whatever its name is given to meanwhile."""
    try:
        opened = os.open(path, _SAFELY | os.O_DIRECTORY, dir_fd=within)
    except NotADirectoryError as error:
        raise ConfigurationError(
            f"{path} is no folder but a link or a file; a Maildir has its folders in itself"
        ) from error
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def _made(path: Path | str, within: int | None = None) -> Iterator[int]:
    with suppress(FileExistsError):
        os.mkdir(path, dir_fd=within)
    with _folder(path, within) as opened:
        yield opened
