"""How a batch is shared over the lanes: `urgent` leaves at once, `bulk` never starves.

Seats are dealt in a fixed round of thirteen: eight urgent, four normal, one bulk. A seat whose lane has nobody waiting
goes to the most urgent lane that has. Rounds run on from batch to batch (`turn`), so that even batches of one are fair.

Guarantees: no seat stays empty while anybody waits; in thirteen consecutive seats each lane gets its share if it wants
it; with nobody else waiting a lane gets everything.
"""

from __future__ import annotations

from postroom.vocabulary import LANES, Priority

_U, _N, _B = Priority.URGENT, Priority.NORMAL, Priority.BULK
ROUND = (_U, _N, _U, _U, _N, _U, _U, _N, _U, _U, _N, _U, _B)
"""Urgent first, so that a batch of one on a fresh start is an urgent one."""

Shares = dict[Priority, int]
"""How many of each lane."""


def shares(seats: int, waiting: Shares | None = None, *, turn: int = 0) -> Shares:
    """Share `seats` out. Without `waiting` every lane is taken to have enough; the next batch has `turn + seats`."""
    lanes = {lane: seats if waiting is None else min(seats, waiting.get(lane, 0)) for lane in LANES}
    dealt = {lane: min(count, lanes[lane]) for lane, count in _dealt(seats, turn).items()}
    left = seats - sum(dealt.values())
    for lane in LANES:
        passed_on = min(left, lanes[lane] - dealt[lane])
        dealt[lane] += passed_on
        left -= passed_on
    return dealt


def _dealt(seats: int, turn: int) -> Shares:
    """How many of the seats `turn`, `turn + 1` … belong to each lane."""
    rounds, rest = divmod(seats, len(ROUND))
    start = turn % len(ROUND)
    tail = [ROUND[(start + seat) % len(ROUND)] for seat in range(rest)]
    return {lane: rounds * ROUND.count(lane) + tail.count(lane) for lane in LANES}
