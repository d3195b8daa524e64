"""How an act is carried out: on the emails that were named, or on all that match, after a look and a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import typer
from rich.text import Text

from postroom.cli.asking import ask_first
from postroom.cli.choice import ActOptions, FilterOptions, check_choice
from postroom.cli.problems import ExitCode, tell
from postroom.cli.screen import print_json, standard_output
from postroom.cli.target import Target
from postroom.errors import ConfigurationError
from postroom.operate import ActResult, Operations, Search
from postroom.operate.wording import counted_emails
from postroom.store.acts import APPLIES_TO


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something a person does to emails."""

    name: str
    done: str
    """In the past, for the report."""
    corrections: Mapping[str, Any] = field(default_factory=dict)


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
    chosen = check_choice(ids, wanted, options) or _fitting(act, wanted.as_search())
    with target.operations() as operations:
        if isinstance(chosen, Search) and not options.dry_run:
            _look_and_ask(operations, act, chosen, options)
        result = _do(operations, act, chosen, options, dry_run=options.dry_run)
    refused = {} if isinstance(chosen, Search) else result.refused
    _report(act, result, refused, dry_run=options.dry_run, json=json)
    if refused:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _do(
    operations: Operations, act: Act, chosen: Sequence[str] | Search, options: ActOptions, *, dry_run: bool
) -> ActResult:
    return operations.act(
        act.name,
        chosen,
        by=options.actor,
        corrections=act.corrections or None,
        reason=options.reason,
        dry_run=dry_run,
        limit=options.limit,
    )


def _fitting(act: Act, wanted: Search) -> Search:
    applies_to = APPLIES_TO[act.name]
    if wanted.status is not None and wanted.status not in applies_to:
        words = " or ".join(applies_to)
        raise ConfigurationError(f"{act.name} applies to {words} emails; --status {wanted.status} can match none")
    return wanted


def _look_and_ask(operations: Operations, act: Act, wanted: Search, options: ActOptions) -> None:
    """Show how many emails it is about and let a person decide; without one, only `--yes` decides."""
    if options.yes:
        return
    found = _do(operations, act, wanted, options, dry_run=True)
    if not found.matched:
        return
    parts = ", ".join(f"{count:,} {status}" for status, count in sorted(found.by_status.items()))
    ask_first(f"{act.name} {counted_emails(found.matched, capped=found.capped)} ({parts})")


def _report(act: Act, result: ActResult, refused: Mapping[Any, Exception], *, dry_run: bool, json: bool) -> None:
    applied = result.matched - result.skipped if dry_run else result.done
    if json:
        errors = [{"id": id, "error": str(error)} for id, error in refused.items()]
        undo = {"undo": result.tie} if act.name == "dismiss" and not dry_run else {}
        print_json({"act": act.name, "dry_run": dry_run, "applied": applied, "refused": errors, **undo})
        return
    for error in refused.values():
        tell(str(error))
    emails = counted_emails(applied, capped=result.capped)
    if dry_run:
        standard_output().print(Text(f"would {act.name} {emails}; nothing was changed"))
    elif applied or not refused:
        standard_output().print(Text(f"{act.done} {emails}"))
        if act.name == "dismiss" and applied:
            standard_output().print(Text(f"to take it back: postroom reinstate --act {result.tie}"), soft_wrap=True)
