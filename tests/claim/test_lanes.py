from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroom.claim.lanes import ROUND, Shares, shares
from postroom.vocabulary import LANES, Priority

URGENT, NORMAL, BULK = Priority.URGENT, Priority.NORMAL, Priority.BULK

counts = st.integers(0, 1000)
crowds = st.fixed_dictionaries(dict.fromkeys(LANES, counts))


def test_a_full_round_is_shared_eight_to_four_to_one() -> None:
    assert shares(13) == {URGENT: 8, NORMAL: 4, BULK: 1}
    assert shares(130) == {URGENT: 80, NORMAL: 40, BULK: 10}


def test_a_lone_urgent_email_leaves_with_the_next_batch_before_a_hundred_thousand_bulk_ones() -> None:
    assert shares(100, {URGENT: 1, BULK: 100_000}) == {URGENT: 1, NORMAL: 0, BULK: 99}


def test_a_lane_gets_everything_when_nobody_else_waits() -> None:
    assert shares(50, {BULK: 70}) == {URGENT: 0, NORMAL: 0, BULK: 50}


def test_bulk_leaves_even_when_batches_of_one_are_always_wanted_by_urgent() -> None:
    crowd: Shares = {URGENT: 10, NORMAL: 10, BULK: 10}
    dealt = [shares(1, crowd, turn=turn)[BULK] for turn in range(26)]

    assert sum(dealt) == 2


@given(counts, crowds, counts)
def test_no_seat_stays_empty_while_anybody_waits(seats: int, waiting: Shares, turn: int) -> None:
    dealt = shares(seats, waiting, turn=turn)

    assert sum(dealt.values()) == min(seats, sum(waiting.values()))
    assert all(0 <= dealt[lane] <= waiting[lane] for lane in LANES)


@given(counts, crowds, counts)
def test_every_lane_gets_its_share_of_each_full_round(seats: int, waiting: Shares, turn: int) -> None:
    dealt = shares(seats, waiting, turn=turn)
    rounds = seats // len(ROUND)

    assert all(dealt[lane] >= min(waiting[lane], rounds * ROUND.count(lane)) for lane in LANES)


@given(st.lists(st.integers(0, 40), max_size=30), counts)
def test_batches_of_any_size_add_up_to_the_same_shares(sizes: list[int], start: int) -> None:
    turn, total = start, dict.fromkeys(LANES, 0)
    for size in sizes:
        for lane, count in shares(size, turn=turn).items():
            total[lane] += count
        turn += size

    assert total == shares(sum(sizes), turn=start)
