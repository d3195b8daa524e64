"""`postroom returns`: taking in on the command line, and looking at what was taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom import Email, Outbox
from postroom.store.claims import claim, settle
from postroom.store.contract import Settlement
from postroom.vocabulary import EmailId, Status
from tests.cli.conftest import CommandLine
from tests.returns.intake.post import bounce, maildir, reply


@pytest.fixture
def ours(outbox: Outbox) -> EmailId:
    """An email to Ada that was sent."""
    from datetime import timedelta

    id = outbox.enqueue(Email(to="ada@example.org", subject="Hi", text="Hello")).id
    [held] = outbox.database.run(claim(worker="w", lease=timedelta(minutes=1), urgent=1, normal=0, bulk=0))
    outbox.database.run(settle([Settlement(claim=held.claim, status=Status.SENT, attempts=1)]))
    return id


def test_what_came_of_a_message_is_told_without_addresses(postroom: CommandLine, outbox: Outbox, ours: EmailId) -> None:
    report = bounce(about=outbox.get(ours).message_id)
    first, again = postroom("returns", input=report), postroom("returns", input=report)

    assert (first.code, first.out) == (0, f"bounced: permanent 550 5.1.1, email {ours}, mailed no more\n")
    assert (again.code, again.out) == (0, "bounced: known already\n")


def test_programs_are_told_everything(postroom: CommandLine, outbox: Outbox, ours: EmailId) -> None:
    [recipient] = postroom("returns", "--json", input=bounce(about=outbox.get(ours).message_id)).json["recipients"]

    assert (recipient["address"], recipient["class"], recipient["status"]) == ("ada@example.org", "permanent", "5.1.1")
    assert (recipient["code"], recipient["email_id"], recipient["suppressed"]) == (550, ours, True)


def test_what_came_back_is_shown_beside_the_recipient_and_in_the_history(
    postroom: CommandLine, outbox: Outbox, ours: EmailId
) -> None:
    postroom("returns", input=bounce(about=outbox.get(ours).message_id))
    shown, told = postroom("show", ours).out, postroom("show", ours, "--json").json
    events = postroom("events", "--of", "bounced", "--json").out

    assert "bounced: there is no such mailbox (550 5.1.1)" in shown
    assert told["recipients"][0]["returned"]["bounce_class"] == "permanent"
    assert told["history"][-1]["what"] == "bounced"
    assert ours in events


def test_files_are_taken_in(postroom: CommandLine, outbox: Outbox, ours: EmailId, tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    about = outbox.get(ours).message_id
    for file, message in zip(files, (bounce(about=about), reply(about=about)), strict=True):
        file.write_bytes(message)

    assert len(postroom("returns", *map(str, files)).out.splitlines()) == 2
    assert [entry.what for entry in outbox.get(ours).history] == ["bounced", "replied"]


def test_what_is_kept_is_listed_and_read_again(postroom: CommandLine, outbox: Outbox, ours: EmailId) -> None:
    junk = b"Subject: what is this\r\n\r\n\x1b[2J\0"
    postroom("returns", input=bounce(about=outbox.get(ours).message_id))
    postroom("returns", input=junk)
    everything = postroom("returns", "--list", "--json").json["returns"]
    [unclear] = postroom("returns", "--list", "--unclear", "--json").json["returns"]
    older = postroom("returns", "--list", "--json", "--before", unclear["id"]).json["returns"]

    assert [each["what"] for each in everything] == ["unreadable", "bounced"]
    assert (unclear["what"], unclear["email_id"]) == ("unreadable", None)
    assert [each["class"] for each in older] == ["permanent"]
    assert postroom("returns", "--source", unclear["id"]).out.encode() == junk.replace(b"\r\n", b"\n")
    assert "unreadable" in postroom("returns", "--list").out


def test_the_list_is_narrowed_as_on_the_page_of_it(postroom: CommandLine, outbox: Outbox, ours: EmailId) -> None:
    postroom("returns", input=bounce(about=outbox.get(ours).message_id))
    postroom("returns", input=bounce(recipient="eve@example.org", number=2))

    def listed(*options: str) -> list[str]:
        found = postroom("returns", "--list", "--json", *options).json["returns"]
        return [each["address"] for each in found]

    assert listed() == listed("--kind", "bounced") == ["eve@example.org", "ada@example.org"]
    assert listed("--about", "Ada@Example.org") == listed("--about", ours) == ["ada@example.org"]
    assert listed("--about", "eve@example.org", "--unclear") == ["eve@example.org"]
    assert postroom("returns", "--list", "--kind", "replied").err == "Nothing matches.\n"
    first = postroom("returns", "--list", "--limit", "1", "--json").json
    assert [each["address"] for each in first["returns"]] == ["eve@example.org"]
    assert listed("--before", first["next"]) == ["ada@example.org"]


def test_where_nothing_came_back_that_is_said(postroom: CommandLine, outbox: Outbox) -> None:
    assert postroom("returns", "--list").err == "Nothing came back so far.\n"
    assert postroom("returns", "--list", "--unclear").err == "Nothing is unclear.\n"
    assert postroom("returns", "--source", EmailId("0198c5b2-0000-7000-8000-000000000000")).code == 1


@pytest.mark.parametrize("options", [("--source", "abc"), ("--list", "--before", "abc")])
def test_what_is_no_id_of_a_return_is_told_where_those_are_shown(
    postroom: CommandLine, outbox: Outbox, options: tuple[str, ...]
) -> None:
    told = postroom("returns", *options)

    assert (told.code, "`postroom returns --list` shows ids" in told.err) == (2, True)


def test_a_maildir_is_taken_in(postroom: CommandLine, outbox: Outbox, tmp_path: Path) -> None:
    box = maildir(tmp_path / "box", bounce(), b"junk")
    told = postroom("returns", "--maildir", str(box))

    assert (told.code, len(told.out.splitlines())) == (0, 2)


@pytest.mark.parametrize(
    "options",
    [
        ("--watch",),
        ("--accept-domain", "example.org"),
        ("--maildir", "box", "--lmtp", "2424"),
        ("--maildir", "box", "--dry-run"),
        ("--list", "--maildir", "box"),
        ("--list", "--source", "x"),
        ("--list", "--kind", "nonsense"),
        ("--lmtp", "somewhere"),
        ("--lmtp", "2424"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(
    postroom: CommandLine, outbox: Outbox, options: tuple[str, ...]
) -> None:
    told = postroom("returns", *options)

    assert (told.code, len(told.err.splitlines())) == (2, 1)


def test_the_doctor_says_whether_return_addresses_are_signed(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> list[str]:
        checks = postroom("doctor", "--json").json["checks"]
        return [each["level"] for each in checks if each["name"] == "return address"]

    assert found() == []
    monkeypatch.setenv("POSTROOM_RETURN_ADDRESS", "bounces@example.org")
    assert found() == ["warn"]
    monkeypatch.setenv("POSTROOM_SECRET", "s" * 32)
    assert found() == ["ok"]
