"""Passwords are never shown."""

from __future__ import annotations

import json
import logging

import pytest

from postroom.cli.logs import write_logs
from postroom.cli.problems import tell
from postroom.cli.secrets import masked, masked_url


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
