"""The arithmetic of signing in (C4): budgets of failures, waits for codes, roles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.accounts.guessing import Caller
from postroom.accounts.neighbourhood import block_of
from postroom.accounts.rules import (
    CODES_AN_HOUR,
    HOUR,
    OF_ADDRESS,
    OF_CODES,
    OF_NAME,
    OF_PAIR,
    RESEND_AFTER,
    Budget,
    wait_for_code,
)
from postroom.accounts.tokens import narrowed
from postroom.accounts.values import Person, Role

NOW = datetime(2026, 5, 17, 9, 30, tzinfo=UTC)
seconds = st.integers(0, 7200).map(lambda value: timedelta(seconds=value))


budgets = st.builds(Budget, at_once=st.integers(1, 12), every=st.integers(1, 3600).map(lambda s: timedelta(seconds=s)))


@given(budget=budgets, waits=st.lists(seconds, max_size=60), period=seconds)
def test_no_period_holds_more_than_a_budget_says_however_often_somebody_tries(
    budget: Budget, waits: list[timedelta], period: timedelta
) -> None:
    spent, now, done = None, NOW, list[datetime]()
    for wait in waits:
        now += wait
        if not budget.wait(spent, now):
            done.append(now)
        spent = budget.spend(spent, now)

    for begin in done:
        assert sum(begin <= at <= begin + period for at in done) <= budget.most_in(period)


@given(budget=budgets, tries=st.integers(0, 40), later=seconds)
def test_the_wait_of_a_budget_is_exactly_long_enough(budget: Budget, tries: int, later: timedelta) -> None:
    spent = None
    for _ in range(tries):
        spent = budget.spend(spent, NOW)
    now = NOW + later
    wait = budget.wait(spent, now)

    assert budget.wait(spent, now + wait) == timedelta(0)
    assert wait == timedelta(0) or budget.wait(spent, now + wait - timedelta(microseconds=1)) > timedelta(0)
    assert wait <= budget.every


@given(budget=budgets, tries=st.integers(0, 40), more=st.integers(1, 1000))
def test_what_comes_although_there_is_no_room_makes_nobody_wait_longer(budget: Budget, tries: int, more: int) -> None:
    """Otherwise whoever hammers would keep a budget spent for good."""
    spent = None
    for _ in range(budget.at_once + tries):
        spent = budget.spend(spent, NOW)
    after = spent
    for _ in range(more % 50):
        after = budget.spend(after, NOW)

    assert after == spent
    assert budget.wait(after, NOW) == budget.every


@given(budget=budgets)
def test_so_many_fit_at_once_and_not_one_more(budget: Budget) -> None:
    spent = None
    for _ in range(budget.at_once):
        assert budget.wait(spent, NOW) == timedelta(0)
        spent = budget.spend(spent, NOW)

    assert budget.wait(spent, NOW) > timedelta(0)


def test_the_numbers_of_a_day_are_those_that_the_documentation_tells() -> None:
    day = timedelta(days=1)
    numbers = {budget: budget.most_in(day) for budget in (OF_NAME, OF_PAIR, OF_ADDRESS, OF_CODES)}
    page = (Path(__file__).resolve().parents[2] / "docs" / "explanation" / "security.md").read_text("utf-8")

    assert list(numbers.values()) == [58, 106, 270, 22]
    assert all(f"| {number} |" in page for number in numbers.values())


addresses = st.sampled_from(["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "", "socket"])


@given(one=addresses, other=addresses, name=st.sampled_from(["a", "b"]), known=st.booleans())
def test_what_counts_together_is_the_name_the_address_and_both(one: str, other: str, name: str, known: bool) -> None:
    """A known address takes nothing from the name, and finds nothing taken: its own failures are all that count."""
    here = Caller(name="a", address=one, key=b"k" * 32)
    there = Caller(name=name, address=other, key=b"k" * 32)
    mine = {count.of for count in here.password_counts(known=known)}
    theirs = {count.of for count in there.password_counts(known=False)}
    same_place, same_name = block_of(one) == block_of(other), name == "a"

    assert len(mine & theirs) == (not known and same_name) + (same_place and same_name) + same_place
    assert (here.code_count(known=known) == there.code_count(known=False)) == (same_name and not known)
    assert here.held == sorted(here.held)


@given(waits=st.lists(seconds, max_size=40))
def test_codes_never_come_faster_than_allowed_whoever_asks_how_often(waits: list[timedelta]) -> None:
    sent: list[datetime] = []
    now = NOW
    for wait in waits:
        now += wait
        if not wait_for_code(sent, now):
            sent.append(now)

    assert all(later - earlier >= RESEND_AFTER for earlier, later in pairwise(sent))
    assert all(later - earlier >= HOUR for earlier, later in zip(sent, sent[CODES_AN_HOUR:], strict=False))


@given(ages=st.lists(seconds, max_size=10))
def test_the_wait_that_is_told_is_exactly_long_enough(ages: list[timedelta]) -> None:
    sent = [NOW - age for age in ages]
    wait = wait_for_code(sent, NOW)

    assert wait_for_code(sent, NOW + wait) == timedelta(0)
    assert wait == timedelta(0) or wait_for_code(sent, NOW + wait - timedelta(microseconds=1)) > timedelta(0)


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (Role.VIEWER, {Role.VIEWER}),
        (Role.OPERATOR, {Role.VIEWER, Role.OPERATOR}),
        (Role.ADMIN, {Role.VIEWER, Role.OPERATOR, Role.ADMIN}),
    ],
)
def test_each_role_includes_those_before_it(role: Role, may: set[Role]) -> None:
    assert {needed for needed in Role if role.may(needed)} == may


workspaces = st.none() | st.frozensets(st.sampled_from("abc"))


@given(
    role=st.sampled_from(Role),
    scope=st.sampled_from(Role),
    theirs=workspaces,
    its=workspaces,
    needed=st.sampled_from(Role),
    workspace=st.sampled_from("abcd"),
)
def test_a_token_may_do_what_both_its_owner_and_its_scope_may(
    role: Role,
    scope: Role,
    theirs: frozenset[str] | None,
    its: frozenset[str] | None,
    needed: Role,
    workspace: str,
) -> None:
    owner = Person(id="1", name="ada@example.org", role=role, workspaces=theirs)
    token = narrowed(owner, scope, its)

    assert token.role.may(needed) == (role.may(needed) and scope.may(needed))
    assert token.may_see(workspace) == (owner.may_see(workspace) and (its is None or workspace in its))
