"""Claim, renew, dot, journal, settle and take-over as a model small enough to look at every possible story.

Two processes, one email, a server that accepts or defers at the dot, or whose reply is lost. Both are workers; or one
is an application that stores the email leased to itself and sends it inline, whose caller may stop waiting at any
step. At any step a process may close, or die (and a worker starts in its place), or be stopped for longer than its
lease. Once, the database may be replaced by a copy that lacks the last commits. `explore` walks through every order of
steps and returns the shortest story that breaks the promise, or None when there is none:

- never a second copy without a doubt on record, one for each further copy;
- never a second copy with `hold`;
- never lost: what is `sent` has arrived, what is held is in doubt, and otherwise somebody can always act;
- never a doubt without a trouble that explains it.

Each safeguard can be taken out, and then a story must be found: that is what shows that the model sees something.

After a failover the record may lag behind for a while, so it is asked when the email has come to rest. And one thing
cannot be had: what a process has in hand when the database fails over, another may claim as well, and neither can know
of the other. `in_hand_forgiven` leaves that out of the count, so that the rest can be looked at.
"""

from __future__ import annotations

from collections import deque

from tests.work.model_steps import steps
from tests.work.model_world import Rules, World, beginning

__all__ = ["Rules", "explore"]

AT_REST = ("sent", "held", "absent")


def explore(rules: Rules) -> list[str] | None:
    """The shortest story that breaks the promise."""
    start = beginning(rules)
    came_from: dict[World, tuple[World, str] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        world = waiting.popleft()
        following = list(steps(world, rules))
        if _broken(world, rules) or not (following or _over(world, rules)):
            return _story(world, came_from)
        for name, next_world in following:
            if next_world not in came_from:
                came_from[next_world] = world, name
                waiting.append(next_world)
    return None


def _over(world: World, rules: Rules) -> bool:
    return world.row.status in AT_REST or world.row.token >= rules.claims


def _broken(world: World, rules: Rules) -> bool:
    row, forgiven = world.row, world.in_hand if rules.in_hand_forgiven else 0
    second_copies = world.copies - 1 - forgiven
    recorded = row.status in AT_REST or not world.failed_over
    return (
        (recorded and second_copies > row.doubts)
        or (rules.hold and second_copies > 0)
        or (row.status == "sent" and not world.copies)
        or (row.status == "held" and not row.doubts)
        or (row.doubts > 0 and not world.trouble)
    )


def _story(world: World, came_from: dict[World, tuple[World, str] | None]) -> list[str]:
    told: list[str] = []
    while (link := came_from[world]) is not None:
        world, name = link
        told.append(name)
    return told[::-1]
