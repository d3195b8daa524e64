"""Taking a list of who is not to be mailed in: batch by batch, and what is told of it in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import BinaryIO

from postroom.campaigns.stopping.suppressing import suppress_in_campaigns
from postroom.errors import InvalidEmail
from postroom.operate.recording import By, in_short, line, name_of, new_tie
from postroom.operate.stops import read_stop
from postroom.operate.suppression_lists import ImportReport, Line, Refused, read_list
from postroom.operate.suppression_rights import SuppressionShared, is_theirs
from postroom.operate.values import Workspaces
from postroom.store.plan import Course, Plan
from postroom.store.suppressions import Stop
from postroom.vocabulary import SuppressionReason

WHAT = "suppressions_import"
"""As the audit log calls it."""

BATCH = 500
"""Lines of a list that are taken in one transaction."""

PATIENCE = 1_000
"""Lines in which no entry was found, after which a file is no list."""


def import_list(
    file: BinaryIO,
    *,
    by: By,
    defaults: Mapping[str, str],
    workspaces: Workspaces,
    progress: Callable[[ImportReport], None],
) -> Course[ImportReport]:
    """Take a list in, in batches of one transaction each, between its two lines of the audit log."""
    tie, usual = new_tie(), {"reason": SuppressionReason.IMPORTED.value, **defaults}
    yield line(by, WHAT, act=tie, state="begun")
    report = ImportReport()
    try:
        with closing(read_list(file)) as lines:
            while batch := list(islice(lines, BATCH)):
                report = yield _taken(report, batch, usual, by, workspaces)
                _check_that_it_is_a_list(report)
                progress(report)
    except InvalidEmail as error:
        yield line(by, WHAT, act=tie, state="stopped", entries=report.added, told=in_short(error))
        raise _with_what_is_in(error, report) from error
    told = {"entries": report.added, "known": report.known or None, "refused_lines": report.refused or None}
    yield line(by, WHAT, act=tie, state="done", **told)
    return report


def _taken(
    report: ImportReport, batch: Sequence[Line], defaults: Mapping[str, str], by: By, workspaces: Workspaces
) -> Plan[ImportReport]:
    """What these lines say, in one transaction; the report with them."""
    stops: list[Stop] = []
    refused: list[Refused] = []
    for each in batch:
        try:
            stops.append(_stop_of(each, defaults, by, workspaces))
        except (InvalidEmail, SuppressionShared) as error:
            refused.append(Refused(line=each.number, problem=str(error)))
    entries = (yield from suppress_in_campaigns(stops)) if stops else []
    added = sum(entry.created_at == entry.noted_at for entry in entries)
    return report.and_more(lines=len(batch), taken=len(stops), added=added, refused=refused)


def _stop_of(said: Line, defaults: Mapping[str, str], by: By, workspaces: Workspaces) -> Stop:
    if said.refusal is not None:
        raise said.refusal
    # A line that says what is stopped says all of it: a workspace for lines that do not would change its meaning.
    named = {"scope", "workspace", "kind"} & said.values.keys()
    usual = {name: value for name, value in defaults.items() if name == "reason" or not named}
    stop = read_stop({**usual, **said.values}, actor=name_of(by))
    if not is_theirs(stop, workspaces):
        raise SuppressionShared
    return stop


def _check_that_it_is_a_list(report: ImportReport) -> None:
    if report.refused == report.lines and report.lines >= PATIENCE:
        first = report.problems[0]
        raise InvalidEmail(
            "file",
            f"none of its first {report.lines:,} lines could be taken, the first because of {first.problem!r}",
            "give a list of addresses, one a line, or CSV with a column `address`",
        )


def _with_what_is_in(error: InvalidEmail, report: ImportReport) -> InvalidEmail:
    """What stopped a list, and how much of it is in."""
    if report.refused == report.lines:
        return error
    done = f"{report.lines - report.refused:,} lines before that are in; imported again, they change nothing"
    return InvalidEmail(error.field, error.problem, f"{error.remedy}; {done}")
