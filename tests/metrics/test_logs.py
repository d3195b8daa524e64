"""One line for every attempt, and no secret in any line, traceback or URL (B6)."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from postroom import EmailId, Outbox, RetryPolicy
from postroom.claim.meter import TallyMeter
from postroom.claim.route import Route
from postroom.cli import secrets
from postroom.cli.logs import write_logs
from postroom.cli.secrets import keep_secret, masked, masked_value
from postroom.cli.target import LogFormat
from postroom.cli.telling import Telling
from postroom.config import load
from postroom.logs import logger
from postroom.send.contract import Report
from postroom.send.smtp.pool import SmtpTransport
from postroom.settle.attempt import Outcome
from postroom.store.open import open_async_database
from postroom.testing import ScriptedSmtp
from postroom.vocabulary import Status
from postroom.work.telling import tell_attempt
from postroom.work.worker import Worker, WorkerSettings
from tests.store.journey import email
from tests.work.office import until

PASSWORD = "hunter2-is-long"
ID = EmailId("01890000-0000-7000-8000-000000000000")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


async def attempt_everything(url: str, folder: Path) -> dict[str, EmailId]:
    """An email that is sent, one that dies, and one that is tried twice; their ids."""
    policy = RetryPolicy(steps=["0s"], max_attempts=5, name="once more")
    with ScriptedSmtp() as server, Outbox(url) as outbox:
        server.script(at="rcpt", argument="nobody@example.org", reply="550 5.1.1 no nobody@example.org here")
        server.script(at="rcpt", argument="later@example.org", reply="451 4.7.1 greylisted", times=1)
        names = ("ada", "nobody", "later")
        ids = {name: outbox.enqueue(email(to=f"{name}@example.org"), policy=policy).id for name in names}
        database = open_async_database(url)
        settings = WorkerSettings(until_idle=True, journals=folder, poll=timedelta(seconds=1))
        await Worker(database, [Route.over(SmtpTransport(server.url))], settings).run()
        await database.close()
    return ids


async def test_every_attempt_is_one_line_with_id_attempt_outcome_and_milliseconds(
    migrated_sqlite_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logs("debug")

    ids = await attempt_everything(migrated_sqlite_url, tmp_path)

    told = [line for line in lines(capsys) if line.get("email_id") in ids.values()]
    facts = {(line["email_id"], line["attempt"], line["outcome"], line["level"], line["phase"]) for line in told}
    assert facts == {
        (ids["ada"], 1, "sent", "debug", "dot"),
        (ids["nobody"], 1, "dead", "warning", "rcpt"),
        (ids["later"], 1, "retrying", "info", "rcpt"),
        (ids["later"], 2, "sent", "debug", "dot"),
    }
    assert len(told) == 4
    assert all(line["milliseconds"] > 0 for line in told)
    assert {line["code"] for line in told if line["outcome"] == "dead"} == {550}
    assert "@" not in json.dumps(told)


async def test_at_the_usual_level_success_is_silent(
    migrated_sqlite_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logs("info")

    ids = await attempt_everything(migrated_sqlite_url, tmp_path)

    told = [line for line in lines(capsys) if line.get("email_id") in ids.values()]
    assert {line["outcome"] for line in told} == {"dead", "retrying"}


def test_an_email_in_doubt_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs("info")
    outcome = Outcome(
        status=Status.IN_DOUBT, due_at=None, attempts=3, takeovers=0, recipients=(),
        event={"phase": "dot", "fault": "timeout", "text": "no reply to ada@example.org", "attempt": 3},
    )  # fmt: skip

    tell_attempt(ID, outcome, Report(recipients=(), milliseconds={"mail": 1.25, "dot": 30_000.0}))

    [line] = lines(capsys)
    assert line["level"] == "warning"
    assert (line["attempt"], line["milliseconds"], line["fault"]) == (3, 30_001.2, "timeout")
    assert "text" not in line


def fail_with_the_password() -> None:
    try:
        raise ConnectionError(f"535 {PASSWORD} refused at smtp://desk:{PASSWORD}@mx.example.org:587")
    except ConnectionError as error:
        raise RuntimeError(f"could not log in with password={PASSWORD}") from error


@pytest.mark.parametrize("named", ["by the environment", "by the command"])
def test_a_password_is_masked_in_the_traceback_of_a_logged_error(
    named: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"smtp://desk:{PASSWORD}@mx.example.org:587"
    monkeypatch.setenv("POSTROOM_SMTP", url) if named == "by the environment" else keep_secret(url)
    write_logs("info")

    for speaker in (logger, logging.getLogger("some.library")):
        try:
            fail_with_the_password()
        except RuntimeError:
            speaker.error("it went wrong", exc_info=True)

    printed = capsys.readouterr().err
    first, second = (json.loads(line) for line in printed.splitlines())
    assert PASSWORD not in printed
    for line in (first, second):
        assert "RuntimeError: could not log in with password=***" in line["exception"]
        assert "ConnectionError: 535 *** refused at smtp://desk:***@mx.example.org:587" in line["exception"]
        assert "fail_with_the_password" in line["exception"]


def test_a_password_is_masked_in_the_traceback_of_an_error_that_nobody_caught() -> None:
    program = (
        "import threading\n"
        "from postroom.cli.tracebacks import mask_tracebacks\n"
        "from postroom.cli.secrets import keep_secret\n"
        f"mask_tracebacks(); keep_secret('amqp://me:{PASSWORD}@broker')\n"
        f"def fail(): raise ValueError('no {PASSWORD} here')\n"
        "thread = threading.Thread(target=fail); thread.start(); thread.join()\n"
        "fail()\n"
    )

    ended = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr.count("ValueError: no *** here") == 2
    assert PASSWORD not in ended.stderr


def test_a_password_is_masked_however_deep_it_lies(capsys: pytest.CaptureFixture[str]) -> None:
    keep_secret(f"postgresql://desk:{PASSWORD}@db/app")
    write_logs("info")

    logger.info("deep", nested={"urls": [f"redis://:{PASSWORD}@cache"]}, error=ValueError(PASSWORD), count=3)

    [line] = lines(capsys)
    assert line["nested"] == {"urls": ["redis://:***@cache"]}
    assert line["error"] == "ValueError('***')"
    assert line["count"] == 3


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("password=s3cret host=db", "password=*** host=db"),
        ("connecting (password='two words' host=db)", "connecting (password=*** host=db)"),
        ("Authorization: Bearer postroom_abcdefgh123", "Authorization: Bearer ***"),
        ("basic cable, bearer of news", "basic cable, bearer of news"),
        ("a token of friendship", "a token of friendship"),
    ],
)
def test_secrets_are_known_by_what_stands_before_them(said: str, shown: str) -> None:
    assert masked(said) == shown


def test_the_longer_of_two_secrets_is_hidden_whole() -> None:
    keep_secret("abcd", "abcd-efgh")

    assert masked("abcd-efgh and abcd") == "*** and ***"


def test_secrets_of_a_file_of_settings_are_known_to_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from postroom.cli.target import Target

    (tmp_path / "postroom.toml").write_text(f'smtp = "smtp://me:{PASSWORD}@mx:587"\nsecret = "the-key-of-codes"\n')
    monkeypatch.chdir(tmp_path)

    Target(database="sqlite:///outbox.db").settings()

    assert masked_value((PASSWORD, "the-key-of-codes")) == ["***", "***"]
    assert secrets.masked("an innocent line") == "an innocent line"


REFUSED = """
import sys
from postroom import Email, Outbox
from postroom.testing import ScriptedSmtp
{set_up}
with ScriptedSmtp() as server, Outbox(sys.argv[1], smtp=server.url, sender="desk@example.org") as outbox:
    server.script(at="rcpt", argument="nobody@example.org", reply="550 5.1.1 no such user")
    print(outbox.send(Email(to="nobody@example.org", subject="Hi", text="Hello")).id)
