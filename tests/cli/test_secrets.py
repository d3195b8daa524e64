"""Passwords are never shown."""

from __future__ import annotations

import json
import logging
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
