"""What a move does in the region that is left. Each function is a plan: one transaction, all or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postroom.claim.failpoint import reach
from postroom.regions.parcel import (
    LISTED,
    Departure,
    Mover,
    Parcel,
    Shipment,
    addresses_in,
    content_in,
    given_back,
    read,
    state_in,
    terms_in,
    written,
)
from postroom.sealing.keyring import BEGINNING
from postroom.store.contents import read_attachments
from postroom.store.contract import instant
from postroom.store.order import recipient_term
from postroom.store.plan import Plan, Row, ask
from postroom.vocabulary import Change, EmailId, Priority, Status

MOVABLE = frozenset({Status.PENDING, Status.QUEUED, Status.RETRYING, Status.IN_DOUBT, Status.DEAD})
"""What has not been sent and is in nobody's hands; what is dead, a person may still want sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An email of the person who moves."""

    id: EmailId
    status: str | None
    """`dismissed` where a person has dismissed it; None where it is not there any more."""
    workspace: str = ""
    key: str | None = None
    route: str = ""
    of_campaign: bool = False
    size: int = 0
    recipients: tuple[str, ...] = ()
    boxes: tuple[bytes, ...] = ()
    """How its sealed contents begin: by which key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Underway:
    """Emails that have left for a region and of which nobody has said here that they arrived."""

    region: str
    emails: int
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolled:
    """A campaign that is still to send the person something. It stays, and they in it, until somebody stops that."""

    workspace: str
    campaign: str


def campaigns_of(person: str) -> Plan[tuple[Enrolled, ...]]:
    """Those that the person is in, drafts as well."""
    rows = yield ask("campaigns_of", address=person.lower())
    return tuple(Enrolled(workspace=workspace, campaign=campaign) for workspace, campaign in rows)


def find(person: str, *, after: EmailId, limit: int) -> Plan[list[Candidate]]:
    """The person's next emails, whatever became of them."""
    rows = yield ask("emails_of", term=recipient_term(person), after=after, limit=limit)
    sealed: dict[str, list[bytes]] = {}
    if rows:
        for id, beginning in (yield ask("boxes_of", ids=[row[0] for row in rows], length=BEGINNING)):
            sealed.setdefault(id, []).append(bytes(beginning))
    return [_candidate(row, tuple(sealed.get(row[0], ()))) for row in rows]


def _candidate(row: Row, boxes: tuple[bytes, ...]) -> Candidate:
    id, status, workspace, key, route, size, envelope, priority = row
    return Candidate(
        id=EmailId(id),
        status=status,
        workspace=workspace or "",
        key=key,
        route=route or "",
        of_campaign=priority == Priority.CAMPAIGN,
        size=size or 0,
        recipients=addresses_in(envelope),
        boxes=boxes,
    )


def depart(ids: Sequence[EmailId], *, move: str, region: str, sizes: Mapping[EmailId, int]) -> Plan[list[Departure]]:
    """Take emails out of everybody's reach, bound for a region; those that could be.

    Their rows are locked first: whoever is claiming, settling or changing one comes before or after this, and an email
    that somebody took in hand meanwhile stays. Afterwards no worker finds it, no message of a broker names it, and
    whoever once held it settles nothing: there is no row any more that a token could be compared with.
    """
    rows = yield ask("lock_whole", ids=list(ids))
    states = [given_back(state) for state in map(state_in, rows) if state["status"] in MOVABLE]
    leaving = [Departure(id=EmailId(state["id"]), move=move, state=state, size=sizes[state["id"]]) for state in states]
    if leaving:
        notes = [{**each.name, "region": region, "state": written(each.state)} for each in leaving]
        yield ask("depart", departures=notes)
    reach("move_departing")
    return leaving


def underway() -> Plan[tuple[Underway, ...]]:
    """What has left and not been heard of, by region."""
    rows = yield ask("open_departures")
    return tuple(Underway(region=region, emails=int(count), since=instant(since)) for region, count, since in rows)


def departed(region: str, *, after: EmailId, limit: int) -> Plan[list[Departure]]:
    """The next emails that are on their way to a region, by whichever move."""
    rows = yield ask("departing", region=region, after=after, limit=limit)
    return [Departure(id=EmailId(id), move=move, state=read(state), size=int(size)) for id, move, state, size in rows]


