"""Prospects, as plans: taken in many at a time, each on its own merits, and as often as somebody likes.

An address is one prospect of a workspace, in whatever case it is written. Taking the same ones in again adds nothing;
what differs is changed where that was asked for, and told where it was not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from postroom.campaigns.records import written
from postroom.campaigns.values import Prospect
from postroom.errors import NotInWorkspace
from postroom.store.ids import new_id
from postroom.store.plan import Plan, Row, ask

TRIES = 3
"""How often a batch is looked at: another one may take the same prospects in between the look and the writing."""


class Taken(StrEnum):
    """What became of a prospect that was to be taken in."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """What became of one of them."""

    taken: Taken
    id: str | None = None
    """None where it was refused."""
    reason: str = ""


def new_prospect_id() -> str:
    """For somebody whom the user has given none."""
    return str(new_id())


class Arrival(NamedTuple):
    """Somebody who is to be taken in."""

    prospect: Prospect
    """`checked`."""
    has_own_id: bool
    """The user has given the id; one that was made up gives way to the id that is stored."""


def take_in(workspace: str, wanted: Sequence[Arrival], *, update: bool) -> Plan[list[Intake]]:
    """Take prospects in, no two of them with one address; what became of each, in their order."""
    yield ask("plan_afresh")
    found: dict[int, Intake] = {}
    for _ in range(TRIES):
        open_places = [place for place in range(len(wanted)) if place not in found]
        if not open_places:
            break
        known = yield from _known(workspace, [wanted[place] for place in open_places])
        decided = {place: _decide(wanted[place], known, update=update) for place in open_places}
        found |= yield from _written(workspace, decided)
    busy = Intake(taken=Taken.REFUSED, reason="somebody else is changing it just now; import it again")
    return [found.get(place, busy) for place in range(len(wanted))]


def get_prospect(workspace: str, id: str) -> Plan[Prospect]:
    """The prospect of an id; `NotInWorkspace` if the workspace has none."""
    rows = yield ask("prospects_by_id", workspace=workspace, ids=[id])
    if not rows:
        raise NotInWorkspace("prospect", id, workspace, "give the id that it was imported with")
    return read_prospect(rows[0][1:])


def find_prospect(workspace: str, address: str) -> Plan[Prospect | None]:
    """The prospect of an address, in whatever case it is written; None if the workspace has none."""
    rows = yield ask("prospects_by_address", workspace=workspace, addresses=[address.lower()])
    return read_prospect(rows[0][1:]) if rows else None


def count_prospects(workspace: str) -> Plan[int]:
    [[count]] = yield ask("count_prospects", workspace=workspace)
    return int(count)


def read_prospect(row: Row) -> Prospect:
    id, address, name, fields, timezone, language = row
    return Prospect(id=id, address=address, name=name, fields=json.loads(fields), timezone=timezone, language=language)


@dataclass(frozen=True, slots=True)
class _Known:
    by_address: Mapping[str, Prospect]
    by_id: Mapping[str, Prospect]


@dataclass(frozen=True, slots=True)
class _Decision:
    intake: Intake
    prospect: Prospect


def _known(workspace: str, wanted: Sequence[Arrival]) -> Plan[_Known]:
    addresses = [each.prospect.normal_address for each in wanted]
    rows = yield ask("prospects_by_address", workspace=workspace, addresses=addresses)
    by_address = {address: read_prospect(row) for address, *row in rows}
    ids = [each.prospect.id for each in wanted if each.has_own_id]
    rows = (yield ask("prospects_by_id", workspace=workspace, ids=ids)) if ids else []
    return _Known(by_address, {row[0]: read_prospect(row) for _, *row in rows})


def _decide(arrival: Arrival, known: _Known, *, update: bool) -> _Decision:
    prospect = arrival.prospect
    before = known.by_address.get(prospect.normal_address)
    if arrival.has_own_id and (refusal := _contradiction(prospect, before, known)):
        return _Decision(Intake(taken=Taken.REFUSED, reason=refusal), prospect)
    if before is None:
        return _Decision(Intake(taken=Taken.ADDED, id=prospect.id), prospect)
    after = _merged(before, prospect)
    differing = _differing(before, after)
    if not differing:
        return _Decision(Intake(taken=Taken.UNCHANGED, id=before.id), before)
    if update:
        return _Decision(Intake(taken=Taken.UPDATED, id=before.id, reason=f"changed {differing}"), after)
    reason = f"differs in {differing}; --update would change it"
    return _Decision(Intake(taken=Taken.UNCHANGED, id=before.id, reason=reason), before)


def _contradiction(prospect: Prospect, before: Prospect | None, known: _Known) -> str:
    """Ids do not change, and belong to one prospect."""
    if before is not None and before.id != prospect.id:
        return f"id: the address is there under the id {before.id!r}; leave the id out, or give that one"
    owner = known.by_id.get(prospect.id)
    if owner is not None and owner.normal_address != prospect.normal_address:
        return f"id: {prospect.id!r} belongs to another address; choose another id"
    return ""


def _merged(before: Prospect, given: Prospect) -> Prospect:
    """What is not said anew stays as it was."""
    return replace(
        before,
        address=given.address,
        name=given.name or before.name,
        fields={**before.fields, **given.fields},
        timezone=given.timezone or before.timezone,
        language=given.language or before.language,
    )


def _differing(before: Prospect, after: Prospect) -> str:
    names = ("address", "name", "timezone", "language")
    own = [name for name in names if getattr(before, name) != getattr(after, name)]
    fields = [name for name, value in after.fields.items() if before.fields.get(name) != value]
    return ", ".join([*own, *fields])


def _written(workspace: str, decided: Mapping[int, _Decision]) -> Plan[dict[int, Intake]]:
    """Write down what was decided; what became of those for which that has worked."""
    added = yield from _ask_for(workspace, "add_prospects", decided, Taken.ADDED)
    updated = yield from _ask_for(workspace, "update_prospects", decided, Taken.UPDATED)
    done = added | updated
    return {
        place: decision.intake
        for place, decision in decided.items()
        if decision.intake.taken in (Taken.UNCHANGED, Taken.REFUSED) or decision.prospect.normal_address in done
    }


def _ask_for(workspace: str, query: str, decided: Mapping[int, _Decision], taken: Taken) -> Plan[set[str]]:
    rows = [_row(each.prospect) for each in decided.values() if each.intake.taken is taken]
    found = (yield ask(query, workspace=workspace, prospects=rows)) if rows else []
    return {address for (address,) in found}


def _row(prospect: Prospect) -> dict[str, Any]:
    return {
        "id": prospect.id,
        "address": prospect.address,
        "normal_address": prospect.normal_address,
        "name": prospect.name,
        "fields": written(dict(prospect.fields)),
        "timezone": prospect.timezone,
        "language": prospect.language,
    }
