"""Lanes whose messages the broker does not take: each is left alone for a while, and the others go on.

A queue may be full and refuse messages, be gone so that they come back, or close the channel over them. Trying at once
again would go round as fast as the broker can say no. So a lane is left alone after a refusal, longer each time that
nothing of a batch was taken, and less long when something was: a full queue that is being emptied is soon served again.
One batch that was taken whole ends it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from postroom.broker.meter import Fate
from postroom.logs import logger
from postroom.vocabulary import Priority

FIRST_PAUSE, LAST_PAUSE = 0.05, 2.0
"""Seconds that a lane is left alone after the first refusal, and at most."""
FORGOTTEN = 60.0
"""Seconds after which a lane that was not tried again is no longer said to be refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """How things stand in a lane whose messages are not taken."""

    pause: float
    until: float
    """On the monotonic clock."""
    why: str


class Refusals:
    """What a scheduler remembers of refusals, from the first one in a lane until a batch is taken whole."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lanes: dict[Priority, Refusal] = {}

    @property
    def why(self) -> str:
        """What is not taken, and in which way, for people; empty when everything is."""
        self._forget()
        return ", ".join(sorted({refusal.why for refusal in self._lanes.values()}))

    def left_alone(self, lane: Priority) -> bool:
        """Whether nothing is to be published in this lane for now."""
        return lane in self._lanes and self._clock() < self._lanes[lane].until

    def seconds_left(self) -> float:
        """Until the first lane that is left alone is tried again; 0 when none is."""
        now = self._clock()
        return min((each.until - now for each in self._lanes.values() if each.until > now), default=0.0)

    def note(self, lane: Priority, fates: Sequence[tuple[str, Fate]]) -> bool:
        """This became of a batch's messages in a lane, by queue; whether it is the beginning of a bad time.

        Batches that were on their way when the first of them was refused say nothing new.
        """
        self._forget()
        if self.left_alone(lane):
            return False
        refused = sorted({f"{queue} ({fate.value})" for queue, fate in fates if fate is not Fate.CONFIRMED})
        if not refused:
            self._take_note_of_success(lane)
            return False
        before = self._lanes.get(lane)
        some_taken = any(fate is Fate.CONFIRMED for _, fate in fates)
        pause = FIRST_PAUSE if before is None else next_pause(before.pause, some_taken=some_taken)
        self._lanes[lane] = Refusal(pause=pause, until=self._clock() + pause, why=", ".join(refused))
        if before is None:
            logger.warning("the broker does not take messages", lane=lane.label, why=", ".join(refused))
        return before is None

    def _take_note_of_success(self, lane: Priority) -> None:
        if self._lanes.pop(lane, None) is not None:
            logger.info("the broker takes messages again", lane=lane.label)

    def _forget(self) -> None:
        """Drop what has not been refused for long: whatever was to be published went another way."""
        now = self._clock()
        self._lanes = {lane: each for lane, each in self._lanes.items() if now < each.until + FORGOTTEN}


def next_pause(pause: float, *, some_taken: bool) -> float:
    """How long to leave a lane alone that was refused again, after so long a pause."""
    return max(pause / 2, FIRST_PAUSE) if some_taken else min(pause * 2, LAST_PAUSE)
