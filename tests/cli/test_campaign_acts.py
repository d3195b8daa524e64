"""campaign launch, pause, resume, cancel, waiting, status --check."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from postroom import Outbox
from postroom.campaigns.drafts.describing import EXAMPLE
from tests.cli.conftest import CommandLine

PEOPLE = "email,name,company\nada@example.org,Ada,Acme\nbob@example.org,Bob,Beta\n"


@pytest.fixture
def spring(postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> str:
    """A draft of the example with two prospects, where people can unsubscribe."""
    monkeypatch.setenv("POSTROOM_PUBLIC_URL", "https://mail.shop.example")
    monkeypatch.setenv("POSTROOM_SECRET", "a secret of the tests, long enough to seal")
    Path("spring.toml").write_text(EXAMPLE, "utf-8")
    Path("people.csv").write_text(PEOPLE, "utf-8")
    assert postroom("campaign", "new", "spring.toml").code == 0
    assert postroom("campaign", "import", "people.csv", "--campaign", "spring").code == 0
    return "spring"


def test_a_campaign_is_launched_once_and_says_why_its_mails_wait(postroom: CommandLine, spring: str) -> None:
    postroom("campaign", "settings", "--daily-quota", "0", "--days", "mon,tue,wed,thu,fri,sat,sun", "--end-hour", "24")
    refused = postroom("campaign", "launch", spring)
    assert (refused.code, "daily_quota" in refused.err) == (2, True)
    assert postroom("campaign", "status", spring, "--json").json["status"] == "draft"

    postroom("campaign", "settings", "--daily-quota", "50", "--start-hour", "0")
    assert postroom("campaign", "launch", spring).out.splitlines() == ["4 mails scheduled; the campaign is running."]
    again = postroom("campaign", "launch", spring, "--json").json
    assert again == {
        "scheduled": 0, "revived": 0, "skipped": {"already_scheduled": 2}, "errors": [], "status": "running",
    }  # fmt: skip
    waiting = postroom("campaign", "waiting", spring, "--json").json["mails"]
    assert [(each["step"], each["reason"]) for each in waiting] == [
        (1, None), (2, "waiting_step"), (1, None), (2, "waiting_step"),
    ]  # fmt: skip
    assert [each["address"] for each in waiting] == ["ada@example.org"] * 2 + ["bob@example.org"] * 2
    shown = postroom("campaign", "waiting", spring).out
    assert ("waiting_step (step 1)" in shown, "ada@example.org" in shown) == (True, True)
    assert waiting[0]["prospect"] not in shown, "nobody knows them by that"


def test_waiting_mails_tell_when_they_leave_by_the_same_clock_as_why_they_wait(
    postroom: CommandLine, spring: str
) -> None:
    """The one day on which anything leaves is always to come."""
    postroom("campaign", "settings", "--timezone", "Asia/Tokyo", "--days", "mon", "--holidays", _today("Asia/Tokyo"))
    postroom("campaign", "launch", spring)
    told = postroom("campaign", "waiting", spring, "--json").json
    first = told["mails"][0]
    assert (told["timezone"], first["planned_at"][-6:], first["until"][-6:]) == ("Asia/Tokyo", "+09:00", "+09:00")
    assert first["planned_at"] >= first["until"]

    shown = postroom("campaign", "waiting", spring).out
    planned, until = (datetime.fromisoformat(first[name]) for name in ("planned_at", "until"))
    assert (f"{planned:%a %d %b %Y %H:%M}" in shown, f"next {until:%a %d %b %H:%M}" in shown) == (True, True)
    assert "Times by the clock of the workspace, Asia/Tokyo." in shown


def _today(timezone: str) -> str:
    return datetime.now(ZoneInfo(timezone)).date().isoformat()


def test_a_campaign_whose_mails_could_not_be_unsubscribed_from_is_not_launched(
    postroom: CommandLine, spring: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POSTROOM_PUBLIC_URL")
    refused = postroom("campaign", "launch", spring)

    assert (refused.code, "POSTROOM_PUBLIC_URL" in refused.err) == (2, True)
    assert postroom("campaign", "status", spring, "--json").json["status"] == "draft"


def test_a_campaign_is_paused_resumed_and_cancelled(postroom: CommandLine, spring: str) -> None:
    draft = postroom("campaign", "pause", spring)
    assert (draft.code, "'spring' is a draft; launch it first" in draft.err) == (2, True)
    postroom("campaign", "launch", spring)
    assert postroom("campaign", "pause", spring, "--reason", "a typo").out == "spring is paused.\n"
    again = postroom("campaign", "pause", spring, "--reason", "another")
    assert (again.code, again.out) == (0, "spring was paused before, and stays so: a typo.\n")
    paused = postroom("campaign", "launch", spring)
    assert (paused.code, "resume it" in paused.err) == (1, True)
    assert postroom("campaign", "status", spring, "--json").json["pause_reason"] == "a typo"
    assert postroom("campaign", "resume", spring).out == "spring is running again.\n"
    assert postroom("campaign", "resume", spring).out == "spring is running already.\n"
    assert postroom("campaign", "cancel", spring).out == "spring is cancelled; 4 mails will not leave.\n"
    for act in ("launch", "pause", "resume"):
        refused = postroom("campaign", act, spring)
        assert (refused.code, "launch it again on purpose: --again" in refused.err) == (2, True), act
    assert postroom("campaign", "launch", spring, "--again").code == 0
    assert postroom("campaign", "waiting", spring, "--workspace", "another").code == 1


def test_a_campaign_of_which_nothing_ever_leaves_is_named_wherever_it_is_looked_at(
    postroom: CommandLine, spring: str
) -> None:
    postroom("campaign", "launch", spring)
    postroom("campaign", "settings", "--ramp-up", "0")
    cause = "the ramp-up allows 0 mails on its day 1, and no other day follows one without mail"

    status = postroom("campaign", "status", spring)
    assert f"Nothing will ever leave: {cause}. Raise that step: postroom campaign settings --ramp-up 1\n" == status.err
    assert postroom("campaign", "status", spring, "--json").json["impasses"][0]["cause"] == cause
    waiting = postroom("campaign", "waiting", spring, "--json").json["mails"]
    assert (waiting[0]["reason"], waiting[0]["until"], waiting[0]["never"]) == (
        "ramp_day", None, f"{cause}; raise that step",
    )  # fmt: skip
    assert waiting[0]["told"] == f"ramp_day (1), never: {cause}; raise that step"
    assert waiting[1]["told"] == f"waiting_step (step 1), never: {cause}; raise that step"
    assert [each["planned_at"] for each in waiting] == [None] * 4, "what will never leave has no time"
    doctor = postroom("doctor", "--json")
    assert (doctor.code, f"nothing will ever leave: {cause}" in doctor.out) == (1, True)

    postroom("campaign", "settings", "--ramp-up", "none")
    postroom("campaign", "sender", "ada", "--daily-quota", "0")
    assert (
        "Nothing will ever leave from ada: the daily quota of ada is 0." in postroom("campaign", "status", spring).err
    )
    waiting = postroom("campaign", "waiting", spring, "--json").json["mails"]
    assert waiting[0]["told"] == "quota_used (0/0 of ada), never: the daily quota of ada is 0; raise it"
    postroom("campaign", "cancel", spring)
    assert postroom("campaign", "status", spring).err == ""


def test_a_launch_that_one_prospect_keeps_from_going_names_that_one(postroom: CommandLine, outbox: Outbox) -> None:
    Path("spring.toml").write_text(EXAMPLE, "utf-8")
    Path("people.csv").write_text("id,email\n7,ada@example.org\n", "utf-8")
    postroom("campaign", "new", "spring.toml")
    postroom("campaign", "import", "people.csv", "--campaign", "spring")

    assert "there is no 'company' (1 prospect: 7); give" in postroom("campaign", "launch", "spring").err


def test_a_cancelled_campaign_that_is_launched_again_says_what_leaves_after_all(
    postroom: CommandLine, spring: str
) -> None:
    postroom("campaign", "launch", spring)
    postroom("campaign", "cancel", spring)
    told = postroom("campaign", "launch", spring, "--again").out
    assert told == "4 mails will leave after all; the campaign is running.\n"

    postroom("campaign", "cancel", spring)
    again = postroom("campaign", "launch", spring, "--again", "--json").json
    assert again == {"scheduled": 0, "revived": 4, "skipped": {}, "errors": [], "status": "running"}


def test_a_check_of_what_was_launched_before_says_nothing_of_whom_a_launch_would_pass_over(
    postroom: CommandLine, spring: str
) -> None:
    postroom("campaign", "launch", spring)
    told = postroom("campaign", "check", spring)

    assert told.code == 1
    assert "error  status: is running" in told.out
    assert "pass over" not in told.out


def test_a_problem_of_nobody_in_particular_names_nobody(postroom: CommandLine, spring: str) -> None:
    postroom("suppress", "add", "bob@example.org", "--scope", "all")
    told = postroom("campaign", "check", spring).out

    assert "a launch would pass over some of them: not to be mailed (1 prospect)" in told


def test_a_launch_that_would_mail_nobody_is_foretold_in_words(postroom: CommandLine, spring: str) -> None:
    postroom("campaign", "launch", spring)
    words = EXAMPLE.partition("\n[[steps]]\n")[0].replace('id = "spring"', 'id = "second"')
    Path("second.toml").write_text(words.replace("# sequence = ", 'sequence = "spring"  # '), "utf-8")
    assert postroom("campaign", "new", "second.toml").code == 0
    postroom("campaign", "import", "people.csv", "--campaign", "second")
    told = "nobody would get anything; a launch would pass over all of them: have this sequence already (2)"
    checked, foreseen = postroom("campaign", "check", "second"), postroom("campaign", "forecast", "second")
    launched = postroom("campaign", "launch", "second")

    assert (checked.code, f"warning  prospects: {told}" in checked.out) == (0, True)
    assert "2 prospects would be skipped: have this sequence already." in foreseen.out
    assert launched.out.splitlines() == [
        "0 mails scheduled; the campaign is completed.",
        "2 prospects skipped: have this sequence already.",
    ]


def test_the_forecast_of_a_campaign_that_does_not_run_says_what_it_supposes(postroom: CommandLine, spring: str) -> None:
    postroom("campaign", "launch", spring)
    assert postroom("campaign", "forecast", spring).out.startswith("4 mails to 2 prospects: begins on ")
    postroom("campaign", "pause", spring)
    paused = postroom("campaign", "forecast", spring).out.splitlines()
    assert paused[0] == "spring is paused, and nothing of it leaves. Resumed now:"
    assert paused[1].startswith("4 mails to 2 prospects: begins on ")

    postroom("campaign", "cancel", spring)
    cancelled = " ".join(postroom("campaign", "forecast", spring).out.split())
    assert "nothing of it leaves. Launched again now (postroom campaign launch spring --again):" in cancelled
    assert "4 mails to 2 prospects: begins on " in cancelled
    told = postroom("campaign", "forecast", spring, "--json").json
    assert (told["status"], told["mails"], told["prospects"]) == ("cancelled", 4, 2)
    assert told["supposing"] == "it was cancelled: this is what becomes of it if it is launched again now"


def test_the_status_of_a_campaign_says_what_became_of_its_mails_and_whether_the_books_add_up(
    postroom: CommandLine, spring: str, outbox: Outbox
) -> None:
    postroom("campaign", "launch", spring)
    status = postroom("campaign", "status", spring, "--check", "--json").json
    assert (status["mails"]["ready"], status["mails"]["waiting"], status["discrepancies"]) == (2, 2, [])
    assert status["people"] == {"launched": 2, "passed_over": {}, "not_reached": 0}
    right = postroom("campaign", "status", spring, "--check").out
    assert ("mails ready" in right, right.splitlines()[-1]) == (
        True,
        "The books add up: 2 prospects = 2 launched; 4 mails = 2 waiting + 2 ready.",
    )
    with outbox.transaction() as connection:
        connection.execute(f"DELETE FROM {outbox.database.dialect.tables}campaign_mails WHERE step = 2")
    wrong = postroom("campaign", "status", spring, "--check")

    assert (wrong.code, "Does not add up: mails: 4 expected, 2 found." in wrong.out) == (1, True)


def test_the_status_of_a_campaign_says_whom_its_launch_has_passed_over_and_has_still_to_reach(
    postroom: CommandLine, spring: str
) -> None:
    draft = postroom("campaign", "status", spring, "--check").out
    postroom("suppress", "add", "bob@example.org", "--scope", "all")
    postroom("campaign", "launch", spring)
    told = postroom("campaign", "status", spring, "--check").out
    record = postroom("campaign", "status", spring, "--json").json

    assert draft.splitlines()[-1] == "The books add up: 2 prospects = 2 not reached yet; 0 mails = 0."
    assert ("prospects launched" in draft, "prospects not reached yet" in draft) == (False, False)
    assert "prospects passed over 1 (1 suppressed)" in " ".join(told.split())
    assert told.splitlines()[-1] == (
        "The books add up: 2 prospects = 1 launched + 1 passed over; 2 mails = 1 waiting + 1 ready."
    )
    assert record["people"] == {"launched": 1, "passed_over": {"suppressed": 1}, "not_reached": 0}


def test_people_and_mails_that_disagree_are_no_books_that_add_up(
    postroom: CommandLine, spring: str, outbox: Outbox
) -> None:
    postroom("campaign", "launch", spring)
    tables = outbox.database.dialect.tables
    with outbox.transaction() as connection:
        connection.execute(f"UPDATE {tables}enrolments SET status = 'completed'")
        connection.execute(f"UPDATE {tables}campaigns SET status = 'completed'")
    wrong = postroom("campaign", "status", spring, "--check")

    told = "Does not add up: mails that wait for people who have ended: 0 expected, 4 found."
    assert (wrong.code, wrong.out.splitlines()[-1]) == (1, told)


def test_a_sender_is_paused_with_a_reason_and_resumed(postroom: CommandLine, spring: str) -> None:
    paused = postroom("campaign", "sender", "ada", "--pause", "--reason", "their login was revoked")
    assert "their login was revoked" in paused.out
    told = postroom("campaign", "sender", "ada", "--json").json["senders"][0]
    assert (told["paused_at"] is not None, told["pause_reason"]) == (True, "their login was revoked")
    postroom("campaign", "launch", spring)
    assert "sender_down (ada: their login was revoked)" in postroom("campaign", "waiting", spring).out

    changed = postroom("campaign", "sender", "ada", "--name", "Grace H.", "--json").json["senders"][0]
    assert (changed["name"], changed["pause_reason"]) == ("Grace H.", "their login was revoked"), "a pause stays"
    resumed = postroom("campaign", "sender", "ada", "--resume", "--json").json["senders"][0]
    assert (resumed["paused_at"], resumed["pause_reason"]) == (None, None)
    assert postroom("campaign", "sender", "nobody", "--pause").code == 1
    for senseless in (("--pause",), ("ada", "--pause", "--resume"), ("ada", "--reason", "why")):
        assert postroom("campaign", "sender", *senseless).code == 2


def test_doctor_says_why_a_campaign_stands_still(postroom: CommandLine, spring: str, outbox: Outbox) -> None:
    postroom("campaign", "settings", "--days", "mon,tue,wed,thu,fri,sat,sun", "--start-hour", "0", "--end-hour", "24")
    postroom("campaign", "launch", spring)
    assert "campaigns" not in {each["name"] for each in postroom("doctor", "--json").json["checks"]}
    with outbox.transaction() as connection:
        connection.execute(f"UPDATE {outbox.database.dialect.tables}paces SET next_at = 0")
    postroom("campaign", "sender", "ada", "--reason", "revoked", "--pause")
    with outbox.transaction() as connection:
        connection.execute(f"UPDATE {outbox.database.dialect.tables}paces SET next_at = 0")
    found = [each for each in postroom("doctor", "--json").json["checks"] if each["name"] == "campaigns"]

    assert [each["level"] for each in found] == ["fail", "warn"]
    assert "no worker is running" in found[0]["detail"]
    assert ("revoked" in found[1]["detail"], "ada --resume" in found[1]["remedy"]) == (True, True)


def test_the_senders_of_a_draft_are_changed_and_those_of_a_launched_campaign_are_not(
    postroom: CommandLine, spring: str
) -> None:
    def names(*arguments: str) -> list[str]:
        told = postroom("campaign", "senders", spring, *arguments, "--json").json["senders"]
        return [each["id"] for each in told]

    postroom("campaign", "sender", "eve", "--address", "eve@shop.example")
    assert names("--add", "eve", "--add", "ada") == ["ada", "eve"]
    assert names("--remove", "ada") == ["eve"]
    assert names("--only", "ada", "--only", "eve") == ["ada", "eve"]
    assert postroom("campaign", "senders", spring, "--only", "nobody").code == 1
    assert "nobody is left" in postroom("campaign", "senders", spring, "--remove", "ada", "--remove", "eve").err
    assert "does not send it" in postroom("campaign", "senders", spring, "--remove", "nemo").err
    assert names() == ["ada", "eve"]

    postroom("campaign", "launch", spring)
    refused = postroom("campaign", "senders", spring, "--add", "eve")
    assert (refused.code, "keeps their sender" in refused.err) == (2, True)
    waiting = postroom("campaign", "waiting", spring, "--json").json["mails"]
    assert [each["sender"] for each in waiting] == ["ada", "ada", "eve", "eve"]


def test_every_act_is_in_the_audit_log(postroom: CommandLine, spring: str, outbox: Outbox) -> None:
    postroom("campaign", "launch", spring)
    postroom("campaign", "pause", spring)
    postroom("campaign", "resume", spring)
    postroom("campaign", "cancel", spring)
    postroom("campaign", "sender", "ada", "--pause")
    postroom("campaign", "sender", "ada", "--resume")
    tables = outbox.database.dialect.tables
    with outbox.transaction() as connection:
        rows = connection.execute(f"SELECT what FROM {tables}audit ORDER BY id").fetchall()

    assert [what for (what,) in rows if what.startswith("campaign_")][-7:] == [
        "campaign_launch", "campaign_launch", "campaign_pause", "campaign_resume", "campaign_cancel",
        "campaign_pause_sender", "campaign_resume_sender",
    ]  # fmt: skip
