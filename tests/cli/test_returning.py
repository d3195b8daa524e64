"""returns --dry-run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine
from tests.returns.reading.mailbag import MAILS, ORIGINAL, octets_of


def test_a_message_on_standard_input_is_told_for_programs(postroom: CommandLine) -> None:
    told = postroom("returns", "--dry-run", "--json", input=octets_of("postfix-two")).json

    assert told == {
        "kind": "bounced",
        "recipients": [
            {
                "address": "ada@example.org",
                "kind": "bounced",
                "class": "permanent",
                "status": "5.1.1",
                "code": 550,
                "text": "550 5.1.1 <ada@example.org>: no such person here",
            },
            {
                "address": "bo@example.org",
                "kind": "bounced",
                "class": "transient",
                "status": "5.2.2",
                "code": 552,
                "text": "552 5.2.2 mailbox is over quota",
            },
        ],
        "message_id": "<postfix-two@mx.example.net>",
        "about": [ORIGINAL],
        "until": None,
        "reader": "dsn",
        "problem": "",
        "feedback": "",
    }


def test_several_files_are_a_list_with_their_names(postroom: CommandLine) -> None:
    names = [str(MAILS / "away-english.eml"), str(MAILS / "complaint.eml")]

    first, second = postroom("returns", "--dry-run", "--json", *names).json

    assert [first["file"], second["file"]] == names
    assert (first["kind"], first["until"]) == ("autoresponded", "2026-11-30")
    assert (second["kind"], second["feedback"], second["recipients"][0]["class"]) == ("complained", "abuse", None)


def test_who_fared_better_than_the_worst_is_told_so(postroom: CommandLine) -> None:
    mixed = octets_of("postfix-two").replace(b"Action: failed\nStatus: 5.2.2", b"Action: delayed\nStatus: 4.2.2")

    told = postroom("returns", "--dry-run", "--json", input=mixed).json
    shown = postroom("returns", "--dry-run", input=mixed).out

    kinds = [(each["address"], each["kind"]) for each in told["recipients"]]
    assert kinds == [("ada@example.org", "bounced"), ("bo@example.org", "deferred")]
    assert "recipient  ada@example.org permanent 550 5.1.1" in shown
    assert "recipient  bo@example.org deferred transient" in shown


def test_people_are_told_line_by_line(postroom: CommandLine) -> None:
    answer = postroom("returns", "--dry-run", str(MAILS / "postfix-two.eml"))

    assert answer.code == 0
    assert answer.out.splitlines()[0].split() == ["kind", "bounced"]
    assert "recipient  bo@example.org transient 552 5.2.2 552 5.2.2 mailbox is over quota" in answer.out


def test_a_message_cannot_steer_the_terminal(postroom: CommandLine) -> None:
    hostile = octets_of("postfix-two").replace(b"no such person here", b"no such person \x1b[2J\x07")

    answer = postroom("returns", "--dry-run", input=hostile)

    assert (answer.code, "\x1b" in answer.out, "\x07" in answer.out) == (0, False, False)


def test_what_is_unreadable_is_no_failure_of_the_command(postroom: CommandLine) -> None:
    answer = postroom("returns", "--dry-run", "--json", input=b"")

    assert (answer.code, answer.json["kind"], answer.json["problem"]) == (0, "unreadable", "it is empty")


@pytest.mark.parametrize("settings", ["", "database = 7\nnonsense = [["])
def test_nothing_is_touched_and_no_settings_are_read(postroom: CommandLine, tmp_path: Path, settings: str) -> None:
    (tmp_path / "postroom.toml").write_text(settings)
    before = sorted(tmp_path.rglob("*"))

    answer = postroom("returns", "--dry-run", "--json", input=octets_of("reply"))

    assert (answer.code, answer.json["kind"]) == (0, "replied")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_that_is_not_there_is_told(postroom: CommandLine) -> None:
    answer = postroom("returns", "--dry-run", "nowhere.eml")

    assert (answer.code, "nowhere.eml" in answer.err, "Traceback" in answer.err) == (1, True, False)


def test_without_a_dry_run_a_database_is_needed_and_the_message_is_to_come_again(postroom: CommandLine) -> None:
    answer = postroom("returns", input=octets_of("reply"))

    assert (answer.code, "postroom migrate" in answer.err, answer.out) == (75, True, "")
