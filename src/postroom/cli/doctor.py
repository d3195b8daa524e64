"""Is everything as it should be? doctor."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import typer
from rich.text import Text

from postroom.cli.broker_checks import check_broker, check_services
from postroom.cli.campaign_checks import check_campaigns
from postroom.cli.checks import (
    Finding,
    Level,
    check_delivery,
    check_house,
    check_return_address,
    check_sender,
    check_smtp,
    check_sum,
)
from postroom.cli.choice import Json
from postroom.cli.database_checks import check_database, check_deployment, check_schema
from postroom.cli.everywhere import AllRegions, every_region, in_each_region
from postroom.cli.journal_checks import check_journals
from postroom.cli.problems import ExitCode
from postroom.cli.region_checks import check_moves
from postroom.cli.screen import print_json, standard_output
from postroom.cli.sealing_checks import check_sealing
from postroom.cli.secrets import masked, masked_url
from postroom.cli.tables import bare_table, status_text
from postroom.cli.target import Target
from postroom.duration import format_duration
from postroom.errors import PostroomError
from postroom.operate import Operations
from postroom.outbox import Outbox


def doctor(target: Target, all_regions: AllRegions = False, json: Json = False) -> None:
    """Check settings, database, clock, journals, mail server, broker, and that no email was lost. Changes nothing."""
    if all_regions and json:
        _tell_all_as_json(target)
    elif all_regions:
        in_each_region(target, lambda region: _tell(region, json=False))
    else:
        _tell(target, json=json)


def _tell(target: Target, *, json: bool) -> None:
    findings = _found(target)
    if json:
        print_json(_record(findings))
    else:
        _print(findings)
    if not _is_well(findings):
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _tell_all_as_json(target: Target) -> None:
    found = {name: _found(target.of_region(name)) for name in every_region(target).regions}
    well = all(map(_is_well, found.values()))
    print_json({"ok": well, "regions": {name: _record(findings) for name, findings in found.items()}})
    if not well:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _found(target: Target) -> list[Finding]:
    return [replace(finding, detail=masked(finding.detail)) for finding in examine(target)]


def _is_well(findings: list[Finding]) -> bool:
    return not any(finding.level is Level.FAIL for finding in findings)


def _record(findings: list[Finding]) -> dict[str, Any]:
    return {"ok": _is_well(findings), "checks": [asdict(finding) for finding in findings]}


def examine(target: Target) -> Iterator[Finding]:
    """Everything that can be found out; what depends on something that failed is left out."""
    try:
        settings = target.settings()
    except PostroomError as error:
        yield Finding(name="settings", level=Level.FAIL, detail=str(error), remedy="correct the setting")
        return
    yield Finding(
        name="settings",
        level=Level.OK,
        detail=f"tables under {settings.tables}, lease {format_duration(settings.lease)}",
    )
    yield check_sender(settings)
    if (finding := check_return_address(settings)) is not None:
        yield finding
    yield check_delivery(settings)
    yield from _examine_database(target)
    yield from check_journals(settings)
    yield from check_smtp(settings)
    yield from check_broker(settings)


def _examine_database(target: Target) -> Iterator[Finding]:
    try:
        with target.outbox() as outbox:
            yield from _examine_outbox(outbox)
    except (PostroomError, sqlite3.Error) as error:
        yield Finding(
            name="database", level=Level.FAIL, detail=str(error), remedy="check POSTROOM_DATABASE or --database"
        )


def _examine_outbox(outbox: Outbox) -> Iterator[Finding]:
    yield Finding(name="database", level=Level.OK, detail=f"{masked_url(outbox.database_url)} is within reach")
    yield from check_database(outbox.database, lease=outbox.settings.lease)
    schema = check_schema(outbox.database)
    yield schema
    if schema.level is Level.OK:
        yield check_deployment(outbox.database, outbox.settings)
        operations = Operations(outbox)
        house = operations.house()
        yield check_sum(operations.conservation())
        yield check_sealing(outbox.settings, outbox.database)
        yield from check_moves(outbox.database)
        yield from check_house(house)
        yield from check_services(outbox.settings, house)
        yield from check_campaigns(outbox.database, house)


def _print(findings: list[Finding]) -> None:
    table = bare_table("check", "", "found", "remedy")
    table.columns[1].no_wrap = True
    for finding in findings:
        table.add_row(finding.name, status_text(finding.level), Text(finding.detail), Text(finding.remedy))
    output = standard_output()
    output.print(table)
    bad = [finding for finding in findings if finding.level is not Level.OK]
    failed = sum(finding.level is Level.FAIL for finding in bad)
    output.print(Text(f"\n{failed} to put right, {len(bad) - failed} worth a look." if bad else "\nAll is well."))
