"""The schema: migrate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.database_checks import applied_in
from postroom.cli.everywhere import AllRegions, in_each_region
from postroom.cli.problems import ExitCode
from postroom.cli.reaching import reach
from postroom.cli.screen import standard_error, standard_output
from postroom.cli.secrets import masked_url
from postroom.cli.target import Target
from postroom.errors import ConfigurationError, SchemaError
from postroom.operate.wording import count_of
from postroom.outbox import Outbox
from postroom.store.acts import WAITING
from postroom.store.deployment import refusal, stamp
from postroom.store.migrate import pending, roles_script, script
from postroom.store.schema import Migration, migrations
from postroom.store.sqlite.database import SqliteDatabase

FROM_DATABASE = "database"


def migrate(
    target: Target,
    check: Annotated[
        bool, typer.Option("--check", help="Only say what is missing; exit code 1 if anything is. Changes nothing.")
    ] = False,
    sql: Annotated[bool, typer.Option("--sql", help="Print the script instead, for other tools.")] = False,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="With --sql: only what comes after this version; or `database`, to look which it has.",
            metavar="VERSION",
        ),
    ] = None,
    roles: Annotated[
        bool, typer.Option("--roles", help="Also the roles for PostgreSQL: owner, application, worker, reader.")
    ] = False,
    all_regions: AllRegions = False,
) -> None:
    """Create or upgrade the tables. Any number of processes may try at once; a second time does nothing."""
    if (sql and check) or (start is not None and not sql):
        raise ConfigurationError("--check and --sql exclude each other, and --from goes with --sql")
    if all_regions and sql:
        raise ConfigurationError("--all-regions and --sql exclude each other: a script is for one database")
    if all_regions:
        in_each_region(target, lambda region: _tend(region, check=check, sql=False, start=None, roles=roles))
    else:
        _tend(target, check=check, sql=sql, start=start, roles=roles)


def _tend(target: Target, *, check: bool, sql: bool, start: str | None, roles: bool) -> None:
    with target.unopened() as outbox:
        if sql:
            _print_script(outbox, start, roles=roles)
        elif check:
            _check(outbox)
        else:
            _migrate(outbox, roles=roles)


def _migrate(outbox: Outbox, *, roles: bool) -> None:
    reach(outbox.database, create=True)
    if roles:
        roles_script(outbox.database.dialect)  # refused before anything is changed where there are none
    before = None if _todo(outbox) else outbox.database.run(stamp(), writes=False)
    for migration in outbox.migrate():
        typer.echo(f"applied {migration}")
    if roles:
        _apply_roles(outbox)
        typer.echo("applied the roles")
    _tell_whose(outbox, newly=before is None)
    standard_output().print(Text(f"{masked_url(outbox.database_url)} is up to date."), soft_wrap=True)


def _tell_whose(outbox: Outbox, *, newly: bool) -> None:
    """Whose it is by now, if anybody's; and what that means for what waits."""
    found = outbox.database.run(stamp(), writes=False)
    if foreign := refusal(found, outbox.settings.deployment):
        standard_error().print(Text(f"Note: {foreign}."), soft_wrap=True)
    elif found is not None and newly:
        waiting = sum(outbox.counts()[status] for status in WAITING)
        waits = f"; {count_of(waiting, 'email')} that waited here will be sent from it" if waiting else ""
        typer.echo(f"stamped as the deployment {found.name}{waits}")


def _check(outbox: Outbox) -> None:
    """What `migrate` would do, without doing it."""
    where, todo = masked_url(outbox.database_url), _todo(outbox)
    wanted = [f"not applied: {migration}" for migration in todo]
    deployment = outbox.settings.deployment
    if deployment and (todo or outbox.database.run(stamp(), writes=False) is None):
        wanted.append(f"not stamped: the deployment {deployment}")
    for line in wanted:
        typer.echo(line)
    if wanted:
        standard_error().print(Text(f"{where} is not up to date; run `postroom migrate`."), soft_wrap=True)
        raise typer.Exit(int(ExitCode.NOT_DONE))
    standard_output().print(Text(f"{where} is up to date."), soft_wrap=True)


def _todo(outbox: Outbox) -> list[Migration]:
    """What is missing. A file that is not there stays so: then everything is."""
    database = outbox.database
    if isinstance(database, SqliteDatabase) and not database.path.exists():
        return list(migrations("sqlite"))
    reach(database)
    try:
        applied = applied_in(database)
    except SchemaError:
        return list(migrations(database.dialect.name))
    return pending(database.dialect, applied)


def _print_script(outbox: Outbox, start: str | None, *, roles: bool) -> None:
    dialect = outbox.database.dialect
    text = script(dialect, _wanted(outbox, start), deployment=outbox.settings.deployment)
    if roles:
        text += "\n" + roles_script(dialect)
    typer.echo(text, nl=False)


def _wanted(outbox: Outbox, start: str | None) -> Sequence[Migration]:
    """Everything, what comes after a version, or what a database lacks."""
    known = migrations(outbox.database.dialect.name)
    if start is None:
        return known
    if start == FROM_DATABASE:
        return _todo(outbox)
    if not start.isdecimal():
        raise ConfigurationError(f"--from {start!r} is no version; write a number such as 6, or `database`")
    return [migration for migration in known if migration.version > int(start)]


def _apply_roles(outbox: Outbox) -> None:
    """In one transaction: all of the layout, or none of it."""
    assert not isinstance(outbox.database, SqliteDatabase)
    with outbox.database.transaction() as connection:
        connection.execute(roles_script(outbox.database.dialect).encode())
