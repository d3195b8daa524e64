"""The command as a script meets it: a process with a code, two streams and no terminal, or with one."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from postroom import Email, Outbox, Status
from tests.cli.conftest import enqueue

COMMAND = [sys.executable, "-m", "postroom.cli"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def answer_on_a_terminal(reply: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run with a terminal for everything, type the reply, and give back the code and all that was shown."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments], env={**os.environ, **environment}, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        os.write(ours, f"{reply}\n".encode())
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # Linux says so when the last user of a terminal has gone
                break
            if not piece:
                break
            shown += piece
        code = process.wait()
    os.close(ours)
    return code, shown.decode()


def test_programs_get_pure_json_on_standard_output(outbox: Outbox, sqlite_url: str) -> None:
    id = enqueue(outbox, subject="Grüße 🌷", key="memo-7")

    again = run(
        "send", "--to", "ada@example.org", "--text", "Hello", "--key", "memo-7", "--json", "--log-level", "debug",
        POSTROOM_DATABASE=sqlite_url,
    )  # fmt: skip

    assert again.returncode == 0
    assert json.loads(again.stdout)["id"] == id
    events = [json.loads(line) for line in again.stderr.splitlines()]
    assert all({"event", "level", "timestamp"} <= event.keys() for event in events)
    assert any(event["logger"] == "postroom" for event in events), "the duplicate is logged"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("list",), 0),
        (("show", "01890000-0000-7000-8000-000000000000"), 1),
        (("cancel", "--all"), 2),
        (("list", "--database", "postgresql://ada:s3cret@127.0.0.1:1/app"), 3),
    ],
)
def test_exit_codes_can_be_trusted_and_nothing_ends_in_a_traceback(
    outbox: Outbox, sqlite_url: str, arguments: tuple[str, ...], code: int
) -> None:
    enqueue(outbox)

    result = run(*arguments, POSTROOM_DATABASE=sqlite_url)

    assert result.returncode == code
    assert result.stderr.count("\n") == (0 if code == 0 else 1)
    assert "Traceback" not in result.stderr
    assert "s3cret" not in result.stderr


def test_settings_come_from_the_named_file(outbox: Outbox, sqlite_url: str, tmp_path: Path) -> None:
    enqueue(outbox)
    (tmp_path / "mail.toml").write_text(f'database = "{sqlite_url}"\n')

    result = run("stats", "--json", "--config", "mail.toml")

    assert json.loads(result.stdout)["counts"]["pending"] == 1


def test_a_person_is_asked_and_may_say_no(outbox: Outbox, sqlite_url: str) -> None:
    ids = [enqueue(outbox) for _ in range(2)]

    code, shown = answer_on_a_terminal("n", "cancel", "--all", POSTROOM_DATABASE=sqlite_url)

    assert code == 1
    assert "cancel 2 emails (2 pending)" in shown
    assert "Nothing was changed." in shown
    assert {outbox.get(id).status for id in ids} == {Status.PENDING}


def test_a_person_is_asked_and_may_say_yes(outbox: Outbox, sqlite_url: str) -> None:
    ids = [enqueue(outbox) for _ in range(2)]

    code, shown = answer_on_a_terminal("y", "cancel", "--all", POSTROOM_DATABASE=sqlite_url)

    assert code == 0
    assert "cancelled 2 emails" in shown
    assert {outbox.get(id).status for id in ids} == {Status.CANCELLED}


def test_on_a_terminal_prune_asks_as_well(outbox: Outbox, sqlite_url: str) -> None:
    outbox.cancel(enqueue(outbox))

    code, shown = answer_on_a_terminal("n", "prune", "--older-than", "0s", POSTROOM_DATABASE=sqlite_url)

    assert code == 1
    assert "remove 1 email that finished more than 0s ago" in shown
    assert outbox.counts()["cancelled"] == 1


def test_a_reader_who_has_seen_enough_is_no_problem(outbox: Outbox, sqlite_url: str) -> None:
    outbox.enqueue_many(Email(to="ada@example.org") for _ in range(200))  # more JSON than a pipe holds

    with subprocess.Popen(
        [*COMMAND, "list", "--json", "--limit", "200"],
        env={**os.environ, "POSTROOM_DATABASE": sqlite_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"{\n"
        process.stdout.close()
        complaint = process.stderr.read()

    assert complaint == b""
