"""The order of the second axis: any order of arrival gives the same fate (F5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import pairwise, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as some

from postroom.settle.fate import Fate, stronger
from postroom.vocabulary import BounceClass, Return

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)


def fate(what: Return, bounce_class: BounceClass | None = None, status: str = "", code: int | None = None) -> Fate:
    return Fate(what=what, bounce_class=bounce_class, status=status, code=code, at=NOW, return_id="r")


FROM_WEAK_TO_STRONG = [
    fate(Return.DEFERRED),
    fate(Return.DELIVERED),
    fate(Return.AUTORESPONDED),
    fate(Return.BOUNCED, BounceClass.TRANSIENT),
    fate(Return.BOUNCED, BounceClass.UNDETERMINED),
    fate(Return.BOUNCED, BounceClass.PERMANENT),
    fate(Return.REPLIED),
    fate(Return.UNSUBSCRIBED),
    fate(Return.COMPLAINED),
]

fates = some.builds(
    Fate,
    what=some.sampled_from(Return),
    bounce_class=some.none() | some.sampled_from(BounceClass),
    status=some.sampled_from(["", "4.2.2", "5.1.1", "5.7.1"]),
    code=some.none() | some.sampled_from([250, 421, 550, 552]),
    at=some.integers(0, 99).map(lambda minutes: NOW + timedelta(minutes=minutes)),
    return_id=some.sampled_from(["a", "b", "c"]),
)


def told(one: Fate) -> tuple[object, ...]:
    """What people are told of it."""
    return one.what, one.bounce_class, one.status, one.code or 0


@pytest.mark.parametrize(("weak", "strong"), [*pairwise(FROM_WEAK_TO_STRONG)])
def test_each_return_is_stronger_than_the_one_before_whichever_comes_first(weak: Fate, strong: Fate) -> None:
    assert stronger(weak, strong) is strong
    assert stronger(strong, weak) is strong


def test_every_return_has_its_place() -> None:
    assert {each.what for each in FROM_WEAK_TO_STRONG} == set(Return)


@given(some.lists(fates, min_size=1, max_size=5))
def test_any_order_of_arrival_gives_the_same_fate(arrived: list[Fate]) -> None:
    ends = {told(reduce(stronger, order)) for order in permutations(arrived)}

    assert len(ends) == 1


@given(fates, fates)
def test_what_came_is_never_weakened_by_what_comes_later(known: Fate, later: Fate) -> None:
    assert stronger(known, later).strength == max(known.strength, later.strength)


@given(fates)
def test_the_same_again_changes_nothing(known: Fate) -> None:
    assert stronger(known, known) is known
    assert stronger(None, known) is known


def test_no_two_different_returns_are_equally_strong() -> None:
    made = [
        fate(what, bounce_class, status, code)
        for what, bounce_class, status, code in product(
            Return, (None, *BounceClass), ("", "4.2.2", "5.1.1"), (None, 450, 550)
        )
    ]
    assert len({each.strength for each in made}) == len(made)
