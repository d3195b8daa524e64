"""Three databases on PostgreSQL: of a server that is named, or of a private one beneath the data folder.

The private server outlives an application that is killed, as a real one would; the next start finds it and goes on. It
stops when the application stops in good order.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

USER = "portals"
SETTINGS = {"listen_addresses": "127.0.0.1", "timezone": "UTC"}

REMEDY = (
    "PostgreSQL's server programs were not found: run `scripts/set-up postgres` or `apt-get install postgresql`, "
    "or name a running server: --postgres postgresql://user@host/postgres"
)


def databases_on(server: str, names: Iterable[str]) -> dict[str, str]:
    """A database for each name, made where it is not there yet; their URLs.

    They are called after the one in the URL, `portals_deu1` for `postgresql://host/portals`; after us where that is
    PostgreSQL's own.
    """
    import psycopg
    from psycopg.sql import SQL, Identifier

    parts, urls = urlsplit(server), {}
    prefix = "portals" if parts.path in ("", "/", "/postgres") else parts.path.strip("/")
    with psycopg.connect(server, autocommit=True) as connection:
        for name in names:
            database = f"{prefix}_{name}"
            with suppress(psycopg.errors.DuplicateDatabase):
                connection.execute(SQL("CREATE DATABASE {}").format(Identifier(database)))
            urls[name] = urlunsplit(parts._replace(path=f"/{database}"))
    return urls


@contextmanager
def private_server(folder: Path) -> Iterator[str]:
    """A running server whose data are in this folder; its URL."""
    programs, folder = _programs(), _reachable(folder)
    data = folder / "data"
    if not data.exists():
        _initialise(programs, folder)
    # One that the last application left behind is used as it is.
    if _run(folder, programs / "pg_ctl", "status", "-D", data, check=False) != 0:
        port = _free_port()
        _run(folder, programs / "pg_ctl", "start", "-w", "-D", data, "-l", folder / "log", "-o", f"-p {port}")
    try:
        port = int((data / "postmaster.pid").read_text().splitlines()[3])
        yield f"postgresql://{USER}@127.0.0.1:{port}/postgres"
    finally:
        _run(folder, programs / "pg_ctl", "stop", "-w", "-m", "fast", "-D", data)


def _reachable(folder: Path) -> Path:
    """The folder, made; another one where we are root and PostgreSQL's user cannot come to it, as beneath /root."""
    if os.geteuid() != 0:
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if not all(parent.stat().st_mode & 0o001 for parent in folder.parents):
        folder = Path("/var/tmp") / f"portals-postgres-{sha256(bytes(folder)).hexdigest()[:12]}"  # noqa: S108
    folder.mkdir(mode=0o700, exist_ok=True)
    os.chown(folder, *_owner())
    return folder


def _initialise(programs: Path, folder: Path) -> None:
    _run(
        folder, programs / "initdb", "-D", folder / "data", "-U", USER, "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8"
    )
    with (folder / "data" / "postgresql.conf").open("a") as file:
        settings = SETTINGS | {"unix_socket_directories": ""}
        file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())


def _run(folder: Path, program: Path, *arguments: str | Path, check: bool = True) -> int:
    """Run one of PostgreSQL's programs; as somebody else when we are root, which PostgreSQL refuses to be."""
    user, group = _owner() if os.geteuid() == 0 else (None, None)
    with (folder / "commands.log").open("w+") as said:  # no pipe: the server would keep it open
        result = subprocess.run(
            [program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
            user=user, group=group, extra_groups=[] if user else None, start_new_session=True, check=False,
        )  # fmt: skip
        if check and result.returncode:
            said.seek(0)
            raise SystemExit(f"{program.name} ended with {result.returncode}: {said.read().strip()}")
    return result.returncode


def _programs() -> Path:
    """The newest that are installed."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin/initdb"), *map(Path, filter(None, [shutil.which("initdb")]))]
    if not found:
        raise SystemExit(REMEDY)
    return max(found, key=lambda each: [int(part) for part in each.parts if part.isdecimal()]).parent


def _owner() -> tuple[int, int]:
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return entry.pw_uid, entry.pw_gid
    raise SystemExit("PostgreSQL does not run as root: create a user `postgres`, or be another user")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
