"""The arithmetic of signing in (C4): lock-outs, waits for codes, roles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.accounts.rules import (
    CODES_AN_HOUR,
    FAILURES,
    FIRST_LOCK,
    FORGET_AFTER,
    HOUR,
    LONGEST_LOCK,
    RESEND_AFTER,
    Door,
    after_failure,
    lock_time,
    wait_for_code,
)
from postroom.accounts.tokens import narrowed
from postroom.accounts.values import Person, Role

NOW = datetime(2026, 5, 17, 9, 30, tzinfo=UTC)
seconds = st.integers(0, 7200).map(lambda value: timedelta(seconds=value))


def failed(times: int, door: Door | None = None) -> Door:
    door = door or Door()
    for _ in range(times):
        door = after_failure(door, NOW)
    return door


def test_a_door_is_locked_by_the_last_failure_and_not_before() -> None:
    assert not failed(FAILURES - 1).locked(NOW)
    assert failed(FAILURES).locked(NOW)


def test_a_lock_out_ends_on_time_and_the_count_starts_over() -> None:
    door = failed(FAILURES)

    assert door.locked(NOW + FIRST_LOCK - timedelta(microseconds=1))
    assert not door.locked(NOW + FIRST_LOCK)
    assert door.failures == 0


@given(locks=st.integers(0, 10_000))
def test_each_lock_out_in_a_row_is_twice_as_long_up_to_a_day(locks: int) -> None:
    assert lock_time(locks + 1) == min(LONGEST_LOCK, 2 * lock_time(locks))
    assert FIRST_LOCK <= lock_time(locks) <= LONGEST_LOCK


def test_failures_are_forgotten_after_a_long_silence_and_not_before() -> None:
    door = failed(FAILURES - 1)

    assert after_failure(door, NOW + FORGET_AFTER - timedelta(seconds=1)).locks == 1
    assert after_failure(door, NOW + FORGET_AFTER).failures == 1


def test_a_lock_out_is_longer_than_what_makes_the_row_of_lock_outs_forgotten() -> None:
    """Otherwise somebody who only waits for the end of each would never wait longer."""
    assert FORGET_AFTER > LONGEST_LOCK


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
