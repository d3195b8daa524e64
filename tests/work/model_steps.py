"""What can happen next in the model: every step of a worker, of an inline sender, of time, and of the database."""

from __future__ import annotations

from collections.abc import Iterator

from tests.work.model_world import Actor, Row, Rules, World, commit, done, gone, mine, put, written

Step = tuple[str, World]

NOT_BEGUN = ("claimed", "begun")


def steps(world: World, rules: Rules) -> Iterator[Step]:
    """Everything that can happen next, with what it is called in a story."""
    for me, actor in enumerate(world.actors):
        for name, following in _acts(world, me, actor, rules):
            yield f"{me}: {name}", following
        if world.deaths < rules.deaths and actor.at != "idle":
            yield f"{me}: dies", gone(world._replace(deaths=world.deaths + 1, trouble=True), me)
    yield from _time_passes(world)
    yield from _fails_over(world, rules)


def _acts(world: World, me: int, actor: Actor, rules: Rules) -> Iterator[Step]:
    match actor.at:
        case "storing":
            leased = commit(world, rules, status="sending", token=1, owner=actor.name)
            yield "stores it leased", put(leased, me, actor._replace(at="claimed", token=1))
            yield "is cancelled before it has stored it", done(world, me)
        case "idle":
            yield from _begin(world, me, actor, rules)
        case "took over":
            judged = _judged(world, actor.predecessor, actor.token - 1, rules)
            yield "settles what it took over", done(commit(world, rules, **judged), me)
        case "claimed" if rules.hold and not mine(world.row, actor):
            yield "may not begin", done(world, me)
        case "claimed" if rules.hold:
            noted = commit(world, rules, dot_noted=rules.database_note)
            yield "notes in the database", put(noted, me, actor._replace(at="begun", late=_late(actor, rules)))
        case "claimed" | "begun":
            yield _first_step(world, me, actor, rules)
        case "noted" | "checked":
            yield _second_step(world, me, actor, rules)
        case "clear":
            yield from _dot(world, me, actor, rules)
        case "answered":
            settling = actor._replace(at="settling")
            yield f"journals {actor.answer}", put(written(world, rules, actor, actor.answer), me, settling)
        case "settling":
            yield "settles", _settled(world, me, actor, rules)
    if actor.at not in ("storing", "idle", "took over"):
        yield from _leaves(world, me, actor, rules)
        if world.row.expired and mine(world.row, actor):
            renewed = world._replace(row=world.row._replace(expired=False))
            yield "renews", put(renewed, me, actor._replace(late=False))


# ---------------------------------------------------------------- to have it


def _begin(world: World, me: int, actor: Actor, rules: Rules) -> Iterator[Step]:
    row = world.row
    as_well_the_other = me == 1 and row.token == 0 and not world.failed_over  # at first they are alike
    if row.token >= rules.claims or as_well_the_other:
        return
    leased = {"status": "sending", "token": row.token + 1, "owner": actor.name, "expired": False}
    if row.status in ("pending", "in_doubt"):
        known, doubts = _known(world, actor.name, row.token + 1, rules)
        at = "settling" if known else "claimed"
        # What a settle adds for an unknown fate is among them already.
        doubts -= known == "unknown"
        claimed = actor._replace(at=at, answer=known, token=row.token + 1, doubts=doubts)
        yield "claims", put(commit(world, rules, **leased, dot_noted=False), me, claimed)
    dead = rules.journal_in_reach and all(actor.name != row.owner for actor in world.actors)
    if row.status == "sending" and (row.expired or dead):
        if rules.one_transaction:
            yield "takes over", commit(world, rules, **leased | _judged(world, row.owner, row.token, rules))
        else:
            successor = actor._replace(at="took over", token=row.token + 1, predecessor=row.owner)
            yield "takes over", put(commit(world, rules, **leased), me, successor)


def _known(world: World, owner: int, token: int, rules: Rules) -> tuple[str, int]:
    """What the journals within reach say about the claim `token` of `owner`: `sent`, `unknown`, or nothing.

    And how many doubts belong on record. Where journals remember, all are asked about the email: an entry whose token
    is as new as this claim's is something that the database has forgotten. Older ones are on record.
    """
    found = [entry for entry in world.journal if (entry.name, entry.token) == (owner, token)]
    if rules.journal_remembers:
        remembered = ("sent", "dot", "unknown") if rules.dots_remembered else ("sent",)
        others = [entry for entry in world.journal if entry.token >= token and entry.word in remembered]
        found = list({*found, *others})
    accepted = [entry.doubts for entry in found if entry.word == "sent"]
    dots = len(found) - len(accepted)
    return "sent" if accepted else "unknown" if dots else "", max(world.row.doubts, *accepted, 0) + dots


