from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.errors import ConfigurationError
from postroom.settle.policy import DEFAULT_POLICY, LONGEST_DELAY, PRESETS, RetryPolicy

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = 60
HOUR = 3600

delays = st.timedeltas(min_value=timedelta(0), max_value=LONGEST_DELAY)
draws = st.floats(0, 1)
policies = st.builds(
    RetryPolicy,
    steps=st.lists(delays, min_size=1, max_size=10),
    max_attempts=st.integers(1, 100),
    jitter=st.floats(0, 1),
    factor=st.floats(1, 1e9),
    cap=st.none() | delays,
    name=st.text(max_size=20),
)


@pytest.mark.parametrize(
    ("name", "seconds", "max_attempts"),
    [
        ("quick", [30, 60, 120, 240, 480], 5),
        ("standard", [0, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR], 5),
        ("patient", [0, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR], 8),
        ("outreach", [0, MINUTE, 5 * MINUTE, 15 * MINUTE], 4),
    ],
)
def test_the_presets_keep_the_table_of_delays(name: str, seconds: list[int], max_attempts: int) -> None:
    policy = PRESETS[name]

    assert [policy.delay_before(n + 1).total_seconds() for n in range(max_attempts)] == seconds
    assert policy.max_attempts == max_attempts


def test_patient_is_the_default_and_goes_on_daily_when_its_budget_is_raised() -> None:
    raised = DEFAULT_POLICY.with_max_attempts(10)

    assert DEFAULT_POLICY.name == "patient"
    assert [raised.delay_before(attempt) for attempt in (9, 10)] == [timedelta(days=1)] * 2
    assert (raised.exhausted(9), raised.exhausted(10)) == (False, True)


def test_quick_waits_thirty_seconds_only_after_a_failed_inline_send() -> None:
    """(A3) An email that was simply enqueued is due at once."""
    quick = PRESETS["quick"]

    assert quick.first_delay(after_inline_failure=True) == timedelta(seconds=30)
    assert quick.first_delay(after_inline_failure=False) == timedelta(0)
    assert quick.due_after(1, NOW) == NOW + timedelta(seconds=60)


def test_only_standard_of_the_presets_has_jitter() -> None:
    """(C5)"""
    assert {name for name, policy in PRESETS.items() if policy.jitter} == {"standard"}
    assert PRESETS["standard"].delay_before(2, 1.0) > PRESETS["standard"].delay_before(2, 0.0)


def test_a_policy_is_written_as_people_think_of_it() -> None:
    policy = RetryPolicy(steps=["0s", "1m", "5m"], max_attempts=3, jitter=0.1)
    growing = RetryPolicy.exponential("30s", factor=2, max_attempts=5, cap="1m")

    assert policy.steps == (timedelta(0), timedelta(minutes=1), timedelta(minutes=5))
    assert [growing.delay_before(n).total_seconds() for n in (1, 2, 3)] == [30, 60, 60]


def test_without_a_budget_there_is_one_attempt_for_each_step() -> None:
    assert RetryPolicy(steps=["0s", "1m"]).max_attempts == 2


@given(policies, st.integers(1, 10_000), draws)
def test_jitter_only_adds_and_never_more_than_its_share(policy: RetryPolicy, attempt: int, draw: float) -> None:
    planned = policy.delay_before(attempt)
    drawn = policy.delay_before(attempt, draw)

    assert planned <= drawn <= planned * (1 + policy.jitter)


@given(policies, st.integers(1, 10_000))
def test_a_delay_is_never_negative_and_never_above_the_cap(policy: RetryPolicy, attempt: int) -> None:
    delay = policy.delay_before(attempt)

    assert timedelta(0) <= delay <= (LONGEST_DELAY if policy.cap is None else policy.cap)


@given(policies, st.integers(1, 10_000))
def test_past_the_last_step_delays_never_shrink(policy: RetryPolicy, attempt: int) -> None:
    beyond = attempt + len(policy.steps) - 1

    assert policy.delay_before(beyond) <= policy.delay_before(beyond + 1)


@given(policies)
def test_a_stored_policy_reads_back_the_same(policy: RetryPolicy) -> None:
    assert RetryPolicy.from_text(policy.to_text()) == policy


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_stored_by_its_name(name: str) -> None:
    assert PRESETS[name].to_text() == name
    assert RetryPolicy.from_text(name) is PRESETS[name]


def test_a_preset_with_another_budget_is_stored_in_full() -> None:
    raised = DEFAULT_POLICY.with_max_attempts(20)

    assert raised.to_text() != "patient"
    assert RetryPolicy.from_text(raised.to_text()) == raised


def test_a_configured_policy_is_found_by_its_name() -> None:
    slow = RetryPolicy(steps=["1h"], name="slow")

    assert RetryPolicy.from_text("slow", {"slow": slow}) is slow


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="quick, standard, patient, outreach, slow"):
        RetryPolicy.from_text("quik", {"slow": RetryPolicy(steps=["1h"])})


@pytest.mark.parametrize("text", ["{", "{}", '{"steps":[]}', '{"steps":["1m"],"colour":1}', '{"steps":5}'])
def test_a_damaged_policy_is_a_configuration_error(text: str) -> None:
    with pytest.raises(ConfigurationError):
        RetryPolicy.from_text(text)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"steps": []}, "at least one delay"),
        ({"steps": "1m"}, "list of delays"),
        ({"steps": ["soon"]}, "not a length of time"),
        ({"steps": ["400d"]}, "longer than 365d"),
        ({"steps": ["1m"], "cap": "400d"}, "longer than 365d"),
        ({"steps": ["1m"], "max_attempts": 0}, "max_attempts"),
        ({"steps": ["1m"], "max_attempts": True}, "max_attempts"),
        ({"steps": ["1m"], "jitter": 1.1}, "jitter"),
        ({"steps": ["1m"], "jitter": float("nan")}, "jitter"),
        ({"steps": ["1m"], "factor": 0.5}, "factor"),
        ({"steps": ["1m"], "factor": float("inf")}, "factor"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        RetryPolicy(**arguments)


@pytest.mark.parametrize("attempt", [0, -1])
def test_attempts_count_from_one(attempt: int) -> None:
    with pytest.raises(ValueError, match="count from 1"):
        DEFAULT_POLICY.delay_before(attempt)
