from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.duration import Duration, format_duration, parse_duration
from postroom.errors import ConfigurationError


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("3s", timedelta(seconds=3)),
        ("5m", timedelta(minutes=5)),
        ("2h", timedelta(hours=2)),
        ("1d", timedelta(days=1)),
        ("500ms", timedelta(milliseconds=500)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5s", timedelta(milliseconds=1500)),
        (" 5M ", timedelta(minutes=5)),
        ("0s", timedelta(0)),
        ("30", timedelta(seconds=30)),
        (30, timedelta(seconds=30)),
        (0.25, timedelta(milliseconds=250)),
        (timedelta(weeks=1), timedelta(weeks=1)),
    ],
)
def test_a_duration_reads_as_people_write_it(written: Duration, meant: timedelta) -> None:
    assert parse_duration(written) == meant


@pytest.mark.parametrize(
    "nonsense",
    [
        "", "s", "5 minutes", "-3s", "3s!", "1e3s", "٣s", "5mm", "9" * 30 + "d", "9" * 5000 + "s", "nan",
        -1, float("nan"), float("inf"), True, None, [], timedelta(seconds=-1),
    ],
)  # fmt: skip
def test_what_is_not_a_duration_is_refused_with_the_accepted_forms(nonsense: Duration) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_duration(nonsense)

    assert "such as 500ms, 3s, 5m, 2h, 1d" in str(caught.value)
    assert len(str(caught.value)) < 200


@given(st.timedeltas(min_value=timedelta(0)))
def test_what_is_written_reads_back_the_same(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.5, "500ms"), (90, "1m30s"), (3600, "1h"), (86400, "1d"), (43200, "12h"), (0.0015, "1.5ms")],
)
def test_a_duration_is_written_in_the_largest_units_that_fit(seconds: float, text: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == text
