"""Commands that only look: list, show, stats."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.broker import broker_lines
from postroom.cli.choice import FilterOptions, Json, email_id
from postroom.cli.moments import relative
from postroom.cli.overview import Overview, sum_in_words
from postroom.cli.problems import ExitCode
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.tables import (
    bare_table,
    counts_table,
    emails_table,
    facts_table,
    history_table,
    recipients_table,
    status_text,
)
from postroom.cli.target import Target
from postroom.cli.watching import interval_in_seconds, watch_standing
from postroom.compose import Letter
from postroom.errors import ConfigurationError
from postroom.outbox import Outbox
from postroom.store.contract import Page, StoredEmail
from postroom.store.questions import histories
from postroom.store.records import as_record


def list_emails(
    target: Target,
    wanted: FilterOptions,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many to show.")] = 50,
    before: Annotated[
        str | None, typer.Option(help="Older than this email: the `next` of the page before.", metavar="ID")
    ] = None,
    json: Json = False,
) -> None:
    """List emails, newest first."""
    with target.outbox() as outbox:
        page = outbox.list(wanted.as_filter(), limit=limit, before=email_id(before) if before else None)
        emails = _with_histories(outbox, page) if json else ()
    if json:
        print_json({"emails": [as_record(email) for email in emails], "next": page.next})
    elif page.emails:
        _print_page(page)
    else:
        _print_emptiness(narrowed=wanted.narrows or before is not None)


def show(
    target: Target,
    id: Annotated[str, typer.Argument(help="The email's id.", metavar="ID")],
    source: Annotated[bool, typer.Option("--source", help="The message as it goes over the wire.")] = False,
    text: Annotated[bool, typer.Option("--text", help="What it says, as text.")] = False,
    version: Annotated[
        int | None, typer.Option(min=1, help="With --source or --text: a version before it was corrected.")
    ] = None,
    json: Json = False,
) -> None:
    """Show one email: where it stands, its recipients and its history."""
    if source + text + json > 1:
        raise ConfigurationError("--source, --text and --json exclude each other; choose one")
    with target.outbox() as outbox:
        email = outbox.get(email_id(id))
        if email.sensitive and (source or text):
            raise ConfigurationError(f"email {email.id} is sensitive: what it says is shown nowhere, to nobody")
        letter = outbox.letter(email.id, version=_checked_version(email, version)) if source or text else None
    if letter is None:
        print_json(as_record(email)) if json else _print_email(email)
    elif source:
        sys.stdout.flush()
        sys.stdout.buffer.write(letter.as_bytes())
        sys.stdout.buffer.flush()
    else:
        _print_text(letter)


def stats(
    target: Target,
    check: Annotated[
        bool, typer.Option("--check", help="Count every row and check that nothing was lost; exit code 1 if it was.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it live, with workers and rates; q or Ctrl-C ends it.")
    ] = False,
    interval: Annotated[str, typer.Option(help="With --watch: how often to look.", metavar="TIME")] = "1s",
    json: Json = False,
) -> None:
    """Count emails by status; tell how the ways out are."""
    if watch and check:
        raise ConfigurationError("--watch and --check exclude each other; choose one")
    with target.outbox() as outbox:
        if watch:
            watch_standing(outbox, seconds=interval_in_seconds(interval), json=json)
            return
        overview = Overview.of(outbox, conservation=check)
    if json:
        print_json(overview.as_record())
    else:
        _print_overview(overview)
    if overview.conservation is not None and not overview.conservation.holds:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _with_histories(outbox: Outbox, page: Page) -> tuple[StoredEmail, ...]:
    found = outbox.database.run(histories([email.id for email in page.emails]), writes=False)
    return tuple(replace(email, history=found.get(email.id, ())) for email in page.emails)


def _checked_version(email: StoredEmail, version: int | None) -> int | None:
    if version is not None and version > email.version:
        raise ConfigurationError(f"--version {version}: the email has {email.version}")
    return version


def _print_page(page: Page) -> None:
    output = standard_output()
    output.print(emails_table(page.emails, now=datetime.now(UTC), width=output.width))
    if page.next is not None:
        standard_error().print(Text(f"There are more: --before {page.next}", style="dim"))


def _print_emptiness(*, narrowed: bool) -> None:
    advice = "no email matches; leave some options out" if narrowed else "no emails yet; try `postroom send --help`"
    standard_error().print(Text(f"The outbox has {advice}."))


def _print_email(email: StoredEmail) -> None:
    output = standard_output()
    output.print(facts_table(email, now=datetime.now(UTC)))
    output.print()
    output.print(recipients_table(email.recipients))
    if email.history:
        output.print()
        output.print(history_table(email.history))


def _print_text(letter: Letter) -> None:
    text = letter.text or ""
    if sys.stdout.isatty():  # a terminal obeys control characters, and somebody else wrote this text
        text = "".join(each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in text)
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _print_overview(overview: Overview) -> None:
    output = standard_output()
    output.print(counts_table(overview.counts))
    waits = relative(overview.oldest_due, now=datetime.now(UTC))
    output.print(Text(f"\nOldest due: {waits}" if waits else "\nNothing is due."))
    if overview.transports:
        table = bare_table("transport", "state", "reason")
        for transport in overview.transports:
            table.add_row(Text(transport.name), status_text(transport.state), Text(transport.reason or ""))
        output.print()
        output.print(table)
    if overview.broker is not None:
        output.print()
        output.print(broker_lines(overview.broker, overview.counts, now=datetime.now(UTC)))
    if overview.conservation is not None:
        style = "green" if overview.conservation.holds else "bold red"
        output.print(Text(sum_in_words(overview.conservation), style=style))
