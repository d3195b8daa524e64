"""Times as people write and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from postroom.cli.moments import coming_moment, exact, past_moment, relative
from postroom.errors import ConfigurationError

NOW = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)


def test_a_length_of_time_counts_from_now() -> None:
    assert past_moment("--since", "2h", now=NOW) == NOW - timedelta(hours=2)
    assert coming_moment("--not-before", "1h30m", now=NOW) == NOW + timedelta(minutes=90)


def test_a_moment_with_a_zone_is_that_moment() -> None:
    assert past_moment("--since", "2026-05-17T09:30+02:00", now=NOW) == datetime(2026, 5, 17, 7, 30, tzinfo=UTC)


def test_a_moment_without_a_zone_is_by_the_clock_on_the_wall() -> None:
    found = past_moment("--since", "2026-05-17", now=NOW)

    assert found is not None
    assert found == datetime(2026, 5, 17).astimezone()
    assert found.tzinfo is UTC


@pytest.mark.parametrize("text", ["yesterday", "", "-2h", "99999999999d"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--since: .* is no time; write 2026-05-17"):
        past_moment("--since", text, now=NOW)


@pytest.mark.parametrize("text", ["5", " 30 ", "2026", "1.5"])
def test_a_number_without_a_unit_is_refused_for_nobody_means_seconds(text: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"--until: '{text}' has no unit; write {text.strip()}d for days"):
        coming_moment("--until", text, now=NOW)


@pytest.mark.parametrize(
    ("away", "words"),
    [
        (timedelta(0), "now"),
        (timedelta(seconds=-5), "5 s ago"),
        (timedelta(minutes=-59), "59 m ago"),
        (timedelta(hours=3), "in 3 h"),
        (timedelta(days=6) - timedelta(milliseconds=3), "in 6 d"),
    ],
)
def test_times_are_told_in_the_largest_unit_that_fits(away: timedelta, words: str) -> None:
    assert relative(NOW + away, now=NOW) == words
    assert relative(None, now=NOW) == ""


def test_exact_times_are_in_utc() -> None:
    assert exact(NOW) == "2026-05-17 12:00:00 UTC"
