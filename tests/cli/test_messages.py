"""What newcomers run into first says what happened, and what to do."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from rich.console import Console

from postroom import AsyncOutbox, Email, Outbox
from postroom.cli.tables import history_table, routes_table
from postroom.operate.values import RouteView
from postroom.store.contract import HistoryEntry
from postroom.work.breaker import BreakerState
from tests.cli.conftest import CommandLine, enqueue, enqueue_sent

EMAIL = Email(to="ada@example.org", subject="Hi", text="Hello")
NOBODY = 65534


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("foo", "'foo' is no database URL; as a file it is sqlite:///foo"),
        ("data/app.db", "as a file it is sqlite:///data/app.db"),
        ("postgre://me:hunter22@db/app", "did you mean postgresql://?"),
        ("sqllite:///app.db", "did you mean sqlite://?"),
        ("host=db password=hunter22", "the database is given by a URL; use sqlite:///file.db or postgresql://"),
    ],
)
def test_a_database_that_is_no_url_is_told_how_to_write_it(postroom: CommandLine, given: str, told: str) -> None:
    answer = postroom("stats", "--database", given)

    assert answer.code == 2
    assert told in answer.err
    assert "hunter22" not in answer.err


@contextmanager
def listening(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that talks so to whoever connects; its port."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                with suppress(OSError), connection:
                    talk(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)


def talk_plainly(connection: socket.socket) -> None:
    connection.sendall(b"220 mail.example.org ESMTP\r\n")
    connection.recv(1000)


def wait_for_tls(connection: socket.socket) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    with context.wrap_socket(connection, server_side=True) as secured:
        secured.sendall(b"220 mail.example.org ESMTP\r\n")


def doctor_of(postroom: CommandLine, monkeypatch: pytest.MonkeyPatch, smtp: str) -> tuple[str, str]:
    """What the doctor found at a mail server, and the remedy."""
    monkeypatch.setenv("POSTROOM_SMTP", smtp)
    [found] = [check for check in postroom("doctor", "--json").json["checks"] if check["name"] == "smtp"]
    assert found["level"] == "fail"
    return found["detail"], found["remedy"]


def test_a_port_at_which_nothing_listens(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:  # bound and not listening: nobody else can have it
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        detail, remedy = doctor_of(postroom, monkeypatch, f"smtp://127.0.0.1:{port}")

    assert detail == f"nothing answers at 127.0.0.1:{port} (Connection refused)"
    assert "host and port in POSTROOM_SMTP" in remedy
    assert "smtps://…:465" in remedy


def test_tls_from_the_start_at_a_port_without_it(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(talk_plainly) as port:
        detail, remedy = doctor_of(postroom, monkeypatch, f"smtps://127.0.0.1:{port}")

    assert detail == f"127.0.0.1:{port} answers, but not with TLS"
    assert "use smtp:// at this port" in remedy


def test_no_tls_at_a_port_that_begins_with_it(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(wait_for_tls) as port:
        detail, remedy = doctor_of(postroom, monkeypatch, f"smtp://127.0.0.1:{port}?greeting=1s")

    assert detail == f"127.0.0.1:{port} takes the connection and does not greet: it may be waiting for TLS"
    assert "use smtps://" in remedy


def test_a_mistyped_option_of_a_mail_server_names_the_nearest(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("worker", "--until-idle", "--smtp", "smtp://localhost?strattls=off")

    assert answer.code == 2
    assert "there is no SMTP option 'strattls'; did you mean starttls?" in answer.err


@pytest.mark.parametrize("option", ["--databse", "--jsn", "--statsu"])
def test_a_mistyped_option_of_a_command_names_the_nearest(postroom: CommandLine, option: str) -> None:
    answer = postroom("list", option, "x")

    assert answer.code == 2
    assert {"--databse": "--database", "--jsn": "--json", "--statsu": "--status"}[option] in answer.err


AS_NOBODY = """
import os, sys
from postroom.cli import main
from postroom import Outbox
with Outbox("sqlite:///" + sys.argv[1] + "/mine.db") as outbox:  # what is needed is imported before it is out of reach
    outbox.migrate(); outbox.counts()
try:
    sys.argv = ["postroom", "stats", "--database", "sqlite:///" + sys.argv[1] + "/mine.db"]
    main()
except SystemExit:
    pass
