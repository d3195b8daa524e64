from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.claim.rate import Rate, parse_rate, reserve
from postroom.errors import ConfigurationError

SECOND = 1_000_000
rates = st.builds(Rate, st.integers(1, 10_000), st.sampled_from("smhd"))


@pytest.mark.parametrize(
    ("text", "rate", "interval"),
    [
        ("14/s", Rate(14, "s"), 71_429),
        ("100/m", Rate(100, "m"), 600_000),
        ("5000/h", Rate(5000, "h"), 720_000),
        (" 2000 / D ", Rate(2000, "d"), 43_200_000),
    ],
)
def test_a_rate_reads_as_people_write_it(text: str, rate: Rate, interval: int) -> None:
    assert parse_rate(text) == rate
    assert rate.interval == interval


@pytest.mark.parametrize("text", ["", "14", "0/s", "-1/s", "1.5/s", "14/w", "14/sec", "s/14", "9" * 20 + "/s"])
def test_what_is_not_a_rate_is_refused_with_the_accepted_forms(text: str) -> None:
    with pytest.raises(ConfigurationError, match="such as 14/s, 100/m"):
        parse_rate(text)


@given(rates)
def test_a_rate_is_written_as_it_is_read(rate: Rate) -> None:
    assert parse_rate(str(rate)) == rate


def test_a_rate_grants_at_an_even_pace() -> None:
    first = reserve(0, 100 * SECOND, 5, Rate(10, "s"), burst=1)
    second = reserve(first.arrival, 100 * SECOND + first.wait, 5, Rate(10, "s"), burst=1)

    assert (first.granted, first.wait) == (1, 100_000)
    assert (second.granted, second.wait) == (1, 100_000)


def test_an_idle_limiter_saves_up_no_more_than_a_burst() -> None:
    assert reserve(0, 10**15, 1000, Rate(10, "s"), burst=5).granted == 5


def test_all_that_is_granted_at_once_needs_no_wait() -> None:
    assert reserve(0, SECOND, 5, Rate(10, "s"), burst=5).wait == 0


def test_fast_rates_go_in_batches_of_a_tenth_of_a_second() -> None:
    assert [Rate(count, "s").burst for count in (1, 14, 100, 5000)] == [1, 1, 10, 500]


def test_a_clock_that_was_set_back_is_not_waited_for() -> None:
    rate = Rate(1, "s")

    assert reserve(10**15, SECOND, 1, rate).wait <= SECOND


@given(
    rates,
    st.integers(1, 50),
    st.lists(st.tuples(st.integers(0, 3 * SECOND), st.integers(0, 100)), min_size=1, max_size=60),
)
def test_no_stretch_of_time_sees_more_than_the_rate_and_one_burst(
    rate: Rate, burst: int, asked: list[tuple[int, int]]
) -> None:
    """Whoever asks, and how often: the workers share one number."""
    arrival, now, granted = 0, 10**15, []
    for pause, wanted in asked:
        now += pause
        reservation = reserve(arrival, now, wanted, rate, burst)
        arrival = reservation.arrival
        granted.append((now, reservation.granted))

        assert 0 <= reservation.granted <= wanted

    for start in range(len(granted)):
        sent = 0
        for moment, count in granted[start:]:
            sent += count
            assert sent <= burst + (moment - granted[start][0]) // rate.interval


@given(rates, st.integers(1, 20), st.integers(1, 100), st.integers(0, 10 * SECOND))
def test_whoever_waits_as_told_is_granted_at_least_one_and_not_a_moment_late(
    rate: Rate, burst: int, wanted: int, ahead: int
) -> None:
    now = 10**15
    reservation = reserve(now + ahead, now, wanted, rate, burst)
    if reservation.wait:
        assert reserve(reservation.arrival, now + reservation.wait, 1, rate, burst).granted == 1
        assert reserve(reservation.arrival, now + reservation.wait - 1, 1, rate, burst).granted == 0
    else:
        assert reservation.granted == wanted


@given(rates, st.integers(0, 50))
def test_asking_for_nothing_costs_nothing(rate: Rate, burst: int) -> None:
    reservation = reserve(5, 10, 0, rate, burst)

    assert (reservation.granted, reservation.wait) == (0, 0)
