"""campaign new, settings, sender, sequence, import, check, forecast, status, list."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from postroom import Outbox
from postroom.campaigns.drafts.describing import EXAMPLE
from tests.cli.conftest import CommandLine

PEOPLE = "email,name,company\nada@example.org,Ada,Acme\nbob@example.org,,Beta\n"


@pytest.fixture
def spring(postroom: CommandLine, outbox: Outbox) -> str:
    """A draft of the example."""
    Path("spring.toml").write_text(EXAMPLE, "utf-8")
    Path("people.csv").write_text(PEOPLE, "utf-8")
    assert postroom("campaign", "new", "spring.toml").code == 0
    return "spring"


def test_the_example_is_printed_and_can_be_made_into_a_draft(postroom: CommandLine, outbox: Outbox) -> None:
    example = postroom("campaign", "new", "--example")
    assert (example.code, example.out) == (0, EXAMPLE)
    Path("spring.toml").write_text(example.out, "utf-8")

    made = postroom("campaign", "new", "spring.toml")
    assert made.out.splitlines() == [
        "The draft spring is there, with 2 steps and 1 sender.",
        "Next: postroom campaign import FILE --campaign spring",
    ]
    taken = postroom("campaign", "new", "spring.toml")
    assert (taken.code, "campaign.id: a sequence 'spring' is there already" in taken.err) == (2, True)
    assert [each["id"] for each in postroom("campaign", "list", "--json").json["campaigns"]] == ["spring"]


@pytest.mark.usefixtures("links")
def test_a_draft_is_filled_checked_and_forecast(postroom: CommandLine, spring: str) -> None:
    imported = postroom("campaign", "import", "people.csv", "--campaign", spring)
    assert (imported.code, imported.err) == (0, "")
    assert imported.out.splitlines() == [
        "2 rows: 2 added, 0 updated, 0 unchanged, 0 duplicate, 0 refused.",
        "2 prospects came into spring.",
        "Templates know the fields company.",
    ]

    checked = postroom("campaign", "check", spring)
    assert (checked.code, "Nothing keeps spring from being launched; 2 of 2 prospects" in checked.out) == (0, True)
    forecast = postroom("campaign", "forecast", spring)
    assert (forecast.code, "4 mails to 2 prospects: begins on" in forecast.out, "█" in forecast.out) == (0, True, True)
    assert postroom("campaign", "forecast", spring, "--json").json["mails"] == 4
    status = postroom("campaign", "status", spring, "--json").json
    assert (status["status"], status["enrolments"]["enrolled"], len(status["sequence"]["steps"])) == ("draft", 2, 2)
    assert "2 (2 enrolled)" in postroom("campaign", "status", spring).out
    assert "Spring letter" in postroom("campaign", "list").out


def test_a_draft_that_brings_a_quota_of_nothing_says_so(postroom: CommandLine, outbox: Outbox) -> None:
    example = postroom("campaign", "new", "--example").out
    Path("still.toml").write_text(example.replace("daily_quota = 50 ", "daily_quota = 0 "), "utf-8")
    answer = postroom("campaign", "new", "still.toml", "--workspace", "hotel")

    assert answer.code == 0
    remedy = "postroom campaign settings --daily-quota 50 --workspace hotel"
    assert f"Nothing will ever leave: the daily quota is 0. Raise it: {remedy}" in answer.err


def test_a_sequence_that_is_there_already_is_told_by_the_key_that_names_it(postroom: CommandLine, spring: str) -> None:
    other = EXAMPLE.replace('id = "spring"', 'id = "autumn"').replace('# sequence = "welcome"', 'sequence = "spring"')
    Path("autumn.toml").write_text(other, "utf-8")
    taken = postroom("campaign", "new", "autumn.toml")

    assert (taken.code, "campaign.sequence: a sequence 'spring' is there already" in taken.err) == (2, True)


def test_what_a_draft_changes_for_the_whole_workspace_is_told(postroom: CommandLine, spring: str) -> None:
    autumn = EXAMPLE.replace('"spring"', '"autumn"')
    Path("autumn.toml").write_text(autumn, "utf-8")
    assert "Changed" not in postroom("campaign", "new", "autumn.toml").out, "it says what holds already"

    other = autumn.replace('"autumn"', '"winter"').replace("daily_quota = 50 ", "daily_quota = 5 ")
    Path("winter.toml").write_text(other.replace('name = "Ada Lovelace"', 'name = "Ada L."'), "utf-8")
    told = postroom("campaign", "new", "winter.toml").out.splitlines()[1]
    assert told == "Changed for the whole workspace: daily_quota 50 → 5; sender ada: name Ada Lovelace → Ada L."


def test_a_file_leaves_of_a_sender_who_is_there_what_it_does_not_name(postroom: CommandLine, spring: str) -> None:
    limits = ["--daily-quota", "5", "--ramp-up", "1,2", "--reply-to", "hello@example.org", "--route", "second"]
    before = postroom("campaign", "sender", "ada", *limits, "--json").json
    again = '[campaign]\nid = "again"\nsequence = "spring"\n[[senders]]\nid = "ada"\naddress = "ada@example.org"\n'
    Path("again.toml").write_text(again, "utf-8")

    assert "Changed" not in postroom("campaign", "new", "again.toml").out
    assert postroom("campaign", "sender", "ada", "--json").json == before
    Path("third.toml").write_text(again.replace("again", "third").partition("address")[0], "utf-8")
    assert postroom("campaign", "new", "third.toml").code == 0, "an address that is known need not be said again"
    assert postroom("campaign", "sender", "ada", "--json").json == before


def test_a_file_takes_from_a_sender_what_it_says_is_to_be_none(postroom: CommandLine, spring: str) -> None:
    postroom("campaign", "sender", "ada", "--daily-quota", "5", "--ramp-up", "1,2", "--reply-to", "hello@example.org")
    none = 'reply_to = "none"\ndaily_quota = "none"\nramp_up = "none"\nname = ""\n'
    Path("again.toml").write_text(f'[campaign]\nid = "again"\nsequence = "spring"\n[[senders]]\nid = "ada"\n{none}')
    told = postroom("campaign", "new", "again.toml").out.splitlines()[1]

    assert told == (
        "Changed for the whole workspace: sender ada: name Ada Lovelace → none, reply_to hello@example.org → none, "
        "daily_quota 5 → none, ramp_up 1, 2 → none"
    )
    [ada] = postroom("campaign", "sender", "ada", "--json").json["senders"]
    assert (ada["name"], ada["reply_to"], ada["daily_quota"], ada["ramp_up"]) == ("", None, None, None)


def test_nothing_is_enqueued_by_any_of_it(postroom: CommandLine, outbox: Outbox, spring: str) -> None:
    postroom("campaign", "import", "people.csv", "--campaign", spring)
    postroom("campaign", "check", spring)
    postroom("campaign", "forecast", spring)

    assert outbox.conservation().enqueued == 0


def test_bad_rows_are_shown_written_down_and_make_the_command_fail(postroom: CommandLine, spring: str) -> None:
    bad = "".join(f"=bad{number},x,y\n" for number in range(12))
    Path("people.csv").write_text(PEOPLE + bad, "utf-8")
    answer = postroom("campaign", "import", "people.csv", "--campaign", spring, "--report", "report.csv")

    assert answer.code == 1
    assert "line 4: refused: address: " in answer.out
    assert "… and 2 more; report.csv has them all." in answer.out
    with Path("report.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["outcome"] for row in rows] == ["added"] * 2 + ["refused"] * 12
    assert (rows[2]["line"], rows[2]["address"]) == ("4", "'=bad0")  # no spreadsheet works it out
    assert rows[0]["enrolled"] == "yes"


def test_a_report_never_takes_the_place_of_the_file(postroom: CommandLine, spring: str) -> None:
    answer = postroom("campaign", "import", "people.csv", "--report", "../" + Path.cwd().name + "/people.csv")

    assert (answer.code, "--report: is the file that is imported" in answer.err) == (2, True)
    assert Path("people.csv").read_text("utf-8") == PEOPLE


def test_an_import_is_told_to_programs(postroom: CommandLine, spring: str) -> None:
    told = postroom("campaign", "import", "people.csv", "--json").json

    assert (told["rows"], told["counts"]["added"], told["enrolled"], told["fields"]) == (2, 2, 0, ["company"])
    Path("people.csv").write_text(PEOPLE.replace("Acme", "Omega"), "utf-8")
    again = postroom("campaign", "import", "people.csv", "--json").json
    assert (again["counts"]["unchanged"], again["differing"]) == (2, 1)
    assert postroom("campaign", "import", "people.csv", "--update", "--json").json["counts"]["updated"] == 1


def test_an_import_says_how_many_differ_where_they_are_left_as_they_are(postroom: CommandLine, spring: str) -> None:
    def first_line() -> str:
        return postroom("campaign", "import", "people.csv").out.splitlines()[0]

    first_line()
    assert first_line() == "2 rows: 0 added, 0 updated, 2 unchanged, 0 duplicate, 0 refused."
    Path("people.csv").write_text(PEOPLE.replace("Acme", "Omega"), "utf-8")
    assert "2 unchanged (1 differs; --update would change it), 0 duplicate" in first_line()
    Path("people.csv").write_text(PEOPLE.replace("Acme", "Omega").replace("Beta", "Omega"), "utf-8")
    assert "2 unchanged (2 differ; --update would change them), 0 duplicate" in first_line()


def test_a_delimiter_is_named_where_it_cannot_be_found(postroom: CommandLine, spring: str) -> None:
    Path("odd.csv").write_text('email;"a";x,y\n', "utf-8")

    assert "say which with --delimiter" in postroom("campaign", "import", "odd.csv").err
    named = postroom("campaign", "import", "odd.csv", "--delimiter", "semicolon")
    assert "column 3: the heading 'x,y'" in named.err


@pytest.mark.parametrize(
    ("file", "options", "told"),
    [
        (
            "email|name|company\nada@example.org|Ada|Acme\n",
            [],
            "delimiter: with a comma the first line is one heading: 'email|name|company'; "
            "save the file with commas, semicolons or tabs between its cells",
        ),
        (
            "email;name\nada@example.org;Ada\n",
            ["--delimiter", "comma"],
            "delimiter: with a comma the first line is one heading: 'email;name'; say --delimiter semicolon",
        ),
    ],
)
def test_a_delimiter_that_divides_nothing_is_what_is_wrong_and_not_the_heading(
    postroom: CommandLine, spring: str, file: str, options: list[str], told: str
) -> None:
    Path("odd.csv").write_text(file, "utf-8")
    answer = postroom("campaign", "import", "odd.csv", *options)

    assert (answer.code, told in answer.err) == (2, True), answer.err


def test_what_is_to_be_done_about_a_draft_is_done_in_its_workspace(postroom: CommandLine, outbox: Outbox) -> None:
    quiet = EXAMPLE.replace("daily_quota = 50 ", "daily_quota = 0 ")
    Path("spring.toml").write_text(quiet, "utf-8")
    postroom("campaign", "new", "spring.toml", "--workspace", "my hotel")
    postroom("campaign", "sender", "ada", "--pause", "--workspace", "my hotel")
    problems = postroom("campaign", "check", "spring", "--workspace", "my hotel", "--json").json["problems"]

    assert {each["field"]: each["remedy"] for each in problems} == {
        "prospects": "postroom campaign import FILE --campaign spring --workspace 'my hotel'",
        "daily_quota": "postroom campaign settings --daily-quota 50 --workspace 'my hotel'",
        "senders[ada]": "postroom campaign sender ada --resume --workspace 'my hotel'",
    }
    nobody = postroom("campaign", "sender", "bob", "--workspace", "my hotel").err
    assert "`postroom campaign sender --workspace 'my hotel'` lists those there are" in nobody


def test_a_check_that_finds_something_fails_and_says_what_to_do(postroom: CommandLine, spring: str) -> None:
    Path("people.csv").write_text("id,email\n7,ada@example.org\n", "utf-8")
    postroom("campaign", "import", "people.csv", "--campaign", spring)
    postroom("campaign", "settings", "--daily-quota", "0")
    answer = postroom("campaign", "check", spring)

    assert answer.code == 1
    assert "error  daily_quota: the daily quota is 0, and so nothing would leave" in answer.out
    assert "error  steps[1].subject: there is no 'company' (1 prospect: 7)" in answer.out
    assert postroom("campaign", "check", spring, "--sample", "1", "--json").json["ok"] is False
    assert "would never leave: the daily quota is 0; raise it." in postroom("campaign", "forecast", spring).out


def test_settings_are_shown_and_changed_one_by_one(postroom: CommandLine, outbox: Outbox) -> None:
    assert "never: these are the defaults" in postroom("campaign", "settings").out
    options = ["--days", "Mon,Tue", "--start-hour", "8", "--end-hour", "12", "--timezone", "Asia/Tokyo"]
    options += ["--ramp-up", "5,10", "--holidays", "2026-12-25,2026-01-01", "--gap", "10-20", "--bounce-limit", "0"]
    told = postroom("campaign", "settings", *options, "--person-hours", "24", "--json").json

    assert (told["sending_days"], told["start_hour"], told["timezone"]) == (["mon", "tue"], 8, "Asia/Tokyo")
    assert (told["ramp_up"], told["holidays"]) == ([5, 10], ["2026-01-01", "2026-12-25"])
    assert (told["gap_seconds"], told["bounce_limit"], told["person_hours"]) == ([10, 20], None, 24)
    again = postroom("campaign", "settings", "--ramp-up", "none", "--holidays", "none", "--json").json
    assert (again["ramp_up"], again["holidays"], again["start_hour"], again["version"]) == (None, [], 8, 2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--daily-quota", "0"],
            "Nothing will ever leave: the daily quota is 0. Raise it: {} settings --daily-quota 50",
        ),
        (
            ["--ramp-up", "0,5"],
            "Nothing will ever leave: the ramp-up allows 0 mails on its day 1, and no other day follows one without "
            "mail. Raise that step: {} settings --ramp-up 1,5",
        ),
        (
            ["--ramp-up", "5,0"],
            "From a later day on nothing will leave: the ramp-up allows 0 mails on its day 2, and no other day "
            "follows one without mail. Raise that step: {} settings --ramp-up 5,1",
        ),
    ],
)
def test_settings_with_which_nothing_ever_leaves_are_taken_with_a_word(
    postroom: CommandLine, outbox: Outbox, options: list[str], told: str
) -> None:
    changed = postroom("campaign", "settings", *options, "--workspace", "hotel")
    assert (changed.code, changed.err) == (0, told.format("postroom campaign") + " --workspace hotel\n")
    assert postroom("campaign", "settings", "--workspace", "hotel").err == changed.err
    [held] = postroom("campaign", "settings", "--workspace", "hotel", "--json").json["impasses"]
    assert f"{held['told']} {held['remedy'].capitalize()}: {held['command']}\n" == changed.err


def test_a_sender_from_whom_nothing_ever_leaves_is_told(postroom: CommandLine, outbox: Outbox) -> None:
    told = postroom("campaign", "sender", "ada", "--address", "ada@example.org", "--daily-quota", "0").err

    assert told == (
        "Nothing will ever leave from ada: the daily quota of ada is 0. "
        "Raise it: postroom campaign sender ada --daily-quota none\n"
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--timezone", "Europe/Berln"], "timezone: 'Europe/Berln' is no zone of the IANA database; did you mean"),
        (["--start-hour", "9", "--end-hour", "9"], "end_hour: is 9 like start_hour"),
        (["--days", "none"], "sending_days: is empty"),
        (["--days", "monday"], "sending_days: 'monday' is no day"),
        (["--daily-quota", "-1"], "daily_quota: expected a whole number from 0"),
        (["--gap", "90"], "--gap: '90' is no gap; write the least and the most seconds: 30-90"),
        (["--gap", "1000000-2000000"], "gap_seconds: expected a whole number from 0 to 86400, got 1000000"),
        (["--ramp-up", "a,b"], "--ramp-up: 'a,b' is no list; write 20,40,80"),
        (["--holidays", "Christmas"], "holidays: expected dates, got 'Christmas'; write 2026-12-25"),
        (["--bounce-limit", "5"], "bounce_limit: expected a share above 0 and up to 1, got 5"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_before_anything_is_written(
    postroom: CommandLine, outbox: Outbox, options: list[str], told: str
) -> None:
    """E10."""
    answer = postroom("campaign", "settings", *options)

    assert answer.code == 2
    assert told in answer.err
    assert postroom("campaign", "settings", "--json").json["version"] == 0


def test_senders_are_added_changed_and_listed(postroom: CommandLine, outbox: Outbox) -> None:
    assert "Nobody sends campaigns here yet" in postroom("campaign", "sender").err
    assert "sender.address: is missing" in postroom("campaign", "sender", "ada", "--name", "Ada").err
    postroom("campaign", "sender", "ada", "--address", "ada@example.org", "--reply-to", "x@example.org")
    told = postroom("campaign", "sender", "ada", "--daily-quota", "30", "--ramp-up", "5,10", "--json").json

    [ada] = told["senders"]
    assert (ada["address"], ada["reply_to"], ada["daily_quota"], ada["ramp_up"]) == (
        "ada@example.org",
        "x@example.org",
        30,
        [5, 10],
    )
    assert postroom("campaign", "sender", "ada", "--reply-to", "none", "--json").json["senders"][0]["reply_to"] is None
    unlimited = postroom("campaign", "sender", "ada", "--daily-quota", "none", "--ramp-up", "none", "--json").json
    assert (unlimited["senders"][0]["daily_quota"], unlimited["senders"][0]["ramp_up"]) == (None, None)
    refused = postroom("campaign", "sender", "ada", "--daily-quota", "few").err
    assert "--daily-quota: 'few' is no number; write 30, or none" in refused
    assert "ada@example.org" in postroom("campaign", "sender").out
    assert postroom("campaign", "sender", "--name", "Ada").code == 2
    assert postroom("campaign", "sender", "bob").code == 1


def test_a_sequence_is_shown_and_edited_as_its_next_version(postroom: CommandLine, spring: str) -> None:
    assert "Re: (the same thread)" in postroom("campaign", "sequence", "spring").out
    Path("steps.toml").write_text('[[steps]]\nsubject = "New"\ntext = "Words"\n', "utf-8")
    told = postroom("campaign", "sequence", "spring", "--file", "steps.toml", "--json").json

    assert (told["version"], [step["subject"] for step in told["steps"]]) == (2, ["New"])
    assert postroom("campaign", "sequence", "--json").json["sequences"][0]["steps"] == 1
    assert "spring" in postroom("campaign", "sequence").out


def test_steps_that_nobody_could_read_become_no_version_of_a_sequence(postroom: CommandLine, spring: str) -> None:
    Path("steps.toml").write_text('[[steps]]\nsubject = "New"\ntext = "{{ name"\n', "utf-8")
    refused = postroom("campaign", "sequence", "spring", "--file", "steps.toml")

    assert (refused.code, "steps[1].text: line 1: " in refused.err) == (2, True)
    assert "correct what is in braces" in refused.err
    assert postroom("campaign", "sequence", "spring", "--json").json["version"] == 1


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("[campaign", "file: is no TOML"),
        ("[settings]\n", "campaign: expected a table, got None; write [campaign]"),
        ('[campaign]\nid = "a:b"\n[[steps]]\nsubject = "s"\ntext = "t"\n', "campaign.id: 'a:b' contains «:»"),
        ('[campaign]\nid = "a"\nsequence = "b:c"\n', "campaign.sequence: 'b:c' contains «:»"),
        ('[campaign]\nid = "a"\nname = "b\\n"\n[[steps]]\n', "campaign.name: contains the line feed"),
        ('[campaign]\nid = "a"\n', "steps: there is none; write [[steps]], or name a sequence"),
        ('[campaign]\nid = "a"\n[[steps]]\ntext = "t"\n', "steps[1].subject: is missing"),
        ('[campaign]\nid = "a"\n[[steps]]\nsubject = "s"\n', "steps[1].text: is missing"),
        ('[campaign]\nid = "a"\n[[steps]]\nsubjct = "s"\n', "steps[1].subjct: is not known; did you mean subject?"),
        ('[campaign]\nid = "a"\n[[steps]]\nsubject = "s\\n"\ntext = "t"\n', "steps[1].subject: contains the line feed"),
        ('[campaign]\nid = "a"\n[[steps]]\nsubject = "s"\ntext = "\\u0000"\n', "steps[1].text: contains characters"),
        (
            '[campaign]\nid = "a"\n[[steps]]\nsubject = "About {{ company"\ntext = "t"\n',
            "steps[1].subject: line 1: unexpected end of template",
        ),
        (
            '[campaign]\nid = "a"\n[[steps]]\nsubject = "s"\ntext = "t"\n[[steps]]\ntext = "{% if name %}t"\n',
            "steps[2].text: line 1: ",
        ),
        ('[campaign]\nid = "a"\nsender = []\n', "campaign.sender: is not known; did you mean senders?"),
        ('[campaign]\nid = "a"\nsequence = "b"\n[[senders]]\nid = "x"\n', "sender.address: is missing"),
        ('[campaign]\nid = "a"\nsequence = "b"\n[[senders]]\naddress = "x@y.z"\n', "sender.id: is missing; write it"),
        ('[campaign]\nid = "a"\nsequence = "b"\n[[senders]]\nid = "x"\nquota = 1\n', "senders.quota: is not known"),
        ('[campaign]\nid = "a"\nsequence = "b"\n[[senders]]\nid = "x"\ndaily_quota = "few"\n', "sender.daily_quota:"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_its_place(
    postroom: CommandLine, outbox: Outbox, file: str, told: str
) -> None:
    Path("wrong.toml").write_text(file, "utf-8")
    answer = postroom("campaign", "new", "wrong.toml")

    assert answer.code == 2
    assert told in answer.err
    assert postroom("campaign", "list", "--json").json == {"campaigns": []}


def test_a_campaign_of_another_workspace_is_not_there(postroom: CommandLine, spring: str) -> None:
    for command in ("status", "check", "forecast"):
        answer = postroom("campaign", command, spring, "--workspace", "other")
        assert (answer.code, answer.err) == (
            1,
            "postroom: there is no campaign 'spring' in the workspace 'other'; "
            "`postroom campaign list --workspace other` shows those there are\n",
        )
    assert "There is no campaign yet" in postroom("campaign", "list", "--workspace", "other").err
    assert postroom("campaign", "import", "people.csv", "--campaign", spring, "--workspace", "other").code == 1
    assert postroom("campaign", "new", "spring.toml", "--workspace", "other").code == 0


def test_a_command_without_what_it_needs_says_how_to_begin(postroom: CommandLine, outbox: Outbox) -> None:
    assert "`postroom campaign new --example` prints one" in postroom("campaign", "new").err
    assert postroom("campaign", "import", "nowhere.csv").code == 1
    assert "save the rows to a file" in postroom("campaign", "import", ".").err
    assert postroom("campaign", "sequence", "--file", "x.toml").code == 2
    assert "workspace: is not a name" in postroom("campaign", "list", "--workspace", "a\nb").err
