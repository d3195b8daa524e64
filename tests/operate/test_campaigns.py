"""Drafts from end to end, on both stores: made, filled from a file, checked, forecast; seen by whom they belong to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from postroom import AsyncOutbox, Outbox
from postroom.accounts.audit import read_audit
from postroom.campaigns.drafts.campaigns import enrolments_after
from postroom.campaigns.drafts.checking import MOST
from postroom.campaigns.drafts.describing import EXAMPLE, read_description
from postroom.campaigns.drafts.prospects import count_prospects, find_prospect
from postroom.campaigns.importing.batches import BATCH, Imported, RowOutcome, RowReport
from postroom.campaigns.importing.table import open_table
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.operate.campaigns import AsyncCampaignOperations, CampaignOperations
from tests.store.journey import Clock


@pytest.fixture
def campaigns(outbox: Outbox) -> CampaignOperations:
    return CampaignOperations(outbox)


@pytest.fixture
async def awaiting(store_url: str, clock: Clock) -> AsyncIterator[AsyncCampaignOperations]:
    async with AsyncOutbox(store_url, clock=clock) as outbox:
        yield AsyncCampaignOperations(outbox)


@pytest.fixture
def spring(campaigns: CampaignOperations) -> str:
    campaigns.new("w", read_description(EXAMPLE), by="ada")
    return "spring"


def imported(
    campaigns: CampaignOperations, folder: Path, content: str, workspace: str = "w", **options: Any
) -> tuple[Imported, list[RowReport]]:
    file, reports = folder / "prospects.csv", list[RowReport]()
    file.write_text(content, "utf-8")
    with open_table(file) as table:
        done = campaigns.import_prospects(workspace, table, by="ada", report=reports.append, **options)
    return done, reports


PEOPLE = "email,name,company\nada@example.org,Ada,Acme\nbob@example.org,,Beta\n"


def test_a_check_tells_that_no_mail_could_bear_a_link_to_unsubscribe(
    outbox: Outbox, campaigns: CampaignOperations, spring: str, tmp_path: Path
) -> None:
    imported(campaigns, tmp_path, PEOPLE, campaign=spring)

    assert not outbox.settings.public_url
    [problem] = campaigns.check("w", spring).problems
    assert (problem.severity, problem.field, "POSTROOM_PUBLIC_URL" in problem.remedy) == (
        "error",
        "unsubscribable",
        True,
    )


@pytest.mark.usefixtures("links")
def test_the_example_is_a_draft_of_which_nothing_is_missing_but_prospects(
    campaigns: CampaignOperations, spring: str, tmp_path: Path
) -> None:
    [problem] = campaigns.check("w", spring).problems
    assert (problem.field, problem.problem) == ("prospects", "there is none")
    imported(campaigns, tmp_path, PEOPLE, campaign=spring)

    checked = campaigns.check("w", spring)
    assert (checked.ok, checked.problems, checked.prospects, checked.checked) == (True, (), 2, 2)
    whole = campaigns.status("w", spring)
    assert (whole.campaign.status, whole.prospects, [each.id for each in whole.draft.senders]) == ("draft", 2, ["ada"])
    assert whole.draft.settings.sending.holidays == (date(2026, 12, 25),)
    assert [each.campaign.id for each in campaigns.list("w")] == ["spring"]


def test_a_description_that_does_not_fit_what_is_stored_leaves_nothing_behind(
    campaigns: CampaignOperations, outbox: Outbox
) -> None:
    whole = read_description(EXAMPLE)
    with pytest.raises(NotInWorkspace, match="no sender 'nobody'"):
        campaigns.new("w", replace(whole, sender_ids=("nobody",)), by="ada")
    elsewhere = replace(whole.campaign, sequence_id="welcome")
    with pytest.raises(NotInWorkspace, match="no sequence 'welcome'"):
        campaigns.new("w", replace(whole, campaign=elsewhere, sequence=None), by="ada")
    with pytest.raises(InvalidCampaign, match="timezone"):
        campaigns.new("w", replace(whole, settings={"timezone": "Mars/Olympus"}), by="ada")

    assert (campaigns.list("w"), campaigns.senders("w"), campaigns.sequences("w")) == ((), (), ())
    assert campaigns.settings_of("w").version == 0
    entries = outbox.database.run(read_audit(actor=None, what="campaign_new", before=None, limit=10)).entries
    assert len(entries) == 3
    assert all("refused" in entry.detail for entry in entries)


def test_every_row_is_told_of_in_the_order_of_the_file(
    campaigns: CampaignOperations, spring: str, tmp_path: Path
) -> None:
    bad = 'bad,x,y\n"never closed,x,y\nADA@example.org,Ada,Acme\ncy@example.org,Cy,Gamma\n'
    done, reports = imported(campaigns, tmp_path, PEOPLE + bad, campaign=spring)

    assert [(each.line, each.outcome.value, each.enrolled) for each in reports] == [
        (2, "added", True),
        (3, "added", True),
        (4, "refused", False),
        (5, "refused", False),
        (6, "duplicate", False),
        (7, "added", True),
    ]
    assert reports[4].reason == "the address is on line 2"
    assert (done.counts, done.enrolled, done.rows) == (
        {"added": 3, "updated": 0, "unchanged": 0, "duplicate": 1, "refused": 2},
        3,
        6,
    )
    assert done.fields == ("company",)


def test_the_same_file_again_adds_nothing(campaigns: CampaignOperations, spring: str, tmp_path: Path) -> None:
    imported(campaigns, tmp_path, PEOPLE, campaign=spring)
    again, reports = imported(campaigns, tmp_path, PEOPLE, campaign=spring)

    assert ({each.outcome for each in reports}, again.enrolled) == ({RowOutcome.UNCHANGED}, 0)
    assert campaigns.status("w", spring).prospects == 2


def test_changed_fields_are_changed_as_asked(campaigns: CampaignOperations, outbox: Outbox, tmp_path: Path) -> None:
    imported(campaigns, tmp_path, PEOPLE)
    changed = PEOPLE.replace("Acme", "Omega")
    _, told = imported(campaigns, tmp_path, changed)
    assert (told[0].outcome, told[0].reason) == ("unchanged", "differs in company; --update would change it")
    _, done = imported(campaigns, tmp_path, changed, update=True)

    assert [each.outcome.value for each in done] == ["updated", "unchanged"]
    ada = outbox.database.run(find_prospect("w", "ada@example.org"))
    assert ada is not None
    assert (ada.name, ada.fields) == ("Ada", {"company": "Omega"})


def test_prospects_who_are_there_are_enrolled_by_a_later_file(
    campaigns: CampaignOperations, spring: str, tmp_path: Path
) -> None:
    imported(campaigns, tmp_path, PEOPLE)
    done, reports = imported(campaigns, tmp_path, "email\nbob@example.org\n", campaign=spring)

    assert (done.enrolled, reports[0].outcome, reports[0].enrolled) == (1, RowOutcome.UNCHANGED, True)


def test_many_batches_keep_the_order_of_the_file(
    campaigns: CampaignOperations, outbox: Outbox, spring: str, tmp_path: Path
) -> None:
    rows = 2 * BATCH + 7
    content = "id,email\n" + "".join(f"p{n},p{n}@example.org\n" for n in range(rows))
    done, reports = imported(campaigns, tmp_path, content, campaign=spring)
    last = outbox.database.run(enrolments_after("w", spring, rows - 3))

    assert done.counts["added"] == done.enrolled == rows
    assert [each.line for each in reports] == [*range(2, rows + 2)]
    assert [(each.number, each.prospect.id) for each in last] == [(n, f"p{n - 1}") for n in range(rows - 2, rows + 1)]


def test_an_import_that_was_stopped_in_the_middle_is_finished_by_the_same_file(
    campaigns: CampaignOperations, outbox: Outbox, spring: str, tmp_path: Path
) -> None:
    content = "email\n" + "".join(f"p{n}@example.org\n" for n in range(BATCH + 5))

    def interrupted(row: RowReport) -> None:
        raise KeyboardInterrupt

    (tmp_path / "p.csv").write_text(content)
    with open_table(tmp_path / "p.csv") as table, pytest.raises(KeyboardInterrupt):
        campaigns.import_prospects("w", table, by="ada", campaign=spring, report=interrupted)
    assert outbox.database.run(count_prospects("w")) == campaigns.status("w", spring).prospects == BATCH

    done, _ = imported(campaigns, tmp_path, content, campaign=spring)
    assert (done.counts["added"], done.counts["unchanged"], done.enrolled) == (5, BATCH, 5)


@pytest.mark.parametrize(
    ("content", "campaign"),
    [("name\nAda\n", None), ("email,for\na@example.org,x\n", None), (PEOPLE, "unknown"), ('"email\n', None)],
    ids=["no addresses", "a bad heading", "no such campaign", "headings that cannot be read"],
)
def test_a_file_that_cannot_be_used_changes_nothing(
    campaigns: CampaignOperations, outbox: Outbox, tmp_path: Path, content: str, campaign: str | None
) -> None:
    with pytest.raises((InvalidCampaign, NotInWorkspace)):
        imported(campaigns, tmp_path, content, campaign=campaign)

    assert outbox.database.run(count_prospects("w")) == 0


def test_a_campaign_of_another_workspace_is_not_filled(
    campaigns: CampaignOperations, outbox: Outbox, spring: str, tmp_path: Path
) -> None:
    with pytest.raises(NotInWorkspace, match="no campaign 'spring' in the workspace 'other'"):
        imported(campaigns, tmp_path, PEOPLE, workspace="other", campaign=spring)

    assert campaigns.status("w", spring).prospects == outbox.database.run(count_prospects("other")) == 0


def test_who_may_not_see_a_workspace_is_told_that_there_is_none(
    campaigns: CampaignOperations, spring: str, tmp_path: Path
) -> None:
    """E8: by every verb, before anything is read or written."""
    (tmp_path / "p.csv").write_text(PEOPLE)
    seen: dict[str, Any] = {"workspaces": frozenset({"mine"})}
    whole, table = campaigns.status("w", spring).draft, open_table(tmp_path / "p.csv")
    verbs = [
        lambda: campaigns.list("w", **seen),
        lambda: campaigns.status("w", spring, **seen),
        lambda: campaigns.new("w", read_description(EXAMPLE), by="eve", **seen),
        lambda: campaigns.settings_of("w", **seen),
        lambda: campaigns.change_settings("w", {"daily_quota": 1}, by="eve", **seen),
        lambda: campaigns.senders("w", **seen),
        lambda: campaigns.sender("w", "ada", **seen),
        lambda: campaigns.put_sender("w", whole.senders[0], by="eve", **seen),
        lambda: campaigns.sequences("w", **seen),
        lambda: campaigns.sequence("w", "spring", **seen),
        lambda: campaigns.edit_sequence("w", whole.sequence, by="eve", **seen),
        lambda: campaigns.import_prospects("w", table, by="eve", **seen),
        lambda: campaigns.check("w", spring, **seen),
        lambda: campaigns.forecast("w", spring, **seen),
    ]

    for verb in verbs:
        with pytest.raises(NotInWorkspace, match="there is no workspace 'w'"):
            verb()
    table.close()
    assert campaigns.settings_of("w").sending.daily_quota == 50


def test_a_check_tells_which_prospects_lack_what(campaigns: CampaignOperations, spring: str, tmp_path: Path) -> None:
    """E10: the field, the problem, the remedy, how many and who."""
    content = "id,email,company\n" + "".join(f"p{n},p{n}@example.org,{'Acme' if n % 2 else ''}\n" for n in range(20))
    imported(campaigns, tmp_path, content, campaign=spring)
    checked = campaigns.check("w", spring)
    sampled = campaigns.check("w", spring, sample=4)

    assert not checked.ok
    assert [(each.field, each.problem, each.count, each.prospects) for each in checked.problems] == [
        ("steps[1].subject", "there is no 'company'", 10, ("p0", "p2", "p4", "p6", "p8"))
    ]
    assert "default" in checked.problems[0].remedy
    assert (sampled.checked, sampled.prospects, sampled.problems[0].count) == (4, 20, 2)


def test_a_check_tells_a_bounded_number_of_problems_apart(
    campaigns: CampaignOperations, outbox: Outbox, spring: str, tmp_path: Path
) -> None:
    content = "email,company\n" + "".join(f"p{n}@example.org,Acme\n" for n in range(MOST + 7))
    imported(campaigns, tmp_path, content, campaign=spring)
    with outbox.transaction() as connection:
        connection.execute(f"UPDATE {outbox.database.dialect.tables}prospects SET timezone = 'Gone/' || normal_address")
    *told, last = campaigns.check("w", spring).problems

    assert (len(told), {each.count for each in told}) == (MOST, {1})
    assert last.problem == "there are 7 more problems of other kinds"


def test_a_check_tells_what_is_wrong_with_settings_senders_and_prospects(
    campaigns: CampaignOperations, outbox: Outbox, spring: str, tmp_path: Path
) -> None:
    imported(campaigns, tmp_path, PEOPLE, campaign=spring)
    campaigns.change_settings("w", {"daily_quota": 0}, by="ada")
    campaigns.put_sender("w", replace(campaigns.sender("w", "ada"), route="nowhere", daily_quota=0), by="ada")
    tables = outbox.database.dialect.tables
    with outbox.transaction() as connection:  # zones come and go
        connection.execute(f"UPDATE {tables}prospects SET timezone = 'Gone/Zone' WHERE name = 'Ada'")
        connection.execute(f"UPDATE {tables}senders SET pause_reason = 'login expired', paused_at = created_at")
    found = {each.field: each for each in campaigns.check("w", spring).problems}

    assert set(found) == {"daily_quota", "senders[ada].route", "senders[ada].daily_quota", "senders[ada]", "timezone"}
    assert (found["senders[ada]"].severity, found["timezone"].count) == ("warning", 1)


def test_a_forecast_tells_the_days_of_what_is_stored_and_changes_with_the_settings(
    campaigns: CampaignOperations, spring: str, tmp_path: Path, clock: Clock
) -> None:
    clock.now = datetime(2026, 5, 4, 6, tzinfo=UTC)  # a Monday, an hour before the window opens
    content = "email,company\n" + "".join(f"p{n}@example.org,Acme\n" for n in range(70))
    imported(campaigns, tmp_path, content, campaign=spring)
    first = campaigns.forecast("w", spring)
    assert (first.mails, first.prospects, first.steps, first.first) == (
        140,
        70,
        2,
        campaigns.forecast("w", spring).first,
    )
    assert [(day.planned, day.allowance) for day in first.days[:3]] == [(20, 20), (30, 30), (20, 40)]
    campaigns.change_settings("w", {"ramp_up": None, "daily_quota": 500}, by="ada")

    quicker = campaigns.forecast("w", spring)
    assert [(str(day.day), day.planned) for day in quicker.days] == [("2026-05-04", 70), ("2026-05-07", 70)]
    assert quicker.ends_on == date(2026, 5, 7)


def test_an_edit_of_a_sequence_is_what_a_draft_says_from_then_on(campaigns: CampaignOperations, spring: str) -> None:
    sequence = campaigns.sequence("w", "spring")
    edited = campaigns.edit_sequence("w", replace(sequence, steps=sequence.steps[:1]), by="ada")

    assert (edited.version, len(campaigns.status("w", spring).draft.sequence.steps)) == (2, 1)


async def test_event_loops_do_and_are_told_the_same(
    campaigns: CampaignOperations, awaiting: AsyncCampaignOperations, tmp_path: Path
) -> None:
    (tmp_path / "p.csv").write_text(PEOPLE)
    await awaiting.new("w", read_description(EXAMPLE), by="ada")
    with open_table(tmp_path / "p.csv") as table:
        done = await awaiting.import_prospects("w", table, by="ada", campaign="spring")

    assert done.enrolled == 2
    assert await awaiting.status("w", "spring") == campaigns.status("w", "spring")
    assert await awaiting.check("w", "spring") == campaigns.check("w", "spring")
    assert await awaiting.forecast("w", "spring") == campaigns.forecast("w", "spring")


def test_acts_are_in_the_audit_log(campaigns: CampaignOperations, outbox: Outbox, spring: str, tmp_path: Path) -> None:
    imported(campaigns, tmp_path, PEOPLE, campaign=spring)
    entries = outbox.database.run(read_audit(actor="ada", what=None, before=None, limit=10)).entries

    assert [(each.what, each.detail.get("state")) for each in entries] == [
        ("campaign_import", "done"),
        ("campaign_import", "begun"),
        ("campaign_new", None),
    ]
    assert entries[0].detail["rows"]["added"] == 2
    assert "example.org" not in str([each.detail for each in entries])
