"""What was left in doubt, and what a person decides about it: no day has more than its allowance, known or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from random import Random

import pytest

from postroom.campaigns import window_day_at
from postroom.campaigns.looking.explaining import explain
from postroom.campaigns.stopping.stops import stop_prospect
from postroom.store import claims
from postroom.store.contract import Claimed
from tests.campaigns.sending.stage import (
    MONDAY,
    OFFICE,
    OPEN_ALWAYS,
    SHOP,
    Stage,
    dead,
    fails,
    in_doubt,
    miscounted,
    sent,
)


def test_what_was_in_doubt_keeps_its_place_beside_the_one_that_a_person_has_sent_again(stage: Stage) -> None:
    """P4: the first copy may have arrived, so two places are taken; the day never has more than its allowance."""
    stage.settings(replace(OPEN_ALWAYS, daily_quota=2))
    stage.launched("spring", 3)
    email = stage.claim()
    stage.settle(in_doubt(email, None))
    stage.outbox.retry(email.id)
    assert stage.send() == "p1:spring-words:1"

    stage.nothing_leaves()
    assert stage.days() == {"2026-03-09": (2, 1)}
    assert (stage.states()["p2:spring-words:1"], miscounted(stage)) == ("ready", [])


def test_a_resend_of_another_day_counts_on_the_day_it_leaves(stage: Stage) -> None:
    stage.settings(replace(OPEN_ALWAYS, daily_quota=1))
    stage.launched("spring", 2)
    email = stage.claim()
    stage.settle(in_doubt(email, None))
    stage.advance(days=1)
    stage.outbox.retry(email.id)
    stage.send()
    stage.nothing_leaves()

    assert stage.days() == {"2026-03-09": (1, 0), "2026-03-10": (1, 1)}
    assert miscounted(stage) == []


@pytest.mark.parametrize("act", ["cancel", "dismiss"])
def test_what_was_in_doubt_and_is_given_up_keeps_its_place(stage: Stage, act: str) -> None:
    stage.settings(replace(OPEN_ALWAYS, daily_quota=1))
    stage.launched("spring", 2)
    email = stage.claim()
    stage.settle(in_doubt(email, None))
    getattr(stage.outbox, act)(email.id)
    stage.nothing_leaves()

    assert stage.days() == {"2026-03-09": (1, 0)}
    assert (stage.states()["p1:spring-words:1"], miscounted(stage)) == ("stopped", [])


def test_a_resend_that_fails_for_now_or_is_given_back_asks_for_its_turn_again(stage: Stage) -> None:
    """It is in doubt all the while, for its first copy is; but a person has decided, and it waits for nobody."""
    stage.settings()
    stage.launched("spring", 1)
    first = stage.claim()
    stage.settle(in_doubt(first, None))
    stage.outbox.retry(first.id)
    again = stage.claim()
    stage.settle(in_doubt(again, stage.clock.now, doubts=again.doubts, event="failed"))
    stage.tick()
    assert stage.days() == {"2026-03-09": (1, 0)}, "only the first copy may have arrived"
    third = stage.claim()
    stage.run(claims.release([third.claim]))
    assert stage.send() == "p1:spring-words:1"
    stage.nothing_leaves()

    assert (stage.days(), miscounted(stage)) == ({"2026-03-09": (2, 1)}, [])


def test_who_is_stopped_is_not_sent_what_was_in_doubt_again(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    email = stage.claim()
    stage.settle(in_doubt(email, None))
    stage.outbox.retry(email.id)
    again = stage.claim()
    stage.settle(in_doubt(again, stage.clock.now + timedelta(minutes=5), doubts=again.doubts, event="failed"))
    stage.run(stop_prospect(SHOP, "p1@example.org", "unsubscribed"))
    stage.nothing_leaves()

    assert stage.outbox.get(email.id).status == "cancelled"
    assert miscounted(stage) == []


def test_a_resend_that_waits_says_why(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    email = stage.claim()
    stage.settle(in_doubt(email, None))
    stage.outbox.retry(email.id)
    again = stage.claim()
    stage.settle(in_doubt(again, stage.clock.now + timedelta(minutes=5), doubts=again.doubts, event="failed"))
    stage.tick()
    [found] = stage.run(explain(SHOP, "spring"))

    assert found.told(OPEN_ALWAYS) == "gap, next Mon 09 Mar 08:05"


@pytest.mark.parametrize("seed", range(12))
def test_no_window_day_has_more_copies_than_its_allowance_whatever_a_person_decides(stage: Stage, seed: int) -> None:
    """P4, over chance: every copy that left in doubt has arrived here, and people resend, cancel and dismiss."""
    settings = replace(OFFICE, daily_quota=4, gap_seconds=(600, 600))
    chance, copies, doubted = Random(seed), Counter[date | None](), list[str]()
    stage.settings(settings)
    stage.launched("spring", 12, (0, 1))

    def arrived() -> None:
        copies[window_day_at(settings, stage.clock.now)] += 1

    def server(email: Claimed) -> None:
        match chance.choice(("sent", "sent", "doubt", "doubt", "fails", "dead")):
            case "sent":
                arrived()
                stage.settle(sent(email))
            case "doubt":
                arrived()
                doubted.append(email.id)
                stage.settle(in_doubt(email, None))
            case "fails" if email.doubts:
                stage.settle(in_doubt(email, stage.clock.now, doubts=email.doubts, event="failed"))
            case "fails":
                stage.settle(fails(email, stage.clock.now))
            case _:
                stage.settle(dead(email))

    while stage.clock.now < MONDAY + timedelta(days=11):
        found = stage.tick()
        if found.claimed is not None:
            server(found.claimed)
        elif not found.worked:
            stage.advance(minutes=chance.choice((10, 30)))
        while doubted and chance.random() < 0.4:
            id = doubted.pop(chance.randrange(len(doubted)))
            getattr(stage.outbox, chance.choice(("retry", "retry", "retry", "cancel", "dismiss")))(id)
    stage.nothing_leaves()

    assert copies.total() > 12
    assert max(copies.values()) <= 4, copies
    assert None not in copies
    assert miscounted(stage) == []
