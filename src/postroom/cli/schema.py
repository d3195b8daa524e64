"""The schema: migrate."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.screen import standard_output
from postroom.cli.secrets import masked_url
from postroom.cli.target import Target
from postroom.outbox import Outbox
from postroom.store.migrate import roles_script, script
from postroom.store.sqlite.database import SqliteDatabase


def migrate(
    target: Target,
    sql: Annotated[bool, typer.Option("--sql", help="Print the script instead, for other tools.")] = False,
    roles: Annotated[
        bool, typer.Option("--roles", help="Also the roles for PostgreSQL: owner, application, worker, reader.")
    ] = False,
) -> None:
    """Create or upgrade the tables. Any number of processes may try at once; a second time does nothing."""
    if sql:
        with target.unopened() as outbox:
            _print_script(outbox, roles=roles)
        return
    with target.outbox(create=True) as outbox:
        if roles:
            roles_script(outbox.database.dialect)  # refused before anything is changed where there are none
        applied = outbox.migrate()
        for migration in applied:
            typer.echo(f"applied {migration.version:04d} {migration.name}")
        if roles:
            _apply_roles(outbox)
            typer.echo("applied the roles")
        where = masked_url(outbox.database_url)
    standard_output().print(Text(f"{where} is up to date."), soft_wrap=True)


def _print_script(outbox: Outbox, *, roles: bool) -> None:
    dialect = outbox.database.dialect
    text = script(dialect)
    if roles:
        text += "\n" + roles_script(dialect)
    typer.echo(text, nl=False)


def _apply_roles(outbox: Outbox) -> None:
    """In one transaction: all of the layout, or none of it."""
    assert not isinstance(outbox.database, SqliteDatabase)
    with outbox.database.transaction() as connection:
        connection.execute(roles_script(outbox.database.dialect).encode())