def _judged(world: World, owner: int, token: int, rules: Rules) -> dict[str, object]:
    """What a take-over makes of the claim `token` of `owner`."""
    row, (known, doubts) = world.row, _known(world, owner, token, rules)
    free: dict[str, object] = {"owner": -1, "expired": False, "dot_noted": False}
    if known == "sent":
        return free | {"status": "sent", "doubts": doubts}
    if not rules.journal_in_reach and (row.dot_noted or not rules.hold):
        known, doubts = "unknown", row.doubts + 1
    if not known:
        return free | {"status": _waiting(row.doubts)}
    return free | {"status": "held" if rules.hold else "in_doubt", "doubts": doubts}


# ---------------------------------------------------------------- to send it


def _first_step(world: World, me: int, actor: Actor, rules: Rules) -> Step:
    actor = actor._replace(late=_late(actor, rules))
    if not rules.note_before_check:
        return "looks at its lease", put(world, me, actor._replace(at="idle" if actor.late else "checked"))
    noted = written(world, rules, actor, "dot") if rules.journal_note else world
    return "notes the dot", put(noted, me, actor._replace(at="noted"))


def _late(actor: Actor, rules: Rules) -> bool:
    """By its own clock; counted anew from the first step of the attempt where that rule is broken."""
    anew = actor.inline and actor.at == "claimed" and not rules.lease_from_storing
    return actor.late and not anew


def _second_step(world: World, me: int, actor: Actor, rules: Rules) -> Step:
    clear = actor._replace(at="clear")
    if actor.at == "checked":
        return "notes the dot", put(written(world, rules, actor, "dot"), me, clear)
    if not (rules.lease_check and actor.late):
        return "looks at its lease", put(world, me, clear)
    return "is too late", done(_released(written(world, rules, actor, "nothing"), actor, rules), me)


def _dot(world: World, me: int, actor: Actor, rules: Rules) -> Iterator[Step]:
    arrived = world._replace(copies=world.copies + 1)
    answered = actor._replace(at="answered")
    yield "dot, accepted", put(arrived, me, answered._replace(answer="sent"))
    yield "dot, deferred", put(world, me, answered._replace(answer="deferred"))
    if rules.replies_lost:
        yield "dot, no reply", put(arrived._replace(trouble=True), me, answered._replace(answer="unknown"))


def _settled(world: World, me: int, actor: Actor, rules: Rules) -> World:
    row = world.row
    late_truth = actor.answer == "sent" and row.status in ("in_doubt", "held") and row.token == actor.token + 1
    remembered = world if rules.journal_remembers else written(world, rules, actor, "nothing")
    if rules.fencing and not (mine(row, actor) or late_truth):
        return done(remembered, me)
    doubts = actor.doubts + (actor.answer == "unknown")
    in_doubt = "held" if rules.hold else "in_doubt"
    status = {"sent": "sent", "unknown": in_doubt, "deferred": _waiting(doubts)}[actor.answer]
    return done(commit(remembered, rules, status=status, doubts=doubts, owner=-1, expired=False), me)


# ---------------------------------------------------------------- to leave


def _leaves(world: World, me: int, actor: Actor, rules: Rules) -> Iterator[Step]:
    """Its caller stops waiting, or its process closes. What has begun is not touched by that: no step."""
    if actor.at in NOT_BEGUN:
        yield "gives it back", done(_released(world, actor, rules), me)
    if actor.inline and not rules.finishes_what_began:
        yield "is cancelled in the middle", done(world, me)
    if actor.at == "answered" and not rules.close_waits_for_dots:
        yield "closes and gives it back", gone(_released(world, actor, rules), me)


def _released(world: World, actor: Actor, rules: Rules) -> World:
    if rules.fencing and not mine(world.row, actor):
        return world
    return commit(world, rules, status=_waiting(world.row.doubts), owner=-1, expired=False, dot_noted=False)


def _waiting(doubts: int) -> str:
    return "in_doubt" if doubts else "pending"


# ---------------------------------------------------------------- what befalls them


def _time_passes(world: World) -> Iterator[Step]:
    row = world.row
    if row.status == "sending" and not row.expired:
        over = world._replace(row=row._replace(expired=True))
        for me, actor in enumerate(world.actors):
            if _holds(row, actor):
                # A living holder would have renewed it: it was stopped, or cut off.
                over = put(over._replace(trouble=True), me, actor._replace(late=True))
        yield "the lease runs out", over
    if world.failed_over:
        for me, actor in enumerate(world.actors):
            if actor.at not in ("idle", "storing") and not actor.late and not _holds(row, actor):
                yield f"{me}: its own time runs out", put(world, me, actor._replace(late=True))


def _holds(row: Row, actor: Actor) -> bool:
    return actor.at != "idle" and mine(row, actor) and row.owner == actor.name


def _fails_over(world: World, rules: Rules) -> Iterator[Step]:
    """The database goes on from an earlier state; everybody else from where they are."""
    if rules.failover == "never" or world.failed_over:
        return
    if rules.failover == "at rest" and any(actor.at != "idle" for actor in world.actors):
        return
    in_hand = sum(actor.at not in ("idle", "storing") for actor in world.actors)
    for row in set(world.earlier):
        back = world._replace(row=row, earlier=(), failed_over=True, trouble=True, in_hand=in_hand)
        yield "the last commits are lost", back
