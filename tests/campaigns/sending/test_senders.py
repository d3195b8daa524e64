"""Senders that are paused, by a person or by what a server says at MAIL: their mail is kept, and nobody else waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import Email
from postroom.campaigns.drafts.workspace import get_sender
from postroom.campaigns.looking.explaining import explain
from postroom.campaigns.sending.senders import pause_sender, resume_sender
from postroom.campaigns.values import Sender
from postroom.errors import NotInWorkspace
from postroom.testing import ScriptedSmtp
from tests.campaigns.sending.stage import LINKS, OPEN_ALWAYS, SHOP, Stage, fails, miscounted, sent
from tests.campaigns.sending.test_workers import Today
from tests.work.conftest import nursery, server
from tests.work.nursery import Nursery
from tests.work.office import Office, subject_of, wait_until

__all__ = ["nursery", "server"]


def two_senders(stage: Stage, prospects: int = 4, delays: tuple[int, ...] = (0,)) -> None:
    """`grace` has those with odd numbers, and `ada` the others."""
    stage.settings()
    stage.sender("grace")
    stage.sender("ada")
    stage.draft("spring", prospects, delays, senders=("grace", "ada"))
    stage.launch()


def sender_of(stage: Stage, id: str = "grace") -> Sender:
    return stage.run(get_sender(SHOP, id))


# ---------------------------------------------------------------- by a person


def test_nothing_leaves_from_a_sender_who_is_paused_and_nobody_else_waits(stage: Stage) -> None:
    two_senders(stage)
    since = stage.clock.now
    paused = stage.run(pause_sender(SHOP, "grace", reason="on holiday"))
    assert [stage.send(), stage.send()] == ["p2:spring-words:1", "p4:spring-words:1"]
    stage.nothing_leaves()

    assert (paused.paused_at, paused.pause_reason) == (since, "on holiday")
    assert {each.told(OPEN_ALWAYS) for each in stage.run(explain(SHOP, "spring"))} == {
        "sender_down (grace: on holiday)"
    }


def test_who_is_resumed_sends_at_once_what_was_kept(stage: Stage) -> None:
    two_senders(stage, 2, (0, 0))
    stage.run(pause_sender(SHOP, "grace"))
    assert [stage.send(), stage.send()] == ["p2:spring-words:1", "p2:spring-words:2"]
    stage.nothing_leaves()
    assert stage.run(resume_sender(SHOP, "grace")).paused_at is None

    assert [stage.send(), stage.send()] == ["p1:spring-words:1", "p1:spring-words:2"]
    assert {each.sender_id for each in stage.mails() if each.number == 1} == {"grace"}, "one for the whole sequence"


def test_a_mail_whose_turn_has_come_is_asked_about_its_sender_before_it_leaves(stage: Stage) -> None:
    two_senders(stage)
    email = stage.claim()
    stage.run(pause_sender(SHOP, "grace"))
    objection = stage.objection(email)

    assert objection is not None
    assert objection.reason == "its sender is paused"


def test_a_mail_that_came_back_waits_for_its_sender_too(stage: Stage) -> None:
    two_senders(stage, 1)
    stage.settle(fails(stage.claim(), stage.clock.now, minutes=0))
    stage.run(pause_sender(SHOP, "grace"))
    assert [stage.tick().claimed for _ in range(3)] == [None, None, None]
    stage.run(resume_sender(SHOP, "grace"))

    assert stage.send() == "p1:spring-words:1"


def test_paused_twice_the_first_reason_stays_and_a_sender_who_is_not_there_is_told(stage: Stage) -> None:
    two_senders(stage)
    stage.run(pause_sender(SHOP, "grace", reason="first"))
    stage.run(pause_sender(SHOP, "grace", reason="second"))

    assert sender_of(stage).pause_reason == "first"
    for act in (pause_sender, resume_sender):
        with pytest.raises(NotInWorkspace):
            stage.run(act(SHOP, "nobody"))
        with pytest.raises(NotInWorkspace):
            stage.run(act("another", "grace"))


def test_a_sender_who_is_changed_while_a_campaign_runs_writes_as_that_from_the_next_mail_on(stage: Stage) -> None:
    two_senders(stage, 1, (0, 0))
    first = stage.claim()
    stage.sender("grace", address="grace@new.example", name="Grace", reply_to="desk@shop.example", daily_quota=2)
    stage.settle(fails(first, stage.clock.now, minutes=0))
    again = stage.claim()
    stage.settle(sent(again))
    following = stage.claim()

    assert "grace@shop.example" in again.envelope, "what was tried before stays as it was written"
    assert "grace@new.example" in following.envelope
    assert "desk@shop.example" in following.envelope


# ---------------------------------------------------------------- by what a server says


@pytest.fixture
def office(store_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery) -> Iterator[Office]:
    with Office(store_url, server, tmp_path, nursery) as office:
        yield office


REFUSALS = [
    "550 5.1.8 sender address rejected: domain not found",
    "553 sender refused",
    "550 5.7.1 not owned by user",
]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_sender_whom_the_server_refuses_is_paused_and_their_mail_kept(office: Office, refusal: str) -> None:
    """E5: that is the sender's fault, not the mails', and no fault at all of others who send by the same route."""
    stage = Stage(office.outbox, Today())
    office.server.script(at="mail", argument="grace@shop.example", reply=refusal)
    two_senders(stage, 8, (0, 0))
    worker = office.start_worker(**LINKS)
    wait_until(lambda: sender_of(stage).paused_at is not None and len(office.server.messages) >= 8)
    ordinary = office.outbox.enqueue(Email(to="ada@example.org", subject="A receipt", text="Paid.")).id
    wait_until(lambda: office.outbox.get(ordinary).status == "sent")
    wait_until(lambda: not office.sql("SELECT 1 FROM {emails} WHERE status = 'sending'"))
    waits = stage.run(explain(SHOP, "spring"))
    attempts = office.sql("SELECT DISTINCT status, attempts FROM {emails} WHERE status <> 'sent'")

    assert sender_of(stage).pause_reason == f"refused at MAIL: {refusal}"
    assert {each.wait.detail for each in waits if each.wait and each.mail.step == 1} == {
        f"grace: refused at MAIL: {refusal}"
    }
    assert [tuple(row) for row in attempts] == [("pending", 0)]
    assert [tuple(row) for row in office.sql("SELECT state FROM {transports}")] == [("ok",)]

    office.server.script(at="mail", argument="grace@shop.example", reply="250 2.1.0 ok")
    stage.run(resume_sender(SHOP, "grace"))
    wait_until(lambda: stage.campaign().status == "completed")
    office.dismiss([worker])
    received = [(each.recipients[0], subject_of(each.data)) for each in office.server.messages]

    assert len(received) == len(set(received)) == 17
    assert {each.sender for each in office.server.messages if each.recipients[0].startswith(("p1@", "p3@"))} == {
        "grace@shop.example"
    }
    assert miscounted(stage) == []


def test_a_sender_who_is_refused_again_after_a_person_resumed_them_is_paused_again(office: Office) -> None:
    stage = Stage(office.outbox, Today())
    office.server.script(at="mail", argument="grace@shop.example", reply="550 5.1.8 first")
    two_senders(stage, 1)
    worker = office.start_worker(**LINKS)
    wait_until(lambda: sender_of(stage).paused_at is not None)
    office.server.script(at="mail", argument="grace@shop.example", reply="550 5.1.8 second")
    stage.run(resume_sender(SHOP, "grace"))
    wait_until(lambda: sender_of(stage).pause_reason == "refused at MAIL: 550 5.1.8 second")
    office.dismiss([worker])

    assert not office.server.messages
    assert set(stage.states().values()) == {"leaving"}


def test_a_login_that_is_refused_pauses_the_route_and_costs_no_mail_its_place(
    store_url: str, tmp_path: Path, nursery: Nursery
) -> None:
    with ScriptedSmtp(users={"app": "right"}) as server, Office(store_url, server, tmp_path, nursery) as office:
        stage = Stage(office.outbox, Today())
        two_senders(stage, 4)
        url = office.server.url.replace("smtp://", "smtp://app:wrong@")
        worker = office.start_worker(**LINKS, POSTROOM_SMTP=url)
        wait_until(lambda: [tuple(row) for row in office.sql("SELECT state FROM {transports}")] == [("paused",)])
        wait_until(lambda: not office.sql("SELECT 1 FROM {emails} WHERE status = 'sending'"))
        office.dismiss([worker])

        assert set(stage.states().values()) <= {"leaving", "ready"}
        assert sender_of(stage).paused_at is None, "the route says so, for all who send by it"
        assert not office.sql("SELECT 1 FROM {emails} WHERE status = 'dead'")
