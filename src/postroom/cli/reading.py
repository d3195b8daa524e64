"""Commands that only look: list, show, stats."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.broker import broker_lines
from postroom.cli.choice import FilterOptions, Json, email_id
from postroom.cli.everywhere import AllRegions, every_region
from postroom.cli.moments import relative
from postroom.cli.problems import ExitCode
from postroom.cli.regions import look_at_all, tell_all
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.tables import (
    TONES,
    counts_table,
    emails_table,
    facts_table,
    history_table,
    recipients_table,
    routes_table,
)
from postroom.cli.target import Target
from postroom.cli.watching import interval_in_seconds, watch_standing
from postroom.compose import Letter
from postroom.config import Settings
from postroom.errors import ConfigurationError, SensitiveEmail
from postroom.operate import EmailView, FoundPage, House
from postroom.operate.records import house_record, sum_record
from postroom.operate.sentences import sum_in_words
from postroom.send.delivery_mode import Mode, mode_in, sentence_in
from postroom.store.contents import SHOWN_NOWHERE
from postroom.store.contract import Conservation
from postroom.store.questions import GONE
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
    search, start = wanted.as_search(), email_id(before) if before else None
    narrowed = wanted.narrows or before is not None
    with target.operations() as operations:
        page = operations.list(search, limit=limit, before=start, with_histories=json)
        gone = operations.outbox.counts() if not (page.emails or json or narrowed) else {}
    if json:
        print_json({"emails": [as_record(email) for email in page.emails], "next": page.next})
    elif page.emails:
        _print_page(page)
    else:
        _print_emptiness(gone, narrowed=narrowed)


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
    with target.operations() as operations:
        view = operations.email(email_id(id))
        if view.email.sensitive and (source or text):
            raise SensitiveEmail("show", view.email.id, SHOWN_NOWHERE, "ask those it is for")
        letter = operations.letter(view.email.id, _checked_version(view, version)) if source or text else None
    if letter is None:
        print_json(as_record(view.email)) if json else _print_email(view)
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
    all_regions: AllRegions = False,
    json: Json = False,
) -> None:
    """Count emails by status; tell how the ways out are."""
    if watch + check + all_regions > 1:
        raise ConfigurationError("--watch, --check and --all-regions exclude each other; choose one")
    if all_regions:
        tell_all(look_at_all(every_region(target)), json=json)
        return
    with target.operations() as operations:
        if watch:
            watch_standing(operations, seconds=interval_in_seconds(interval), json=json)
            return
        house, settings = operations.house(), operations.outbox.settings
        sums = operations.conservation() if check else None
    if json:
        whose = {"deployment": settings.deployment or None, "delivery": mode_in(settings.delivery)}
        print_json(house_record(house) | whose | ({} if sums is None else {"conservation": sum_record(sums)}))
    else:
        _print_surroundings(settings)
        _print_house(house, sums)
    if sums is not None and not sums.holds:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _checked_version(view: EmailView, version: int | None) -> int | None:
    if version is not None and version > view.email.version:
        raise ConfigurationError(f"--version {version}: the email has {view.email.version}")
    return version


def _print_page(page: FoundPage) -> None:
    output = standard_output()
    output.print(emails_table(page.emails, now=datetime.now(UTC), width=output.width))
    if page.next is not None:
        standard_error().print(Text(f"There are more: --before {page.next}", style="dim"))


def _print_emptiness(counts: Mapping[str, int], *, narrowed: bool) -> None:
    standard_error().print(Text(f"The outbox has {_emptiness(counts, narrowed=narrowed)}."), soft_wrap=True)


def _emptiness(counts: Mapping[str, int], *, narrowed: bool) -> str:
    if narrowed:
        return "no email that matches; leave some options out"
    gone = [f"{counts[name]:,} {name}" for name in GONE if counts.get(name)]
    if gone:
        return f"no emails any more: {' and '.join(gone)}"
    return "no emails yet; try `postroom send --help`"


def _print_email(view: EmailView) -> None:
    output, email = standard_output(), view.email
    output.print(Text(view.sentence), soft_wrap=True)
    output.print()
    output.print(facts_table(email, now=view.at))
    output.print()
    output.print(recipients_table(email.recipients))
    if email.history:
        output.print()
        output.print(history_table(email.history))


def _print_text(letter: Letter) -> None:
    letter.insist_on_words()
    text = letter.text or ""
    if sys.stdout.isatty():  # a terminal obeys control characters, and somebody else wrote this text
        text = "".join(each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in text)
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _print_surroundings(settings: Settings) -> None:
    """Whose outbox it is, and who gets what leaves it, where that is not everybody."""
    output, mode = standard_output(), mode_in(settings.delivery)
    if settings.deployment:
        output.print(Text(f"Deployment: {settings.deployment}"))
    if mode != Mode.DELIVER:
        output.print(Text(f"Delivery: {mode}. {sentence_in(settings.delivery)}", style="bold yellow"), soft_wrap=True)


def _print_house(house: House, sums: Conservation | None) -> None:
    output = standard_output()
    output.print(Text(house.sentence, style=TONES[house.tone]), soft_wrap=True)
    output.print()
    output.print(counts_table(house.counts))
    waits = relative(house.oldest_due, now=house.at)
    output.print(Text(f"\nOldest due: {waits}" if waits else "\nNothing is due."))
    if house.routes:
        output.print()
        output.print(routes_table(house.routes))
    if house.broker is not None:
        output.print()
        output.print(broker_lines(house))
    if sums is not None:
        output.print(Text(sum_in_words(sums), style="green" if sums.holds else "bold red"))
