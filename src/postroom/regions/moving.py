"""Moving a person: what has not been sent to them leaves one region's outbox for another's.

Two databases share no transaction, so each email goes in three, and at every moment it is in exactly one place from
which it can be sent, or in none:

    departs    in the region that is left: its row goes from `emails` to `departures`, where no worker looks
    arrives    in the other region: everything that is its own is taken in, with a note that this move brought it
    completes  in the region that is left: everything of it goes, but a note without address or key

**Never lost.** Between the first and the last step everything is still there in the region that is left, counted as
`moving`. A move that was cut short, by `kill -9` or by a database that went away, is finished by the next one, which
begins with what is under way.

**Never doubled.** Whether an email arrives is decided by the other region alone, once for each move, in the transaction
that takes it in; the note of it stays when the email is sent and pruned there. Who tries the second step again is told
what was decided: *here*, and the last step deletes; or *refused*, for its key is taken, and the last step puts it back
as it was. So the first region sends an email again only if the other one said, durably, that it never will. The number
of a move is never used again: an email that goes there, back and there again is not taken for having arrived.

**In doubt.** A move neither settles a doubt nor makes one. What is being sent is in a worker's hands and stays; once
its worker dies it is taken over, and then it is due again or in doubt. An email in doubt keeps its status, its doubts
and its policy. One thing is left behind, though: the journal of the worker that died, which may come back and tell that
the email was accepted after all. In the region that was left there is no row any more that could be settled, and in the
other one nobody reads that journal. An email that is in doubt because it was taken over therefore arrives held for a
person; one whose own worker put it in doubt has no more to hear, and is sent again when its policy says so.

**Campaigns stay.** Whose turn it is, what counts against quotas and what follows is in the region where a campaign was
launched; a mail of it that left for another would be sent by nobody. So its emails stay, and whoever moves the person
is told which campaigns are still to write to them from here.

Journals also mend what a database forgot in a failover (`store/recall.py`). That, too, works only where the email is:
after a failover that lost commits, let the workers run for a minute before somebody is moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from postroom.claim.failpoint import reach
from postroom.logs import logger
from postroom.regions import arriving, leaving
from postroom.regions.leaving import MOVABLE, Candidate, Enrolled, Underway
from postroom.regions.parcel import LISTED, Departure, Mover, may_be_told_of
from postroom.regions.reasons import OVER, Stays
from postroom.sealing.keyring import Keyring
from postroom.store.failures import unfit
from postroom.store.ids import FIRST, new_id
from postroom.store.open import Database
from postroom.store.plan import Plan, drive
from postroom.vocabulary import EmailId

T = TypeVar("T")
Decisions = dict[EmailId, Stays | None]
"""What the other region says of emails: why it does not take one in, or None where it has."""
Sized = TypeVar("Sized", Candidate, Departure)

PAGE = 500
"""Emails that are looked at in one go."""
LOAD, OCTETS = 100, 16 << 20
"""Emails, and octets of what they say and carry, that travel in one transaction; one email always does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One of the two regions, with what of its settings an email depends on."""

    name: str
    database: Database
    keyring: Keyring = field(repr=False)
    routes: frozenset[str]
    """Those that emails may leave by."""


class At(NamedTuple):
    """A plan, and where it is to be carried out."""

    place: Place
    plan: Plan[Any]
    writes: bool = True


Crossing = Generator[At, Any, T]
"""Plans one after another, each in a transaction of its own, in one of two places; sent each plan's result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a move did, or would do."""

    moved: dict[str, int]
    """Emails that are in the other region now, by their status."""
    resumed: int
    """How many of them had left before, by a move that was cut short."""
    held: int
    """How many wait there for a person to decide: in doubt since a worker died, whose journal stays behind."""
    stays: dict[Stays, int]
    """How many do not move, by reason."""
    named: tuple[tuple[EmailId, Stays], ...]
    """The first of those that somebody may want to do something about."""
    underway: tuple[Underway, ...] = ()
    """What is on its way to some region and waits for its move to be finished."""
    campaigns: tuple[Enrolled, ...] = ()
    """Those of the region that is left which are still to send the person something: they do not move."""

    @property
    def emails(self) -> int:
        return sum(self.moved.values())


