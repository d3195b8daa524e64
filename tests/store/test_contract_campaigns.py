"""Campaigns as drafts (E1, E8, E9): what belongs to a workspace is there, once, and nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

import psycopg
import pytest

from postroom import Outbox
from postroom.campaigns import RampUp, SendingSettings
from postroom.campaigns.drafts.campaigns import (
    add_campaign,
    campaigns_after,
    count_enrolments,
    enrol,
    enrolments_after,
    get_campaign,
    lock_draft,
    senders_of,
    waiting_in_running_campaigns,
)
from postroom.campaigns.drafts.prospects import (
    Arrival,
    Intake,
    Taken,
    count_prospects,
    find_prospect,
    get_prospect,
    take_in,
)
from postroom.campaigns.drafts.sequences import add_sequence, edit_sequence, get_sequence, sequences, steps_of
from postroom.campaigns.drafts.workspace import (
    get_sender,
    put_sender,
    put_workspace_settings,
    senders,
    workspace_settings,
)
from postroom.campaigns.values import Campaign, Prospect, Sender, Sequence, Step, WorkspaceSettings
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.store.plan import Plan
from postroom.vocabulary import CampaignStatus, EnrolmentStatus
from tests.store.journey import Clock

STEPS = (Step(number=1, subject="Hi {{ name }}", text="Hello"), Step(number=2, delay_days=3, text="Again"))
SEQUENCE = Sequence(id="intro", name="Intro", steps=STEPS)
ADA = Sender(id="ada", name="Ada", address="ada@example.org", daily_quota=30, ramp_up=RampUp(schedule=(5, 10)))
WAITING = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
DRAFT = Campaign(id="spring", name="Spring", sequence_id="intro")


def someone(id: str, address: str | None = None, **known: Any) -> Arrival:
    return Arrival(Prospect(id=id, address=address or f"{id}@example.org", **known).checked(), True)


def take(outbox: Outbox, *arrivals: Arrival, workspace: str = "w", update: bool = False) -> list[Intake]:
    return outbox.database.run(take_in(workspace, arrivals, update=update))


def draft(outbox: Outbox, workspace: str = "w") -> None:
    """A sequence, a sender and a campaign of them."""

    def plan() -> Plan[None]:
        yield from add_sequence(workspace, SEQUENCE)
        yield from put_sender(workspace, ADA)
        yield from add_campaign(workspace, DRAFT, senders=["ada"])

    outbox.database.run(plan())


def enrolled(outbox: Outbox, *ids: str, workspace: str = "w") -> frozenset[str]:
    return outbox.database.run(enrol(workspace, "spring", ids))


def test_a_workspace_begins_with_the_defaults_and_keeps_what_it_is_told(outbox: Outbox, clock: Clock) -> None:
    before = outbox.database.run(workspace_settings("w"))
    sending = SendingSettings(timezone="Europe/Berlin", daily_quota=7, ramp_up=RampUp(schedule=(1, 2)))
    told = replace(before, sending=sending, person_hours=24, bounce_limit=0.1, complaint_limit=None, limit_after=5)

    assert before == WorkspaceSettings()
    assert outbox.database.run(put_workspace_settings("w", told)) == 1
    assert outbox.database.run(workspace_settings("w")) == replace(told, version=1, updated_at=clock.now)
    assert outbox.database.run(workspace_settings("other")) == WorkspaceSettings()


def test_who_changes_settings_that_somebody_else_has_changed_meanwhile_is_told(outbox: Outbox) -> None:
    seen = outbox.database.run(workspace_settings("w"))
    outbox.database.run(put_workspace_settings("w", replace(seen, person_hours=1)))

    with pytest.raises(InvalidCampaign, match="no longer those of version 0"):
        outbox.database.run(put_workspace_settings("w", replace(seen, person_hours=2)))
    assert outbox.database.run(workspace_settings("w")).person_hours == 1


def test_a_sender_is_added_and_changed_under_its_id(outbox: Outbox) -> None:
    outbox.database.run(put_sender("w", ADA))
    changed = replace(ADA, reply_to="desk@example.org", daily_quota=None, ramp_up=None, route="bulk")
    assert outbox.database.run(senders("w")) == (ADA,)
    outbox.database.run(put_sender("w", changed))

    assert outbox.database.run(senders("w")) == (changed,)


def test_an_edit_makes_a_new_version_and_leaves_the_old_one_as_it_was(outbox: Outbox) -> None:
    outbox.database.run(add_sequence("w", SEQUENCE))
    other = replace(SEQUENCE, steps=(replace(STEPS[0], text="Other words"),))

    assert outbox.database.run(edit_sequence("w", other)).version == 2
    assert outbox.database.run(edit_sequence("w", other)).version == 2  # the same steps make no version
    assert outbox.database.run(edit_sequence("w", replace(other, name="Renamed"))).version == 2
    assert outbox.database.run(steps_of("w", "intro", 1)) == STEPS
    assert outbox.database.run(steps_of("w", "intro", 2)) == other.steps
    [outline] = outbox.database.run(sequences("w"))
    assert (outline.id, outline.name, outline.version, outline.steps) == ("intro", "Renamed", 2, 1)


def test_an_id_is_taken_once_in_a_workspace_and_again_in_another(outbox: Outbox) -> None:
    draft(outbox)

    with pytest.raises(InvalidCampaign, match=r"campaign\.id: 'spring' is there already"):
        outbox.database.run(add_campaign("w", DRAFT, senders=[]))
    with pytest.raises(InvalidCampaign, match=r"sequence\.id: a sequence 'intro' is there already"):
        outbox.database.run(add_sequence("w", SEQUENCE))
    draft(outbox, "other")
    assert outbox.database.run(get_campaign("other", "spring")).status is CampaignStatus.DRAFT


def test_a_campaign_is_read_back_with_its_senders_in_their_order(outbox: Outbox, clock: Clock) -> None:
    draft(outbox)
    bob = Sender(id="bob", address="bob@example.org")
    outbox.database.run(put_sender("w", bob))
    outbox.database.run(add_campaign("w", replace(DRAFT, id="summer"), senders=["bob", "ada", "bob"]))

    assert outbox.database.run(get_campaign("w", "summer")) == replace(DRAFT, id="summer", created_at=clock.now)
    assert outbox.database.run(senders_of("w", "summer")) == (bob, ADA)
    assert [each.id for each in outbox.database.run(campaigns_after("w"))] == ["spring", "summer"]
    assert [each.id for each in outbox.database.run(campaigns_after("w", "spring"))] == ["summer"]


QUESTIONS: dict[str, Callable[[str], Plan[Any]]] = {
    "campaign": lambda workspace: get_campaign(workspace, "spring"),
    "draft": lambda workspace: lock_draft(workspace, "spring"),
    "sequence": lambda workspace: get_sequence(workspace, "intro"),
    "edit": lambda workspace: edit_sequence(workspace, SEQUENCE),
    "sender": lambda workspace: get_sender(workspace, "ada"),
    "prospect": lambda workspace: get_prospect(workspace, "p1"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_another_workspace_has_is_not_found(outbox: Outbox, question: str) -> None:
    """E8: by its id, and without being told that somebody has it."""
    draft(outbox)
    take(outbox, someone("p1"))

    assert outbox.database.run(QUESTIONS[question]("w")).id
    with pytest.raises(NotInWorkspace, match="in the workspace 'other'"):
        outbox.database.run(QUESTIONS[question]("other"))


def test_no_list_and_no_count_tells_of_another_workspace(outbox: Outbox) -> None:
    draft(outbox)
    take(outbox, someone("p1"))
    enrolled(outbox, "p1")

    for plan in (senders, sequences, campaigns_after, waiting_in_running_campaigns):
        assert outbox.database.run(plan("other")) == ()
    assert outbox.database.run(senders_of("other", "spring")) == ()
    assert outbox.database.run(steps_of("other", "intro", 1)) == ()
    assert outbox.database.run(enrolments_after("other", "spring")) == ()
    assert outbox.database.run(count_enrolments("other", "spring")) == {}
    assert outbox.database.run(count_prospects("other")) == 0
    assert outbox.database.run(find_prospect("other", "p1@example.org")) is None


def test_nobody_of_another_workspace_is_enrolled_or_changed(outbox: Outbox) -> None:
    draft(outbox)
    draft(outbox, "other")
    take(outbox, someone("p1", name="Theirs"), workspace="other")

    assert enrolled(outbox, "p1") == frozenset()
    [intake] = take(outbox, someone("p1", name="Ours"), update=True)
    assert intake.taken is Taken.ADDED
    assert outbox.database.run(get_prospect("other", "p1")).name == "Theirs"
    assert enrolled(outbox, "p1") == {"p1"}
    assert outbox.database.run(count_enrolments("other", "spring")) == {}


def test_a_prospect_is_read_back_as_it_was_taken_in(outbox: Outbox) -> None:
    known = {"name": "Ädä", "timezone": "Europe/Berlin", "language": "de-CH", "fields": {"company": 'A "&" B'}}
    arrival = someone("p1", "Ada@Example.org", **known)
    take(outbox, arrival)

    assert outbox.database.run(get_prospect("w", "p1")) == arrival.prospect
    assert outbox.database.run(find_prospect("w", "ADA@example.ORG")) == arrival.prospect
    assert arrival.prospect.address == "Ada@example.org"


def test_the_same_prospects_again_add_nothing(outbox: Outbox) -> None:
    arrivals = [someone(f"p{number}", fields={"company": "Acme"}) for number in range(5)]

    assert [each.taken for each in take(outbox, *arrivals)] == [Taken.ADDED] * 5
    assert [each.taken for each in take(outbox, *arrivals, update=True)] == [Taken.UNCHANGED] * 5
    assert outbox.database.run(count_prospects("w")) == 5


def test_an_address_is_one_prospect_in_whatever_case_and_keeps_its_first_id(outbox: Outbox) -> None:
    take(outbox, someone("p1", "ada@example.org"))
    made_up = Arrival(Prospect(id="made-up", address="ADA@example.org").checked(), False)

    [intake] = take(outbox, made_up)
    assert (intake.taken, intake.id) == (Taken.UNCHANGED, "p1")
    assert "address" in intake.reason  # it is written differently, which is told and not changed


def test_what_differs_is_changed_only_where_that_is_asked_for(outbox: Outbox) -> None:
    take(outbox, someone("p1", name="Ada", fields={"company": "Acme", "city": "Bern"}))
    anew = someone("p1", name="Ada L.", fields={"company": "Beta"})
    [told] = take(outbox, anew)
    assert (told.taken, told.reason) == (Taken.UNCHANGED, "differs in name, company; --update would change it")
    [changed] = take(outbox, anew, update=True)

    assert (changed.taken, changed.id) == (Taken.UPDATED, "p1")
    after = outbox.database.run(get_prospect("w", "p1"))
    assert (after.name, after.fields) == ("Ada L.", {"company": "Beta", "city": "Bern"})


def test_ids_do_not_change_and_belong_to_one_address(outbox: Outbox) -> None:
    take(outbox, someone("p1", "ada@example.org"))
    renamed, stolen, fresh = take(
        outbox, someone("p2", "ada@example.org"), someone("p1", "bob@example.org"), someone("p3"), update=True
    )

    assert (renamed.taken, stolen.taken, fresh.taken) == (Taken.REFUSED, Taken.REFUSED, Taken.ADDED)
    assert "under the id 'p1'" in renamed.reason
    assert "belongs to another address" in stolen.reason


def test_of_two_that_come_at_once_under_one_id_the_second_is_refused(outbox: Outbox) -> None:
    first, second = take(outbox, someone("p1", "ada@example.org"), someone("p1", "bob@example.org"))

    assert (first.taken, second.taken) == (Taken.ADDED, Taken.REFUSED)
    assert outbox.database.run(count_prospects("w")) == 1


def test_enrolments_are_numbered_in_their_order_and_each_is_there_once(outbox: Outbox) -> None:
    draft(outbox)
    take(outbox, *(someone(f"p{number}") for number in range(6)))
    assert enrolled(outbox, "p3", "p1", "unknown") == {"p3", "p1"}
    assert enrolled(outbox, "p1", "p0", "p0", "p2") == {"p0", "p2"}
    found = outbox.database.run(enrolments_after("w", "spring"))

    assert [each.prospect.id for each in found] == ["p3", "p1", "p0", "p2"]
    numbers = [each.number for each in found]
    assert numbers == sorted(set(numbers))
    assert {(each.status, each.next_step, each.sequence_version, each.sender_id) for each in found} == {
        (EnrolmentStatus.ENROLLED, 1, None, None)
    }
    assert outbox.database.run(count_enrolments("w", "spring")) == {"enrolled": 4}
    page = outbox.database.run(enrolments_after("w", "spring", numbers[0], limit=2))
    assert [each.number for each in page] == numbers[1:3]


def test_only_a_draft_is_filled(outbox: Outbox) -> None:
    draft(outbox)
    with outbox.transaction() as connection:
        connection.execute(f"UPDATE {outbox.database.dialect.tables}campaigns SET status = 'running'")

    with pytest.raises(InvalidCampaign, match="the campaign 'spring' is running; only a draft"):
        outbox.database.run(lock_draft("w", "spring"))


def test_who_waits_in_running_campaigns_is_counted_by_step_and_day(outbox: Outbox) -> None:
    """What a later launch will write, and the forecast of another campaign reads."""
    draft(outbox)
    take(outbox, *(someone(f"p{number}") for number in range(4)))
    enrolled(outbox, "p0", "p1", "p2", "p3")
    tables = outbox.database.dialect.tables
    with outbox.transaction() as connection:
        connection.execute(f"UPDATE {tables}campaigns SET status = 'running', launched_at = created_at")
        connection.execute(f"UPDATE {tables}enrolments SET status = 'active', sequence_version = 1")
        connection.execute(
            f"UPDATE {tables}enrolments SET next_step = 2, last_sent_on = '2026-05-04' WHERE prospect_id < 'p2'"
        )
        connection.execute(f"UPDATE {tables}enrolments SET status = 'replied' WHERE prospect_id = 'p3'")

    found = outbox.database.run(waiting_in_running_campaigns("w"))
    assert [(each.next_step, str(each.last_sent_on), each.count) for each in found] == [
        (1, "None", 1),
        (2, "2026-05-04", 2),
    ]
    assert {(each.campaign_id, each.sequence_id, each.sequence_version) for each in found} == {("spring", "intro", 1)}


def test_two_who_take_the_same_prospects_in_at_once_add_each_of_them_once(postgres_outbox: Outbox) -> None:
    """What one has not committed the other does not see: it waits, looks again, and finds them there."""
    arrivals = [someone(f"p{number}") for number in range(50)]
    outbox = postgres_outbox
    with ThreadPoolExecutor(1) as thread, psycopg.connect(outbox.database_url, autocommit=True) as observer:
        with outbox.database.transaction() as connection:
            first = outbox.database.run_on(connection, take_in("w", arrivals, update=False))
            second = thread.submit(outbox.database.run, take_in("w", arrivals[::-1], update=False))
            while not observer.execute(WAITING).fetchall():
                Event().wait(0.005)
        taken = [each.taken for each in first + second.result()]

    assert taken == [Taken.ADDED] * 50 + [Taken.UNCHANGED] * 50
    assert outbox.database.run(count_prospects("w")) == 50
