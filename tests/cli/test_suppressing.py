"""suppress add, remove, list, show, import, export."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postroom import Outbox
from postroom.operate import Operations
from tests.cli.conftest import CommandLine
from tests.cli.test_outside import answer_on_a_terminal

ADA = "ada@example.org"


@pytest.fixture(autouse=True)
def created(outbox: Outbox) -> None:
    """Every test here has an outbox to work on."""


def test_who_types_search_gets_the_list(postroom: CommandLine) -> None:
    postroom("suppress", "add", ADA)

    assert postroom("suppress", "search", "da@ex", "--json").json == postroom("suppress", "list", "--json").json


def test_an_address_is_stopped_seen_and_let_go_again_and_it_is_known_by_whom(postroom: CommandLine) -> None:
    added = postroom("suppress", "add", "Ada <ADA@example.org>", "--evidence", "asked on the phone")
    [listed] = postroom("suppress", "list", "da@ex", "--json").json["suppressions"]
    shown = postroom("suppress", "show", ADA)
    removed = postroom("suppress", "remove", ADA)

    assert (added.code, added.out) == (0, f"{ADA} gets no mail.\n")
    assert (listed["address"], listed["stops"], listed["reason"]) == (ADA, "all mail", "manual")
    assert listed["evidence"] == "asked on the phone"
    assert shown.out.startswith(f"{ADA} gets no mail at all.\n")
    assert "asked on the phone" in shown.out
    assert (removed.code, removed.out) == (0, f"removed: {ADA}, all mail (a person said so)\n")
    assert postroom("suppress", "show", ADA).out == f"Nothing is known of {ADA}: it gets all mail.\n"
    entries = postroom("user", "audit", "--json").json["entries"]
    assert [entry["what"] for entry in entries] == ["unsuppress", "suppress"]
    assert {entry["actor"] for entry in entries} == {listed["actor"]}


def test_a_workspace_or_a_kind_is_a_scope_by_itself_and_an_end_is_a_length_of_time(postroom: CommandLine) -> None:
    of_a_kind = postroom(
        "suppress", "add", ADA, "--workspace", "hotel", "--kind", "news", "--until", "30d", "--json"
    ).json
    said = postroom("suppress", "add", ADA, "--workspace", "hotel").out

    assert (of_a_kind["scope"], of_a_kind["workspace"], of_a_kind["kind"]) == ("kind", "hotel", "news")
    end = datetime.fromisoformat(of_a_kind["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29) < end < timedelta(days=31)
    assert said == f"{ADA} gets no mail of workspace hotel that can be unsubscribed from.\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nobody",), "address: "),
        ((ADA, "--scope", "kind"), "kind: goes with the scope 'kind'"),
        ((ADA, "--scope", "all", "--workspace", "hotel"), "scope: 'all' is about every workspace"),
        ((ADA, "--scope", "workspace"), "workspace: is missing; name it with --workspace; '' is mail without"),
        ((ADA, "--kind", "news"), "workspace: is missing; name it with --workspace"),
        ((ADA, "--until", "soon"), "--until: 'soon' is no time"),
        ((ADA, "--until", "5"), "--until: '5' has no unit; write 5d for days"),
        ((ADA, "--until", "2020-01-01"), "expires_at: has passed already"),
        ((ADA, "--reason", "because"), "'hard_bounce', 'complaint', 'unsubscribe', 'manual', 'imported'"),
        (("ada@example.org\nBcc: all@example.org",), "address: "),
    ],
)
def test_what_cannot_be_meant_is_refused_by_field(postroom: CommandLine, arguments: tuple[str, ...], told: str) -> None:
    answer = postroom("suppress", "add", *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert told in " ".join(answer.err.replace("│", " ").split())


@pytest.mark.parametrize("options", [(), ("--scope", "workspace")])
def test_mail_without_a_workspace_is_stopped_where_that_is_said(
    postroom: CommandLine, options: tuple[str, ...]
) -> None:
    told = postroom("suppress", "add", ADA, "--workspace", "", *options, "--json").json

    assert (told["scope"], told["workspace"]) == ("workspace", "")


def test_what_a_person_has_said_is_removed_only_with_yes(postroom: CommandLine) -> None:
    postroom("suppress", "add", ADA, "--reason", "unsubscribe")
    [entry] = postroom("suppress", "list", "--json").json["suppressions"]

    for which in (ADA, entry["id"]):
        refused = postroom("suppress", "remove", which)
        assert refused.code == 2
        assert "the person has said no" in refused.err
        assert "--yes" in refused.err
    assert postroom("suppress", "remove", entry["id"], "--yes").code == 0
    assert postroom("suppress", "list", "--json").json == {"suppressions": [], "next": None}


def test_some_reasons_of_an_address_are_removed_and_the_others_stay(postroom: CommandLine) -> None:
    for reason in ("manual", "hard_bounce", "complaint"):
        postroom("suppress", "add", ADA, "--reason", reason)
    gone = postroom("suppress", "remove", ADA, "--reason", "manual", "--reason", "hard_bounce", "--json").json

    assert sorted(each["reason"] for each in gone["removed"]) == ["hard_bounce", "manual"]
    left = postroom("suppress", "show", ADA, "--json").json
    assert [each["reason"] for each in left["suppressions"]] == ["complaint"]


@pytest.mark.parametrize("which", [ADA, "01920000-0000-7000-8000-000000000000"])
def test_what_is_not_there_cannot_be_removed(postroom: CommandLine, which: str) -> None:
    answer = postroom("suppress", "remove", which)

    assert (answer.code, answer.err) == (1, "postroom: there is no such entry: it was removed, or was never there\n")


def test_an_id_is_of_one_entry_and_takes_no_reason(postroom: CommandLine) -> None:
    answer = postroom("suppress", "remove", "01920000-0000-7000-8000-000000000000", "--reason", "manual")

    assert (answer.code, "leave --reason out" in answer.err) == (2, True)


def test_a_list_is_narrowed_and_goes_on_page_by_page(postroom: CommandLine) -> None:
    for number in range(3):
        postroom("suppress", "add", f"guest{number}@example.org", "--workspace", "hotel")
    postroom("suppress", "add", ADA, "--workspace", "bank", "--reason", "complaint")
    first = postroom("suppress", "list", "guest", "--limit", "2")
    following = first.err.split()[-1]
    second = postroom("suppress", "list", "guest", "--limit", "2", "--before", following)

    assert [line.split()[0] for line in (first.out + second.out).splitlines() if "@" in line] == [
        "guest2@example.org",
        "guest1@example.org",
        "guest0@example.org",
    ]
    assert len(postroom("suppress", "list", "--workspace", "hotel", "--json").json["suppressions"]) == 3
    assert len(postroom("suppress", "list", "--reason", "complaint", "--json").json["suppressions"]) == 1
    assert postroom("suppress", "list", "nowhere").err == "No entry matches; leave some options out.\n"
    assert postroom("suppress", "list", "--before", "x").code == 2


@pytest.mark.parametrize("arguments", [("\udcff",), ("--workspace", "\udcff"), ("a\x1b[31m",)])
def test_what_cannot_be_printed_is_not_looked_for(postroom: CommandLine, arguments: tuple[str, ...]) -> None:
    answer = postroom("suppress", "list", *arguments)

    assert (answer.code, "cannot be printed" in answer.err) == (2, True)


def test_nobody_on_the_list_is_said_so(postroom: CommandLine) -> None:
    assert postroom("suppress", "list").err == "Nobody is on the list.\n"


def test_a_list_is_imported_with_a_report_of_what_was_refused(postroom: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("email,reason\nada@example.org,complaint\nnobody,\ngrace@example.org,\n", "utf-8")
    answer = postroom("suppress", "import", str(file))
    again = postroom("suppress", "import", str(file), "--json")

    assert (answer.code, answer.out) == (1, "3 lines: 2 added, 0 known already, 1 refused\n")
    assert answer.err == (
        "postroom: line 3: address: 'nobody' is not an email address; write it like ada@example.org\n"
    )
    assert again.code == 1
    assert {**again.json, "problems": len(again.json["problems"])} == {
        "lines": 3, "added": 0, "known": 2, "refused": 1, "problems": 1,
    }  # fmt: skip


def test_a_list_on_standard_input_is_given_a_scope(postroom: CommandLine) -> None:
    answer = postroom("suppress", "import", "-", "--workspace", "hotel", "--reason", "unsubscribe", input=f"{ADA}\n")
    [entry] = postroom("suppress", "list", "--json").json["suppressions"]

    assert (answer.code, answer.out) == (0, "1 line: 1 added, 0 known already, 0 refused\n")
    assert (entry["scope"], entry["workspace"], entry["reason"]) == ("workspace", "hotel", "unsubscribe")


def test_a_file_that_is_no_list_is_refused_with_the_remedy(postroom: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_bytes("ada@example.org\n".encode("utf-16"))
    answer = postroom("suppress", "import", str(file))

    assert (answer.code, "save it as CSV in UTF-8" in answer.err) == (2, True)
    assert postroom("suppress", "import", str(tmp_path / "missing.csv")).code == 1


def test_an_exported_list_comes_back_the_same(postroom: CommandLine, outbox: Outbox, tmp_path: Path) -> None:
    postroom("suppress", "add", "+formula@example.org", "--workspace", "hotel", "--evidence", '=1+1, "quoted"')
    postroom("suppress", "add", ADA, "--until", "30d")
    exported = postroom("suppress", "export").out
    file = tmp_path / "list.csv"
    file.write_text(exported, "utf-8", newline="")
    for entry in Operations(outbox).suppressions().entries:
        postroom("suppress", "remove", entry.id)
    imported = postroom("suppress", "import", str(file))

    assert "'+formula@example.org" in exported
    assert imported.out == "2 lines: 2 added, 0 known already, 0 refused\n"
    said = [line.rsplit(",", 1)[0] for line in exported.splitlines()]
    assert sorted(line.rsplit(",", 1)[0] for line in postroom("suppress", "export").out.splitlines()) == sorted(said)


def test_an_export_for_programs_is_one_object_a_line(postroom: CommandLine) -> None:
    postroom("suppress", "add", "=1@example.org")
    postroom("suppress", "add", ADA)
    lines = postroom("suppress", "export", "--json").out.splitlines()

    assert [json.loads(line)["address"] for line in lines] == [ADA, "=1@example.org"], "as they are"


@pytest.mark.parametrize(("reply", "code", "left"), [("n", 1, 1), ("y", 0, 0)])
def test_a_person_is_asked_before_somebodys_own_word_is_removed(
    postroom: CommandLine, sqlite_url: str, reply: str, code: int, left: int
) -> None:
    postroom("suppress", "add", ADA, "--reason", "complaint")
    ended, shown = answer_on_a_terminal(reply, "suppress", "remove", ADA, POSTROOM_DATABASE=sqlite_url)

    assert (ended, "the person has said no" in shown, "Go on?" in shown) == (code, True, True)
    assert len(postroom("suppress", "list", "--json").json["suppressions"]) == left


def test_on_a_terminal_a_long_list_shows_how_far_it_is(postroom: CommandLine, sqlite_url: str, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("".join(f"guest{number}@example.org\n" for number in range(1_500)), "utf-8")
    ended, shown = answer_on_a_terminal("", "suppress", "import", str(file), POSTROOM_DATABASE=sqlite_url)

    assert (ended, "importing" in shown, "1,500 lines" in shown) == (0, True, True)
    assert "1,500 lines: 1,500 added, 0 known already, 0 refused" in shown
