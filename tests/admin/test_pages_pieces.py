"""The arithmetic and the words of the pages: pure, so nothing runs here but they."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.admin.addresses import QueueAddress
from postroom.admin.charts import HEIGHT, LEAST, chart, round_up
from postroom.admin.corrections import changed
from postroom.admin.notices import read_notice, with_notice
from postroom.admin.wording import milliseconds, octets, relative
from postroom.operate.values import Point, Series
from postroom.vocabulary import Status

NOW = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)


def series(*points: Point) -> Series:
    return Series(step=timedelta(minutes=1), points=points)


# Charts


def test_a_chart_stacks_what_was_sent_retried_and_given_up() -> None:
    drawn = chart("hour", "The last hour", "a minute", series(Point(at=NOW, sent=6, retried=3, died=1)))

    assert drawn.top == 10
    assert [(part.kind, part.height) for part in drawn.bars[0].parts] == [("sent", 72), ("retried", 36), ("died", 12)]
    assert [part.y for part in drawn.bars[0].parts] == [48, 12, 0]


def test_one_email_among_thousands_can_still_be_seen() -> None:
    drawn = chart("hour", "The last hour", "a minute", series(Point(at=NOW, sent=5000, died=1)))

    assert drawn.bars[0].parts[-1].kind == "died"
    assert drawn.bars[0].parts[-1].height == LEAST


def test_a_chart_can_be_read_aloud() -> None:
    drawn = chart(
        "hour", "The last hour", "a minute", series(Point(at=NOW, sent=1204), Point(at=NOW, retried=2, died=1))
    )

    assert drawn.summary == "The last hour: 1,204 sent, 2 retried, 1 dead."
    assert drawn.bars[1].label == "12:00: 0 sent, 2 retried, 1 dead"


@given(st.lists(st.tuples(*[st.integers(0, 10**7)] * 3), max_size=70))
def test_no_bar_leaves_the_picture(counts: list[tuple[int, int, int]]) -> None:
    points = [Point(at=NOW, sent=sent, retried=retried, died=died) for sent, retried, died in counts]
    drawn = chart("hour", "The last hour", "a minute", series(*points))

    assert all(0 <= part.y <= HEIGHT and LEAST <= part.height <= HEIGHT for bar in drawn.bars for part in bar.parts)


@pytest.mark.parametrize(("number", "edge"), [(0, 1), (1, 1), (3, 5), (11, 20), (50, 50), (51, 100), (1204, 2000)])
def test_the_upper_edge_is_a_round_number(number: int, edge: int) -> None:
    assert round_up(number) == edge


# Addresses


def test_a_search_survives_being_an_address() -> None:
    address = QueueAddress(q="ada & grace", status="dead", kind="booking", code="550", since="2026-05-17T09:30")
    query = dict(parse_qsl(urlsplit(address.path("/postroom")).query))

    assert QueueAddress.read(query) == address
    assert address.path("/postroom").startswith("/postroom/admin/email-queue?")


def test_what_cannot_be_meant_is_left_out() -> None:
    address = QueueAddress.read({"status": "lost", "code": "5xx", "since": "yesterday", "q": "x"})

    assert address == QueueAddress(q="x")


def test_the_desk_is_asked_what_the_address_says_and_no_more_than_may_be_seen() -> None:
    address = QueueAddress(q="ada", status="dead", code="550", since="2026-05-17T09:30")
    search = address.search(frozenset({"hotel"}))

    assert (search.q, search.status, search.reply_code) == ("ada", Status.DEAD, 550)
    assert search.since == datetime(2026, 5, 17, 9, 30, tzinfo=UTC)
    assert search.workspaces == {"hotel"}


def test_another_tab_begins_at_its_first_page() -> None:
    assert QueueAddress(status="dead", before="x").but(status="sent") == QueueAddress(status="sent")


# Notices


def test_a_notice_tells_what_was_done_and_what_was_not() -> None:
    path = with_notice("/admin/email-queue?status=dead", "retry", count=1204, left=1)
    notice = read_notice(dict(parse_qsl(urlsplit(path).query)))

    assert notice is not None
    assert (
        notice.text == "1,204 emails will be tried again now. 1 email left as before: their status does not allow it."
    )


@pytest.mark.parametrize("given", [{}, {"notice": "<script>"}, {"notice": ""}])
def test_an_address_cannot_make_the_page_say_anything_else(given: dict[str, str]) -> None:
    assert read_notice(given) is None


# Corrections


ORIGINAL = {"to": "ada@example.org", "cc": "", "subject": "Hi", "text": "one\ntwo", "html": ""}


def test_what_was_not_changed_is_not_corrected() -> None:
    given = {**ORIGINAL, "text": "one\r\ntwo", "csrf": "token"}

    assert changed(given, ORIGINAL) == {}


def test_corrected_addresses_are_split_as_people_write_them() -> None:
    given = {**ORIGINAL, "to": '"Lovelace, Ada" <ada@example.org>; grace@example.org,\r\n mary@example.org'}

    assert changed(given, ORIGINAL) == {
        "to": ['"Lovelace, Ada" <ada@example.org>', "grace@example.org", "mary@example.org"]
    }


def test_a_quote_in_a_name_ends_no_quotes() -> None:
    """Otherwise a part of somebody's name could become a recipient."""
    written = r'"a\", eve@evil.org, \"b" <ada@example.org>'

    assert changed({**ORIGINAL, "to": written}, ORIGINAL) == {"to": [written]}


# Words


@pytest.mark.parametrize(
    ("away", "words"),
    [
        (0, "now"),
        (1, "in 1 second"),
        (-59, "59 seconds ago"),
        (-60, "1 minute ago"),
        (7200, "in 2 hours"),
        (-86400, "1 day ago"),
    ],
)
def test_times_are_told_in_their_largest_unit(away: int, words: str) -> None:
    assert relative(NOW + timedelta(seconds=away), NOW) == words


def test_sizes_and_lengths_of_time_are_rounded_for_people() -> None:
    assert [octets(size) for size in (0, 812, 2_500, 25_000_000)] == ["0 bytes", "812 bytes", "2.5 kB", "25 MB"]
    assert [milliseconds(spent) for spent in (0.42, 12.3, 3210.0)] == ["0.4 ms", "12 ms", "3.2 s"]
