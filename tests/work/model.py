"""Claim, renew, dot, journal, settle and take-over as a model small enough to look at every possible story.

Two workers, one email, a server that accepts or defers at the dot. At any step a worker may die (and another starts in
its place) or be stopped for longer than its lease. `explore` walks through every order of steps and returns the first
story that breaks the promise, or None when there is none:

- never a second copy without a doubt on record, one for each further copy;
- never a second copy with `hold`;
- never lost: what is `sent` has arrived, what is held is in doubt, and otherwise somebody can always act.

Each safeguard can be taken out, and then a story must be found: that is what shows that the model sees something.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

LAST_TOKEN = 5
"""Claims and take-overs after which a story is not followed any further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The safeguards in force, and the circumstances."""

    hold: bool = False
    journal_in_reach: bool = True
    fencing: bool = True
    lease_check: bool = True
    note_before_check: bool = True
    one_transaction: bool = True
    """A take-over is settled in the transaction that takes over."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker and how far it has come with its claim."""

    at: str = "idle"
    token: int = 0
    doubts: int = 0
    """Of the email when it was claimed."""
    accepted: bool = False
    """What the server said."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything there is."""

    workers: tuple[Worker, Worker] = (Worker(), Worker())
    status: str = "pending"
    token: int = 0
    owner: int = -1
    owner_dead: bool = False
    expired: bool = False
    dot_noted: bool = False
    doubts: int = 0
    journal: frozenset[tuple[int, str]] = frozenset()
    """By token: `dot`, `sent`, `deferred`. Tokens are never used twice, so it needs no worker's name."""
    copies: int = 0
    deaths: int = 0


Step = tuple[str, World]