import postroom.store.sqlite.rights
import pwd
os.setgroups([]); os.setgid(NOBODY); os.setuid(NOBODY)
sys.argv = ["postroom", *COMMAND]
main()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that everybody can get to."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def run_as_nobody(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    if os.geteuid() != 0:
        pytest.fail("this test becomes another user: run it as root")
    program = AS_NOBODY.replace("COMMAND", repr(list(command))).replace("NOBODY", str(NOBODY))
    with tempfile.TemporaryDirectory() as aside:
        arguments = [sys.executable, "-c", program, aside]
        return subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize(("mode", "cannot"), [(0o644, "written"), (0o600, "read")], ids=["read-only", "unreadable"])
def test_a_file_of_somebody_else_is_named_with_its_owner(folder: Path, mode: int, cannot: str) -> None:
    file = folder / "app.db"
    with Outbox(f"sqlite:///{file}") as outbox:
        outbox.migrate()
    file.chmod(mode)

    answer = run_as_nobody(folder, "stats", "--database", f"sqlite:///{file}")

    assert answer.returncode == 3
    assert f"the outbox {file} cannot be {cannot} by nobody: {file} belongs to root" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_folder_of_somebody_else_is_named_with_its_owner(folder: Path) -> None:
    (folder / "closed").mkdir(mode=0o700)

    answer = run_as_nobody(folder, "stats", "--database", f"sqlite:///{folder}/closed/app.db")

    assert answer.returncode == 3
    assert f"{folder}/closed belongs to root" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("missing", "command", "extra"),
    [("fastapi", "web --dev --port 0", "web"), ("pamqp", "scheduler", "rabbitmq")],
)
def test_a_command_without_its_extra_says_what_to_install(
    outbox: Outbox, sqlite_url: str, missing: str, command: str, extra: str
) -> None:
    arguments = ["postroom", *command.split(), "--database", sqlite_url]
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = {arguments!r}\nfrom postroom.cli import main; main()"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert answer.returncode == 2, answer.stderr
    assert f"pip install 'postroom[{extra}]'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_sending_inside_a_transaction_says_what_to_use_instead(outbox: Outbox) -> None:
    with outbox.transaction() as connection:
        for verb in (outbox.send, outbox.send_soon):
            with pytest.raises(TypeError, match=r"cannot be rolled back; use enqueue\(email, connection=…\)"):
                verb(EMAIL, connection=connection)  # type: ignore[call-arg]


async def test_awaiting_it_inside_a_transaction_says_the_same(outbox: Outbox, sqlite_url: str) -> None:
    async with AsyncOutbox(sqlite_url) as asynchronous:
        with pytest.raises(TypeError, match="use enqueue"):
            await asynchronous.send(EMAIL, connection=object())  # type: ignore[call-arg]


def shown(table: object) -> str:
    console = Console(width=200, force_terminal=False)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_what_was_noted_in_a_history_is_shown_without_brackets() -> None:
    detail = {"ramp": {"day": 3, "limits": {"a": 1}}, "recipients": ["a@x.org", "b@x.org"], "dry_run": True, "none": {}}
    entry = HistoryEntry(at=datetime.now(UTC), what="noted", attempt=1, actor=None, detail=detail)

    text = shown(history_table([entry]))

    assert "ramp day 3; limits a 1, recipients a@x.org, b@x.org, dry run yes" in text
    assert not set("{}[]'") & set(text)


def test_a_way_out_that_cannot_be_reached_is_not_called_open() -> None:
    route = RouteView(
        name="default", state=BreakerState.OPEN, reason="no", since=None, next_probe_at=None, held=False, server="mx:25"
    )

    text = shown(routes_table([route]))

    assert "unreachable" in text
    assert "open" not in text


def test_an_outbox_that_was_pruned_is_not_told_that_it_never_had_any(postroom: CommandLine, outbox: Outbox) -> None:
    enqueue_sent(outbox)
    outbox.prune(older_than="0s")

    answer = postroom("list")

    assert answer.code == 0
    assert "The outbox has no emails any more: 1 pruned." in answer.err


@pytest.mark.parametrize(
    ("columns", "headings"),
    [
        (60, "id status to"),
        (80, "id status to subject"),
        (120, "id status to subject next tries enqueued"),
    ],
)
def test_a_list_has_the_columns_that_fit_and_whole_ids(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch, columns: int, headings: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ids = [enqueue(outbox, to="somebody.with.a.long.name@subdomain.example.org", subject="A long story " * 9)]
    ids += [enqueue(outbox)]

    lines = postroom("list").out.splitlines()

    assert lines[0].split() == headings.split()
    assert [line.split()[0] for line in lines[2:]] == ids[::-1]
    assert all(len(line) <= columns for line in lines)
