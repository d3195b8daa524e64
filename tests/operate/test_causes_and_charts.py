"""Failures that are alike, and tallies as charts: pure arithmetic."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from postroom import DeadReason
from postroom.operate.causes import BEGINNING, grouped, name_of, words_of
from postroom.operate.charts import HOUR, MINUTE, floor, series
from postroom.store.overview import Failure
from postroom.vocabulary import EmailId

NOW = datetime(2026, 5, 17, 3, 30, 30, tzinfo=UTC)


def failure(error: str, count: int = 1, newest: str = "a", code: int | None = 550) -> Failure:
    return Failure(reason=DeadReason.PERMANENT, reply_code=code, error=error, count=count, newest=EmailId(newest))


def test_errors_that_differ_in_a_queue_id_are_one_cause() -> None:
    groups = grouped(
        [
            failure("refused at the final dot: 554 5.7.1 spam (id A1B2C3)", 2, "a"),
            failure("refused at the final dot: 554 5.7.1 spam (id D4E5F6)", 3, "b"),
        ]
    )

    assert [(group.words, group.count, group.newest) for group in groups] == [
        ("refused at the final dot: 554 5.7.1 spam (id …", 5, "b")
    ]


def test_other_words_another_code_or_another_reason_are_other_causes() -> None:
    base = name_of(DeadReason.PERMANENT, 550, "no such user")

    assert base != name_of(DeadReason.PERMANENT, 551, "no such user")
    assert base != name_of(DeadReason.EXPIRED, 550, "no such user")
    assert base != name_of(DeadReason.PERMANENT, 550, "no such mailbox")


def test_the_largest_group_comes_first() -> None:
    groups = grouped([failure("one thing", 1), failure("another thing", 7)])

    assert [group.count for group in groups] == [7, 1]


@given(st.text(max_size=300))
def test_a_cause_is_the_same_whether_the_store_or_we_cut_the_error(error: str) -> None:
    """The store groups by the beginning of an error; a list compares the whole of it."""
    assert words_of(error[:BEGINNING]) == words_of(error)


@given(
    st.lists(st.tuples(st.integers(-90, 0), st.sampled_from(["enqueued", "sent", "retried", "died", "pruned"]))),
)
def test_nothing_of_the_last_hour_is_lost_or_made_up(happened: list[tuple[int, str]]) -> None:
    tallies = [(floor(NOW, MINUTE) + minute * MINUTE, name, 1) for minute, name in happened]

    chart = series(tallies, now=NOW, step=MINUTE, steps=60)

    within = [name for minute, name in happened if minute > -60]
    for name in ("enqueued", "sent", "retried", "died"):
        assert sum(getattr(point, name) for point in chart.points) == within.count(name)


def test_a_chart_has_every_step_up_to_now() -> None:
    chart = series([(NOW - timedelta(hours=3), "sent", 4)], now=NOW, step=HOUR, steps=24)

    assert [point.at for point in chart.points] == [
        datetime(2026, 5, 17, 3, tzinfo=UTC) - back * HOUR for back in reversed(range(24))
    ]
    assert [point.at.hour for point in chart.points if point.sent] == [0]
    assert chart.highest == 4
