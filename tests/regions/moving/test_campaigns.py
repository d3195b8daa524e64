"""Campaigns do not move: their emails stay with them, and whoever moves a person is told who still writes to them."""

from __future__ import annotations

import pytest

from postroom import Email
from postroom.campaigns.stopping.stops import stop_prospect
from postroom.regions.leaving import Enrolled
from postroom.regions.reasons import Stays
from tests.campaigns.sending.stage import LINKS, SHOP, Stage, fails, miscounted
from tests.regions.moving.pair import PAIRS, Pair

PERSON = "p1@example.org"
SPRING = Enrolled(workspace=SHOP, campaign="spring")


@pytest.fixture(autouse=True)
def can_be_unsubscribed_from(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in LINKS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def stage(pair: Pair) -> Stage:
    """A campaign in the region that is left, one of whose mails has come back."""
    stage = Stage(pair.here, pair.clock)
    stage.settings()
    stage.launched("spring", 2, (0, 1))
    stage.settle(fails(stage.claim(), pair.clock.now, minutes=0))
    return stage


@pytest.mark.parametrize("urls", PAIRS[::3], indirect=True)
def test_an_email_of_a_campaign_stays_and_leaves_where_it_was(pair: Pair, stage: Stage) -> None:
    other = pair.here.enqueue(Email(to=PERSON, subject="Hi", text="Hi")).id
    counted, moved = pair.survey(PERSON), pair.move(PERSON)

    assert counted == moved
    assert (moved.moved, moved.stays, moved.campaigns) == ({"pending": 1}, {Stays.CAMPAIGN: 1}, (SPRING,))
    assert [each.id for each in pair.there.list().emails] == [other]
    assert stage.send() == "p1:spring-words:1"
    assert (miscounted(stage), pair.adds_up) == ([], True)


@pytest.mark.parametrize("urls", PAIRS[::3], indirect=True)
def test_a_campaign_that_is_still_to_write_is_named_until_the_person_is_stopped(pair: Pair, stage: Stage) -> None:
    stage.draft("summer", ["p1", "p2"], sequence="others")
    assert pair.move("P2@example.org").campaigns == (SPRING, Enrolled(workspace=SHOP, campaign="summer"))
    stage.run(stop_prospect(SHOP, "p2@example.org", "moved"))

    assert pair.move("p2@example.org").campaigns == ()