def explore(rules: Rules, *, deaths: int = 2) -> list[str] | None:
    """The shortest story that breaks the promise."""
    start = World()
    came_from: dict[World, tuple[World, str] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        world = waiting.popleft()
        steps = list(_steps(world, rules, deaths))
        if _broken(world, rules) or not (_at_rest(world) or steps or world.token >= LAST_TOKEN):
            return _story(world, came_from)
        for name, following in steps:
            if following not in came_from:
                came_from[following] = world, name
                waiting.append(following)
    return None


def _broken(world: World, rules: Rules) -> bool:
    return (
        world.copies - 1 > world.doubts
        or (rules.hold and world.copies > 1)
        or (world.status == "sent" and not world.copies)
        or (world.status == "held" and not world.doubts)
    )


def _at_rest(world: World) -> bool:
    return world.status in ("sent", "held")


def _steps(world: World, rules: Rules, deaths: int) -> Iterator[Step]:
    for me, worker in enumerate(world.workers):
        for name, following in _worker_steps(world, me, worker, rules):
            yield f"{me}: {name}", following
        if world.deaths < deaths and worker.at != "idle":
            yield f"{me}: dies", _put(_owner_died(world, me), me, Worker())
    if world.status == "sending" and not world.expired:
        yield "the lease runs out", replace(world, expired=True)


def _worker_steps(world: World, me: int, worker: Worker, rules: Rules) -> Iterator[Step]:
    match worker.at:
        case "idle":
            yield from _begin(world, me, rules)
        case "took over":
            yield "settles what it took over", _put(_judged(world, worker.token - 1, rules), me, Worker())
        case "claimed" if rules.hold and not _mine(world, worker):
            yield "may not begin", _put(world, me, Worker())
        case "claimed" if rules.hold:
            yield "notes in the database", _put(replace(world, dot_noted=True), me, replace(worker, at="begun"))
        case "claimed" | "begun":
            first = "noted" if rules.note_before_check else "checked"
            yield first, _first_step(world, me, worker, first)
        case "noted" | "checked":
            yield from _second_step(world, me, worker, rules)
        case "clear":
            yield "dot, accepted", _put(_arrived(world), me, replace(worker, at="answered", accepted=True))
            yield "dot, deferred", _put(world, me, replace(worker, at="answered", accepted=False))
        case "answered":
            word = "sent" if worker.accepted else "deferred"
            yield f"journals {word}", _put(_written(world, worker.token, word), me, replace(worker, at="settling"))
        case "settling":
            yield "settles", _put(_settled(world, worker, rules), me, Worker())
    if worker.at not in ("idle", "took over") and _mine(world, worker) and world.expired:
        yield "renews", replace(world, expired=False)


def _begin(world: World, me: int, rules: Rules) -> Iterator[Step]:
    if world.token >= LAST_TOKEN:
        return
    leased = replace(world, token=world.token + 1, owner=me, owner_dead=False, expired=False, status="sending")
    if world.status in ("pending", "in_doubt"):
        mine = Worker(at="claimed", token=leased.token, doubts=world.doubts)
        yield "claims", _put(replace(leased, dot_noted=False), me, mine)
    found_dead = world.owner_dead and rules.journal_in_reach
    if world.status == "sending" and (world.expired or found_dead):
        if rules.one_transaction:
            yield "takes over", _judged(leased, world.token, rules)
        else:
            yield "takes over", _put(leased, me, Worker(at="took over", token=leased.token))


def _judged(world: World, token: int, rules: Rules) -> World:
    """What a take-over makes of the claim `token`."""
    free = replace(world, owner=-1, expired=False, dot_noted=False)
    words = {word for known, word in world.journal if known == token}
    if rules.journal_in_reach and "sent" in words:
        return replace(free, status="sent")
    if rules.journal_in_reach and "deferred" in words:
        return replace(free, status="in_doubt" if world.doubts else "pending")
    knows = rules.journal_in_reach or rules.hold
    dot_left = ("dot" in words if rules.journal_in_reach else world.dot_noted) if knows else True
    if not dot_left:
        return replace(free, status="in_doubt" if world.doubts else "pending")
    return replace(free, status="held" if rules.hold else "in_doubt", doubts=world.doubts + 1)


def _first_step(world: World, me: int, worker: Worker, first: str) -> World:
    if first == "noted":
        return _put(_written(world, worker.token, "dot"), me, replace(worker, at="noted"))
    return _put(world, me, replace(worker, at="checked" if _in_time(world, worker) else "idle"))


def _second_step(world: World, me: int, worker: Worker, rules: Rules) -> Iterator[Step]:
    if worker.at == "checked":
        yield "noted", _put(_written(world, worker.token, "dot"), me, replace(worker, at="clear"))
    elif not rules.lease_check or _in_time(world, worker):
        yield "clear to send", _put(world, me, replace(worker, at="clear"))
    else:
        undone = replace(world, journal=world.journal - {(worker.token, "dot")})
        yield "abandons", _put(_released(undone, worker, rules), me, Worker())


def _released(world: World, worker: Worker, rules: Rules) -> World:
    if rules.fencing and not _mine(world, worker):
        return world
    return replace(world, status="in_doubt" if world.doubts else "pending", owner=-1, expired=False)


def _settled(world: World, worker: Worker, rules: Rules) -> World:
    late_truth = worker.accepted and world.status in ("in_doubt", "held") and world.token == worker.token + 1
    if rules.fencing and not (_mine(world, worker) or late_truth):
        return world
    waiting = "in_doubt" if worker.doubts else "pending"
    return replace(world, status="sent" if worker.accepted else waiting, doubts=worker.doubts, owner=-1, expired=False)


def _mine(world: World, worker: Worker) -> bool:
    return world.status == "sending" and world.token == worker.token


def _in_time(world: World, worker: Worker) -> bool:
    """By the worker's own clock: a claim that was taken over has run out before."""
    return world.token == worker.token and not world.expired


def _arrived(world: World) -> World:
    return replace(world, copies=world.copies + 1)


def _written(world: World, token: int, word: str) -> World:
    return replace(world, journal=world.journal | {(token, word)})


def _owner_died(world: World, me: int) -> World:
    dead = world.owner_dead or (world.status == "sending" and world.owner == me)
    return replace(world, owner_dead=dead, deaths=world.deaths + 1)


def _put(world: World, me: int, worker: Worker) -> World:
    one, other = world.workers
    return replace(world, workers=(worker, other) if me == 0 else (one, worker))


def _story(world: World, came_from: dict[World, tuple[World, str] | None]) -> list[str]:
    steps: list[str] = []
    while (link := came_from[world]) is not None:
        world, name = link
        steps.append(name)
    return steps[::-1]
