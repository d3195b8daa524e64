"""List: by everything people search by, newest first, in pages that neither skip nor repeat."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import Any

import pytest

from postroom import EmailId, Filter, Outbox, Status
from postroom.errors import ConfigurationError
from tests.store.journey import Clock, bring_to, claim, dead, email, enqueue, settle


def found(outbox: Outbox, **filters: Any) -> list[str]:
    return [each.subject for each in outbox.list(**filters).emails]


@pytest.fixture
def populated(outbox: Outbox, clock: Clock) -> Outbox:
    """Five emails, no two alike."""
    outbox.enqueue(email("Bread", to="Ada <ada@example.org>", tags=["food", "daily"]), kind="offer", workspace="acme")
    outbox.enqueue(email("Wine", to="bob@example.org", cc="ada@example.org", tags=["food"]), kind="offer")
    clock.advance(minutes=1)
    outbox.enqueue(email("ÄPFEL und Birnen", to="eve@example.org"), key="fruit", workspace="acme")
    outbox.enqueue(email("Cheese 100%_", to="eve@example.org", bcc="mallory@example.org"), key="fruit")
    clock.advance(minutes=1)
    outbox.enqueue(email("Dessert", to="eve@example.org", tags=["food"]), kind="welcome", priority="urgent")
    return outbox


def test_the_newest_come_first(populated: Outbox) -> None:
    assert found(populated) == ["Dessert", "Cheese 100%_", "ÄPFEL und Birnen", "Wine", "Bread"]


@pytest.mark.parametrize(
    ("filters", "subjects"),
    [
        ({"kind": "offer"}, ["Wine", "Bread"]),
        ({"kind": "off"}, []),
        ({"workspace": "acme"}, ["ÄPFEL und Birnen", "Bread"]),
        ({"workspace": ""}, ["Dessert", "Cheese 100%_", "Wine"]),
        ({"kind": ""}, ["Cheese 100%_", "ÄPFEL und Birnen"]),
        ({"recipient": "ada@example.org"}, ["Wine", "Bread"]),
        ({"recipient": "ADA@Example.ORG"}, ["Wine", "Bread"]),
        ({"recipient": "mallory@example.org"}, ["Cheese 100%_"]),
        ({"recipient": "ada"}, []),
        ({"tag": "food"}, ["Dessert", "Wine", "Bread"]),
        ({"tag": "daily"}, ["Bread"]),
        ({"key": "fruit"}, ["Cheese 100%_"]),
        ({"key": "fruit", "workspace": "acme"}, ["ÄPFEL und Birnen"]),
        ({"key": "fruit", "recipient": "eve@example.org"}, ["Cheese 100%_"]),
        ({"key": "fruit", "recipient": "ada@example.org"}, []),
        ({"key": "fruit", "subject": "wine"}, []),
        ({"key": "vegetables"}, []),
        ({"subject": "äpfel"}, ["ÄPFEL und Birnen"]),
        ({"subject": "UND b"}, ["ÄPFEL und Birnen"]),
        ({"subject": "100%_"}, ["Cheese 100%_"]),
        ({"subject": "%"}, ["Cheese 100%_"]),
        ({"subject": "e"}, ["Dessert", "Cheese 100%_", "ÄPFEL und Birnen", "Wine", "Bread"]),
        ({"status": "pending", "tag": "food", "recipient": "ada@example.org"}, ["Wine", "Bread"]),
        ({"tag": "food", "kind": "offer", "workspace": "acme"}, ["Bread"]),
        ({"tag": "food", "workspace": ""}, ["Dessert", "Wine"]),
        ({"status": "sent"}, []),
        ({"reply_code": 550}, []),
    ],
)
def test_a_filter_finds_what_it_says(populated: Outbox, filters: dict[str, Any], subjects: list[str]) -> None:
    assert found(populated, **filters) == subjects


def test_a_time_is_from_and_until(populated: Outbox, clock: Clock) -> None:
    last, before_last = clock.now, clock.now - timedelta(minutes=1)

    assert found(populated, since=last) == ["Dessert"]
    assert found(populated, until=before_last) == ["Wine", "Bread"]
    assert found(populated, since=before_last, until=last) == ["Cheese 100%_", "ÄPFEL und Birnen"]
    assert found(populated, since=last + timedelta(microseconds=1)) == []


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.QUEUED])
def test_every_status_lists_its_own(outbox: Outbox, clock: Clock, status: Status) -> None:
    for other in (Status.DEAD, Status.SENT, Status.CANCELLED, Status.IN_DOUBT, Status.RETRYING, Status.SENDING):
        bring_to(outbox, other)
    enqueue(outbox, not_before=clock.now + timedelta(days=1))
    wanted = [each.id for each in outbox.list().emails if each.status is status]

    assert len(wanted) == 1
    assert [each.id for each in outbox.list(status=status).emails] == wanted
    assert [each.id for each in outbox.list(status=status, recipient="ada@example.org").emails] == wanted
    assert outbox.count(Filter(status=status)) == 1


def test_a_reply_code_is_found(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)
    bring_to(outbox, Status.SENT)

    assert [each.id for each in outbox.list(reply_code=550).emails] == [id]
    assert [each.id for each in outbox.list(reply_code=550, status="dead").emails] == [id]


@pytest.mark.parametrize(
    "filters", [{}, {"status": "pending"}, {"tag": "t"}, {"status": "cancelled"}, {"subject": "email"}], ids=str
)
def test_pages_are_complete_and_repeat_nothing_while_emails_arrive(outbox: Outbox, filters: dict[str, str]) -> None:
    def arrive(count: int) -> list[EmailId]:
        ids = [outbox.enqueue(email(f"Email {number}", tags=["t"])).id for number in range(count)]
        if filters.get("status") == "cancelled":
            for id in ids:
                outbox.cancel(id)
        return ids

    expected, seen, before = arrive(23), list[EmailId](), None
    while True:
        page = outbox.list(limit=5, before=before, **filters)
        seen += [each.id for each in page.emails]
        arrive(2)
        if page.next is None:
            break
        before = page.next

    assert seen == expected[::-1]


def test_a_page_that_holds_exactly_the_rest_is_the_last(outbox: Outbox) -> None:
    enqueue(outbox, 4)

    assert outbox.list(limit=4).next is None
    assert outbox.list(limit=3).next is not None
    assert outbox.list(limit=1, key="nothing").next is None


def test_a_count_stops_where_it_is_told_to(outbox: Outbox) -> None:
    enqueue(outbox, 12)

    assert outbox.count(Filter()) == 12
    assert outbox.count(Filter(), at_most=5) == 5


def test_lists_leave_the_history_out(outbox: Outbox) -> None:
    id = bring_to(outbox, Status.DEAD)

    assert outbox.list().emails[0].history == ()
    assert len(outbox.get(id).history) == 1


def test_a_list_shows_the_same_as_a_single_look(outbox: Outbox, clock: Clock) -> None:
    outbox.enqueue(email(to=["a@b.example", "c@d.example"]), expires_at=clock.now + timedelta(days=1), key="k")
    [claimed] = claim(outbox)
    settle(outbox, [dead(claimed, event=None, outcomes='[["sent",250,"ok"],["dead",550,"no"]]')])

    [listed] = outbox.list().emails
    assert listed == outbox.get(listed.id)


def test_an_unknown_filter_or_status_is_told_with_the_known_ones(outbox: Outbox) -> None:
    with pytest.raises(ConfigurationError, match=r"colour.*status, kind, workspace"):
        outbox.list(colour="red")
    with pytest.raises(ConfigurationError, match=r"no status is called 'lost'.*pending"):
        outbox.list(status="lost")


def test_a_walk_over_everything_meets_every_email_once(outbox: Outbox) -> None:
    outbox.enqueue_many(email(f"Email {number}") for number in range(120))

    def walk() -> Any:
        before = None
        while True:
            page = outbox.list(limit=50, before=before)
            yield from page.emails
            if page.next is None:
                return
            before = page.next

    assert [each.subject for each in islice(walk(), 121)] == [f"Email {number}" for number in reversed(range(120))]
