"""Real programs: a worker that sends, programs that take in what came back, some of them killed in the middle."""

from __future__ import annotations

import json
import smtplib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postroom import Email, EmailId, Outbox
from postroom.store.returns import returns
from postroom.store.suppressions import suppressions
from postroom.testing import ScriptedSmtp
from postroom.vocabulary import Return
from tests.returns.intake.post import RETURN_ADDRESS, bounce, maildir, postroom, surroundings

KILLED = -9
TRY_AGAIN = 75


def history(outbox: Outbox, id: EmailId) -> list[str]:
    return [entry.what for entry in outbox.get(id).history]


@contextmanager
def listening(database: str, *, ends: int = 0, **more: str) -> Iterator[int]:
    """`postroom returns --lmtp`, and the port it has found."""
    command = [sys.executable, "-m", "postroom", "returns", "--lmtp", "127.0.0.1:0"]
    with subprocess.Popen(
        command, env=surroundings(database, **more), stderr=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stderr is not None
        try:
            yield int(running.stderr.readline().decode().rpartition(":")[2])
        finally:
            running.terminate()
            _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (ends, b"")


def test_the_whole_journey(outbox: Outbox, server: ScriptedSmtp, store_url: str, tmp_path: Path) -> None:
    """A worker sends; the bounce comes in by LMTP, and again by standard input and from a Maildir."""
    id = outbox.enqueue(Email(to="ada@example.org", subject="Hi", text="Hello"), workspace="hotel").id
    worked = postroom(store_url, "worker", "--until-idle", POSTROOM_SMTP=server.url)
    assert worked.returncode == 0, worked.stderr
    [sent] = server.messages
    report = bounce(to=sent.sender)
    with listening(store_url) as port, smtplib.LMTP("127.0.0.1", port) as client:
        client.sendmail("", [sent.sender], report)
    piped = postroom(store_url, "returns", "--json", message=b"From MAILER-DAEMON Mon Mar  9\n" + report)
    box = maildir(tmp_path / "box", b"Return-Path: <>\r\nDelivered-To: x@y\r\n" + report)
    found = postroom(store_url, "returns", "--maildir", str(box))

    assert (piped.returncode, json.loads(piped.stdout)["duplicate"]) == (0, True)
    assert (found.returncode, found.stdout) == (0, b"bounced: known already\n")
    assert history(outbox, id) == ["bounced"]
    returned = outbox.get(id).recipients[0].returned
    assert returned is not None
    assert returned.what is Return.BOUNCED
    [entry] = outbox.database.run(suppressions(limit=9))
    assert (entry.address, entry.workspace, entry.email_id) == ("ada@example.org", "hotel", id)
    assert outbox.conservation().holds


def test_killed_before_the_commit_nothing_is_there_and_the_next_try_has_it(
    outbox: Outbox, ours: EmailId, store_url: str
) -> None:
    report = bounce(about=outbox.get(ours).message_id)
    killed = postroom(store_url, "returns", message=report, POSTROOM_FAILPOINT="returns_before_commit")
    assert (killed.returncode, history(outbox, ours)) == (KILLED, [])
    again = postroom(store_url, "returns", message=report)

    assert (again.returncode, history(outbox, ours)) == (0, ["bounced"])


def test_killed_after_the_commit_it_is_one_event_when_it_comes_again(
    outbox: Outbox, ours: EmailId, store_url: str
) -> None:
    report = bounce(about=outbox.get(ours).message_id)
    killed = postroom(store_url, "returns", message=report, POSTROOM_FAILPOINT="returns_committed")
    assert (killed.returncode, history(outbox, ours)) == (KILLED, ["bounced"])
    again = postroom(store_url, "returns", message=report)

    assert (again.returncode, again.stdout) == (0, b"bounced: known already\n")
    assert history(outbox, ours) == ["bounced"]


def test_killed_between_the_commit_and_the_move_a_file_is_one_event(
    outbox: Outbox, ours: EmailId, store_url: str, tmp_path: Path
) -> None:
    box = maildir(tmp_path / "box", bounce(about=outbox.get(ours).message_id), b"junk")
    options = ("returns", "--maildir", str(box))
    killed = postroom(store_url, *options, POSTROOM_FAILPOINT="returns_before_move")
    assert (killed.returncode, len(list((box / "new").iterdir()))) == (KILLED, 1)
    again = postroom(store_url, *options)

    assert again.returncode == 0, again.stderr
    assert (history(outbox, ours), len(list((box / ".taken" / "cur").iterdir()))) == (["bounced"], 2)
    assert len(outbox.database.run(returns(limit=9))) == 2


def test_two_who_empty_one_maildir_take_each_message_once(
    outbox: Outbox, ours: EmailId, store_url: str, tmp_path: Path
) -> None:
    about = outbox.get(ours).message_id
    box = maildir(tmp_path / "box", *(bounce(about=about, number=number) for number in range(30)))
    command = [sys.executable, "-m", "postroom", "returns", "--maildir", str(box), "--json"]
    both = [subprocess.Popen(command, env=surroundings(store_url), stdout=subprocess.PIPE) for _ in range(2)]
    told = [json.loads(line) for each in both for line in each.communicate(timeout=120)[0].splitlines()]

    assert [each.returncode for each in both] == [0, 0]
    assert sum(not each["duplicate"] for each in told) == 30
    assert len(history(outbox, ours)) == 30
    assert len(list((box / ".taken" / "cur").iterdir())) == 30


def test_killed_before_it_could_say_so_a_server_has_it_once_when_it_is_handed_over_again(
    outbox: Outbox, ours: EmailId, store_url: str
) -> None:
    report = bounce(about=outbox.get(ours).message_id)
    with listening(store_url, ends=KILLED, POSTROOM_FAILPOINT="returns_committed") as port:
        with pytest.raises(smtplib.SMTPServerDisconnected), smtplib.LMTP("127.0.0.1", port) as client:
            client.sendmail("", [RETURN_ADDRESS], report)
        assert history(outbox, ours) == ["bounced"]
    with listening(store_url) as port, smtplib.LMTP("127.0.0.1", port) as client:
        client.sendmail("", [RETURN_ADDRESS], report)

    assert history(outbox, ours) == ["bounced"]


def test_a_maildir_is_watched_until_somebody_says_stop(
    outbox: Outbox, ours: EmailId, store_url: str, tmp_path: Path
) -> None:
    box = maildir(tmp_path / "box")
    command = [sys.executable, "-m", "postroom", "returns", "--maildir", str(box), "--watch", "--interval", "0.1s"]
    with subprocess.Popen(command, env=surroundings(store_url), stdout=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        for number in range(2):
            waiting = box / "tmp" / str(number)
            waiting.write_bytes(bounce(about=outbox.get(ours).message_id, number=number))
            waiting.rename(box / "new" / waiting.name)
            assert watching.stdout.readline().startswith(b"bounced: permanent")
        watching.terminate()

    assert (watching.returncode, history(outbox, ours)) == (0, ["bounced", "bounced"])


@pytest.mark.parametrize(
    "database", ["sqlite:////nowhere/at/all.db", "sqlite:///not-there.db", "postgresql://127.0.0.1:1/x", "mysql://x"]
)
def test_whatever_is_wrong_the_mail_system_is_asked_to_keep_the_message(database: str) -> None:
    piped = postroom(database, "returns", message=bounce())

    assert (piped.returncode, piped.stdout) == (TRY_AGAIN, b"")
    assert len(piped.stderr.splitlines()) == 1


def test_a_message_longer_than_anybody_reads_is_read_to_its_end(store_url: str) -> None:
    piped = postroom(store_url, "returns", "--json", message=bounce() + b"x" * 12_000_000)

    assert (piped.returncode, json.loads(piped.stdout)["kind"]) == (0, "bounced")
