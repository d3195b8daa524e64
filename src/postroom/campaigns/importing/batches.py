"""Prospects from a file, batch by batch, each in a transaction of its own.

Stopped in the middle, what was taken in is there, and the same file again does the rest: nothing is added twice. Every
row is told of, in the order of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from postroom.campaigns.drafts.campaigns import enrol, lock_draft
from postroom.campaigns.drafts.prospects import Arrival, Intake, Taken, take_in
from postroom.campaigns.importing.columns import Columns
from postroom.campaigns.importing.seen import Seen, nothing_seen
from postroom.campaigns.importing.table import Row, Table, check_divided
from postroom.errors import InvalidCampaign
from postroom.store.plan import Course, Plan

BATCH = 500
"""Rows of one transaction."""
LONGEST_SHOWN = 254


class RowOutcome(StrEnum):
    """What became of a row."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"
    """Its address is on an earlier line of the same file."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowReport:
    """One row, and what became of it."""

    line: int
    outcome: RowOutcome
    address: str = ""
    """As the file has it."""
    id: str | None = None
    reason: str = ""
    """Why it was refused, which field it is about, and what to do; or what differs."""
    enrolled: bool = False
    """It came into the campaign by this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of a file."""

    fields: tuple[str, ...]
    """What its columns are called in templates, beside address, name and the like."""
    counts: dict[str, int]
    """Rows by outcome."""
    enrolled: int
    """Prospects that came into the campaign by this."""

    @property
    def rows(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class _Read:
    """A row before it is taken in: somebody, or a report of why not."""

    line: int
    arrival: Arrival | None
    report: RowReport | None = None


@dataclass(slots=True)
class _Sum:
    outcomes: Counter[str] = field(default_factory=Counter)
    enrolled: int = 0

    def add(self, reports: Sequence[RowReport]) -> None:
        self.outcomes.update(report.outcome.value for report in reports)
        self.enrolled += sum(report.enrolled for report in reports)


def import_table(
    workspace: str,
    table: Table,
    *,
    campaign: str | None = None,
    update: bool = False,
    report: Callable[[RowReport], None] = lambda _: None,
) -> Course[Imported]:
    """Take the prospects of a file in, and into a draft where one is named; `report` hears of every row.

    Nothing is written where the headings cannot be used, or the campaign is none or no draft.
    """
    rows = table.rows()
    columns = _headings(rows, delimiter=table.delimiter)
    if campaign is not None:
        yield lock_draft(workspace, campaign)
    total = _Sum()
    with nothing_seen() as seen:
        read = (_read(row, columns, seen) for row in rows)
        while batch := list(islice(read, BATCH)):
            reports = yield _take_batch(workspace, batch, campaign=campaign, update=update)
            total.add(reports)
            for each in reports:
                report(each)
    counts = {outcome.value: total.outcomes[outcome.value] for outcome in RowOutcome}
    return Imported(fields=columns.fields, counts=counts, enrolled=total.enrolled)


def _headings(rows: Iterator[Row], *, delimiter: str) -> Columns:
    first = next(rows, None)
    if first is None or first.problem:
        raise InvalidCampaign("file", "its headings cannot be read", "write them on the first line, such as email,name")
    check_divided(first.cells, delimiter)
    return Columns.of(first.cells)


def _read(row: Row, columns: Columns, seen: Seen) -> _Read:
    address = _address_in(row, columns)
    try:
        if row.problem:
            return _Read(row.line, None, _refused(row.line, address, row.problem))
        arrival = columns.read(row.cells)
    except InvalidCampaign as error:
        return _Read(row.line, None, _refused(row.line, address, str(error)))
    return _seen_before(row.line, arrival, seen) or _Read(row.line, arrival)


def _seen_before(line: int, arrival: Arrival, seen: Seen) -> _Read | None:
    prospect = arrival.prospect
    if (first := seen.before(f"to {prospect.normal_address}", line)) is not None:
        told = RowReport(
            line=line, outcome=RowOutcome.DUPLICATE, address=prospect.address, reason=f"the address is on line {first}"
        )
        return _Read(line, None, told)
    if arrival.has_own_id and (first := seen.before(f"id {prospect.id}", line)) is not None:
        reason = f"id: {prospect.id!r} is the id of line {first}, which has another address; choose another id"
        return _Read(line, None, _refused(line, prospect.address, reason))
    return None


def _take_batch(workspace: str, batch: Sequence[_Read], *, campaign: str | None, update: bool) -> Plan[list[RowReport]]:
    if campaign is not None:
        yield from lock_draft(workspace, campaign)
    arrivals = [each.arrival for each in batch if each.arrival is not None]
    intakes = yield from take_in(workspace, arrivals, update=update) if arrivals else _nobody()
    enrolled: frozenset[str] = frozenset()
    if campaign is not None:
        enrolled = yield from enrol(workspace, campaign, [intake.id for intake in intakes if intake.id is not None])
    left = iter(intakes)
    return [each.report or _told(each, next(left), enrolled) for each in batch]


def _nobody() -> Plan[list[Intake]]:
    return []
    yield  # a plan, though it asks nothing


def _told(read: _Read, intake: Intake, enrolled: frozenset[str]) -> RowReport:
    assert read.arrival is not None
    return RowReport(
        line=read.line,
        outcome=_OUTCOMES[intake.taken],
        address=read.arrival.prospect.address,
        id=intake.id,
        reason=intake.reason,
        enrolled=intake.id in enrolled,
    )


_OUTCOMES = {taken: RowOutcome(taken.value) for taken in Taken}


def _refused(line: int, address: str, reason: str) -> RowReport:
    return RowReport(line=line, outcome=RowOutcome.REFUSED, address=address, reason=reason)


def _address_in(row: Row, columns: Columns) -> str:
    place = columns.names.index("address")
    return row.cells[place].strip()[:LONGEST_SHOWN] if place < len(row.cells) else ""
