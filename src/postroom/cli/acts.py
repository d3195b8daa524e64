"""How an act is carried out: on the emails that were named, or on all that match, after a look and a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import typer
from rich.text import Text

from postroom.cli.choice import ActOptions, FilterOptions, check_choice
from postroom.cli.problems import ExitCode, tell
from postroom.cli.screen import print_json, somebody_is_there, standard_error, standard_output
from postroom.cli.target import Target
from postroom.errors import ConfigurationError, EmailNotFound, NotApplicable, PostroomError
from postroom.outbox import Outbox
from postroom.store.acts import APPLIES_TO
from postroom.store.contract import Filter
from postroom.vocabulary import EmailId, Status

COUNTED = 10_000
"""How far a preview counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something a person does to emails."""

    name: str
    done: str
    """In the past, for the report."""
    on_one: Callable[[Outbox, str], None]
    on_many: Callable[[Outbox, Filter, int | None], int]
    """On all emails of one status that match, at most so many; how many there were."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of an act."""

    applied: int = 0
    refused: dict[EmailId, PostroomError] = field(default_factory=dict)
    """By id, why not."""


def carry_out(
    target: Target,
    act: Act,
    ids: Sequence[str] | None,
    wanted: FilterOptions,
    options: ActOptions,
    *,
    json: bool,
) -> None:
    """Do it, tell what was done, and end with a code that says whether all of it was."""
    chosen = check_choice(ids, wanted, options)
    with target.outbox() as outbox:
        if chosen:
            tally = _try_each(outbox, act, chosen) if options.dry_run else _on_each(outbox, act, chosen)
        else:
            tally = _on_matching(outbox, act, wanted.as_filter(), options)
    _report(act, tally, dry_run=options.dry_run, json=json)
    if tally.refused:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _on_each(outbox: Outbox, act: Act, ids: Sequence[EmailId]) -> Tally:
    """Each email by itself: one that is not there does not keep the others waiting."""
    tally = Tally()
    for id in ids:
        try:
            act.on_one(outbox, id)
        except (EmailNotFound, NotApplicable) as error:
            tally.refused[id] = error
        else:
            tally.applied += 1
    return tally


def _try_each(outbox: Outbox, act: Act, ids: Sequence[EmailId]) -> Tally:
    """What would come of it, as things stand."""
    tally = Tally()
    for id in ids:
        try:
            status = outbox.get(id).status
        except EmailNotFound as error:
            tally.refused[id] = error
            continue
        if status in APPLIES_TO[act.name]:
            tally.applied += 1
        else:
            tally.refused[id] = NotApplicable(act.name, id, status, APPLIES_TO[act.name])
    return tally


def _on_matching(outbox: Outbox, act: Act, wanted: Filter, options: ActOptions) -> Tally:
    """All that match, status by status, for the emails of one status have an index and the finished ones are many."""
    statuses = _statuses(act, wanted)
    found = {status: outbox.count(replace(wanted, status=status), at_most=COUNTED) for status in statuses}
    matching = sum(found.values()) if options.limit is None else min(options.limit, sum(found.values()))
    if options.dry_run or not matching:
        return Tally(applied=matching)
    _ask(act, found, matching, options)
    tally = Tally()
    for status in statuses:
        left = None if options.limit is None else options.limit - tally.applied
        if left != 0 and found[status]:
            tally.applied += act.on_many(outbox, replace(wanted, status=status), left)
    return tally


def _statuses(act: Act, wanted: Filter) -> tuple[Status, ...]:
    applies_to = APPLIES_TO[act.name]
    if wanted.status is None:
        return applies_to
    if wanted.status not in applies_to:
        words = " or ".join(applies_to)
        raise ConfigurationError(f"{act.name} applies to {words} emails; --status {wanted.status} can match none")
    return (wanted.status,)


def _ask(act: Act, found: Mapping[Status, int], matching: int, options: ActOptions) -> None:
    """Show how many emails it is about and let a person decide; without one, only `--yes` decides."""
    parts = ", ".join(f"{_number(count)} {status}" for status, count in found.items() if count)
    limited = f", {_emails(matching)} of them at most" if options.limit is not None else ""
    preview = f"{act.name} {_emails(sum(found.values()))} ({parts}){limited}"
    if options.yes:
        return
    if not somebody_is_there():
        raise ConfigurationError(
            f"this would {preview}, and there is nobody to ask: standard input is no terminal; "
            "add --yes to do it, or --dry-run to count only"
        )
    if not typer.confirm(f"This will {preview}. Go on?", err=True):
        standard_error().print(Text("Nothing was changed."))
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _report(act: Act, tally: Tally, *, dry_run: bool, json: bool) -> None:
    if json:
        print_json(_record(act, tally, dry_run=dry_run))
        return
    for error in tally.refused.values():
        tell(str(error))
    if dry_run:
        standard_output().print(Text(f"would {act.name} {_emails(tally.applied)}; nothing was changed"))
    elif tally.applied or not tally.refused:
        standard_output().print(Text(f"{act.done} {_emails(tally.applied)}"))


def _record(act: Act, tally: Tally, *, dry_run: bool) -> dict[str, Any]:
    return {
        "act": act.name,
        "dry_run": dry_run,
        "applied": tally.applied,
        "refused": [{"id": id, "error": str(error)} for id, error in tally.refused.items()],
    }


def _number(count: int) -> str:
    return f"{count:,} or more" if count >= COUNTED else f"{count:,}"


def _emails(count: int) -> str:
    return f"{_number(count)} email{'' if count == 1 else 's'}"
