"""Passwords are never shown."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from postroom.cli.logs import write_logs
from postroom.cli.problems import tell
from postroom.cli.secrets import keep_secret, masked, masked_url
from postroom.cli.target import Target


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:s3cret@db/app", "postgresql://ada:***@db/app"),
        (
            "smtp://me%40example.org:p%40ss@mx:587?starttls=required",
            "smtp://me%40example.org:***@mx:587?starttls=required",
        ),
        ("postgresql://db/app?user=ada&password=s3cret", "postgresql://db/app?user=ada&password=***"),
        ("postgresql://ada:s3:cr@et@db/app", "postgresql://ada:***@db/app"),
        ("sqlite:////var/lib/app.db", "sqlite:////var/lib/app.db"),
        ("postgresql://ada:s3/cret@db/app", "postgresql://ada:***@db/app"),
        (
            "postgresql://ada:/s3?c:r#e@t%@db:5432/app?sslmode=require",
            "postgresql://ada:***@db:5432/app?sslmode=require",
        ),
        ("postgresql://ada:12345/x@db/app", "postgresql://ada:***@db/app"),
        ("smtp://me@example.org:s3/cret@mx:587", "smtp://me@example.org:***@mx:587"),
        ("amqp://:s3/cret@broker", "amqp://:***@broker"),
        ("postgresql://db/app?password=s3/c:r#e@t%2F&user=ada", "postgresql://db/app?password=***&user=ada"),
        ("smtp://mx:587?starttls=required", "smtp://mx:587?starttls=required"),
        ("postgresql://ada@db:5432/app", "postgresql://ada@db:5432/app"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert masked_url(url) == shown


def test_the_passwords_of_the_settings_are_hidden_in_any_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_SMTP", "smtp://me:p%40ssword@mx:587")

    assert masked("login as me with p@ssword (p%40ssword) refused") == "login as me with *** (***) refused"


@pytest.mark.parametrize("secret", ["whsec_C2FVsBQIhrscChlQIMV+b5==", "a key with = in it"])
def test_a_key_is_hidden_whole_although_it_has_equals_signs(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.cli.secrets._kept", set())
    keep_secret(secret)

    assert masked(f"signed with {secret}") == "signed with ***"


def test_the_password_of_a_route_is_hidden_in_any_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.cli.secrets._kept", set())
    (tmp_path / "postroom.toml").write_text('[routes.backup]\ntransport = "smtp://me:hunter22@mx"')

    Target().settings()

    assert masked("login with hunter22 refused") == "login with *** refused"


def test_problems_are_told_without_passwords(capsys: pytest.CaptureFixture[str]) -> None:
    tell("no route to postgresql://ada:s3cret@db/app\nat all")

    assert capsys.readouterr().err == "postroom: no route to postgresql://ada:***@db/app at all\n"


def test_logs_are_json_lines_without_passwords(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs("info")

    logging.getLogger("some.library").info("connecting", extra={"url": "amqp://ada:s3cret@broker"})
    logging.getLogger("some.library").debug("not asked for")

    [line] = capsys.readouterr().err.splitlines()
    event = json.loads(line)
    assert (event["event"], event["level"], event["url"]) == ("connecting", "info", "amqp://ada:***@broker")


@pytest.mark.parametrize("password", ["s3cret/pass", "s3cret:@#?%pass"])
def test_no_command_shows_a_piece_of_a_password_that_is_written_as_it_is(password: str, tmp_path: Path) -> None:
    """libpq reads the piece before a raw / as a port, and quotes it."""
    url = f"postgresql://ada:{password}@127.0.0.1:1/app"
    for command in (["doctor"], ["list"]):
        ended = subprocess.run(
            [sys.executable, "-m", "postroom.cli", *command, "--database", url],
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if not name.startswith("POSTROOM")},
            capture_output=True,
            text=True,
            check=False,
        )

        assert "s3cret" not in ended.stdout + ended.stderr
        assert "pass" not in (ended.stdout + ended.stderr).replace("password", "")


def test_a_bug_of_ours_is_shown_without_passwords(tmp_path: Path) -> None:
    program = """
import sys
from postroom.cli import main, reading
from postroom.cli.target import Target

def fall(target: Target) -> None:
    raise ValueError("postgresql://ada:hunter22/x@db/app")

reading.show = fall
sys.argv = ["postroom", "show"]
main()
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert "ValueError: postgresql://ada:***@db/app" in ended.stderr
    assert ended.stderr.count("hunter22") == 0
    assert ended.returncode == 1
