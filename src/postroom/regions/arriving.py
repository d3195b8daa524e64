"""What a move does in the region that emails arrive in. Each function is a plan: one transaction, all or nothing.

The decision about an email is made here, once, and noted in the transaction that carries it out. Whoever asks again,
after a crash or beside us, is told what was decided.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from postroom.claim.failpoint import reach
from postroom.regions.leaving import Candidate
from postroom.regions.parcel import LISTED, Departure, Mover, Parcel, Shipment, as_it_arrives
from postroom.regions.reasons import Stays
from postroom.store.contract import instant
from postroom.store.enqueue import store_attachments
from postroom.store.plan import Plan, ask
from postroom.vocabulary import EmailId


def obstacles(candidates: Sequence[Candidate]) -> Plan[dict[EmailId, Stays]]:
    """Which emails would be refused here, as things stand: their ids or their keys are taken."""
    there = yield ask("present", ids=[each.id for each in candidates])
    found = {EmailId(id): Stays.THERE for (id,) in there}
    keyed = {(each.workspace, each.key): each.id for each in candidates if each.key is not None}
    if keyed:
        wanted = [{"workspace": workspace, "key": key} for workspace, key in keyed]
        for workspace, key, _id, _fingerprint in (yield ask("first_under_key", keys=wanted)):
            found.setdefault(keyed[workspace, key], Stays.KEY)
    return found


def arrive(shipment: Shipment, *, region: str, here: str, by: Mover) -> Plan[dict[EmailId, Stays | None]]:
    """Take emails in that left a region, with all that is theirs; what was decided of each, None where it is here now.

    An email of which that was decided before is left as it is by now: it may have been sent since, and pruned. One
    whose key or id is taken is refused, and nothing of it stays.
    """
    parcels = {parcel.id: parcel for parcel in shipment.parcels}
    fresh = yield from _noted([parcel.departure for parcel in shipment.parcels], region)
    refused = yield from _refused([parcel for id, parcel in parcels.items() if id in fresh])
    accepted = [parcel for id, parcel in parcels.items() if id in fresh and id not in refused]
    if accepted:
        yield from _take_in(accepted, shipment.attachments, region=region, here=here, by=by)
    reach("move_arriving")
    return (yield from _decided([parcel.departure for parcel in shipment.parcels]))


def refuse(departures: Sequence[Departure], *, region: str) -> Plan[dict[EmailId, Stays | None]]:
    """Decide that emails which cannot be taken in, for whatever is in them, are not; unless that was decided before."""
    fresh = yield from _noted(departures, region)
    yield from _note_refusals({each.id: each for each in departures}, dict.fromkeys(fresh, Stays.UNFIT))
    return (yield from _decided(departures))


def _noted(departures: Sequence[Departure], region: str) -> Plan[set[EmailId]]:
    """Those of which nothing was decided before. Until this transaction ends, nobody else decides of them."""
    rows = yield ask("note_arrivals", arrivals=[{**each.name, "region": region} for each in departures])
    return {EmailId(id) for (id,) in rows}


def _decided(departures: Sequence[Departure]) -> Plan[dict[EmailId, Stays | None]]:
    rows = yield ask("arrivals", arrivals=[each.name for each in departures])
    return {EmailId(id): None if why is None else Stays(why) for id, why in rows}


def _refused(parcels: Sequence[Parcel]) -> Plan[dict[EmailId, Stays]]:
    """Those that cannot be taken in; the keys of the others are theirs from now on."""
    if not parcels:
        return {}
    there = yield ask("present", ids=[parcel.id for parcel in parcels])
    refused = {EmailId(id): Stays.THERE for (id,) in there}
    wanted = {parcel.id: parcel.key for parcel in parcels if parcel.key and parcel.id not in refused}
    if wanted:
        rows = yield ask("arrive_keys", keys=list(wanted.values()))
        free = {id for (id,) in rows}
        refused |= {id: Stays.KEY for id in wanted if id not in free}
    yield from _note_refusals({parcel.id: parcel.departure for parcel in parcels}, refused)
    return refused


def _note_refusals(departures: Mapping[EmailId, Departure], refused: Mapping[EmailId, Stays]) -> Plan[None]:
    if refused:
        yield ask("refuse_arrivals", refusals=[{**departures[id].name, "refused": why} for id, why in refused.items()])


def _take_in(
    parcels: Sequence[Parcel], attachments: Mapping[str, bytes], *, region: str, here: str, by: Mover
) -> Plan[None]:
    carried = {digest for parcel in parcels for digest in parcel.digests} & attachments.keys()
    yield from store_attachments((digest, attachments[digest]) for digest in sorted(carried))
    now = instant((yield ask("clock"))[0][0])
    told = {"at": now, "what": "moved", "actor": by.name, "detail": json.dumps({"from": region, "to": here})}
    yield ask("arrive", **_rows(parcels, carried, told))
    yield ask("tally", changes=[{"name": "enqueued", "change": len(parcels)}])
    yield ask("wake_routes", routes=sorted({parcel.departure.state["route"] for parcel in parcels}))
    yield from by.record(**{"from": region}, emails=len(parcels), ids=[each.id for each in parcels[:LISTED]])


def _rows(parcels: Sequence[Parcel], carried: Collection[str], told: Mapping[str, Any]) -> dict[str, Any]:
    """In the names of the `arrive` query."""
    states = [as_it_arrives(parcel.departure.state) for parcel in parcels]
    return {
        "emails": states,
        "contents": [content for parcel in parcels for content in parcel.contents],
        "terms": [{"term": term, "email_id": parcel.id} for parcel in parcels for term in parcel.terms],
        "uses": [
            {"digest": digest, "email_id": parcel.id}
            for parcel in parcels
            for digest in parcel.digests
            if digest in carried
        ],
        "events": [
            *(event for parcel in parcels for event in parcel.events),
            *({**told, "email_id": state["id"], "attempt": state["attempts"]} for state in states),
        ],
    }
