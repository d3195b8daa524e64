"""A person moves from one region to another: what was not sent yet goes along, whole, and nothing of it stays."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from postroom import Attachment, Status
from postroom.errors import EmailNotFound
from postroom.outbox.submission import Submission
from postroom.regions.leaving import MOVABLE
from postroom.regions.moving import LOAD, OCTETS, At, loads
from postroom.regions.parcel import Departure
from postroom.regions.reasons import Stays, in_words
from postroom.sealing.keyring import Keyring
from postroom.store.contract import Claimed, Settlement
from postroom.store.enqueue import enqueue as enqueue_orders
from postroom.store.plan import drive
from postroom.vocabulary import EmailId
from tests.regions.moving.pair import ADA, PAIRS, Pair, everything, knows, place
from tests.store.journey import (
    bring_to,
    claim,
    claim_queued,
    dead,
    email,
    enqueue,
    enqueue_on,
    in_doubt,
    named,
    reserve,
    retrying,
    sent,
    settle,
    take_over,
)
from tests.store.stream import read_until

SECRET, OTHER_SECRET = "s" * 32, "o" * 32


def come_out(claimed: Claimed, status: Status, pair: Pair) -> Settlement:
    match status:
        case Status.RETRYING:
            return retrying(claimed, pair.clock.now + timedelta(minutes=1))
        case Status.IN_DOUBT:
            return in_doubt(claimed, None)
        case _:
            return dead(claimed)


@pytest.mark.parametrize("urls", PAIRS, indirect=True)
@pytest.mark.parametrize("status", sorted(MOVABLE - {Status.QUEUED}))
def test_an_email_that_was_not_sent_moves_with_all_that_is_its_own(pair: Pair, status: Status) -> None:
    letter = email(tags=["t"], attachments=[Attachment("a.txt", b"a")], to=[f"Ada <{ADA}>"])
    id = pair.here.enqueue(letter, key=f"welcome:{ADA}", kind="news", workspace="w", on_doubt="hold").id
    if status is not Status.PENDING:
        settle(pair.here, [come_out(claimed, status, pair) for claimed in claim(pair.here)])
    before, said = pair.here.get(id), pair.here.letter(id)
    moved = pair.move()

    assert moved.moved == {status: 1}
    after = pair.there.get(id)
    assert [(each.what, each.actor, each.detail) for each in after.history[-1:]] == [
        ("moved", "me", {"from": "deu1", "to": "usa1"})
    ]
    assert after.history[:-1] == before.history
    assert replace(after, history=()) == replace(before, history=())
    assert pair.there.letter(id) == said
    for narrowing in ({"tag": "t"}, {"kind": "news"}, {"workspace": "w"}, {"recipient": ADA}):
        assert [each.id for each in pair.there.list(**narrowing).emails] == [id]
    assert pair.adds_up


def test_nothing_of_what_moved_stays_where_it_was(pair: Pair) -> None:
    pair.here.enqueue(email(attachments=[Attachment("a.txt", b"a")]), key=f"welcome:{ADA}")
    settle(pair.here, [dead(each) for each in claim(pair.here)])
    [id] = [each.id for each in pair.here.list().emails]
    pair.here.replay(id, text="Corrected.")
    pair.move()

    assert not knows(pair.here, "ada")
    left = everything(pair.here)
    assert "Corrected." not in left
    assert "a.txt" not in left
    with pytest.raises(EmailNotFound):
        pair.here.get(id)
    assert (pair.here.counts()["moving"], pair.here.counts()["moved"]) == (0, 1)
    assert [(each.change, each.email_id) for each in read_until(pair.here, 3)][-1:] == [("moved", id)]


def test_every_version_of_what_it_says_goes_along(pair: Pair) -> None:
    id = bring_to(pair.here, Status.DEAD)
    pair.here.replay(id, to=ADA, subject="Corrected", text="Corrected.")
    pair.move()

    assert pair.there.get(id).subject == "Corrected"
    assert pair.there.letter(id).text == "Corrected."
    assert pair.there.letter(id, version=1).text == "Good morning."


def test_a_moved_key_makes_a_duplicate_there_and_is_free_here(pair: Pair) -> None:
    first = pair.here.enqueue(email(), key="k")
    pair.move()

    again = pair.there.enqueue(email(), key="k")
    assert (again.id, again.duplicate, again.content_differs) == (first.id, True, False)
    assert not pair.here.enqueue(email(), key="k").duplicate


def test_an_attachment_that_others_carry_stays_for_them_too(pair: Pair) -> None:
    shared = Attachment("a.txt", b"shared")
    pair.here.enqueue(email(attachments=[shared]))
    other = pair.here.enqueue(email(to="bob@example.org", attachments=[shared])).id
    pair.move()

    assert pair.here.letter(other).attachments[0].content == b"shared"
    assert pair.adds_up


@pytest.mark.parametrize("status", [Status.SENT, Status.CANCELLED, Status.SENDING])
def test_what_is_over_or_in_somebodys_hands_stays(pair: Pair, status: Status) -> None:
    id = bring_to(pair.here, status)
    moved = pair.move()

    assert moved.stays == {Stays(status): 1}
    assert pair.here.get(id).status is status
    assert pair.there.list().emails == ()


def test_what_was_dismissed_stays_until_it_is_swept_and_can_be_reinstated(pair: Pair) -> None:
    id = bring_to(pair.here, Status.DEAD)
    pair.here.dismiss(id)

    assert pair.move().stays == {Stays.DISMISSED: 1}
    pair.here.reinstate(id)
    assert pair.move().moved == {"dead": 1}


def test_what_waits_in_a_broker_moves_and_its_message_finds_nothing(pair: Pair) -> None:
    [id] = enqueue(pair.here)
    [reserved] = reserve(pair.here)
    moved = pair.move()

    assert moved.moved == {"pending": 1}
    assert claim_queued(pair.here, [named(reserved)]) == []
    assert [each.id for each in claim(pair.there)] == [id]


def test_an_email_that_somebody_takes_in_hand_meanwhile_stays(pair: Pair) -> None:
    """Between the look and the departure."""
    enqueue(pair.here)
    held: list[Claimed] = []

    def step(at: At) -> Any:
        if at.writes and not held:
            held.extend(claim(pair.here))
        return at.place.database.run(at.plan, writes=at.writes)

    assert drive(pair.moving(), step).stays == {Stays.SENDING: 1}
    assert settle(pair.here, [sent(held[0])]) == {held[0].id}


def test_whoever_held_it_once_settles_nothing_any_more(pair: Pair) -> None:
    [id] = enqueue(pair.here)
    [slow] = claim(pair.here)
    pair.clock.advance(seconds=60)
    settle(pair.here, [in_doubt(each, None) for each in take_over(pair.here)])
    pair.move()

    assert settle(pair.here, [sent(slow)]) == set()
    assert pair.there.get(id).status is Status.IN_DOUBT
    assert pair.adds_up


def test_a_doubt_moves_as_it_is(pair: Pair) -> None:
    id = pair.here.enqueue(email(), on_doubt="resend").id
    due = pair.clock.now + timedelta(hours=1)
    settle(pair.here, [in_doubt(each, due) for each in claim(pair.here)])
    moved = pair.move()

    after = pair.there.get(id)
    assert (after.status, after.doubts, after.on_doubt, after.next_attempt_at) == ("in_doubt", 1, "resend", due)
    assert moved.held == 0


def test_a_doubt_about_which_a_journal_may_know_more_arrives_held(pair: Pair) -> None:
    """Its worker died: should it come back and say that the email was accepted, nobody would hear it."""
    id = pair.here.enqueue(email(), on_doubt="resend").id
    claim(pair.here)
    pair.clock.advance(seconds=60)
    due = pair.clock.now + timedelta(hours=1)
    settle(pair.here, [in_doubt(each, due, takeovers=1) for each in take_over(pair.here)])
    moved = pair.move()

    after = pair.there.get(id)
    assert (after.status, after.doubts, after.on_doubt, after.next_attempt_at) == ("in_doubt", 1, "resend", None)
    assert moved.held == 1


def test_what_is_for_others_too_stays_unless_that_is_said(pair: Pair) -> None:
    both = pair.here.enqueue(email(to=[ADA, "bob@example.org"])).id

    assert pair.move().stays == {Stays.OTHERS: 1}
    assert pair.move(with_others=True).emails == 1
    assert [each.address for each in pair.there.get(both).recipients] == [ADA, "bob@example.org"]
    assert "example.org" not in everything(pair.here)


def test_the_address_is_found_in_any_case(pair: Pair) -> None:
    pair.here.enqueue(email(to="Ada@Example.org"))

    assert pair.move("ADA@example.ORG").emails == 1


def test_an_email_whose_key_is_taken_there_stays(pair: Pair) -> None:
    pair.there.enqueue(email("Another"), key="k")
    id = pair.here.enqueue(email(), key="k").id
    moved = pair.move()

    assert moved.named == ((id, Stays.KEY),)
    assert pair.here.get(id).status is Status.PENDING


def test_an_email_that_is_there_already_stays(pair: Pair) -> None:
    """One database may be a copy of the other."""
    order = pair.here.rules.order(Submission(email()), now=pair.clock.now)
    for outbox in (pair.here, pair.there):
        outbox.database.run(enqueue_orders([order]))

    assert pair.move().named == ((order.id, Stays.THERE),)
    assert pair.here.get(order.id).status is Status.PENDING


def test_an_email_whose_route_is_not_known_there_stays(pair: Pair) -> None:
    [id] = enqueue_on(pair.here, "marketing")

    assert pair.move().named == ((id, Stays.ROUTE),)
    assert pair.move(target=place("usa1", pair.there, routes=["default", "marketing"])).emails == 1
    assert [each.id for each in pair.there.list(route="marketing").emails] == [id]
    assert "marketing" not in everything(pair.here).replace("to_route", "")


@pytest.mark.parametrize("urls", ["sqlite-postgres"], indirect=True)
def test_a_sealed_email_moves_only_where_it_can_be_opened(pair: Pair) -> None:
    rules = replace(pair.here.rules, keyring=Keyring(SECRET))
    order = rules.order(Submission.of(email(), sensitive=True), now=pair.clock.now)
    pair.here.database.run(enqueue_orders([order]))
    neighbour, heir = Keyring(OTHER_SECRET), Keyring(OTHER_SECRET, (SECRET,))

    assert pair.move(target=place("usa1", pair.there, keyring=neighbour)).named == ((order.id, Stays.SEALED),)
    assert pair.move(target=place("usa1", pair.there, keyring=heir)).emails == 1
    [claimed] = claim(pair.there)
    assert heir.open(claimed.attachments[f"box.{order.id}.1"], id=order.id, version=1)
    assert "box." not in everything(pair.here)


def test_there_and_back_and_there_again(pair: Pair) -> None:
    [id] = enqueue(pair.here)
    pair.move()
    pair.back()
    assert pair.here.get(id).status is Status.PENDING
    pair.move()

    assert [each.what for each in pair.there.get(id).history] == ["moved", "moved", "moved"]
    assert [each.id for each in claim(pair.there)] == [id]
    assert pair.adds_up


def test_a_survey_says_what_would_happen_and_changes_nothing(pair: Pair) -> None:
    enqueue(pair.here, 2)
    bring_to(pair.here, Status.CANCELLED)
    before = everything(pair.here)
    found = pair.survey()

    assert (found.moved, found.stays) == ({"pending": 2}, {Stays.CANCELLED: 1})
    assert everything(pair.here) == before


@pytest.mark.parametrize("urls", ["sqlite-sqlite", "postgres-postgres"], indirect=True)
def test_many_move_in_loads(pair: Pair) -> None:
    pair.here.enqueue_many([email(f"Email {number}") for number in range(2 * LOAD + 1)])
    seen: list[int] = []

    assert pair.move(progress=seen.append).emails == 2 * LOAD + 1
    assert seen[-1] == 2 * LOAD + 1
    assert pair.adds_up


@pytest.mark.parametrize("urls", ["sqlite-postgres"], indirect=True)
def test_an_email_that_the_other_database_cannot_hold_stays_and_keeps_none_of_the_others(pair: Pair) -> None:
    """PostgreSQL has no text with the character zero in it; SQLite has."""
    bad, good = enqueue(pair.here, 2)
    with pair.here.transaction() as connection:
        connection.execute("UPDATE postroom_contents SET text = 'a' || char(0) WHERE email_id = ?", (bad,))
    moved = pair.move()

    assert (moved.moved, moved.named) == ({"pending": 1}, ((bad, Stays.UNFIT),))
    assert pair.there.get(good).status is Status.PENDING
    assert pair.here.get(bad).status is Status.PENDING
    assert pair.adds_up


def test_a_load_is_neither_too_many_nor_too_large() -> None:
    sizes = [OCTETS, 1, OCTETS - 1, 1, *[0] * LOAD]
    emails = [Departure(id=EmailId(str(n)), move="m", state={}, size=size) for n, size in enumerate(sizes)]

    assert [len(load) for load in loads(emails)] == [1, 2, 100, 1]


@pytest.mark.parametrize("why", Stays)
def test_why_emails_stay_is_a_sentence(why: Stays) -> None:
    assert in_words(why, 1, to="usa1").startswith("1 email ")
    assert in_words(why, 1_204, to="usa1").startswith("1,204 emails ")
    assert "{" not in in_words(why, 2, to="usa1")
