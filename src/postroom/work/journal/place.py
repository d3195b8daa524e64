"""Where journals are kept and what they are called."""

from __future__ import annotations

import os
import secrets
import socket
from hashlib import sha256
from pathlib import Path

from postroom.config.places import database_place
from postroom.errors import ConfigurationError


def worker_name() -> str:
    """A name that no other worker has, now or later: a journal and leases go by it."""
    host = "".join(c if c.isalnum() else "-" for c in socket.gethostname())[:40]
    return f"{host}-{os.getpid()}-{secrets.token_hex(3)}"


def journal_folder(database_url: str, tables: str) -> Path:
    """Where the workers of one outbox on this machine keep their journals, unless a setting says otherwise.

    Everybody who works for the same outbox must come to the same folder, and nobody else: it goes by the database's
    address without its password, under the user's folder for state.
    """
    try:
        host, port, path = database_place(database_url)
    except ValueError:
        raise ConfigurationError(
            "the port in the database's URL is no number; "
            "in a password, / is written %2F, ? is %3F, # is %23, @ is %40, : is %3A and % is %25"
        ) from None  # the error quotes what it took for a port
    known_by = f"{host}:{port}{path}:{tables}"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "postroom" / sha256(known_by.encode()).hexdigest()[:16]


def lock_path(folder: Path, worker: str) -> Path:
    return folder / f"{worker}.lock"


def segment_path(folder: Path, worker: str, number: int) -> Path:
    return folder / f"{worker}.{number:06d}.journal"


def segment_paths(folder: Path, worker: str) -> list[Path]:
    """The segments of a journal, oldest first. Raises OSError where we may not look, which is not the same as none."""
    return [folder / name for name in sorted(os.listdir(folder)) if _is_segment(name, worker)]


def _is_segment(name: str, worker: str) -> bool:
    number = name.removeprefix(f"{worker}.").removesuffix(".journal")
    return number.isdigit() and name == f"{worker}.{number}.journal"


def workers_in(folder: Path) -> list[str]:
    """Whose journals are in a folder, the dead and the living."""
    return sorted(path.name.removesuffix(".lock") for path in folder.glob("*.lock"))
