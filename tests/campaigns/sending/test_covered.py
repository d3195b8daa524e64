"""Whom a program puts on the list that knows nothing of campaigns: the next look stops them, and not months later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest

from postroom import AsyncOutbox
from postroom.campaigns.looking.totals import discrepancies, totals_of
from postroom.campaigns.sending.tick import tick
from postroom.campaigns.stopping.following import hold_campaigns
from postroom.campaigns.stopping.suppressing import MOST, suppress_in_campaigns
from postroom.operate import Operations
from postroom.store.ids import new_id
from postroom.store.migrate import script
from postroom.store.plan import Plan, ask_sql
from postroom.store.schema import migrations
from postroom.store.suppressions import Stop
from postroom.vocabulary import CampaignStatus, Return, SuppressionReason, SuppressionScope
from tests.campaigns.sending.stage import MONDAY, OFFICE, SHOP, Stage, fails
from tests.campaigns.sending.test_stops import about, balanced, came_back, ended, two

__all__ = ["two"]

SCOPES: dict[str, dict[str, str]] = {
    "all": {},
    "workspace": {"scope": "workspace", "workspace": SHOP},
    "kind": {"scope": "kind", "workspace": SHOP, "kind": "campaign"},
}


def noted(stage: Stage) -> int:
    """Of how many entries something is still to be concluded."""
    return int(asked(stage, "SELECT count(*) FROM {}covered_prospects")[0][0])


def asked(stage: Stage, sql: str) -> Any:
    def plan() -> Plan[Any]:
        return (yield ask_sql(sql.format(stage.outbox.database.dialect.tables)))

    return stage.run(plan())


@pytest.fixture
def closed(stage: Stage) -> Stage:
    """Two campaigns at rest: their window opens in an hour."""
    stage.settings(OFFICE)
    stage.launched("spring", 2, (0, 1))
    stage.draft("summer", ["p1", "p2"])
    stage.launch("summer")
    stage.nothing_leaves()
    return stage


@pytest.mark.parametrize("fields", SCOPES.values(), ids=SCOPES)
def test_whom_a_program_puts_on_the_list_is_stopped_by_the_next_look_p12(closed: Stage, fields: dict[str, str]) -> None:
    """Whenever the workspace would have had its turn."""
    assert not closed.tick().worked
    entry = closed.outbox.suppress("P1@example.org", reason="unsubscribe", **fields)
    assert closed.tick().worked

    assert ended(closed) == dict.fromkeys(("spring", "summer"), ("unsubscribed", f"suppressed: {entry}"))
    assert ended(closed, "p2")["spring"] == ("active", None)
    assert closed.run(totals_of(SHOP, "spring")).stopped == {"suppressed": 2}
    assert (noted(closed), closed.tick().worked) == (0, False)
    assert balanced(closed, "spring", "summer")


async def test_an_async_outbox_is_heard_alike(two: Stage) -> None:
    async with AsyncOutbox(two.outbox.database_url, clock=two.clock) as outbox:
        entry = await outbox.suppress("p1@example.org", reason="complaint")
    two.tick()

    assert ended(two)["summer"] == ("complained", f"suppressed: {entry}")


def test_it_is_noted_by_whatever_makes_the_entry_with_its_commit_p12(closed: Stage) -> None:
    """Also by SQL, as a release before makes one. It holds no campaign: looks go on meanwhile, and hear of it then."""
    tables = closed.outbox.database.dialect.tables
    now = "now()" if tables == "postroom." else "0"
    entry = f"""
        INSERT INTO {tables}suppressions (id, address, scope, reason, created_at, noted_at)
        VALUES ('{new_id()}', 'p1@example.org', 'all', 'manual', {now}, {now})
    """
    with suppress(ZeroDivisionError), closed.outbox.transaction() as connection:
        connection.execute(entry)
        raise ZeroDivisionError
    assert noted(closed) == 0
    with closed.outbox.transaction() as connection:
        connection.execute(entry)
        if tables == "postroom.":  # on SQLite there is one writer at a time
            assert closed.run(hold_campaigns(workspaces=[SHOP])) == {SHOP}
            assert not closed.tick().worked
    closed.tick()

    assert ended(closed)["summer"][0] == "stopped"


@pytest.mark.parametrize(
    "fields",
    [
        {"scope": "workspace", "workspace": "elsewhere"},
        {"scope": "kind", "workspace": SHOP, "kind": "digest"},
        {"expires_at": MONDAY},
    ],
    ids=["of another workspace", "of another kind", "that has ended"],
)
def test_an_entry_that_covers_no_campaign_stops_none_p12(closed: Stage, fields: dict[str, Any]) -> None:
    closed.outbox.suppress("p1@example.org", reason="unsubscribe", **fields)
    closed.nothing_leaves()

    assert noted(closed) == 0
    assert ended(closed) == {"spring": ("active", None), "summer": ("active", None)}
    assert balanced(closed, "spring", "summer")


def test_an_entry_that_ends_stops_for_good_whom_it_covered_p12(two: Stage) -> None:
    """Nothing goes on by itself: neither when it ends, nor when it is taken away."""
    two.outbox.suppress("p1@example.org", expires_at=two.clock.now + timedelta(hours=1))
    two.tick()
    two.send_until(MONDAY + timedelta(days=4))

    assert ended(two)["spring"][0] == "stopped"
    assert "p1:spring-words:2" not in [each.key for each in two.log]


def test_an_entry_that_is_taken_away_before_anybody_looked_stops_nobody(two: Stage) -> None:
    entry = two.outbox.suppress("p1@example.org")
    assert two.outbox.unsuppress(entry.id)
    two.send_until(MONDAY + timedelta(days=4))

    assert [each.key for each in two.log if each.key.startswith("p1:")] == [
        "p1:spring-words:1", "p1:summer-words:1", "p1:spring-words:2",
    ]  # fmt: skip
    assert noted(two) == 0


def test_an_entry_that_had_ended_and_is_said_again_stops_p12(two: Stage) -> None:
    two.outbox.suppress("p1@example.org", expires_at=MONDAY)
    two.tick()
    two.outbox.suppress("p1@example.org")
    two.tick()

    assert ended(two)["spring"][0] == "stopped"


def test_what_waits_for_another_attempt_and_what_is_in_hand_are_stopped_too_p12(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2, (0, 0))
    retrying, in_hand = stage.claim(), stage.claim()
    stage.settle(fails(retrying, stage.clock.now))
    for number in (1, 2):
        stage.outbox.suppress(f"p{number}@example.org")
    stage.tick()
    assert stage.objection(in_hand) is not None
    stage.settle(fails(in_hand, stage.clock.now))
    stage.nothing_leaves()

    assert set(stage.states().values()) == {"stopped"}
    assert {each.partition(":")[0] for each in (mail.reason or "" for mail in stage.mails())} == {"suppressed"}
    assert stage.outbox.get(retrying.id).status == "cancelled"
    assert stage.days() == {"2026-03-09": (0, 0)}
    assert stage.campaign().status is CampaignStatus.COMPLETED
    assert balanced(stage, "spring")


def test_however_many_there_are_each_look_is_short(stage: Stage) -> None:
    """A look at a time, none of them longer than so many conclusions; nobody leaves in between."""
    stage.settings()
    stage.launched("spring", MOST + 20, (0,))
    for number in range(1, MOST + 21):
        stage.outbox.suppress(f"p{number}@example.org")
    assert noted(stage) == MOST + 20
    stage.tick()
    assert noted(stage) == 20
    stage.nothing_leaves()

    assert (noted(stage), stage.log) == (0, [])
    assert stage.run(totals_of(SHOP, "spring")).stopped == {"suppressed": MOST + 20}
    assert stage.campaign().status is CampaignStatus.COMPLETED


def test_until_somebody_looks_the_check_says_so(two: Stage) -> None:
    two.outbox.suppress("p1@example.org")

    assert [str(each) for each in two.go_through(discrepancies(SHOP, "summer"))] == [
        "people on the list who are not stopped yet: 0 expected, 1 found"
    ]
    two.tick()
    assert balanced(two, "spring", "summer")


def test_a_look_that_is_killed_is_repeated(two: Stage) -> None:
    """Conclusion and note are one transaction."""
    two.outbox.suppress("p1@example.org")

    def killed() -> Plan[None]:
        yield from tick(two.clerk(), routes=["default"])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        two.run(killed())
    assert (noted(two), ended(two)["summer"]) == (1, ("active", None))
    two.tick()

    assert (noted(two), ended(two)["summer"][0]) == (0, "stopped")


# ---------------------------------------------------------------- at once, and nothing for a look


def reader_calls_it_spam(stage: Stage) -> object:
    return came_back(stage, about(stage, Return.COMPLAINED, "p1:spring-words:1"))


def answers_unsubscribe(stage: Stage) -> object:
    return came_back(stage, about(stage, Return.UNSUBSCRIBED, "p1:spring-words:1"))


def person_on_the_desk(stage: Stage) -> object:
    return Operations(stage.outbox).suppress(
        Stop(address="p1@example.org", reason=SuppressionReason.MANUAL), by="grace"
    )


def import_of_a_list(stage: Stage) -> object:
    return Operations(stage.outbox).import_suppressions(BytesIO(b"p1@example.org\n"), by="grace")


@pytest.mark.parametrize(
    "says",
    [reader_calls_it_spam, answers_unsubscribe, person_on_the_desk, import_of_a_list],
    ids=lambda each: each.__name__,
)
def test_what_is_concluded_at_once_leaves_nothing_to_conclude(two: Stage, says: Callable[[Stage], object]) -> None:
    says(two)

    assert noted(two) == 0
    assert ended(two)["summer"][0] != "active"


def test_what_others_said_before_is_not_forgotten_with_it(two: Stage) -> None:
    """An entry that holds is still to be concluded when another, which has ended, is put beside it at once."""
    two.outbox.suppress("p1@example.org", reason="unsubscribe")
    past = Stop(address="p1@example.org", reason=SuppressionReason.MANUAL, expires_at=MONDAY)
    two.run(suppress_in_campaigns([past]))
    two.tick()

    assert ended(two)["summer"][0] == "unsubscribed"


def test_who_is_in_no_launched_campaign_is_noted_nowhere(stage: Stage) -> None:
    """So that lists of any length cost nothing there: a launch asks the list itself."""
    stage.settings()
    stage.sender()
    stage.draft("spring", 2)
    stage.outbox.suppress("p1@example.org")
    assert noted(stage) == 0
    stage.launch()

    assert {id: each.status.value for id, each in stage.enrolments().items()} == {"p1": "stopped", "p2": "active"}


def test_every_workspace_is_told_of_what_is_said_of_all_mail(stage: Stage) -> None:
    other = Stage(stage.outbox, stage.clock, "another shop")
    for each in (stage, other):
        each.settings()
        each.launched("spring", 2)
    stage.outbox.suppress("p1@example.org")
    assert noted(stage) == 2
    for _ in range(2):
        stage.tick()

    assert [each.enrolments()["p1"].status.value for each in (stage, other)] == ["stopped", "stopped"]


def test_those_of_whom_it_was_said_before_an_upgrade_are_stopped_too(two: Stage) -> None:
    two.outbox.suppress("p1@example.org")
    two.outbox.suppress("stranger@example.org")
    asked(two, "DELETE FROM {}covered_prospects")
    dialect = two.outbox.database.dialect
    [migration] = [each for each in migrations(dialect.name) if each.name == "covered_prospects"]
    backfill = script(dialect, [migration])
    begin = backfill.index(f"INSERT INTO {dialect.tables}covered_prospects", backfill.index("-- Those of whom"))
    asked(two, backfill[begin : backfill.index(";", begin)].replace("{", "{{"))
    assert noted(two) == 1
    two.tick()

    assert ended(two)["summer"][0] == "stopped"


def test_scopes_are_all_there_are() -> None:
    assert set(SCOPES) == {each.value for each in SuppressionScope}
