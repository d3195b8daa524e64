"""Moving a person from one region to another: region move."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from postroom.channels import channels
from postroom.cli.asking import ask_first
from postroom.cli.choice import Json, machine_user
from postroom.cli.problems import ExitCode
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.target import Target
from postroom.config.regions import check_known
from postroom.errors import ConfigurationError
from postroom.operate.recording import line
from postroom.operate.wording import count_of
from postroom.regions.leaving import Enrolled, underway
from postroom.regions.moving import Moved, Place, resume, run, survey
from postroom.regions.moving import move as move_person
from postroom.regions.parcel import Mover
from postroom.regions.reasons import OVER, in_words


def move(
    target: Target,
    address: Annotated[
        str | None, typer.Argument(help="Whose emails move: the address they are for.", metavar="ADDRESS")
    ] = None,
    from_region: Annotated[str, typer.Option("--from", help="The region that is left.", metavar="REGION")] = "",
    to: Annotated[str, typer.Option("--to", help="The region that they move to.", metavar="REGION")] = "",
    with_others: Annotated[
        bool, typer.Option("--with-others", help="Also emails that are for other people as well.")
    ] = False,
    finish: Annotated[
        bool, typer.Option("--resume", help="Only finish moves that were cut short, of whomever; in all regions.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count; change nothing.")] = False,
    json: Json = False,
) -> None:
    """Move what was not sent yet to a person into another region: ids, keys, history. Killed midway, run it again."""
    known = _regions(target)
    for name in filter(None, (from_region, to)):
        check_known(name, known)
    if finish:
        if address or dry_run or with_others:
            raise ConfigurationError("--resume finishes what has begun; leave the address and the other options out")
        _resume(target, [from_region] if from_region else known, to, json=json)
        return
    if not (address and from_region and to):
        raise ConfigurationError("say who moves and where: postroom region move ada@example.org --from deu1 --to usa1")
    if from_region == to:
        raise ConfigurationError(f"who is in {to} is there already; name two regions")
    with _place(target, from_region) as source, _place(target, to) as there:
        found = run(survey(address, source=source, target=there, with_others=with_others))
        if not dry_run:
            if found.emails and not yes:
                ask_first(f"move {count_of(found.emails, 'email')} from {from_region} to {to}")
            with _progress(found.emails) as progress:
                moving = partial(move_person, source=source, target=there, with_others=with_others, by=_mover())
                found = run(moving(address, progress=progress))
    _tell(found, from_region, to, dry_run=dry_run, json=json)


def _regions(target: Target) -> list[str]:
    known = target.all_regions().regions
    if not known:
        raise ConfigurationError("no regions are known; name them in the settings, as [regions.deu1] database = …")
    return list(known)


def _resume(target: Target, sources: list[str], to: str, *, json: bool) -> None:
    """Finish everything that is under way from these regions, to one region or to any."""
    finished: list[tuple[str, str, Moved]] = []
    for name in sources:
        with _place(target, name) as source:
            waiting = [each.region for each in source.database.run(underway(), writes=False) if to in ("", each.region)]
            for region in waiting:
                with _place(target, region) as there:
                    finished.append((name, region, run(resume(source=source, target=there, by=_mover()))))
    if json:
        print_json([moved_record(moved, name, region, dry_run=False) for name, region, moved in finished])
    elif not finished:
        standard_output().print(Text("no move was cut short"))
    for name, region, moved in finished if not json else ():
        _print(moved, name, region, dry_run=False)


@contextmanager
def _place(target: Target, name: str) -> Iterator[Place]:
    """One of the regions, within reach."""
    with target.of_region(name).outbox() as outbox:
        settings = outbox.settings
        own = {channel.route for channel in channels().values() if channel.route}
        yield Place(
            name=name,
            database=outbox.database,
            keyring=settings.keyring(),
            routes=frozenset({*settings.known_routes(), *own}),
        )


def _mover() -> Mover:
    return Mover(name=machine_user(), record=partial(line, machine_user(), "region_move"))


@contextmanager
def _progress(count: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error where somebody looks."""
    console = standard_error()
    if not console.is_terminal:
        yield lambda moved: None
        return
    with Progress(TextColumn("moving"), BarColumn(), MofNCompleteColumn(), console=console, transient=True) as bar:
        task = bar.add_task("moving", total=count)
        yield lambda moved: bar.update(task, completed=moved)


def moved_record(moved: Moved, source: str, to: str, *, dry_run: bool) -> dict[str, Any]:
    """For `--json`."""
    return {
        "from": source,
        "to": to,
        "dry_run": dry_run,
        "moved": moved.emails,
        "by_status": moved.moved,
        "resumed": moved.resumed,
        "held": moved.held,
        "stays": {why.value: count for why, count in moved.stays.items()},
        "emails": [{"id": id, "stays": why.value} for id, why in moved.named],
        "underway": {each.region: each.emails for each in moved.underway},
        "campaigns": [{"workspace": each.workspace, "campaign": each.campaign} for each in moved.campaigns],
    }


def _tell(moved: Moved, source: str, to: str, *, dry_run: bool, json: bool) -> None:
    """What was done; the exit code says whether somebody has to do something about what stays."""
    if json:
        print_json(moved_record(moved, source, to, dry_run=dry_run))
    else:
        _print(moved, source, to, dry_run=dry_run)
    if not dry_run and (moved.campaigns or any(why not in OVER for why in moved.stays)):
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _print(moved: Moved, source: str, to: str, *, dry_run: bool) -> None:
    for sentence in _sentences(moved, source, to, dry_run=dry_run):
        standard_output().print(Text(sentence), soft_wrap=True)
    for id, why in moved.named:
        standard_output().print(Text(f"  {id}  {why}", style="dim"))


def _sentences(moved: Moved, source: str, to: str, *, dry_run: bool) -> Iterator[str]:
    by_status = ", ".join(f"{count:,} {status}" for status, count in moved.moved.items())
    said = f"{'would move' if dry_run else 'moved'} {count_of(moved.emails, 'email')} from {source} to {to}"
    yield f"{said}: {by_status}" if by_status else said
    if moved.resumed:
        yield f"{count_of(moved.resumed, 'email')} of these had left before, by a move that was cut short"
    if moved.held:
        held = "waits" if moved.held == 1 else "wait"
        why = f"in doubt since a worker of {source} died, whose journal may know more"
        yield f"{count_of(moved.held, 'email')} of these {held} in {to} for a person: {why}"
    for why, count in moved.stays.items():
        yield in_words(why, count, to=to)
    if moved.campaigns:
        yield _of_campaigns(moved.campaigns, source, to)
    for each in moved.underway:
        verb = "is" if each.emails == 1 else "are"
        where = f"still on the way to {each.region}; `postroom region move --resume` finishes that"
        yield f"{count_of(each.emails, 'email')} {verb} {where}"


def _of_campaigns(campaigns: Sequence[Enrolled], source: str, to: str) -> str:
    """That somebody who moves is still written to from where they were, and what to do about it."""
    named = ", ".join(f"{each.campaign} of {each.workspace}" if each.workspace else each.campaign for each in campaigns)
    which = f"{count_of(len(campaigns), 'campaign')} of {source} {'is' if len(campaigns) == 1 else 'are'}"
    stop = f"`postroom suppress add ADDRESS --workspace NAME --region {source}` stops that"
    return f"{which} still to write to the person: {named}; {stop}, and campaigns of {to} may have them as a prospect"