class _Account:
    """What a move did so far."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._moved = Counter[str]()
        self._stays = Counter[Stays]()
        self._named: list[tuple[EmailId, Stays]] = []
        self._resumed = self._held = 0
        self._progress = progress

    def moved(self, status: str, *, held: bool, resumed: bool) -> None:
        self._moved[status] += 1
        self._held += held
        self._resumed += resumed
        self._progress(self._moved.total())

    def stays(self, id: EmailId, why: Stays) -> None:
        self._stays[why] += 1
        if why not in OVER and len(self._named) < LISTED:
            self._named.append((id, why))

    def closed(self, underway: Sequence[Underway] = (), campaigns: Sequence[Enrolled] = ()) -> Moved:
        return Moved(
            moved=dict(sorted(self._moved.items())),
            resumed=self._resumed,
            held=self._held,
            stays={why: self._stays[why] for why in Stays if self._stays[why]},
            named=tuple(self._named),
            underway=tuple(underway),
            campaigns=tuple(campaigns),
        )


def _quietly(moved: int) -> None:
    pass


def run(crossing: Crossing[T]) -> T:
    """Carry a crossing out."""
    return drive(crossing, lambda at: at.place.database.run(at.plan, writes=at.writes))


def survey(person: str, *, source: Place, target: Place, with_others: bool = False) -> Crossing[Moved]:
    """What a move would do, as things stand. Nothing is changed."""
    account = _Account(_quietly)
    under_way = yield At(source, leaving.underway(), writes=False)
    after: EmailId | None = FIRST
    while after is not None:
        fit, after = yield from _next_page(person, after, source, target, with_others, account)
        for each in fit:
            account.moved(str(each.status), held=False, resumed=False)
    return account.closed(under_way, (yield At(source, leaving.campaigns_of(person), writes=False)))


def move(
    person: str,
    *,
    source: Place,
    target: Place,
    by: Mover,
    with_others: bool = False,
    progress: Callable[[int], None] = _quietly,
) -> Crossing[Moved]:
    """Move what has not been sent to a person; first finish what is under way to that region.

    Killed at any point, nothing is lost and nothing is doubled: the same again, or `resume`, goes on from there.
    """
    account, number = _Account(progress), str(new_id())
    yield from _finish(source, target, by, account)
    after: EmailId | None = FIRST
    while after is not None:
        fit, after = yield from _next_page(person, after, source, target, with_others, account)
        for load in loads(fit):
            sizes = {each.id: each.size for each in load}
            left = yield At(source, leaving.depart(list(sizes), move=number, region=target.name, sizes=sizes))
            reach("move_departed")
            for id in sizes.keys() - {each.id for each in left}:
                account.stays(id, Stays.SENDING)
            yield from _carry(left, source, target, by, account, resumed=False)
    under_way = yield At(source, leaving.underway(), writes=False)
    return account.closed(under_way, (yield At(source, leaving.campaigns_of(person), writes=False)))


def resume(*, source: Place, target: Place, by: Mover, progress: Callable[[int], None] = _quietly) -> Crossing[Moved]:
    """Finish what is under way from one region to another, whoever it is for."""
    account = _Account(progress)
    yield from _finish(source, target, by, account)
    return account.closed((yield At(source, leaving.underway(), writes=False)))


def loads(emails: Sequence[Sized]) -> Iterator[list[Sized]]:
    """Emails in loads that are neither too many nor too large for one transaction."""
    load, octets = list[Sized](), 0
    for each in emails:
        if load and (len(load) == LOAD or octets + each.size > OCTETS):
            yield load
            load, octets = [], 0
        load.append(each)
        octets += each.size
    if load:
        yield load


def _next_page(
    person: str, after: EmailId, source: Place, target: Place, with_others: bool, account: _Account
) -> Crossing[tuple[list[Candidate], EmailId | None]]:
    """Those of the person's next emails that can move, the others being accounted for; and where to go on."""
    page: list[Candidate] = yield At(source, leaving.find(person, after=after, limit=PAGE), writes=False)
    judged = [(each, _judge(each, person, target, with_others)) for each in page if each.status is not None]
    movable = [each for each, why in judged if why is None]
    refused = dict[EmailId, Stays]()
    if movable:
        refused = yield At(target, arriving.obstacles(movable), writes=False)
    for each, why in judged:
        if found := why or refused.get(each.id):
            account.stays(each.id, found)
    fit = [each for each in movable if each.id not in refused]
    return fit, page[-1].id if len(page) == PAGE else None


def _judge(email: Candidate, person: str, target: Place, with_others: bool) -> Stays | None:
    """Why an email stays, as far as the region that is left and the settings of the other can tell."""
    if email.status not in MOVABLE:
        return Stays(str(email.status)) if email.status in set(Stays) else Stays.SENDING
    if email.of_campaign:
        return Stays.CAMPAIGN
    if not with_others and any(address.lower() != person.lower() for address in email.recipients):
        return Stays.OTHERS
    if email.route not in target.routes:
        return Stays.ROUTE
    if not all(target.keyring.knows(box) for box in email.boxes):
        return Stays.SEALED
    return None


def _finish(source: Place, target: Place, by: Mover, account: _Account) -> Crossing[None]:
    after = FIRST
    while True:
        page: list[Departure] = yield At(source, leaving.departed(target.name, after=after, limit=PAGE), writes=False)
        for load in loads(page):
            yield from _carry(load, source, target, by, account, resumed=True)
        if len(page) < PAGE:
            return
        after = page[-1].id


def _carry(
    load: Sequence[Departure], source: Place, target: Place, by: Mover, account: _Account, *, resumed: bool
) -> Crossing[None]:
    """Have emails that left taken in, then believe what was decided of them."""
    if not load:
        return
    decided: Decisions = yield from _deliver(load, source, target, by)
    reach("move_arrived")
    refused = {id: why for id, why in decided.items() if why is not None}
    yield At(source, leaving.complete(load, refused, region=target.name, by=by))
    reach("move_completed")
    for each in load:
        if why := refused.get(each.id):
            account.stays(each.id, why)
        else:
            account.moved(each.state["status"], held=may_be_told_of(each.state), resumed=resumed)


def _deliver(
    load: Sequence[Departure], source: Place, target: Place, by: Mover
) -> Crossing[dict[EmailId, Stays | None]]:
    """What the other region decides of each. One that its database cannot hold is refused by itself, and not with it
    all that travels in the same transaction."""
    shipment = yield At(source, leaving.pack(load), writes=False)
    reach("move_packed")
    try:
        decided: Decisions = yield At(target, arriving.arrive(shipment, region=source.name, here=target.name, by=by))
        return decided
    except Exception as error:
        if not unfit(error):
            raise
        if len(load) == 1:
            logger.error("email cannot be moved", email_id=load[0].id, error=type(error).__name__)
            decided = yield At(target, arriving.refuse(load, region=source.name))
            return decided
    decided = {}
    for each in load:
        decided |= yield from _deliver([each], source, target, by)
    return decided
