"""What there is in the model: the rules in force, one email's row, whoever works on it, their journals, the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The circumstances, and the safeguards in force."""

    inline: bool = False
    """The email is stored leased to an application's process, which sends it; workers are beside it."""
    hold: bool = False
    journal_in_reach: bool = True
    replies_lost: bool = True
    """A reply to a dot may not come."""
    deaths: int = 2
    """How many processes may die."""
    claims: int = 4
    """Claims and take-overs after which a story is not followed any further."""
    failover: Literal["never", "at rest", "any time"] = "never"
    """Once, the database is replaced by a copy that lacks the last commit or two: while nobody has the email in hand,
    or whenever it likes. Never the commit that stored the email: without its row there is nothing to speak of."""
    lost_commits: int = 2
    """How many a failover loses at most."""
    in_hand_forgiven: bool = False
    """One further copy is no breach for each process that had the email in hand when the database failed over."""

    fencing: bool = True
    lease_check: bool = True
    lease_from_storing: bool = True
    """An inline sender's time counts from the moment the row was stored with its lease, not from its attempt."""
    journal_note: bool = True
    """The dot is noted in the journal."""
    note_before_check: bool = True
    database_note: bool = True
    """With `hold`, the dot is noted in the database too."""
    one_transaction: bool = True
    """A take-over is settled in the transaction that takes over."""
    finishes_what_began: bool = True
    """An attempt whose caller has stopped waiting comes to its recorded end."""
    close_waits_for_dots: bool = True
    """Whoever closes gives back what has not begun, and nothing whose dot has left."""
    journal_remembers: bool = True
    """What was accepted stays in the journal after the settle, and whoever claims or takes over asks all journals."""
    dots_remembered: bool = False
    """Dots without a reply too: more than Postroom does, and what it would take."""


class Actor(NamedTuple):
    """A worker or an application's process, and how far it has come with its claim."""

    name: int
    """No other process ever has it."""
    at: str = "idle"
    token: int = 0
    doubts: int = 0
    """Of the email when it was claimed."""
    answer: str = ""
    """What is known of the dot: `sent`, `deferred`, or `unknown` when no reply came."""
    predecessor: int = -1
    """From whom it has taken over."""
    late: bool = False
    """Its lease has run out by its own clock."""
    inline: bool = False


class Row(NamedTuple):
    """The email in the database."""

    status: str = "pending"
    token: int = 0
    owner: int = -1
    expired: bool = False
    dot_noted: bool = False
    doubts: int = 0


class Entry(NamedTuple):
    """What a journal says about a claim."""

    name: int
    """Whose journal it is."""
    token: int
    word: str
    """`dot`, `sent`, or `unknown` when no reply came."""
    doubts: int
    """Of the email when it was claimed."""


class World(NamedTuple):
    """Everything there is."""

    actors: tuple[Actor, Actor]
    row: Row = Row()
    journal: frozenset[Entry] = frozenset()
    copies: int = 0
    deaths: int = 0
    trouble: bool = False
    """Something happened that can explain a doubt: a death, a process stopped past its lease, a reply that was lost,
    a failover."""
    earlier: tuple[Row, ...] = ()
    """The row before the last commits, where a failover may go back to."""
    failed_over: bool = False
    in_hand: int = 0
    """How many had begun with the email, or were about to, when the database failed over."""


def beginning(rules: Rules) -> World:
    """Before anybody has done anything."""
    if rules.inline:
        return World(actors=(Actor(0, at="storing", inline=True), Actor(1)), row=Row(status="absent"))
    return World(actors=(Actor(0), Actor(1)))


def mine(row: Row, actor: Actor) -> bool:
    """Whether the database would take an actor's word: it goes by the token alone."""
    return row.status == "sending" and row.token == actor.token


def put(world: World, me: int, actor: Actor) -> World:
    """The same world with another actor in this place."""
    one, other = world.actors
    return world._replace(actors=(actor, other) if me == 0 else (one, actor))


def done(world: World, me: int) -> World:
    """This process has nothing in hand any more."""
    return put(world, me, Actor(world.actors[me].name))


def gone(world: World, me: int) -> World:
    """This process has ended, and a worker has started in its place."""
    return put(world, me, Actor(world.actors[me].name + len(world.actors)))


def commit(world: World, rules: Rules, **changes: object) -> World:
    """Change the row. What it was before is still known to a replica that lags behind."""
    row = world.row._replace(**changes)  # type: ignore[arg-type]
    if rules.failover == "never" or world.failed_over or world.row.status == "absent":
        return world._replace(row=row)
    before = world.row._replace(expired=False)
    return world._replace(row=row, earlier=(*world.earlier, before)[-rules.lost_commits :])


def written(world: World, rules: Rules, actor: Actor, word: str) -> World:
    """An actor's journal says this about its claim from now on. That the server deferred it says that nothing is open.

    What can make no difference any more is left out, so that fewer worlds are to be told apart: a journal that nobody
    can read, and a dot that was judged in a commit that can no longer be lost.
    """
    if not rules.journal_in_reach:
        return world
    final = rules.failover == "never" or world.failed_over
    said = {
        entry
        for entry in world.journal
        if entry[:2] != (actor.name, actor.token)
        and not (final and entry.token < world.row.token and entry.word != "sent")
    }
    if word in ("dot", "sent", "unknown"):
        said.add(Entry(actor.name, actor.token, word, actor.doubts))
    return world._replace(journal=frozenset(said))