"""


def application(set_up: str, url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program of somebody's that sends an email which is refused."""
    program = REFUSED.format(set_up=set_up)
    return subprocess.run(
        [sys.executable, "-c", program, url], capture_output=True, text=True, check=True, cwd=folder,
        env={**os.environ, "POSTROOM_JOURNAL": str(folder / "journals")},
    )  # fmt: skip


def test_a_library_prints_nothing_by_itself(migrated_sqlite_url: str, tmp_path: Path) -> None:
    assert application("", migrated_sqlite_url, tmp_path).stderr == ""


@pytest.mark.parametrize("set_up", ["", "import logging; logging.basicConfig()"], ids=["nothing", "the plainest"])
def test_with_the_database_away_its_driver_prints_as_little(set_up: str) -> None:
    """psycopg's pool warns of every try, and Python prints warnings that nobody has said where to write."""
    program = f"""
{set_up}
from postroom import Outbox
from postroom.errors import StoreUnavailable
from postroom.store.postgres import session

session.PATIENCE = 1
with Outbox("postgresql://nobody@127.0.0.1:9/none?connect_timeout=1") as outbox:
    try:
        outbox.counts()
    except StoreUnavailable:
        print("away")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert ended.stdout == "away\n"
    assert ("error connecting in 'postroom'" in ended.stderr) == bool(set_up)
    assert set_up or not ended.stderr


def test_an_application_with_the_plainest_logging_sees_which_email_and_why(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    ran = application("import logging; logging.basicConfig()", migrated_sqlite_url, tmp_path)

    [line] = ran.stderr.splitlines()
    assert line.startswith("WARNING:postroom:email attempt failed (email_id=" + ran.stdout.strip())
    assert "outcome=dead" in line
    assert "code=550" in line
    assert "example.org" not in line


def test_fields_and_event_are_on_the_record_for_handlers_that_write_them_apart(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="postroom"):
        logger.info("email skipped", email_id=ID, why="100% certain")

    [record] = caplog.records
    assert (record.__dict__["event"], record.__dict__["email_id"]) == ("email skipped", ID)
    assert record.getMessage() == f"email skipped (email_id={ID}, why=100% certain)"


def test_an_error_that_is_logged_brings_its_traceback_to_any_handler(caplog: pytest.LogCaptureFixture) -> None:
    try:
        fail_with_the_password()
    except RuntimeError as error:
        logger.error("task failed", task="settle", exc_info=error)

    assert "fail_with_the_password" in caplog.text


@pytest.mark.parametrize(("form", "is_json"), [("text", False), ("json", True), (None, True)])
def test_lines_are_for_people_where_it_is_asked_for_and_json_where_nobody_looks(
    form: LogFormat | None, is_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logs("info", LogFormat(form) if form else None)

    logger.info("email skipped", email_id=ID, url=f"smtp://desk:{PASSWORD}@mx")

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("{") == is_json
    assert PASSWORD not in line
    if not is_json:
        assert line.endswith(f"[info     ] email skipped email_id={ID} url=smtp://desk:***@mx")


async def test_a_service_says_what_it_is_how_it_goes_and_how_it_ended(
    migrated_sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="postroom")
    settings = load(database=migrated_sqlite_url)
    meter = TallyMeter()
    routes = [Route.over(SmtpTransport("smtp://mx.example.org:2525?connections=3"))]
    telling = Telling(
        role="worker", settings=settings, routes=routes, meter=meter, interval=0.01, counts_waiting=True
    )  # fmt: skip
    with Outbox(migrated_sqlite_url) as outbox:
        outbox.enqueue(email())
    database = open_async_database(migrated_sqlite_url)
    async with telling.during(database):
        meter.sent("default", Report(recipients=(), milliseconds={}))
        await until(lambda: any(vars(record)["event"] == "at work" for record in caplog.records))
    await database.close()

    first, *between, last = (vars(record) for record in caplog.records)
    assert first["event"] == "worker started"
    assert first["routes"] == ["default: mx.example.org:2525, 3 connections"]
    assert first["database"] == migrated_sqlite_url
    assert {(line["event"], line["sent"], line["failed"], line["waiting"]) for line in between} == {
        ("at work", 1, 0, 1)
    }
    assert (last["event"], last["sent"], last["failed"]) == ("worker stopped", 1, 0)
