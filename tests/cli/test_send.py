"""send."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postroom import OnDoubt, Outbox, Priority
from tests.cli.conftest import CommandLine
from tests.sealing.mailbox import letter_in_box


def test_a_route_is_asked_for_by_name_and_an_unknown_one_is_told(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_ROUTES__BACKUP__TRANSPORT", "smtp://127.0.0.1:1")
    email = ("send", "--to", "ada@example.org", "--text", "Hello")

    receipt = postroom(*email, "--route", "backup", "--json").json
    mistaken = postroom(*email, "--route", "backpu")

    assert outbox.get(receipt["id"]).route == "backup"
    assert (mistaken.code, "backup" in mistaken.err) == (2, True)


def test_an_email_is_enqueued_from_options(postroom: CommandLine, outbox: Outbox, tmp_path: Path) -> None:
    report = tmp_path / "report.pdf"
    report.write_bytes(b"%PDF-1.7")

    receipt = postroom(
        "send", "--to", "Ada <ada@example.org>", "--to", "bo@example.org", "--cc", "cy@example.org",
        "--bcc", "di@example.org", "--from", "me@example.org", "--reply-to", "desk@example.org", "--subject", "Hi",
        "--text", "Hello", "--html", "<p>Hello</p>", "--attach", str(report), "--header", "X-Trip: 7",
        "--tag", "trip", "--kind", "memo", "--workspace", "shop", "--priority", "urgent", "--policy", "quick",
        "--on-doubt", "hold", "--sensitive", "--route", "default", "--queue", "--json",
    ).json  # fmt: skip

    email = outbox.get(receipt["id"])
    letter = outbox.database.run(letter_in_box(receipt["id"], outbox.rules.keyring), writes=False)
    assert [recipient.address.partition("@")[0] for recipient in email.recipients] == ["ada", "bo", "cy", "di"]
    assert (email.priority, email.kind, email.workspace) == (Priority.URGENT, "memo", "shop")
    assert (email.on_doubt, email.sensitive, email.tags) == (OnDoubt.HOLD, True, ("trip",))
    assert email.policy.startswith("quick")
    assert letter.sender_address == "me@example.org"
    assert letter.reply_to[0].address == "desk@example.org"
    assert letter.headers == (("X-Trip", "7"),)
    assert (letter.text, letter.html) == ("Hello", "<p>Hello</p>")
    assert [(each.filename, each.content) for each in letter.attachments] == [("report.pdf", b"%PDF-1.7")]


def test_what_is_piped_in_is_the_text(postroom: CommandLine, outbox: Outbox) -> None:
    receipt = postroom("send", "--to", "ada@example.org", "--subject", "Log", "--json", input="Grüße\n").json

    assert outbox.letter(receipt["id"]).text == "Grüße\n"


def test_bodies_come_from_files(postroom: CommandLine, outbox: Outbox, tmp_path: Path) -> None:
    (tmp_path / "body.html").write_text("<p>Grüße</p>", "utf-8")

    receipt = postroom("send", "--to", "ada@example.org", "--html-file", "body.html", "--json").json

    letter = outbox.letter(receipt["id"])
    assert letter.html == "<p>Grüße</p>"
    assert letter.text is not None
    assert "Grüße" in letter.text


def test_a_second_email_under_a_key_is_told_to_be_a_duplicate(postroom: CommandLine, outbox: Outbox) -> None:
    arguments = ("send", "--to", "ada@example.org", "--key", "memo-7", "--json")

    first = postroom(*arguments, "--text", "Hello").json
    same = postroom(*arguments, "--text", "Hello").json
    other = postroom(*arguments, "--text", "Good bye").json

    assert first["duplicate"] is False
    assert same == {"id": first["id"], "duplicate": True, "content_differs": False}
    assert other == {"id": first["id"], "duplicate": True, "content_differs": True}
    assert outbox.counts()["pending"] == 1


def test_times_are_lengths_from_now_or_moments(postroom: CommandLine, outbox: Outbox) -> None:
    before = datetime.now(UTC)

    soon = postroom("send", "--to", "a@example.org", "--text", "x", "--not-before", "2h", "--json").json
    fixed = postroom(
        "send", "--to", "a@example.org", "--text", "x", "--not-before", "2099-05-17T09:30+02:00", "--json"
    ).json

    due = outbox.get(soon["id"]).next_attempt_at
    assert due is not None
    assert before + timedelta(hours=2) <= due <= datetime.now(UTC) + timedelta(hours=2)
    assert outbox.get(fixed["id"]).next_attempt_at == datetime(2099, 5, 17, 7, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("--text", "x"), "at least one address"),
        (("--to", "ada at example", "--text", "x"), "to: "),
        (("--to", "a@example.org", "--text", "x", "--text-file", "y"), "one or the other"),
        (("--to", "a@example.org", "--text-file", "absent.txt"), "absent.txt cannot be read"),
        (("--to", "a@example.org", "--text", "x", "--attach", "absent.pdf"), "absent.pdf cannot be read"),
        (("--to", "a@example.org", "--text", "x", "--header", "X-Trip"), "'Name: value'"),
        (("--to", "a@example.org", "--text", "x", "--subject", "Hi\r\nBcc: eve@example.org"), "subject"),
        (("--to", "a@example.org", "--text", "x", "--priority", "soon"), "'bulk'"),
        (("--to", "a@example.org", "--text", "x", "--policy", "eager"), "patient"),
        (("--to", "a@example.org", "--text", "x", "--not-before", "soon"), "--not-before"),
    ],
)
def test_what_cannot_be_accepted_is_refused_before_anything_is_written(
    postroom: CommandLine, outbox: Outbox, arguments: tuple[str, ...], remedy: str
) -> None:
    answer = postroom("send", *arguments)

    assert answer.code == 2
    assert remedy in answer.err
    assert answer.err.count("\n") == 1
    assert outbox.conservation().enqueued == 0


def test_an_email_can_be_made_one_that_its_reader_can_stop(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    email = ("send", "--to", "ada@example.org", "--text", "News", "--unsubscribable", "--json")
    lacking = postroom(*email)
    monkeypatch.setenv("POSTROOM_SECRET", "forty characters that are by no means a secret")
    monkeypatch.setenv("POSTROOM_PUBLIC_URL", "https://mail.example.org")
    receipt = postroom(*email).json

    assert (lacking.code, "POSTROOM_PUBLIC_URL" in lacking.err) == (2, True)
    assert outbox.get(receipt["id"]).unsubscribable
    assert [name for name, _ in outbox.letter(receipt["id"]).headers] == ["List-Unsubscribe", "List-Unsubscribe-Post"]