def pack(departures: Sequence[Departure]) -> Plan[Shipment]:
    """Everything that belongs to emails that have left. Nothing changes it any more, so it may be read at leisure."""
    ids = [each.id for each in departures]
    contents = _by_email([content_in(row) for row in (yield ask("contents_of", ids=ids))])
    wanted = [term for each in departures for term in _terms(each, contents)]
    terms = _grouped((id, term) for term, id in (yield ask("terms_of", terms=wanted)))
    digests = _grouped((id, digest) for digest, id in (yield ask("uses_of", ids=ids)))
    keys = {key["email_id"]: key for key in (yield from _keys(departures))}
    events = _by_email([_event(row) for row in (yield ask("events_of", ids=ids))])
    carried = sorted({digest for each in digests.values() for digest in each})
    return Shipment(
        parcels=tuple(
            Parcel(
                departure=each,
                contents=tuple(contents.get(each.id, ())),
                terms=tuple(terms.get(each.id, ())),
                digests=tuple(digests.get(each.id, ())),
                key=keys.get(each.id),
                events=tuple(events.get(each.id, ())),
            )
            for each in departures
        ),
        attachments=(yield from read_attachments(carried)),
    )


def complete(
    departures: Sequence[Departure], refused: Mapping[EmailId, str], *, region: str, by: Mover
) -> Plan[tuple[int, int]]:
    """Believe what the other region has decided: forget what arrived there, put back what it refused.

    Whoever else finishes the same move waits here, and then finds nothing left to do. How many were forgotten, and how
    many were put back.
    """
    names = {each.id: each for each in departures}
    rows = yield ask("lock_departing", departures=[each.name for each in departures])
    waiting = [names[EmailId(id)] for id, _state in rows]
    arrived = [each for each in waiting if each.id not in refused]
    back = [each for each in waiting if each.id in refused]
    if arrived:
        yield from _forget(arrived)
        yield ask("tally", changes=[{"name": "moved", "change": len(arrived)}])
        yield ask("note_departed", changes=json.dumps([_change(each) for each in arrived]))
        yield from by.record(to=region, emails=len(arrived), ids=[each.id for each in arrived[:LISTED]])
    if back:
        yield ask("put_back", emails=[dict(each.state) for each in back])
        yield ask("wake_routes", routes=sorted({each.state["route"] for each in back}))
    reach("move_completing")
    return len(arrived), len(back)


def _forget(arrived: Sequence[Departure]) -> Plan[None]:
    """Leave nothing of emails here but the note that says where they went."""
    ids = [each.id for each in arrived]
    contents = _by_email([content_in(row) for row in (yield ask("contents_of", ids=ids))])
    yield ask(
        "forget_departed",
        departures=[each.name for each in arrived],
        terms=[term for each in arrived for term in _terms(each, contents)],
        keys=_named_keys(arrived),
    )
    digests = sorted({digest for (digest,) in (yield ask("drop_uses", ids=ids))})
    if digests:
        unused = yield ask("unused_of", digests=digests)
        yield ask("sweep_attachments", digests=[digest for (digest,) in unused])


def _terms(departure: Departure, contents: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, str]]:
    found = terms_in(contents.get(departure.id, ()), departure.state["route"])
    return [{"term": term, "email_id": departure.id} for term in sorted(found)]


def _keys(departures: Sequence[Departure]) -> Plan[list[dict[str, Any]]]:
    rows = yield ask("keys_of", keys=_named_keys(departures))
    return [
        {"workspace": workspace, "key": key, "email_id": id, "fingerprint": print, "created_at": instant(created_at)}
        for workspace, key, id, print, created_at in rows
    ]


def _named_keys(departures: Sequence[Departure]) -> list[dict[str, Any]]:
    return [
        {"workspace": each.state["workspace"], "key": each.state["key"], "email_id": each.id}
        for each in departures
        if each.state["key"] is not None
    ]


def _event(row: Row) -> dict[str, Any]:
    id, at, what, attempt, actor, detail = row
    return {"email_id": id, "at": instant(at), "what": what, "attempt": attempt, "actor": actor, "detail": detail}


def _change(departure: Departure) -> list[Any]:
    """As the stream has it; see `store/changes.py`."""
    state = departure.state
    return [departure.id, Change.MOVED, state["attempts"], state["kind"], state["workspace"]]


def _by_email(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return _grouped((row["email_id"], row) for row in rows)


def _grouped(pairs: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for id, value in pairs:
        found.setdefault(id, []).append(value)
    return found
